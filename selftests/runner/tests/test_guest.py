# SPDX-License-Identifier: MIT
"""What the runner makes of what a guest has left."""

import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import guest, results
from runner.schedule import Broken

TAP = "1..1\nok 1 - first\n# exit 0\n"


class Job:
    """A job whose machine leaves the files of a table."""

    def __init__(self, out, files, left=1000):
        self.out = out
        self.files = files
        self.seconds = left
        self.suite = types.SimpleNamespace(name="suite", limit=1800)
        self.choice = None
        self.cases = []

    def left(self):
        return self.seconds

    def add(self, cases):
        self.cases += cases

    def log_tail(self, _log):
        return []

    def run(self, argv, _log, limit, env):
        self.limits = argv[argv.index("--timeout") + 1], limit
        for name, text in self.files.items():
            path = self.out / "suite" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return types.SimpleNamespace(status=0)


class Guest(unittest.TestCase):
    """Machines with tests."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def job(self, files, **options):
        return Job(pathlib.Path(self.folder.name), {"dmesg.txt": "[ 0.0] hello\n", **files},
                   **options)

    def run_tests(self, files):
        """The titles of what failed, after a kselftest."""
        job = self.job(files)
        guest.Kselftests("suite").run(job)
        return [case.title for case in job.cases if case.outcome == results.FAILED]

    def test_every_program_has_left_tap(self):
        self.assertEqual(self.run_tests({"tap/a.tap": TAP, "tap/programs.txt": "a\n"}), [])

    def test_a_program_without_tap_fails(self):
        self.assertEqual(self.run_tests({"tap/a.tap": TAP, "tap/programs.txt": "a\nb\n"}),
                         ["b:end"])

    def test_no_list_of_programs_is_a_failure(self):
        with self.assertRaises(Broken):
            self.run_tests({"tap/a.tap": TAP})

    def test_the_kernel_log_is_judged_without_tap(self):
        job = self.job({"dmesg.txt": "[ 1.0] BUG: a NULL pointer\n"})
        with self.assertRaises(Broken):
            guest.Kselftests("suite").run(job)
        self.assertEqual([(case.name, case.outcome) for case in job.cases],
                         [("kernel log", results.FAILED)])

    def test_neuron_vm_ends_before_the_runner_does(self):
        for left, wanted in ((1000, (940, 1000)), (20, (1, 61)), (5000, (1800, 1860))):
            job = self.job({}, left=left)
            guest.machine(job, "suite", task="run")
            self.assertEqual(job.limits, wanted)


if __name__ == "__main__":
    unittest.main()
