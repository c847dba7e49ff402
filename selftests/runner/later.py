# SPDX-License-Identifier: MIT
"""What make check leaves to make check ALL=1, so that its verdict comes within minutes."""

import fnmatch
import os
import pathlib

from . import results

# The plugin of pytest, and what it is told: the cases, and where it leaves their number.
PLUGIN = pathlib.Path(__file__).resolve().parent / "plugin"
CASES = "NEURON_TEST_LATER"
COUNT = "NEURON_TEST_LATER_COUNT"


class Later:
    """The programs and cases of one suite that run later, from the rows of later.table."""

    def __init__(self, suite="", text=""):
        self.programs = []
        self.cases = []
        # What was left out so far: programs, cases.
        self.left_out = [0, 0]
        for suites, title, _ in results.table_rows("later.table", text, 3):
            if results.suite_is(suite, suites):
                program, colon, case = title.partition(":")
                if colon:
                    self.cases.append(f"{program}:{case}")
                else:
                    self.programs.append(program)

    def now(self, programs):
        """Those that run now; their order stays. A row of which no program is there is out of date.
        """
        left = list(programs)
        for pattern in self.programs:
            matches = fnmatch.filter(programs, pattern)
            if not matches:
                raise ValueError(f"selftests/runner/later.table names {pattern}, which is no test")
            left = [program for program in left if program not in matches]
        self.left_out[0] += len(programs) - len(left)
        return left

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
