# SPDX-License-Identifier: MIT
"""What the runner makes of what a guest has left."""

import pathlib
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import guest, results, stages
from runner.later import Later
from runner.schedule import Broken
from neuron_vm import MachineError, process
from neuron_vm.errors import EndedError

TAP = "1..1\nok 1 - first\n# exit 0\n"


class Machine:
    """A machine that leaves the files of a table, and whose task ends as it is told."""

    files = {}
    error = None
    words = limit = None

    def __init__(self, *words, out, start, note):
        type(self).words = words
        self.out = pathlib.Path(out)
        self.killed = threading.Event()
        for name, text in self.files.items():
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def start(self):
        pass

    def alive(self):
        return not self.killed.is_set()

    def kill(self):
        self.killed.set()

    def cpu_seconds(self):
        return 1.5

    def task(self, sinks, limit):
        type(self).limit = limit
        sinks[0](b"the task says hello\n")
        if self.error:
            raise self.error
        return 0


class Endless(Machine):
    """One whose task does not end by itself."""

    def task(self, sinks, limit):
        assert self.killed.wait(60)
        raise EndedError("killed")


class Job:
    """A job of the runner."""

    def __init__(self, out, left=1000):
        self.out = out
        self.seconds = left
        self.suite = types.SimpleNamespace(name="suite", limit=1800)
        self.choice = None
        self.later = Later()
        self.cases = []
        self.cpu = 0.0
        self.processes = process.Processes()

    def left(self):
        return self.seconds

    def add(self, cases):
        self.cases += cases

    def must(self, argv, log, append=False):
        pass

    def log_tail(self, log):
        return process.tail(self.out / log)


class Guest(unittest.TestCase):
    """Machines with tests."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def job(self, files, kind=Machine, error=None, **options):
        made = type("Made", (kind,), {"files": {"dmesg.txt": "[ 0.0] hello\n", **files},
                                      "error": error})
        patch = unittest.mock.patch.object(guest, "Machine", made)
        patch.start()
        self.addCleanup(patch.stop)
        self.made = made
        return Job(pathlib.Path(self.folder.name), **options)

    def install(self, sources, installed):
        """Sources of kselftests, and the programs that the guest has."""
        tests = pathlib.Path(self.folder.name, "tests")
        programs = pathlib.Path(self.folder.name, "programs")
        for folder, names in ((tests, sources), (programs, installed)):
            folder.mkdir()
            for name in names:
                (folder / name).touch(mode=0o755)
        for name, folder in (("DRIVER_TESTS", tests), ("NRT_TESTS", tests),
                             ("INSTALLED", programs)):
            patch = unittest.mock.patch.object(guest, name, folder)
            patch.start()
            self.addCleanup(patch.stop)

    def run_tests(self, files):
        """The titles of what failed, after a kselftest."""
        self.install([], [])
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

    def test_the_guest_has_every_program(self):
        self.install(["test_a.c", "test_nrt_b.c", "test_nrt_c.py"], ["test_a", "test_nrt_b"])
        job = self.job({"tap/test_a.tap": TAP, "tap/programs.txt": "test_a\n"})
        guest.Kselftests("suite").run(job)
        self.assertEqual(self.made.words[-4:-2], ("--args", ""))

    def test_the_guest_is_told_what_runs_later(self):
        self.install(["test_a.c", "test_b.c"], ["test_a", "test_b"])
        job = self.job({"tap/test_a.tap": TAP, "tap/programs.txt": "test_a\n"})
        job.later = Later("suite", "suite | test_b | all | it takes long")
        guest.Kselftests("suite").run(job)
        self.assertEqual(self.made.words[-4:-2], ("--args", "--but test_b"))

    def test_a_program_that_the_guest_does_not_have(self):
        self.install(["test_a.c", "test_nrt_b.c"], ["test_a"])
        job = self.job({"tap/test_a.tap": TAP, "tap/programs.txt": "test_a\n"})
        for suite in (guest.Kselftests("suite"), stages.DebugSuite(),
                      stages.DebugSuite(tests=["test_nrt_b"])):
            with self.assertRaisesRegex(Broken, "^the guest has no kselftest test_nrt_b: [^\n]*$"):
                suite.run(job)
        self.assertIsNone(self.made.words)

    def test_the_kernel_log_is_judged_without_tap(self):
        self.install([], [])
        job = self.job({"dmesg.txt": "[ 1.0] BUG: a NULL pointer\n"})
        with self.assertRaises(Broken):
            guest.Kselftests("suite").run(job)
        self.assertEqual([(case.name, case.outcome) for case in job.cases],
                         [("kernel log", results.FAILED)])

    def test_a_machine_has_time_to_save(self):
        for left, wanted in ((1000, (940, "1000")), (20, (1, "61")), (5000, (1800, "1860"))):
            job = self.job({}, left=left)
            self.assertEqual(guest.machine(job, "suite", task="run"), 0)
            words = self.made.words
            self.assertEqual((self.made.limit, words[words.index("--timeout") + 1]), wanted)

    def test_the_log_and_the_processors(self):
        job = self.job({})
        guest.machine(job, "suite", task="run")
        self.assertEqual(job.log_tail("suite.log"), ["the task says hello"])
        self.assertEqual(job.cpu, 1.5)

    def test_machines_that_end_too_early(self):
        for error, status in ((EndedError("a panic"), 125), (EndedError("late", 124), 124),
                              (MachineError("has not ended"), process.TIME_LIMIT)):
            job = self.job({}, error=error)
            self.assertEqual(guest.machine(job, "suite", task="run"), status)
            self.assertEqual(job.log_tail("suite.log")[-1], f"neuron-vm: {error}")
            guest.Task("suite").run(job)
            self.assertEqual([case.outcome for case in job.cases],
                             [results.FAILED, results.PASSED])

    def test_the_end_of_the_run_ends_the_machine(self):
        job = self.job({}, kind=Endless)
        threading.Timer(0.2, job.processes.cancel).start()
        with self.assertRaises(process.Cancelled):
            guest.machine(job, "suite", task="run")


if __name__ == "__main__":
    unittest.main()
