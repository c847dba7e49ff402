# SPDX-License-Identifier: MIT
"""make coverage: whose counters it takes, and that its exit status says what went wrong."""

import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

SELFTESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SELFTESTS), str(SELFTESTS / "coverage")]

import coverage
from neuron_vm import MachineError
from runner import counters, stages

DRIVER = {"driver/neuron_drv.c": "int a;\n", "driver/tests/neuron_kunit_hbm.c": "int b;\n"}


class Ended:
    """Steps of which each ends with the same status; None is the time limit."""

    def __init__(self, status):
        self.status = status

    def run(self, *_):
        return self.status

    def line(self, *_):
        pass


class Folder(unittest.TestCase):
    """Each test has a folder with a driver's source."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in DRIVER.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Counters(Folder):
    """Those of the driver belong to one source."""

    def gather(self):
        """The stages whose counters are taken, and what is said."""
        notes = coverage.Notes()
        found = coverage.gather_driver(self.root / "build", notes, self.root)
        self.assertEqual(notes.status(), 0)
        return [folder.parent.name for folder in found], notes.lines

    def leave(self, stage):
        """What a stage leaves of a guest that counted."""
        out = self.root / "build" / "check-nightly" / stage
        self.write(f"build/check-nightly/{stage}/guest/gcov/neuron_drv.gcda", "")
        job = types.SimpleNamespace(out=out, must=lambda *_: None, run=lambda *_, **__: None)
        with unittest.mock.patch.multiple(stages, ROOT=self.root, DEBUG=self.root / "debug"), \
                unittest.mock.patch.multiple(stages.guest, machine=lambda *_, **__: 0,
                                             must_be_installed=lambda *_: None,
                                             judge_tests=lambda *_: None):
            stages.debug_machine(job, "guest", args="")
            stages.coverage(job, "guest")

    def test_of_the_same_driver(self):
        self.leave("debug-suite")
        self.assertEqual(self.gather(), (["debug-suite"], []))

    def test_of_another_driver(self):
        self.leave("debug-suite")
        self.write("driver/neuron_drv.c", "\nint a;\n")
        self.leave("debug-fail")
        taken, said = self.gather()
        self.assertEqual(taken, ["debug-fail"])
        self.assertEqual(len(said), 1)
        self.assertIn("debug-suite", said[0])

    def test_of_an_unknown_driver(self):
        self.leave("debug-suite")
        (self.root / "build/check-nightly/debug-suite/coverage" / counters.STAMP).unlink()
        self.assertEqual(self.gather()[0], [])

    def test_each_difference_has_a_digest_of_its_own(self):
        digests = [counters.source(self.root)]
        self.write("driver/neuron_drv.c", "int b;\n")
        digests.append(counters.source(self.root))
        self.write("driver/neuron_drv.h", "")
        digests.append(counters.source(self.root))
        (self.root / "driver/neuron_drv.h").rename(self.root / "driver/neuron_dry.h")
        digests.append(counters.source(self.root))
        self.write("driver/tests/neuron_kunit_hbm.c", "")
        digests.append(counters.source(self.root))
        self.assertEqual(len(set(digests)), len(digests))


class Status(Folder):
    """What went wrong is in the exit status."""

    def native(self, status):
        notes = coverage.Notes()
        coverage.run_native(Ended(status), self.root, notes)
        return notes

    def test_all_is_well(self):
        self.assertEqual(self.native(0).status(), 0)

    def test_a_native_test_fails(self):
        notes = self.native(3)
        self.assertEqual(notes.status(), 1)
        self.assertIn("3 native tests failed", notes.lines[0])

    def test_the_native_tests_take_too_long(self):
        notes = self.native(None)
        self.assertEqual(notes.status(), 1)
        self.assertIn("were ended after", notes.lines[0])

    def guest(self, run):
        """What is said of a VM with one test, of which run() is called."""
        notes = coverage.Notes()

        class Machine:
            """A machine that has the files of a test."""

            def __init__(self, *_, **__):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

            def output(self, words):
                return "/test_nrt" if words.startswith("ls ") else ""

            def run(self, *_, **__):
                return run()

            def spawn(self, *_, **__):
                return unittest.mock.Mock()

        with unittest.mock.patch.object(coverage, "Machine", Machine), \
                unittest.mock.patch.dict(coverage.os.environ), \
                unittest.mock.patch.object(coverage.time, "sleep"):
            coverage.run_guest(Ended(0), self.root, notes)
        return notes

    def test_the_machine_dies(self):
        def die():
            raise MachineError("it has died")
        notes = self.guest(die)
        self.assertEqual(notes.status(), 1)
        self.assertIn("it has died", notes.lines[0])

    def test_a_test_in_the_machine_fails(self):
        done = types.SimpleNamespace(returncode=1, stdout="", stderr="not ok")
        self.assertEqual(self.guest(lambda: done).status(), 1)

    def test_the_machine_is_well(self):
        done = types.SimpleNamespace(returncode=0, stdout="", stderr="")
        notes = self.guest(lambda: done)
        self.assertEqual((notes.lines, notes.status()), ([], 0))

    def run_main(self, status):
        """The exit status of the program when gcovr has found a file."""
        entry = {"file": "driver/neuron_drv.c", "lines": [{"count": 1}]}
        with unittest.mock.patch.multiple(
                coverage, Steps=lambda: types.SimpleNamespace(begin=0.0), trace=lambda *_: "",
                run_native=lambda _steps, _out, notes: status and notes.fail("it failed"),
                run_guest=lambda *_: None, gather_guest=lambda out: out,
                merge=lambda *_: [entry]), \
                unittest.mock.patch("sys.argv", ["coverage.py", "--build", str(self.root)]), \
                unittest.mock.patch("builtins.print"):
            self.write("coverage/index.html", "<body></body>")
            found = coverage.main()
        return found, (self.root / "coverage/index.html").read_text()

    def test_the_program_ends_with_it(self):
        self.assertEqual(self.run_main(0)[0], 0)
        found, page = self.run_main(1)
        self.assertEqual(found, 1)
        self.assertIn("it failed", page)


if __name__ == "__main__":
    unittest.main()
