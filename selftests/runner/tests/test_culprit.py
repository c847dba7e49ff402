# SPDX-License-Identifier: MIT
"""The program of a fuzzer's log that a kernel's report belongs to."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import culprit

FIRST = "program threads=1\nCLAIM count=0x1\n"
SECOND = "program threads=2\nCLOSE fd=$fd0\n"
STATE = "     10 s        13 programs\n"
FINE = "# kernel: neuron 0000:00:02.0: core 0: job 1 failed\n"
BAD = "# kernel: BUG: KASAN: use-after-free in neuron_submit\n"
END = "# 2 programs, seed 1: fine\n"


def log(*parts):
    """A log whose programs have numbers."""
    return "".join(f"# program {number}\n{part}\n" if part.startswith("program") else part
                   for number, part in enumerate(parts))


def test_nothing_was_wrong():
    assert culprit.suspects(log(FIRST, FINE, STATE, SECOND, FINE, END)) == []


def test_last_before_the_report():
    found = culprit.suspects(log(FIRST, BAD, SECOND, END))
    assert [FIRST in text for text in found] == [True]
    assert "KASAN" in found[0]


def test_those_before_it_come_first():
    found = culprit.suspects(log(FIRST, SECOND, FINE, STATE, BAD, END))
    assert [text.splitlines()[1] for text in found] == ["program threads=1", "program threads=2"]
    assert STATE not in "".join(found)


def test_the_kernel_did_not_survive():
    found = culprit.suspects(log(FIRST, "# program 1\nprogram threads=2\nCLOSE fd"))
    assert found[-1].splitlines()[1:] == ["program threads=2", "CLOSE fd"]


def test_only_the_last_are_kept():
    assert len(culprit.suspects(log(*[FIRST] * 50, BAD))) == culprit.KEPT
