# SPDX-License-Identifier: MIT
"""The verdict on a kernel log.

Every test that boots a machine asks this module, so there is one list of the lines with which
the kernel reports an error.
"""

import pathlib
import re

BAD = re.compile("|".join((
    r"WARNING:", r"BUG:", r"Oops", r"kernel BUG", r"Kernel panic", r"[Oo]ut of memory", r"oom-kill",
    r"general protection", r"Call Trace", r"UBSAN", r"KASAN", r"refcount_t:",
    r"list_(add|del) corruption", r"blocked for more than", r"[Ss]oft lockup", r"workqueue lockup",
    r"rcu.*(stall|self-detected)", r"DMA-API:", r"\[drm:.*\*ERROR\*.*(leak|not freed)",
    r"Memory manager not clean",
    # Only a debug kernel has these.
    r"ODEBUG", r"possible (circular|recursive|irq lock)", r"inconsistent lock", r"suspicious RCU",
    r"Invalid wait context", r"bad unlock", r"unreferenced object", r"leaked")))

# What a kernel says of itself when it starts, and what its fault injection says.
FINE = re.compile("|".join((
    # The words of its command line may have the names of checkers.
    r"ommand line: ", r"RCU CPU stall warnings timeout set to",
    r"DMA-API: preallocated", r"DMA-API: debugging enabled", r"KernelAddressSanitizer initialized",
    r"DMA-API: dma_debug_entry pool grown", r"VM_FAULT_OOM leaked out")))

# The DMA debugger has three bits to count how often a cache line is mapped. A buffer that shows
# the same page of a program more often than that is no error, but the debugger can't know.
FINE_REPORT = re.compile(r"DMA-API: exceeded \d+ overlapping mappings of cacheline")
REPORT = re.compile(r"^[^\n]*-+\[ cut here \]-+\n.*?-+\[ end trace [^\n]*$", re.M | re.S)


def bad_lines(text):
    """The lines of a kernel log that report an error, in their order."""
    text = REPORT.sub(lambda report: "" if FINE_REPORT.search(report[0]) else report[0], text)
    return [line for line in text.splitlines() if BAD.search(line) and not FINE.search(line)]


def left_in(folder):
    """The kernel logs that machines have left in a folder or below it.

    Of each machine it is dmesg.txt, or the console where the guest has left no other log.
    """
    folders = {path.parent for name in ("dmesg.txt", "console.txt")
               for path in pathlib.Path(folder).rglob(name)}
    logs = []
    for where in sorted(folders):
        found = [where / name for name in ("dmesg.txt", "console.txt")
                 if (where / name).exists() and (where / name).stat().st_size]
        logs += found[:1]
    return logs


def judge(folder):
    """(log, lines that report an error) of each kernel log in a folder or below it."""
    return [(log, bad_lines(log.read_text(encoding="utf-8", errors="replace")))
            for log in left_in(folder)]


def panic(text):
    """Why the kernel panicked, or None."""
    match = re.search(r"Kernel panic - (?:not syncing: )?(.*)", text)
    return match[1].strip() if match else None
