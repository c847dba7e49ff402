# SPDX-License-Identifier: MIT
"""The manual against the programs and the library that it describes.

Needs the tools (tools/build/userspace) and the kernel's headers (tools/build/kernel).
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
STAGE = BUILD / "stage/usr"
MAN_PAGES = ROOT / "Documentation/man"
TOOLS = ("neuron-ls", "neuron-top", "neuron-as", "neuron-debug", "neuron-digits", "neuron-objdump",
         "neuron-packager", "neuron-plan", "neuron-sim", "neuron-profile", "neuron-train",
         "nccom-test", "neuron-monitor", "neuron-monitor-prometheus.py")
# A command of a tool that has options and a page of its own.
COMMANDS = {"neuron-profile-capture": ("neuron-profile", "capture")}
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z_-]*|-[a-zA-Z?])(?![\w-])")


# As a user has it who has set nothing for the installed programs.
PLAIN = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


def run(*command, **more):
    """The standard output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)
    assert done.returncode == 0, f"{command}: exit status {done.returncode}: {done.stderr}"
    return done.stdout


def options_of_help(tool):
    """The options that the summary of a tool lists, one or two in each line."""
    program, *words = COMMANDS.get(tool, (tool,))
    text = run(STAGE / "bin" / program, *words, "--help", env={**PLAIN, "COLUMNS": "100"})
    lines = re.findall(r"^ {2,6}(-.*)$", text, re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line.split("  ")[0])}


def options_of_page(tool):
    """The options that the man page of a tool describes."""
    text = (MAN_PAGES / f"{tool}.rst").read_text()
    lines = re.findall(r"^\.\. option:: (.*)$", text, re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line)}


@pytest.mark.parametrize("tool", (*TOOLS, *COMMANDS))
def test_the_man_page_has_the_options_of_the_tool(tool):
    """No option is missing on the page, and the page has none that the tool lacks."""
    wanted = options_of_help(tool)
    assert "--help" in wanted
    assert options_of_page(tool) == wanted


def test_every_tool_that_is_installed_has_a_man_page():
    """A new tool needs a page."""
    installed = {path.name for pattern in ("neuron-*", "nccom-*")
                 for path in (STAGE / "bin").glob(pattern)}
    assert installed == set(TOOLS)
    assert installed <= {path.stem for path in MAN_PAGES.glob("*.rst")}


def test_programs_find_the_library_that_is_installed_with_them():
    """Wherever that is, and nothing else is set."""
    found = {}
    for path in sorted((STAGE / "bin").iterdir()):
        text = subprocess.run(["ldd", path], env=PLAIN, capture_output=True, text=True,
                              check=False).stdout
        found |= {path.name: Path(library).resolve().parent if library != "not" else None
                  for library in re.findall(r"\blibnrt\.so\.\d+ => (\S+)", text)}
    assert {"neuron-digits", "neuron-sim", "neuron-train", "nccom-test"} <= set(found)
    assert set(found.values()) == {(STAGE / "lib").resolve()}, found


def test_the_manual_lists_the_tests_with_more_operators():
    """A test that sets the property is in the table, and nothing else is."""
    setting = re.compile(r"more_operators(\(.*\btrue\)|\(.*==.*\)| = true)")
    found = {str(path.relative_to(ROOT / "selftests")) for path in
             (ROOT / "selftests").glob("**/*.[ch]") if setting.search(path.read_text())}
    text = (ROOT / "Documentation/hardware/isa.rst").read_text()
    table = text[text.index("These tests set the property."):]
    assert len(found) > 10
    others = [path for where in ("libnrt", "vm", "bench", "qtest", "drivers", "public", "long")
              for path in (ROOT / "selftests" / where).glob("**/*.*") if path.suffix != ".pyc"]
    found |= {str(path.relative_to(ROOT / "selftests")) for path in others
              if path.is_file() and b"more-operators" in path.read_bytes()}
    assert set(re.findall(r"^``(\S+\.(?:c|py))``", table, re.MULTILINE)) == found


