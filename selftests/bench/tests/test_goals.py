# SPDX-License-Identifier: MIT
"""The manual's tables of goals say what the benchmarks say, and no goal is called reached that was
missed.
"""

import operator
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "selftests/bench"))

import guests
import nki_bench

PAGE = ROOT / "Documentation/benchmarks.rst"
ROW = re.compile(r"^``(\w+)`` +([<>]=) ([\d.,]+) +([\d.,]+|none) +(\w+)$", re.MULTILINE)
# Where a benchmark of the guest has its goal.
DEFINED = {"empty_job_p50": "submit.c", "submit_100k_jobs": "throughput.c"}


def number(text):
    """A number with or without commas."""
    return float(text.replace(",", ""))


def rows():
    """The tables as (figure, relation, goal, last, verdict)."""
    table = PAGE.read_text(encoding="utf-8").partition("\nfigure ")[2]
    found = [(name, relation, number(goal), None if last == "none" else number(last), verdict)
             for name, relation, goal, last, verdict in ROW.findall(table)]
    assert found, f"{PAGE} has no table of goals"
    return found


def goal_of(figure):
    """The goal that the benchmark itself has."""
    if figure in guests.GOALS:
        return guests.GOALS[figure]
    if figure in nki_bench.GOALS:
        return nki_bench.GOALS[figure][1]
    text = (ROOT / "selftests/bench/guest" / DEFINED[figure]).read_text(encoding="utf-8")
    return float(re.search(r"^#define GOAL\s+([\d.]+)", text, re.MULTILINE)[1])


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_row(row):
    """Its goal is the benchmark's, and its verdict follows from its numbers."""
    figure, relation, goal, last, verdict = row
    assert goal == goal_of(figure)
    if last is None:
        assert verdict == "open"
        return
    reached = {"<=": operator.le, ">=": operator.ge}[relation](last, goal)
    assert verdict == ("reached" if reached else "missed")


def test_all_goals():
    """Each figure of the path of a job that has a goal is in a table, and each of kernels."""
    assert set(guests.GOALS) | set(DEFINED) | set(nki_bench.GOALS) == {row[0] for row in rows()}
