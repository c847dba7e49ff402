# SPDX-License-Identifier: MIT
"""Each file of the driver in sysfs and debugfs is described, and each description has a file.

The descriptions of sysfs are those of Documentation/ABI, in the kernel's format. A part of a path
in angle brackets stands for something: <BDF> for a PCI address, one small letter for a number, a
word for a name. Names must be in the description. It begins with who may do what, (RO), (RW) or
(WO), and the file has that mode. As the kernel wants it, a file has one value, or an array of
numbers that its description tells. The files of debugfs are in a table of Documentation/driver.rst.
"""

import re

import pytest

from conftest import ROOT

ABI = ROOT / "Documentation/ABI/testing"
DRIVER, CLASS = "sysfs-driver-neuron", "sysfs-class-neuron_device"
TAGS = ("What", "Date", "KernelVersion", "Contact", "Description")
DEVICES, CLASS_PATH = "/sys/bus/pci/devices", "/sys/class/neuron_device"
PARAMETERS = "/sys/module/neuron/parameters"
# What the kernel itself adds to a device that has a driver, or to any device.
KERNEL = re.compile(r"accel/|msi_irqs/|power/|pools$|uevent$|waiting_for_supplier$")
MODES = {"RO": "444", "RW": "644", "WO": "200"}
VALUE, ARRAY = re.compile(r"[\w.-]*"), re.compile(r"\d+( \d+)*")
# What is in these is as the public driver has it: values with commas between them, and a table.
PUBLIC_FORMATS = {"connected_devices", "utilization", "pe_cntrs"}
DRM_DEBUGFS = {"name", "clients", "gem_names"}


class Entry:
    """One description: its paths as regular expressions, and its text."""

    def __init__(self, text):
        tags = re.findall(r"^(\w+):", text, re.MULTILINE)
        self.whats = re.findall(r"^What:\s+(\S+)$", text, re.MULTILINE)
        expected = ["What"] * len(self.whats) + list(TAGS[1:])
        assert self.whats and tags == expected, f"tags {tags}, not {expected}, in:\n{text}"
        self.description = text.partition("\nDescription:")[2]
        access = re.match(r"\s*\((\w+)\) \S", self.description)
        assert access and access[1] in MODES, f"no {'/'.join(MODES)} and description in:\n{text}"
        self.mode = MODES[access[1]]
        self.is_array = bool(re.search(r"\sspace\s+between\s", self.description))
        self.patterns = {what: re.compile(self.pattern(what) + "$") for what in self.whats}

    @staticmethod
    def pattern(what):
        """A path with its placeholders as groups."""
        parts = re.split(r"<(\w+)>", what)
        for i in range(1, len(parts), 2):
            if parts[i] == "BDF":
                parts[i] = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
            else:
                parts[i] = r"\d+" if len(parts[i]) == 1 else r"([a-z0-9_]+)"
        return "".join(re.escape(part) if i % 2 == 0 else part for i, part in enumerate(parts))

    def match(self, path):
        """The What that describes the path, or None. Names must be in the description."""
        for what, pattern in self.patterns.items():
            found = pattern.match(path)
            if not found:
                continue
            unnamed = [name for name in found.groups()
                       if not re.search(rf"\b{name}\b", self.description)]
            assert not unnamed, f"{path}: the description of {what} does not name {unnamed}"
            return what
        return None


def read_entries(name):
    """The entries of one file of Documentation/ABI."""
    text = (ABI / name).read_text(encoding="utf-8")
    return [Entry(block) for block in re.split(r"\n\n(?=What:)", text)[1:]]


def check_value(path, lines, is_array):
    """A file has one value, or an array if its description tells that."""
    assert len(lines) == 1, f"{path} has {len(lines)} lines: {lines[:3]}"
    pattern = ARRAY if is_array else VALUE
    assert pattern.fullmatch(lines[0]) or not lines[0], f"{path} has more than a value: {lines[0]}"


def compare(files, entries, formats=()):
    """Each file has one entry, and each path of an entry has a file.

    files: the mode and the lines of each path. formats: names of files with a format of their own.
    """
    assert files, "no files at all"
    used, bare = set(), []
    for path, (mode, lines) in files.items():
        found = [entry for entry in entries if entry.match(path)]
        assert len(found) <= 1, f"{path} is described more than once"
        if not found:
            bare.append(path)
        for entry in found:
            used.add(entry.match(path))
            assert mode == entry.mode, f"{path}: mode {mode}, its description says {entry.mode}"
            if mode != MODES["WO"] and path.rpartition("/")[2] not in formats:
                check_value(path, lines, entry.is_array)
    assert not bare, f"{len(bare)} files without an entry in Documentation/ABI: {bare[:5]}"
    unused = [what for entry in entries for what in entry.whats if what not in used]
    assert not unused, f"entries of Documentation/ABI without a file: {unused}"


def find(vm, folder):
    """The modes of the files below a folder, symbolic links not followed, by relative path."""
    text = vm.output(f"cd -P {folder} && find . -type f -exec stat -c '%a %n' {{}} +")
    lines = (line.partition(" ") for line in text.splitlines())
    return {name.removeprefix("./"): mode for mode, _, name in lines}