def test_every_function_of_libnrt_is_in_the_manual():
    """Each exported function has a kernel-doc comment in a public header."""
    exported = set(re.findall(r"^\s*(nrt\w+);", (ROOT / "libnrt/libnrt.map").read_text(),
                              re.MULTILINE))
    headers = sorted((ROOT / "libnrt/include/nrt").glob("*.h"))
    text = run(BUILD / "vm/kdir/scripts/kernel-doc", "-rst", *headers)
    described = set(re.findall(r"^\.\. c:function:: .*?(\w+) \(", text, re.MULTILINE))
    assert exported
    assert exported - described == set()


def test_every_function_of_libnrt_has_one_man_page():
    """Each exported function is listed by one page, and the pages list nothing else."""
    exported = re.findall(r"^\s*(nrt\w+);", (ROOT / "libnrt/libnrt.map").read_text(), re.MULTILINE)
    listed = []
    for page in MAN_PAGES.glob("nrt*.rst"):
        for block in re.findall(r":functions:\n((?: +\w.*\n)+)", page.read_text()):
            listed += block.split()
    assert sorted(listed) == sorted(exported)


def test_the_man_pages_of_libnrt_are_shown():
    """A page has the text of the comments, and "man" finds it by each of its functions."""
    pages = BUILD / "docs/man"
    text = run("groff", "-man", "-Tascii", "-P-cbou", "-rLL=100n", "-ww", pages / "nrt_load.3")
    assert "NRT_STATUS nrt_unload (nrt_model_t *model)" in text
    assert (pages / "nrt_unload.3").read_text() == ".so man3/nrt_load.3\n"
    for name in re.findall(r"^\.so man3/(.*)$", (pages / "nrta_tensor_read.3").read_text(), re.M):
        assert (pages / name).exists()


def test_every_lock_of_the_driver_is_in_the_manual():
    """The table of locks names each lock of the driver and of its structs, and no other."""
    found = set()
    for path in sorted((ROOT / "driver").glob("*.[ch]")):
        code = path.read_text()
        found |= set(re.findall(r"^static DEFINE_(?:MUTEX|SPINLOCK)\((\w+)\)", code, re.MULTILINE))
        for struct in re.finditer(r"^struct (\w+) \{$(.*?)^\}", code, re.MULTILINE | re.DOTALL):
            locks = re.findall(r"^\t(?:struct (?:mutex|rw_semaphore)|spinlock_t) (\w+);", struct[2],
                               re.MULTILINE)
            found |= {f"{struct[1]}.{lock}" for lock in locks}
    text = (ROOT / "Documentation/driver-internals.rst").read_text()
    section = text[text.index("\nLocks\n====="):text.index("\nWho holds whom\n")]
    assert len(found) > 20
    assert set(re.findall(r"^``([\w.]+)``", section, re.MULTILINE)) == found


def test_every_call_of_the_driver_is_in_the_manual():
    """Documentation/uapi.rst names each ioctl and each struct, and has the limits of a call."""
    header = (ROOT / "uapi/drm/neuron_accel.h").read_text()
    text = (ROOT / "Documentation/uapi.rst").read_text()
    calls = re.findall(r"^#define DRM_IOCTL_NEURON_(\w+)", header, re.MULTILINE)
    structs = re.findall(r"^struct (drm_neuron_\w+) \{", header, re.MULTILINE)
    limits = re.search(r"^struct drm_neuron_limits_info \{(.*?)^\}", header,
                       re.MULTILINE | re.DOTALL)
    assert len(calls) > 15 and len(structs) > 30
    assert [name for name in calls if not re.search(rf"^{name} ", text, re.MULTILINE)] == []
    assert [name for name in structs if not re.search(rf"\b{name}\b", text)] == []
    names = re.findall(r"__u(?:32|64) (\w+);", limits[1])
    assert re.findall(r"^``(\w+)`` +[\d,]+ ", text, re.MULTILINE) == names
