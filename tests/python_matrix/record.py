#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the memory images of tests/unit/python/images, by hand:

    tests/python_matrix/record.py RECORDER NAME=COMMAND...

RECORDER is build-asan/tests/unit/python/python-record; NAME is what the image is called
("3.11", "3.13t"), COMMAND an interpreter, or "chroot FOLDER INTERPRETER". An image holds
what the collector read of scene.py, and the stacks that Python itself told: nothing else
of the process."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
IMAGES = HERE.parent / "unit/python/images"


def record(recorder, name, command):
    root = pathlib.Path(command[1]) if command[0] == "chroot" else pathlib.Path("/")
    with tempfile.TemporaryDirectory(dir=root / "tmp") as folder:
        scene = pathlib.Path(folder, "scene.py")
        scene.write_text((HERE / "scene.py").read_text(encoding="utf-8"), encoding="utf-8")
        text = pathlib.Path(folder, "text")
        inside = [str(p.relative_to(root)) if root != pathlib.Path("/") else str(p)
                  for p in (scene, text)]
        inside = [p if p.startswith("/") else "/" + p for p in inside]
        program = subprocess.Popen([*command, *inside], stdout=subprocess.PIPE)
        try:
            assert program.stdout.readline() == b"ready\n"
            image = IMAGES / f"{name}.img"
            image.unlink(missing_ok=True)
            subprocess.run([recorder, str(program.pid), text, image], check=True,
                           stdout=subprocess.DEVNULL)
            print(f"{image}: {image.stat().st_size} bytes")
        finally:
            program.kill()
            program.wait()


def main():
    for what in sys.argv[2:]:
        name, _, command = what.partition("=")
        record(sys.argv[1], name, command.split())


if __name__ == "__main__":
    main()
