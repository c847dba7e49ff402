# SPDX-License-Identifier: MIT
"""What make check leaves to make check ALL=1 or to make check-nightly."""

import fnmatch
import os
import pathlib

from . import results

# The plugin of pytest, and what it is told: the cases, and where it leaves their number.
PLUGIN = pathlib.Path(__file__).resolve().parent / "plugin"
CASES = "NEURON_TEST_LATER"
COUNT = "NEURON_TEST_LATER_COUNT"


TABLE = pathlib.Path(__file__).with_name("later.table")
# Who runs the tests of a row.
RUNS = ("all", "nightly")


class Later:
    """The programs and cases of one suite that run later, from the rows of later.table.

    whole: with ALL=1, which leaves out what is for the night.
    """

    def __init__(self, suite="", text="", whole=False):
        self.programs = []
        self.cases = []
        # What was left out so far: programs, cases.
        self.left_out = [0, 0]
        for suites, title, runs, _ in results.table_rows("later.table", text, 4):
            if runs not in RUNS:
                raise ValueError(f"selftests/runner/later.table says {runs} of {title}, not one of "
                                 + ", ".join(RUNS))
            if whole and runs == "all" or not results.suite_is(suite, suites):
                continue
            program, colon, case = title.partition(":")
            if colon:
                self.cases.append(f"{program}:{case}")
            else:
                self.programs.append(program)

    def rest(self, programs):
        """Those that run later; their order stays. A row of which no program is there is out of
        date.
        """
        found = set()
        for pattern in self.programs:
            matches = fnmatch.filter(programs, pattern)
            if not matches:
                raise ValueError(f"selftests/runner/later.table names {pattern}, which is no test")
            found.update(matches)
        return [program for program in programs if program in found]

    def now(self, programs):
        """Those that run now; their order stays."""
        rest = set(self.rest(programs))
        self.left_out[0] += len(rest)
        return [program for program in programs if program not in rest]

    def pytest(self, count):
        """(options, environment) with which pytest leaves cases out and writes their number."""
        if not self.cases:
            return [], {}
        path = os.pathsep.join(filter(None, [str(PLUGIN), os.environ.get("PYTHONPATH")]))
        return ["-p", "pytest_later"], {CASES: "\n".join(self.cases), COUNT: str(count),
                                        "PYTHONPATH": path}

    def count_cases(self, count):
        """Read the number that pytest has left, if it came so far."""
        if count.exists():
            self.left_out[1] += int(count.read_text(encoding="ascii"))
