# SPDX-License-Identifier: MIT
"""What is remembered of the stages of the long tests, and for what."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import cli, report, results, schedule, stages, suites


class Remembered(unittest.TestCase):
    """The name of a state, and what it keeps."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        clean = {name: value for name, value in os.environ.items()
                 if name not in stages.OVERRIDES and not name.startswith("GIT_")}
        patch = unittest.mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def make_commit(self):
        (self.root / "a").write_text("1")
        for words in (["init", "-q"], ["add", "a"],
                      ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"]):
            subprocess.run(["git", "-C", str(self.root), *words], check=True)

    def test_each_difference_has_a_name_of_its_own(self):
        self.make_commit()
        names = [stages.commit(self.root)]
        self.assertNotIn("-", names[0])
        for file, text in (("a", "2"), ("a", "3"), ("new", "1"), ("new", "2")):
            (self.root / file).write_text(text)
            names.append(stages.commit(self.root))
        (self.root / "new").chmod(0o755)
        names.append(stages.commit(self.root))
        for variable in stages.OVERRIDES:
            os.environ[variable] = "1"
            names.append(stages.commit(self.root))
        self.assertEqual(len(set(names)), len(names))

    def test_the_same_files_have_the_same_name(self):
        self.make_commit()
        (self.root / "link").symlink_to("nowhere")
        self.assertEqual(stages.commit(self.root), stages.commit(self.root))

    def test_without_git_nothing_is_kept(self):
        self.assertIsNone(stages.commit(self.root))
        self.assertFalse(self.kept(None))
        self.assertTrue(self.kept("key"))

    def kept(self, key):
        outcome = report.Outcome("stage", 1, [results.Case("p", "c", results.PASSED)])
        stages.State(self.root, key, "").keep(outcome)
        return stages.State(self.root, key, "").passed("stage")


# The goal of the manual.
CHECK = 8 * stages.MINUTE


class Budgets(unittest.TestCase):
    """The time that the tables promise."""

    def test_make_check_fits_its_goal(self):
        self.assertLessEqual(schedule.planned(suites.SUITES), CHECK)

    def test_check_long_fits_an_hour(self):
        self.assertLessEqual(schedule.planned(cli.with_build(stages.LONG)), stages.HOUR)

    def test_each_stage_of_check_nightly_fits_an_hour(self):
        for stage in stages.NIGHTLY:
            self.assertLessEqual(schedule.planned(cli.with_build([stage])), stages.HOUR, stage.name)
            self.assertLessEqual(stage.limit, stages.HOUR, stage.name)

    def test_a_limit_leaves_room_for_the_budget(self):
        for suite in (*suites.SUITES, *stages.LONG, *stages.NIGHTLY):
            self.assertLess(suite.budget, suite.limit, suite.name)

    def test_no_stage_is_in_both_tables(self):
        names = [stage.name for stage in (*stages.LONG, *stages.NIGHTLY)]
        self.assertEqual(len(set(names)), len(names))


if __name__ == "__main__":
    unittest.main()
