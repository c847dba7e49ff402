# SPDX-License-Identifier: MIT
"""How suites are run, and how they end."""

import contextlib
import io
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import cli, report, results, schedule, stages, suites, work
from neuron_vm import process

GENEROUS = 120


class Work:
    """A suite that does what it is told."""

    def __init__(self, function):
        self.run = function

    def programs(self, _job):
        return ["program"]


def runs(pid):
    """Does the process run? One that has ended may wait for init to notice."""
    try:
        stat = pathlib.Path("/proc", pid, "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def passes(job):
    job.add([results.Case("program", "case", results.PASSED)])


def suite(name, function, lane="native", limit=GENEROUS, needs=()):
    return schedule.Suite(name, lane, 1, limit, "a test", Work(function), needs)


class Planned(unittest.TestCase):
    """The time that the budgets of suites add up to."""

    @staticmethod
    def planned(*rows):
        return schedule.planned([schedule.Suite(name, lane, budget, GENEROUS, "a test", None, needs)
                                 for name, lane, budget, *needs in rows])

    def test_suites_of_a_lane_follow_each_other(self):
        self.assertEqual(self.planned(("a", "native", 5), ("b", "native", 7)), 12)

    def test_lanes_run_side_by_side(self):
        self.assertEqual(self.planned(("a", "native", 5), ("b", "vm", 7)), 7)

    def test_a_lane_waits_for_what_a_suite_needs(self):
        self.assertEqual(self.planned(("a", "vm", 40), ("b", "native", 7, "a"),
                                      ("c", "native", 1), ("d", "native", 1, "elsewhere")), 49)

    def test_the_lane_that_is_done_takes_what_may_run_in_either(self):
        self.assertEqual(self.planned(("a", "native", 10), ("b", "vm", 3), ("c", "either", 4),
                                      ("d", "either", 2), ("e", "either", 5)), 14)

    def test_nothing_takes_no_time(self):
        self.assertEqual(self.planned(), 0)


class Lanes(unittest.TestCase):
    """Two lanes, their limits and their end."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.processes = process.Processes()
        self.report = report.Report("check", "suite")
        self.lanes = schedule.Lanes(pathlib.Path(self.folder.name), self.processes, self.report,
                                    results.SkipRules(""))

    def run_all(self, *suites):
        """(passed, failed, skipped) of each suite."""
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed):
            self.lanes.run(list(suites))
            self.good = self.report.last_line()
        return {outcome.name: results.count(outcome.cases) for outcome in self.report.outcomes}

    def test_a_suite_passes_and_leaves_its_xml(self):
        self.assertEqual(self.run_all(suite("a", passes)), {"a": (1, 0, 0)})
        self.assertTrue(self.good)
        self.assertTrue((self.lanes.out / "a.xml").exists())
        self.assertTrue(self.printed.getvalue().endswith("\n1 passed, 0 failed, 0 skipped\n"))

    def test_a_suite_without_results_fails(self):
        self.assertEqual(self.run_all(suite("a", lambda job: None)), {"a": (0, 1, 0)})
        self.assertFalse(self.good)

    def test_a_mistake_in_the_runner_fails_its_suite_only(self):
        def breaks(_job):
            raise KeyError("x")
        counts = self.run_all(suite("a", breaks), suite("b", passes))
        self.assertEqual(counts, {"a": (0, 1, 0), "b": (1, 0, 0)})

    def test_a_suite_that_cannot_leave_its_xml_fails(self):
        def removes(job):
            passes(job)
            shutil.rmtree(self.lanes.out)
        counts = self.run_all(suite("a", removes), suite("b", passes))
        self.assertEqual(counts, {"a": (1, 1, 0), "b": (1, 0, 0)})

    def test_a_lane_that_breaks_counts_what_it_did_not_run(self):
        def breaks(_outcome):
            raise KeyError("x")
        self.lanes.keep = breaks
        with unittest.mock.patch.object(threading, "excepthook", lambda *_: None):
            counts = self.run_all(suite("a", passes), suite("b", passes),
                                  suite("c", passes, "vm", needs=("b",)))
        self.assertEqual(counts, {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 1, 0)})

    def test_a_lane_that_waits_for_the_other_sees_the_end_from_outside(self):
        def waits(_job):
            self.processes.cancel()
            self.assertTrue(other_ended.wait(GENEROUS))
            raise process.Cancelled
        other_ended = threading.Event()
        end, why = self.report.end, {}

        def tells(outcome):
            end(outcome)
            why[outcome.name] = outcome.cases[0].why
            if outcome.name == "b":
                other_ended.set()
        self.report.end = tells
        counts = self.run_all(suite("a", waits), suite("b", passes, "vm", needs=("a",)))
        self.assertEqual(counts, {"b": (0, 1, 0), "a": (0, 1, 0)})
        self.assertIn("ended before", why["b"])

    def test_what_needs_a_suite_that_failed_fails(self):
        def breaks(_job):
            raise schedule.Broken("no")
        counts = self.run_all(suite("build", breaks, "vm"), suite("a", passes, needs=("build",)),
                              suite("b", passes))
        self.assertEqual(counts, {"build": (0, 1, 0), "a": (0, 1, 0), "b": (1, 0, 0)})

    def test_a_free_lane_takes_what_may_run_in_either(self):
        long_one = threading.Event()

        def waits(job):
            self.assertTrue(long_one.wait(GENEROUS))
            passes(job)

        def ends_it(job):
            long_one.set()
            passes(job)
        counts = self.run_all(suite("a", waits), suite("b", passes, "vm"),
                              suite("c", passes, schedule.EITHER, needs=("b",)),
                              suite("d", ends_it, schedule.EITHER))
        self.assertEqual(counts, {name: (1, 0, 0) for name in "bcda"})

    def test_suites_of_either_lane_need_no_other(self):
        self.assertEqual(self.run_all(suite("a", passes, schedule.EITHER)), {"a": (1, 0, 0)})

    def test_a_lane_that_breaks_leaves_the_rest_to_the_other(self):
        def breaks(outcome):
            if outcome.name == "a":
                raise KeyError("x")
        self.lanes.keep = breaks
        with unittest.mock.patch.object(threading, "excepthook", lambda *_: None):
            counts = self.run_all(suite("a", passes), suite("b", passes, "vm"),
                                  suite("c", passes, schedule.EITHER))
        self.assertEqual(counts, {"a": (1, 0, 0), "b": (1, 0, 0), "c": (1, 0, 0)})

    def test_the_lanes_run_side_by_side(self):
        meeting = threading.Barrier(2, timeout=GENEROUS)

        def meets(job):
            meeting.wait()
            passes(job)
        counts = self.run_all(suite("a", meets), suite("b", meets, "vm"))
        self.assertEqual(counts, {"a": (1, 0, 0), "b": (1, 0, 0)})

    def test_a_skip_that_is_not_allowed_fails(self):
        def skips(job):
            job.add([results.Case("program", "case", results.SKIPPED, "why")])
        self.assertEqual(self.run_all(suite("a", skips)), {"a": (0, 1, 0)})

    def test_a_program_that_hangs_is_ended_with_its_children(self):
        def hangs(job):
            job.must(["sh", "-c", "sleep 1000 & echo $!; wait"], "log")
        self.assertEqual(self.run_all(suite("a", hangs, limit=1)), {"a": (0, 1, 0)})
        child = (self.lanes.out / "a" / "log").read_text().split()[0]
        self.assertFalse(runs(child))

    def test_a_tick_that_breaks_ends_the_program(self):
        log = pathlib.Path(self.folder.name) / "log"

        def breaks():
            if log.read_text():
                raise KeyError("x")
        with self.assertRaises(KeyError):
            self.processes.run(["sh", "-c", "echo $$; exec sleep 1000"], log, GENEROUS, tick=breaks)
        self.assertFalse(runs(log.read_text().split()[0]))

    def test_the_end_from_outside_counts_what_is_missing(self):
        def first(job):
            passes(job)
            threading.Timer(0.2, self.processes.cancel).start()
            job.must(["sleep", "1000"], "log")
        begin = time.monotonic()
        counts = self.run_all(suite("a", first), suite("b", passes))
        self.assertEqual(counts, {"a": (1, 1, 0), "b": (0, 1, 0)})
        self.assertLess(time.monotonic() - begin, GENEROUS)
        self.assertTrue(self.printed.getvalue().endswith("1 passed, 2 failed, 0 skipped\n"))

    def test_a_program_that_is_missing(self):
        def starts(job):
            job.must(["/nonexistent/program"], "log")
        self.assertEqual(self.run_all(suite("a", starts)), {"a": (0, 1, 0)})

    def test_each_failure_has_a_line_that_repeats_it(self):
        def fails(job):
            job.add([results.failed("test_cc", "name", "why"),
                     results.failed("test_cc", results.END, "crash")])
        self.run_all(suite("kselftest", fails))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.report.repeats("SUITE")
        self.assertEqual(printed.getvalue().split("\n")[1:3],
                         ["repeat: make check SUITE=kselftest TEST=test_cc:name",
                          "repeat: make check SUITE=kselftest TEST=test_cc"])

    def repeated(self, **counts):
        """What is printed to repeat so many failures of some suites; the last line apart."""
        def fails(job):
            job.add([results.failed("test_cc", f"case{i}", "why")
                     for i in range(counts[job.suite.name])])
        self.run_all(*(suite(name, fails) for name in counts))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.report.repeats("SUITE")
        *lines, last = printed.getvalue().strip().split("\n")
        return len(lines), last

    def test_many_failures_have_a_line_each(self):
        self.assertEqual(self.repeated(a=report.REPEATS - 1, b=1),
                         (report.REPEATS - 1, "repeat: make check SUITE=b TEST=test_cc:case0"))

    def test_one_line_repeats_the_suites_of_the_rest(self):
        self.assertEqual(self.repeated(a=report.REPEATS - 1, b=3, c=4),
                         (report.REPEATS, "and 6 more, which the XML files in build name; "
                                          "repeat: make check SUITE=b,c"))

    def test_the_line_that_repeats_a_failure_survives_the_shell_and_make(self):
        self.run_all(suite("vm", lambda job: job.add(
            [results.failed("test_x", "test_y[it's $HOME \"a\"]", "why")])))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.report.repeats("SUITE")
        words = shlex.split(printed.getvalue())
        makefile = pathlib.Path(self.folder.name) / "Makefile"
        makefile.write_text('check:\n\t@printf %s "$$TEST"\n')
        # The make that runs this test hands its own variables over.
        env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        done = subprocess.run([*words[1:], "-s", "-f", str(makefile)], check=True, env=env,
                              stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "test_x:test_y[it's $HOME \"a\"]")

    def test_pytest_gets_a_name_or_a_part_of_one(self):
        path = pathlib.Path(self.folder.name) / "test_x.py"
        path.write_text("def test_a():\n    pass\n"
                        "class TestB:\n    def test_c(self):\n        pass\n")
        for case, wanted in (("test_a", (f"{path}::test_a", [])),
                             ("test_a[--chips two]", (f"{path}::test_a[--chips two]", [])),
                             ("TestB::test_c", (f"{path}::TestB::test_c", [])),
                             ("test_c", (path, ["-k", "test_c"])),
                             ("a or c", (path, ["-k", "a or c"]))):
            self.assertEqual(work.select(path, case), wanted)


class CommandLine(unittest.TestCase):
    """How the program ends before a suite runs."""

    def status(self, error):
        with unittest.mock.patch.object(cli, "run_check", side_effect=error), \
             unittest.mock.patch.object(sys, "argv", ["runner", "check"]), \
             contextlib.redirect_stderr(io.StringIO()) as said:
            status = cli.main()
        self.assertEqual(said.getvalue().count("\n"), 1)
        return status

    def test_what_ends_the_search_for_a_test_is_one_line(self):
        self.assertEqual(self.status(schedule.Unknown("no")), 2)
        self.assertEqual(self.status(schedule.Broken("no", ["x", "y"])), 1)
        self.assertEqual(self.status(process.Cancelled()), 1)


class Table(unittest.TestCase):
    """The suites of make check."""

    def test_every_file_of_the_machines_is_in_a_suite(self):
        """Those that need the debug kernel or many chips are in a stage."""
        files = {path.stem for path in (schedule.ROOT / "selftests/vm").glob("test_*.py")}
        works = [suite.work for suite in (*suites.SUITES, *stages.NIGHTLY)]
        parts = [part for kind in works
                 for part in (kind.parts if isinstance(kind, work.Several) else [kind])]
        named = {name for part in parts if getattr(part, "folder", "") == "selftests/vm"
                 for name in part.only}
        self.assertEqual(sorted(named), sorted(files))


if __name__ == "__main__":
    unittest.main()
