# SPDX-License-Identifier: MIT
"""Suites, what they are given to work with, and the lanes in which they run.

Two lanes run side by side: programs of the host in one, machines in the other. Within a
lane the order is that of the table. What may run in either is taken by the lane that is first
done with its own, so that both end at about the same time.
"""

import os
import pathlib
import shutil
import threading
import time
import traceback
from dataclasses import dataclass, replace

from neuron_vm import process

from . import results
from .later import Later
from .report import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build"))
TOOLS = ROOT / "tools" / "build"
# Seconds that a lane waits before it looks again.
SLICE = 0.2
# The lane of a suite that may run in any.
EITHER = "either"


class Broken(Exception):
    """A suite cannot go on; the lines say more."""

    def __init__(self, why, lines=()):
        super().__init__(why)
        self.lines = list(lines)


class Unknown(Broken):
    """TEST= names what does not exist."""


@dataclass(frozen=True)
class Choice:
    """What TEST= asks for."""

    program: str
    case: str = ""

    @classmethod
    def parse(cls, text):
        """program, or program:case"""
        program, _, case = text.partition(":")
        return cls(program, case)


@dataclass(frozen=True)
class Suite:
    """A row of the table: budget and limit are in seconds. No suite may need one of EITHER lane.

    whole: the budget with what later.table leaves out of it; 0 means that nothing is left out.
    """

    name: str
    lane: str
    budget: int
    limit: int
    what: str
    work: object
    # Suites of another lane that must have ended, and passed.
    needs: tuple = ()
    whole: int = 0

    def with_all(self):
        """The same suite when nothing is left out."""
        return replace(self, budget=self.whole or self.budget)


def planned(suites):
    """Seconds that a run takes when each suite takes its budget, scheduled as by Lanes."""
    known = {suite.name for suite in suites}
    lanes = {suite.lane: [] for suite in suites if suite.lane != EITHER} or {"": []}
    for suite in suites:
        if suite.lane != EITHER:
            lanes[suite.lane].append(suite)
    shared = [suite for suite in suites if suite.lane == EITHER]
    clocks, ended = dict.fromkeys(lanes, 0), {}

    def ready(lane):
        """When the lane can begin its next suite; None: it waits for one that has no end yet."""
        suite = (lanes[lane] or shared)[0]
        needs = [name for name in suite.needs if name in known]
        if any(name not in ended for name in needs):
            return None
        return max([clocks[lane], *(ended[name] for name in needs)])

    while len(ended) < len(known):
        times = {lane: ready(lane) for lane in lanes if lanes[lane] or shared}
        lane = min((lane for lane in times if times[lane] is not None), key=times.get)
        suite = (lanes[lane] or shared).pop(0)
        clocks[lane] = ended[suite.name] = times[lane] + suite.budget
    return max(clocks.values(), default=0)


class Job:
    """One suite while it runs."""

    def __init__(self, suite, lanes, choice=None):
        self.suite = suite
        self.out = lanes.out / suite.name
        self.processes = lanes.processes
        self.report = lanes.report
        self.rules = lanes.rules
        self.choice = choice
        # A test that is asked for by its name runs.
        self.later = Later() if choice else Later(suite.name, lanes.later, lanes.whole)
        self.cpu = 0.0
        self.cases = []
        self.deadline = time.monotonic() + suite.limit

    def left(self):
        """Seconds until the limit of the suite."""
        return max(1.0, self.deadline - time.monotonic())

    def add(self, cases):
        """Results, as soon as they are known; what has failed is shown at once."""
        self.rules.judge(self.suite.name, cases)
        self.cases += cases
        for case in cases:
            if case.outcome == results.FAILED:
                self.report.problem(self.suite.name, case)

    def run(self, argv, log, *, limit=None, **options):
        """Run a program within the suite's limit; its output goes to OUT/log."""
        done = self.processes.run(argv, self.out / log, min(limit or self.suite.limit, self.left()),
                                  cwd=options.pop("cwd", ROOT), **options)
        self.cpu += done.cpu
        return done

    def must(self, argv, log, **options):
        """Run a program without which the suite cannot go on."""
        done = self.run(argv, log, **options)
        if done.status:
            raise Broken(f"{pathlib.Path(str(argv[0])).name} {results.ended_by(done.status)}, "
                         f"see {shown(self.out / log)}", process.tail(self.out / log))
        return done

    def log_tail(self, log):
        """The end of a log of this suite."""
        return process.tail(self.out / log)


def shown(path):
    """A path as it is told to the user."""
    try:
        return path.relative_to(ROOT)
    except ValueError:
        return path


