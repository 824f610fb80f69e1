#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The style checks find what they are for, and accept what is right."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def function(lines, arguments="void", mark=""):
    return SPDX + mark + f"int f({arguments})\n{{\n" + "\tg();\n" * (lines - 3) + "}\n"


def nested(depth):
    text = SPDX + "int f(void)\n{\n"
    for i in range(depth):
        text += "\t" * (i + 1) + ("if (a) {\n" if i % 2 else "for (;;)\n" if i == 2 else
                                  "while (b(1,\n" + "\t" * 9 + "2)) {\n")
    text += "\t" * (depth + 1) + "g();\n"
    for i in reversed(range(depth)):
        text += "\t" * (i + 1) + "}\n" if i != 2 else ""
    return text + "}\n"


# check, path, text, what the check says (None: it accepts the file)
CASES = [
    ("size", "core/base/a.c", function(60), None),
    ("size", "core/base/a.c", function(61), "61 lines, 60 are allowed"),
    ("size", "core/base/a.c", function(120, mark="// size: decoder\n"), None),
    ("size", "core/base/a.c", function(121, mark="// size: decoder\n"), "121 lines, 120"),
    ("size", "core/base/a.c", function(61, mark="// size: laziness\n"), "61 lines"),
    ("size", "core/base/a.c", SPDX + "int a;\n" * 599, None),
    ("size", "core/base/a.c", SPDX + "int a;\n" * 600, "601 lines, 600 are allowed"),
    ("size", "core/base/a.c", SPDX + "/* size: table */\n" + "int a;\n" * 700, None),
    ("size", "core/base/a.c",
     function(9, "int a, int (*b)(int, int), int c, int d, int e, int f, struct gpc_err *err"),
     None),
    ("size", "core/base/a.c", function(9, "int a, int b, int c, int d, int e, int f, int g"),
     "7 parameters"),
    ("size", "core/base/a.c", nested(4), None),
    ("size", "core/base/a.c", nested(5), "nests 5 deep"),
    ("size", "core/base/a.c",
     SPDX + "int f(void)\n{\n\tint t[] = {\n" + "\t" * 7 + "1,\n\t};\n\tg(\"{{{{\");\n}\n", None),
    ("includes", "core/base/a.c", SPDX + '#include "base/b.h"\n', None),
    ("includes", "core/base/a.c", '#include "base/b.h"\n', "does not begin with SPDX"),
    ("includes", "core/base/a.c", SPDX + '#include "elf/e.h"\n', "base may not include from elf"),
    ("includes", "core/elf/a.c", SPDX + '#include "base/b.h"\n', None),
    ("includes", "core/config/a.c", SPDX + '#include "elf/e.h"\n', "config may not include"),
    ("includes", "core/elf/a.c", SPDX + '# include "../top.h"\n', "elf may not include"),
    ("includes", "core/elf/a.c", SPDX + "#include <base/b.h>\n", "is ours"),
    ("includes", "core/elf/a.c", SPDX + '#include "base/none.h"\n', "is not there"),
    ("includes", "core/else/a.c", SPDX + '#include "base/b.h"\n', "no place in the order"),
    ("includes", "core/a.c", SPDX + '#include "elf/e.h"\n#include <elf.h>\n', None),
    ("includes", "plugins/x/a.c", SPDX + '#include "x.h"\n#include <gpc/plugin.h>\n', None),
    ("includes", "plugins/x/a.c", SPDX + '#include "../../core/base/b.h"\n', "leaves the plugin"),
    ("includes", "plugins/x/a.c", SPDX + '#include "base/b.h"\n', "own folder"),
    ("includes", "plugins/x/a.c", SPDX + "#include <base/b.h>\n", "plugins know nothing"),
    ("includes", "tests/a.py", "#!/usr/bin/python3\n# SPDX-License-Identifier: Apache-2.0\n",
     None),
    ("includes", "tests/a.py", "import os\n", "does not begin with SPDX"),
    ("includes", "tests/run", "#!/bin/bash\n", "does not begin with SPDX"),
    ("docs", "docs/a.md", "`core/base/b.h`, `base/b.h`, `b.h`, `/proc/self/maps`, `core/<X>/y.c`",
     None),
    ("docs", "docs/a.md", "see `core/base/none.h`", "`core/base/none.h` does not exist"),
    ("docs", "docs/a.md", "see `none.c`", "`none.c` does not exist"),
    ("docs", "README.md", "[there](docs/none.md)", "leads nowhere"),
    ("docs", "plugins/x/README.md", "`x.h` and `core/`", None),
]


def run_case(check, path, text):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(root + "/tests")
        shutil.copytree(HERE, root + "/tests/style")
        for name in ("core/base/b.h", "core/elf/e.h", "core/top.h", "plugins/x/x.h", path):
            os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
            with open(f"{root}/{name}", "w", encoding="utf-8") as f:
                f.write(text if name == path else SPDX)
        done = subprocess.run([sys.executable, f"{root}/tests/style/{check}.py"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    for check, path, text, want in CASES:
        status, said = run_case(check, path, text)
        if status != (want is not None) or (want and want not in said):
            failed += 1
            print(f"{check}.py on {path}: wanted {want!r}, status {status}:\n{said}", text[:300])
    print(f"{len(CASES) - failed} of {len(CASES)} cases of the style checks are right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
