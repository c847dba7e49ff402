# SPDX-License-Identifier: MIT
"""What make check leaves to others, and that nothing is lost by that."""

import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "tools")]

from runner import cli, results, stages, suites
from runner.later import TABLE as TABLE_PATH, Later

TABLE = """
# a comment
asan,tsan | nb_sync | all     | long
asan      | *-trn1  | nightly | another generation
nki       | test_x:test_y* | all | long
"""
EXAMPLE = """
import pytest
@pytest.mark.parametrize("n", [1, 2])
def test_y(n): pass
def test_z(): pass
"""


class Rules(unittest.TestCase):
    """The table."""

    def test_programs_of_a_suite(self):
        programs = ["udma", "nb_sync", "udma-trn1"]
        self.assertEqual(Later("asan", TABLE).now(programs), ["udma"])
        self.assertEqual(Later("tsan", TABLE).now(programs), ["udma", "udma-trn1"])
        self.assertEqual(Later("vm", TABLE).now(programs), programs)

    def test_all_leaves_the_night_out(self):
        programs = ["udma", "nb_sync", "udma-trn1"]
        self.assertEqual(Later("asan", TABLE, whole=True).now(programs), ["udma", "nb_sync"])
        self.assertEqual(Later("asan", TABLE, whole=True).rest(programs), ["udma-trn1"])

    def test_without_a_table_nothing_is_left_out(self):
        self.assertEqual(Later("asan", "").now(["nb_sync"]), ["nb_sync"])
        self.assertEqual(Later().pytest("count"), ([], {}))

    def test_a_row_that_is_out_of_date_is_a_mistake(self):
        with self.assertRaisesRegex(ValueError, "nb_sync, which is no test"):
            Later("tsan", TABLE).now(["udma"])

    def test_a_row_has_four_columns(self):
        for text in ("asan | x", "asan | x | all | z | y", "asan | | all | y"):
            with self.assertRaisesRegex(ValueError, "line 1: 4 columns"):
                Later("asan", text)

    def test_somebody_runs_it(self):
        with self.assertRaisesRegex(ValueError, "says never of x"):
            Later("asan", "asan | x | never | y")

    def run_pytest(self, table):
        """The exit status, the output, and how many cases were left out."""
        later = Later("nki", table)
        with tempfile.TemporaryDirectory() as folder:
            test, count = pathlib.Path(folder, "test_x.py"), pathlib.Path(folder, "count")
            test.write_text(EXAMPLE)
            options, environment = later.pytest(count)
            done = subprocess.run(
                ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", *options, test],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                env={**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": "1"})
            later.count_cases(count)
        return done.returncode, done.stdout, later.left_out

    def test_pytest_leaves_the_cases_out_and_counts_them(self):
        status, said, left_out = self.run_pytest(TABLE)
        self.assertEqual(status, 0, said)
        self.assertIn("1 passed, 2 deselected", said)
        self.assertEqual(left_out, [0, 2])

    def test_a_case_that_is_not_there_is_a_mistake(self):
        status, said, _ = self.run_pytest("nki | test_x:test_w* | all | long")
        self.assertEqual(status, 4, said)
        self.assertIn("names test_x:test_w*, which is no test", said)


class Table(unittest.TestCase):
    """The table of this tree."""

    def setUp(self):
        self.rows = results.table_rows("later.table", TABLE_PATH.read_text(), 4)

    def test_each_row_names_suites(self):
        names = [suite.name for suite in suites.SUITES]
        for row in self.rows:
            for name in row[0].split(","):
                self.assertTrue(fnmatch.filter(names, name), row)

    def test_a_stage_runs_what_is_left_to_the_night(self):
        stage = next(row for row in stages.NIGHTLY if row.name == "generations")
        run = [part.rest_of for part in stage.work.parts]
        for row in self.rows:
            if row[2] == "nightly":
                self.assertIn(row[0], run, row)

    def test_with_all_every_suite_runs(self):
        every = [suite.with_all() for suite in suites.SUITES]
        self.assertEqual([suite.name for suite in cli.with_its_build(every, every)],
                         [suite.name for suite in suites.SUITES])

    def test_a_suite_has_two_budgets_where_something_is_left_out(self):
        for suite in suites.SUITES:
            left_out = any(results.suite_is(suite.name, row[0]) for row in self.rows)
            self.assertEqual(bool(suite.whole), left_out, suite.name)
            self.assertLess(suite.with_all().budget, suite.limit, suite.name)


if __name__ == "__main__":
    unittest.main()