def not_run(suite, why):
    """What came of a suite that was not run."""
    return Outcome(suite.name, suite.budget, [results.failed(suite.name, results.END, why)])


class Lanes:
    """Runs suites."""

    def __init__(self, out, processes, report, rules, keep=None, later="", whole=False):
        self.out = out
        # Called with what came of each suite.
        self.keep = keep
        # The text of later.table, or nothing; whether it is about ALL=1.
        self.later = later
        self.whole = whole
        # Programs and cases that run later.
        self.left_out = [0, 0]
        self.processes = processes
        self.report = report
        self.rules = rules
        self.ended = {}
        self.known = set()
        self.changed = threading.Condition()

    def run(self, suites, choice=None):
        """All of them, to their end or to the end of the run."""
        self.known = {suite.name for suite in suites}
        shared = [suite for suite in suites if suite.lane == EITHER]
        threads = []
        for lane in dict.fromkeys(suite.lane for suite in suites if suite.lane != EITHER) or [""]:
            mine = [suite for suite in suites if suite.lane == lane]
            threads.append(threading.Thread(target=self._lane, args=(mine, shared, choice)))
        for thread in threads:
            thread.start()
        # In short waits, so that signals are seen.
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(SLICE)
        self._give_up(suites)
        told = {outcome.name for outcome in self.report.outcomes}
        for suite in suites:
            if suite.name not in told:
                self.report.end(self.ended[suite.name])

    def _lane(self, mine, shared, choice):
        try:
            for suite in mine:
                self._turn(suite, choice)
            while suite := self._next(shared):
                self._turn(suite, choice)
        finally:
            # The other lane must not wait for what this one will not run.
            self._give_up(mine)

    def _next(self, shared):
        """The next suite that no lane has taken, or None."""
        with self.changed:
            return shared.pop(0) if shared else None

    def _give_up(self, suites):
        """What has not ended by now is not run any more."""
        with self.changed:
            for suite in suites:
                self.ended.setdefault(suite.name, not_run(
                    suite, "the runner itself failed; see above"))
            self.changed.notify_all()

    def _turn(self, suite, choice):
        """One suite of a lane: wait for what it needs, run it, tell the result."""
        why = self._blocked(suite)
        outcome = not_run(suite, why) if why else self.one(suite, choice)
        with self.changed:
            self.ended[suite.name] = outcome
            self.changed.notify_all()
        self.report.end(outcome)
        if self.keep and suite.name != "build":
            self.keep(outcome)

    def _blocked(self, suite):
        """Wait for what the suite needs; why it cannot be run, or None."""
        needs = [name for name in suite.needs if name in self.known]
        processes = self.processes
        with self.changed:
            # In short waits: cancel() is called by a signal and cannot notify.
            while not processes.cancelled and any(name not in self.ended for name in needs):
                self.changed.wait(SLICE)
            if processes.cancelled:
                return "was not run: the run was ended before"
            for name in needs:
                if results.count(self.ended[name].cases)[1]:
                    return f"was not run: {name} failed"
        return None

    def one(self, suite, choice=None):
        """Run one suite, judge its skips, leave its XML and its TAP.

        Whatever goes wrong, this suite has failed and the others go on.
        """
        job = Job(suite, self, choice)
        begin = time.monotonic()
        try:
            self.report.begin(suite.name, suite.budget)
            self._work(job)
            self.left_out = [sum(both) for both in zip(self.left_out, job.later.left_out)]
            results.to_junit(suite.name, job.cases, time.monotonic() - begin,
                             self.out / f"{suite.name}.xml")
            results.to_tap(job.cases, self.out / f"{suite.name}.tap")
        except Exception as error:
            job.cases.append(results.failed(
                suite.name, results.END, f"the runner itself failed: {error!r}",
                traceback.format_exc().splitlines()))
        return Outcome(suite.name, suite.budget, job.cases, time.monotonic() - begin, job.cpu)

    @staticmethod
    def _work(job):
        """The work of a suite in a folder of its own; how it ended is one of its cases."""
        name = job.suite.name
        try:
            shutil.rmtree(job.out, ignore_errors=True)
            job.out.mkdir(parents=True)
            job.suite.work.run(job)
        except process.Cancelled:
            job.add([results.failed(name, results.END, "the run was ended before its end")])
        except Broken as error:
            job.add([results.failed(name, results.END, str(error), error.lines)])
        except Exception as error:
            job.add([results.failed(name, results.END, f"the runner itself failed: {error!r}",
                                    traceback.format_exc().splitlines())])
        if not job.cases:
            job.add([results.failed(name, results.END, "there were no results")])
