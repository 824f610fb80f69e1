# SPDX-License-Identifier: Apache-2.0
"""A file system with one file whose contents never come: a page of it that is mapped
makes whoever reads it wait, as a network file system does whose server has gone.

The kernel's side is described in fuse(4) and linux/fuse.h."""
import ctypes
import os
import stat
import struct
import threading

LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, INTERRUPT = 1, 3, 14, 15, 18, 25, 26, 36
OPENDIR, FORGET, ACCESS, GETXATTR = 27, 2, 34, 22
MNT_FORCE, MNT_DETACH = 1, 2
NO_REPLY = (FORGET, INTERRUPT, READ)
HEAD_IN, HEAD_OUT = struct.Struct("=IIQQIIIHH"), struct.Struct("=IiQ")
NAME = b"file"


class HangingFile:
    """Mounted at folder until end(). .path is the file; .was_read: somebody waits."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / NAME.decode()
        self.was_read = threading.Event()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if self.libc.mount(b"gpc-test", str(folder).encode(), b"fuse", 0, options.encode()) < 0:
            os.close(self.device)
            raise OSError(ctypes.get_errno(), "mount fuse")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
            except OSError:
                return
            _, op, unique, node, *_ = HEAD_IN.unpack_from(request)
            if op == READ:
                self.was_read.set()
            if op in NO_REPLY:
                continue
            error, body = self.answer(op, node, request[HEAD_IN.size:])
            reply = HEAD_OUT.pack(HEAD_OUT.size + len(body), error, unique) + body
            try:
                os.write(self.device, reply)
            except OSError:
                pass  # the asker has gone

    @staticmethod
    def attributes(node):
        mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o644
        return struct.pack("=QQQQQQIIIIIIIIII", node, 1 << 16, 128, 0, 0, 0, 0, 0, 0, mode, 1,
                           0, 0, 0, 4096, 0)

    def answer(self, op, node, body):
        if op == INIT:
            major, minor, readahead, _ = struct.unpack_from("=IIII", body)
            return 0, struct.pack("=IIIIHHIIHHIII", major, min(minor, 31), readahead, 0, 16, 12,
                                  1 << 16, 1, 32, 0, 0, 0, 0) + bytes(20)
        if op == LOOKUP and body.rstrip(b"\0") == NAME:
            return 0, struct.pack("=QQQQII", 2, 0, 3600, 3600, 0, 0) + self.attributes(2)
        if op == GETATTR:
            return 0, struct.pack("=QII", 3600, 0, 0) + self.attributes(node)
        if op in (OPEN, OPENDIR):
            return 0, struct.pack("=QII", 1, 0, 0)
        if op in (RELEASE, FLUSH, ACCESS):
            return 0, b""
        return -2 if op == LOOKUP else -38, b""

    def end(self):
        """Ends all waits with an error."""
        for flag in (MNT_FORCE, MNT_DETACH):
            self.libc.umount2(str(self.folder).encode(), flag)
        self.thread.join(10)
        os.close(self.device)
