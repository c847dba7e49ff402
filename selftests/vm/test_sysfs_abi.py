# SPDX-License-Identifier: MIT
"""Each file of the driver in sysfs and debugfs is described, and each description has a file.

The descriptions of sysfs are those of Documentation/ABI, in the kernel's format. A part of a path
in angle brackets stands for something: <BDF> for a PCI address, one small letter for a number, a
word for a name. Names must be in the description. The files of debugfs are in a table of
Documentation/driver.rst.
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
DRM_DEBUGFS = {"name", "clients", "gem_names"}


class Entry:
    """One description: its paths as regular expressions, and its text."""

    def __init__(self, text):
        tags = re.findall(r"^(\w+):", text, re.MULTILINE)
        self.whats = re.findall(r"^What:\s+(\S+)$", text, re.MULTILINE)
        expected = ["What"] * len(self.whats) + list(TAGS[1:])
        assert self.whats and tags == expected, f"tags {tags}, not {expected}, in:\n{text}"
        self.description = text.partition("\nDescription:")[2]
        assert self.description.strip(), f"no description in:\n{text}"
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


def compare(files, entries):
    """Each file has one entry, and each path of an entry has a file."""
    assert files, "no files at all"
    used, bare = set(), []
    for path in files:
        whats = [what for what in (entry.match(path) for entry in entries) if what]
        assert len(whats) <= 1, f"{path} is described more than once: {whats}"
        used.update(whats)
        if not whats:
            bare.append(path)
    assert not bare, f"{len(bare)} files without an entry in Documentation/ABI: {bare[:5]}"
    unused = [what for entry in entries for what in entry.whats if what not in used]
    assert not unused, f"entries of Documentation/ABI without a file: {unused}"


def find(vm, folder):
    """The files below a folder, symbolic links not followed, relative to it."""
    text = vm.output(f"cd -P {folder} && find . -type f")
    return {line.removeprefix("./") for line in text.splitlines()}


def chips(vm):
    """The PCI addresses of the chips."""
    text = vm.output(f"grep -l 0x1d0f {DEVICES}/*/vendor")
    return [line.split("/")[-2] for line in text.splitlines()]


def files_of_driver(vm, bdf):
    """The files that a device has only while the driver is bound to it."""
    bound = find(vm, f"{DEVICES}/{bdf}")
    vm.output(f"echo {bdf} >/sys/bus/pci/drivers/neuron/unbind")
    try:
        unbound = find(vm, f"{DEVICES}/{bdf}")
    finally:
        vm.output(f"echo {bdf} >/sys/bus/pci/drivers/neuron/bind")
    return {name for name in bound - unbound if not KERNEL.match(name)}


def test_driver(guest):
    """The attributes of the devices, and the parameters of the module."""
    bdfs = chips(guest)
    assert len(bdfs) == 2, f"chips: {bdfs}"
    files = [f"{DEVICES}/{bdf}/{name}" for bdf in bdfs for name in files_of_driver(guest, bdf)]
    files += [f"{PARAMETERS}/{name}" for name in find(guest, PARAMETERS)]
    compare(files, read_entries(DRIVER))


def reload_driver(vm, options=""):
    """Load the module anew."""
    vm.output(f"rmmod neuron && modprobe neuron {options}")


def files_of_class(vm):
    """The files of the class and of its devices."""
    names = vm.output(f"ls {CLASS_PATH}").split()
    files = []
    for name in names:
        if not name.startswith("neuron"):
            files.append(f"{CLASS_PATH}/{name}")
            continue
        files += [f"{CLASS_PATH}/{name}/{path}" for path in find(vm, f"{CLASS_PATH}/{name}")
                  if not KERNEL.match(path)]
    return files


def test_class(guest):
    """The class and the tree of the public driver; without the parameter there are none."""
    assert guest.sh(f"test -e {CLASS_PATH}").returncode == 1, "the class is there, unasked"
    reload_driver(guest, "public_sysfs=1")
    try:
        assert guest.output(f"cat {PARAMETERS}/public_sysfs") == "Y"
        compare(files_of_class(guest), read_entries(CLASS))
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
        assert files - DRM_DEBUGFS == debugfs_table(), f"{bdf}: {sorted(files)}"


EXAMPLE = ("What:\t\t/sys/a/<n>/<word>\nDate:\t\tnow\nKernelVersion:\t1\nContact:\tus\n"
           "Description:\n\t\tEither left or right.\n")


def test_comparison():
    """The comparison itself notices what is missing on either side."""
    entries = [Entry(EXAMPLE)]
    compare(["/sys/a/1/left"], entries)
    for files, complaint in ((["/sys/a/1/left", "/sys/b"], "without an entry"),
                             (["/sys/a/1/middle"], "does not name"),
                             (["/sys/a/x/left"], "without an entry")):
        with pytest.raises(AssertionError, match=complaint):
            compare(files, entries)
    other = Entry(EXAMPLE.replace("/sys/a/", "/sys/c/"))
    with pytest.raises(AssertionError, match="without a file"):
        compare(["/sys/a/1/left"], [*entries, other])
    with pytest.raises(AssertionError, match="more than once"):
        compare(["/sys/a/1/left"], entries * 2)
    with pytest.raises(AssertionError, match="tags"):
        Entry(EXAMPLE.replace("Contact:", "Contacts:"))
