# SPDX-License-Identifier: MIT
"""The manual's table of goals says what the benchmarks say, and no goal is called reached that was
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

PAGE = ROOT / "Documentation/benchmarks.rst"
ROW = re.compile(r"^``(\w+)`` +([<>]=) ([\d.,]+) +([\d.,]+) +(\w+)$", re.MULTILINE)
# Where a benchmark of the guest has its goal, if not beside the name of the figure.
DEFINED = {"empty_job_p50": "submit.c", "submit_100k_jobs": "throughput.c"}


def number(text):
    """A number with or without commas."""
    return float(text.replace(",", ""))


def rows():
    """The table as (figure, relation, goal, last, verdict)."""
    table = PAGE.read_text(encoding="utf-8").partition("\nfigure ")[2]
    found = [(name, relation, number(goal), number(last), verdict)
             for name, relation, goal, last, verdict in ROW.findall(table)]
    assert found, f"{PAGE} has no table of goals"
    return found


def goal_of(figure):
    """The goal that the benchmark itself has."""
    if figure in guests.GOALS:
        return guests.GOALS[figure]
    folder = ROOT / "selftests/bench/guest"
    if figure in DEFINED:
        text = (folder / DEFINED[figure]).read_text(encoding="utf-8")
        return float(re.search(r"^#define GOAL\s+([\d.]+)", text, re.MULTILINE)[1])
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.c"))]
    found = re.search(rf'"{figure}",[^}}]*?([\d.]+) \}}', "\n".join(texts))
    assert found, f"no benchmark of the guest has the figure {figure}"
    return float(found[1])


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_row(row):
    """Its goal is the benchmark's, and its verdict follows from its numbers."""
    figure, relation, goal, last, verdict = row
    assert goal == goal_of(figure)
    reached = {"<=": operator.le, ">=": operator.ge}[relation](last, goal)
    assert verdict == ("reached" if reached else "missed")


def test_all_counts():
    """Each count that has a goal is in the table."""
    assert set(guests.GOALS) <= {row[0] for row in rows()}
