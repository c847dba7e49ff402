# SPDX-License-Identifier: MIT
"""gdb on the guest's kernel, with the symbols of the kernel and of its modules.

Debian's kernel has its debug information in a package of a gigabyte. The names of its
functions and variables, which the guest tells, are enough to set breakpoints and to read a
stack: they become an ELF file of symbols. The debug kernel has its own file.
"""

import os
import re
import struct
import time

from . import host
from .errors import MachineError

SECTIONS = ("text", "data", "bss", "rodata", "init.text", "exit.text")
WAIT_S = 3600

# ELF64: header, section header, symbol.
EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 2, 3, 8
SHF_ALLOC_EXEC = 2 | 4
EM_X86_64, ET_EXEC = 62, 2
STB_GLOBAL, STT_OBJECT, STT_FUNC = 1, 1, 2
# Addresses of the kernel's program and its modules. Variables of which each processor has its own
# have other addresses, and are left out.
LOWEST, HIGHEST = 0xffffffff80000000, 0xfffffffffffff000


def kernel_symbols(text, driver):
    """(address, is a function, name) of /proc/kallsyms, without those of the driver."""
    for line in text.splitlines():
        match = re.fullmatch(r"([0-9a-f]{16}) ([A-Za-z]) (\S+)(?:\s+\[(\S+)\])?", line)
        if match and LOWEST <= int(match[1], 16) < HIGHEST and match[4] != driver:
            yield int(match[1], 16), match[2] in "tTwW", match[3]


def write_elf(path, symbols):
    """An ELF file of symbols, in one section without content: gdb wants one for each."""
    strings, table = bytearray(b"\0"), bytearray(SYM.size)
    for address, function, name in symbols:
        kind = STT_FUNC if function else STT_OBJECT
        table += SYM.pack(len(strings), STB_GLOBAL << 4 | kind, 0, 1, address, 0)
        strings += name.encode() + b"\0"
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    at = EHDR.size
    header = EHDR.pack(b"\x7fELF\x02\x01\x01" + bytes(9), ET_EXEC, EM_X86_64, 1, 0, 0,
                       at + len(table) + len(strings) + len(names), 0, EHDR.size, 0, 0,
                       SHDR.size, 5, 4)
    sections = bytes(SHDR.size)
    sections += SHDR.pack(1, SHT_NOBITS, SHF_ALLOC_EXEC, LOWEST, at, HIGHEST - LOWEST, 0, 0, 16, 0)
    sections += SHDR.pack(7, SHT_SYMTAB, 0, 0, at, len(table), 3, 1, 8, SYM.size)
    at += len(table)
    sections += SHDR.pack(15, SHT_STRTAB, 0, 0, at, len(strings), 0, 0, 1, 0)
    at += len(strings)
    sections += SHDR.pack(23, SHT_STRTAB, 0, 0, at, len(names), 0, 0, 1, 0)
    with open(path, "wb") as file:
        file.write(header + bytes(table) + bytes(strings) + names + sections)


def kernel_file(vm):
    """A file with the kernel's symbols."""
    if vm.plan.files.symbols:
        return vm.plan.files.symbols
    path = vm.path("kernel-symbols")
    driver = vm.plan.module.name if vm.plan.module else "neuron"
    write_elf(path, kernel_symbols(vm.output("cat /proc/kallsyms"), driver))
    return path


def module_line(vm):
    """gdb's command that reads the symbols of the driver, or None."""
    module = vm.plan.module
    name, path = (module.name, module.path) if module else ("neuron", vm.plan.files.driver)
    folder = f"/sys/module/{name}/sections"
    if not path or vm.sh(f"[ -d {folder} ]").returncode:
        return None
    text = vm.output(f"cd {folder} && for s in .*; do [ -f $s ] && echo $s $(cat $s); done; true")
    found = dict(line.split() for line in text.splitlines())
    sections = [f"-s .{name} {found['.' + name]}" for name in SECTIONS if "." + name in found]
    return f"add-symbol-file {path} {' '.join(sections)}"


def write_script(vm):
    """gdb's commands that attach it. Returns the path."""
    path = vm.path("attach.gdb")
    lines = ["set pagination off", "set confirm off", f"file {kernel_file(vm)}"]
    source = os.path.join(host.SOURCE, "driver")
    if os.path.isdir(source):
        lines.append(f"directory {host.SOURCE}")
    line = module_line(vm)
    if line:
        lines.append(line)
    lines += ["set architecture i386:x86-64", f"target remote {vm.path('gdb')}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def wait_for_debugger(vm, note):
    """Tell how gdb is attached, and wait until it was there and lets the guest go on."""
    note(f"the guest waits for gdb; attach it with: gdb -x {write_script(vm)}")
    end = time.monotonic() + WAIT_S
    seen = False
    while time.monotonic() < end:
        running = vm.qmp.run("query-status")["running"]
        if seen and running:
            return
        seen = seen or not running
        time.sleep(0.05)
    raise MachineError(f"no gdb came within {WAIT_S} s")
