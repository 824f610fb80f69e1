# SPDX-License-Identifier: Apache-2.0
"""A WSGI application whose requests cost MS milliseconds of CPU time: "/MS"."""
import time


def handles_request(seconds):
    end, x = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        for i in range(500):
            x += i
    return x


def application(environ, start_response):
    handles_request(float(environ["PATH_INFO"].strip("/") or 5) / 1e3)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
