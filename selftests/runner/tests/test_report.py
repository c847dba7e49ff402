# SPDX-License-Identifier: MIT
"""What README shows of a run is what the runner prints."""

import contextlib
import io
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import report, results
from runner.suites import SUITES

README = pathlib.Path(__file__).resolve().parents[3] / "README.md"
ROW = re.compile(r"(\S+) +(\d+) +(\d+) +(\d+) +(\d+) s +(\d+) s +(\d+) s(?:  over budget)?")
TOTAL = re.compile(r"total +(\d+) s +(\d+) s")
OUTCOMES = (results.PASSED, results.FAILED, results.SKIPPED)


class Readme(unittest.TestCase):
    """The table and the last line, which README has as a reader sees them."""

    def shown(self):
        """The lines from the head of the table to the end of the example."""
        lines = [line[4:].rstrip() for line in README.read_text(encoding="utf-8").splitlines()
                 if line.startswith("    ") or not line.strip()]
        begin = next(i for i, line in enumerate(lines) if line.startswith("suite "))
        end = next(i for i in range(begin, len(lines)) if lines[i].endswith(" skipped"))
        return lines[begin:end + 1]

    def printed(self, rows, seconds):
        """The runner's words for these suites."""
        told = report.Report("check", "suite")
        for name, *counts, spent, cpu, budget in rows:
            cases = [results.Case("program", "case", outcome)
                     for outcome, count in zip(OUTCOMES, counts) for _ in range(count)]
            told.outcomes.append(report.Outcome(name, budget, cases, spent, cpu))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            told.table(seconds)
            told.last_line()
        return printed.getvalue().strip().splitlines()

    def test_the_example_is_the_output(self):
        shown = self.shown()
        rows = [(match[1], *map(int, match.groups()[1:])) for match in map(ROW.fullmatch, shown)
                if match]
        total = next(match for match in map(TOTAL.fullmatch, shown) if match)
        self.assertGreater(len(rows), 1)
        printed = self.printed(rows, int(total[1]))
        # The runner adds up what it then rounds.
        self.assertAlmostEqual(int(total[2]), sum(row[5] for row in rows), delta=len(rows))
        self.assertEqual([line for line in shown if not TOTAL.fullmatch(line)],
                         [line for line in printed if not TOTAL.fullmatch(line)])

    def test_the_example_has_suites_of_today(self):
        budgets = {suite.name: suite.budget for suite in SUITES}
        for match in filter(None, map(ROW.fullmatch, self.shown())):
            self.assertEqual(budgets.get(match[1]), int(match[7]), match[1])


if __name__ == "__main__":
    unittest.main()
