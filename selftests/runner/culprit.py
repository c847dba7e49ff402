#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which program of fuzz-ioctls was it: culprit.py LOG

LOG is what fuzz-ioctls --log has written: each program before it ran, and between them the lines
of the kernel. Prints the programs that ran before the first line with which the kernel reports
an error, the last one last, in the form that fuzz-ioctls --replay reads.
"""

import pathlib
import re
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from neuron_vm import klog

PROGRAM = re.compile(r"# program \d+$")
KERNEL = "# kernel: "
END = re.compile(r"# \d+ programs, seed \d+: ")
# A program may leave something that only a later one stumbles over.
KEPT = 20


def suspects(text, kept=KEPT):
    """The last programs before the first bad line; before the end of a log that was cut off.

    None of them when there is no such line and the log is complete.
    """
    programs, lines = [], None
    for line in text.splitlines():
        if line.startswith(KERNEL) and klog.bad_lines(line):
            return finish(programs, lines, [line])[-kept:]
        if END.match(line):
            return []
        if PROGRAM.match(line):
            programs = finish(programs, lines)[-kept:]
            lines = [line]
        elif not line:
            programs, lines = finish(programs, lines), None
        elif lines is not None and not line.startswith("#"):
            lines.append(line)
    return finish(programs, lines)[-kept:]


def finish(programs, lines, after=()):
    """The list with one program more. What was said after the last one goes with it."""
    if lines:
        return programs + ["\n".join([*lines, *after, ""])]
    if after and programs:
        return programs[:-1] + [programs[-1] + "\n".join([*after, ""])]
    return programs


def main(path):
    """Exit status 1: there are some."""
    found = suspects(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
    print("\n".join(found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    sys.exit(main(sys.argv[1]))