def read(vm, folder, modes):
    """The mode and the lines of files of a folder, by path. What cannot be read has no lines."""
    tops = " ".join(sorted({name.partition("/")[0] for name in modes}))
    lines = {name: [] for name in modes}
    for line in vm.output(f"cd -P {folder} && grep -Hrs '' {tops} || true").splitlines():
        name, _, text = line.partition(":")
        lines[name].append(text)
    return {f"{folder}/{name}": (mode, lines[name]) for name, mode in modes.items()}


def chips(vm):
    """The PCI addresses of the chips."""
    text = vm.output(f"grep -l 0x1d0f {DEVICES}/*/vendor")
    return [line.split("/")[-2] for line in text.splitlines()]


def files_of_driver(vm, bdf):
    """The modes of the files that a device has only while the driver is bound to it."""
    bound = find(vm, f"{DEVICES}/{bdf}")
    vm.output(f"echo {bdf} >/sys/bus/pci/drivers/neuron/unbind")
    try:
        unbound = find(vm, f"{DEVICES}/{bdf}")
    finally:
        vm.output(f"echo {bdf} >/sys/bus/pci/drivers/neuron/bind")
    return {name: mode for name, mode in bound.items()
            if name not in unbound and not KERNEL.match(name)}


def test_driver(guest):
    """The attributes of the devices, and the parameters of the module."""
    bdfs = chips(guest)
    assert len(bdfs) == 2, f"chips: {bdfs}"
    files = read(guest, PARAMETERS, find(guest, PARAMETERS))
    for bdf in bdfs:
        files.update(read(guest, f"{DEVICES}/{bdf}", files_of_driver(guest, bdf)))
    compare(files, read_entries(DRIVER))


def reload_driver(vm, options=""):
    """Load the module anew."""
    vm.output(f"rmmod neuron && modprobe neuron {options}")


def files_of_class(vm):
    """The files of the class and of its devices."""
    files = read(vm, CLASS_PATH, find(vm, CLASS_PATH))
    for name in vm.output(f"ls {CLASS_PATH}").split():
        folder = f"{CLASS_PATH}/{name}"
        if name.startswith("neuron"):
            files.update(read(vm, folder, {path: mode for path, mode in find(vm, folder).items()
                                           if not KERNEL.match(path)}))
    return files


def test_class(guest):
    """The class and the tree of the public driver; without the parameter there are none."""
    assert guest.sh(f"test -e {CLASS_PATH}").returncode == 1, "the class is there, unasked"
    reload_driver(guest, "public_sysfs=1")
    try:
        assert guest.output(f"cat {PARAMETERS}/public_sysfs") == "Y"
        compare(files_of_class(guest), read_entries(CLASS), PUBLIC_FORMATS)
    finally:
        reload_driver(guest)


def debugfs_table():
    """The files that the table in Documentation/driver.rst describes."""
    text = (ROOT / "Documentation/driver.rst").read_text(encoding="utf-8")
    table = re.search(r"^debugfs \(.*?\n(=+ =+)\nfile .*?\n\1\n(.*?)\n\1$", text,
                      re.MULTILINE | re.DOTALL)
    assert table, "no table of debugfs in Documentation/driver.rst"
    return set(re.findall(r"^``(\w+)``", table[2], re.MULTILINE))


def test_debugfs(guest):
    """The files of debugfs are those of the table; DRM has some of its own."""
    for bdf in chips(guest):
        files = find(guest, f"/sys/kernel/debug/accel/{bdf}")
        assert set(files) - DRM_DEBUGFS == debugfs_table(), f"{bdf}: {sorted(files)}"


EXAMPLE = ("What:\t\t/sys/a/<n>/<word>\nDate:\t\tnow\nKernelVersion:\t1\nContact:\tus\n"
           "Description:\n\t\t(RO) Either left or right.\n")
ONE = ("444", ["1"])


def test_comparison():
    """The comparison itself notices what is missing on either side."""
    entries, left = [Entry(EXAMPLE)], "/sys/a/1/left"
    compare({left: ONE}, entries)
    for files, complaint in (({left: ONE, "/sys/b": ONE}, "without an entry"),
                             ({"/sys/a/1/middle": ONE}, "does not name"),
                             ({"/sys/a/x/left": ONE}, "without an entry"),
                             ({left: ("644", ["1"])}, "mode 644"),
                             ({left: ("444", ["1", "2"])}, "2 lines"),
                             ({left: ("444", ["1 2"])}, "more than a value")):
        with pytest.raises(AssertionError, match=complaint):
            compare(files, entries)
    compare({left: ("444", ["1", "2"])}, entries, {"left"})
    other = Entry(EXAMPLE.replace("/sys/a/", "/sys/c/"))
    with pytest.raises(AssertionError, match="without a file"):
        compare({left: ONE}, [*entries, other])
    with pytest.raises(AssertionError, match="more than once"):
        compare({left: ONE}, entries * 2)
    array = Entry(EXAMPLE.replace("right.", "right, with a space between two."))
    compare({left: ("444", ["1 2"])}, [array])
    with pytest.raises(AssertionError, match="more than a value"):
        compare({left: ("444", ["1,2"])}, [array])
    for tag, wrong in (("Contact:", "Contacts:"), ("(RO) ", ""), ("(RO)", "(R)")):
        with pytest.raises(AssertionError, match="tags|description"):
            Entry(EXAMPLE.replace(tag, wrong))
