# SPDX-License-Identifier: Apache-2.0
"""symbols.sh finds plugins and libraries that export too much or need the core."""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent / "symbols.sh"
ENTRY = "const void *gpc_module_entry(void) { return 0; }\n"

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


@pytest.fixture
def build(tmp_path):
    """A build tree of what is given; returns the script's result."""
    def built(plugin, library=None, listed=()):
        def link(source, path):
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], check=True,
                           input=source, text=True)

        link(plugin, tmp_path / "plugins/x.so")
        gpc_map = tmp_path / "gpc.map"
        if library:
            link(library, tmp_path / "core/libgpc.so")
            gpc_map.write_text("GPC_0.1 {\n  global:\n" +
                               "".join(f"    {name};\n" for name in listed) + "  local: *;\n};\n")
        return subprocess.run(["sh", SCRIPT, tmp_path], capture_output=True, text=True,
                              env=os.environ | {"GPC_MAP": str(gpc_map)})
    return built


def test_lets_a_good_plugin_pass(build):
    result = build(ENTRY)
    assert result.returncode == 0, result.stderr


def test_finds_a_leak(build):
    result = build(ENTRY + "int helper(void) { return 1; }\n")
    assert result.returncode == 1 and "helper" in result.stderr


def test_finds_a_missing_entry(build):
    assert build("static int x;\nint *y(void) { return &x; }\n").returncode == 1


def test_finds_a_need_of_the_core(build):
    result = build("void gpc_log_init(void);\n" +
                   ENTRY.replace("return 0", "gpc_log_init(); return 0"))
    assert result.returncode == 1 and "gpc_log_init" in result.stderr


def test_compares_the_library_with_its_map(build):
    library = "void gpc_core_new(void) {}\nvoid gpc_core_free(void) {}\n"
    assert build(ENTRY, library, ["gpc_core_new", "gpc_core_free"]).returncode == 0
    assert build(ENTRY, library, ["gpc_core_new"]).returncode == 1
    assert build(ENTRY, library, ["gpc_core_new", "gpc_core_free", "gpc_gone"]).returncode == 1


def test_an_empty_tree_is_a_failure(tmp_path):
    assert subprocess.run(["sh", SCRIPT, tmp_path], capture_output=True).returncode == 1
