# SPDX-License-Identifier: MIT
"""The command line: which suites, which test, and how the run ends."""

import argparse
import fcntl
import pathlib
import signal
import sys
import time
from dataclasses import replace

from neuron_vm.process import Cancelled, Processes

from . import later, results, stages, work
from .report import Outcome, Report
from .schedule import BUILD, Broken, Choice, Job, Lanes, Unknown, planned
from .suites import SUITES

OUT = BUILD / "check"
STAGES = {"check-long": stages.LONG, "check-nightly": stages.NIGHTLY}
SKIPS = pathlib.Path(__file__).with_name("skips.table")


def parser():
    """The arguments. make hands its variables over, empty ones too."""
    top = argparse.ArgumentParser(prog="selftests/runner", description=__doc__.splitlines()[0])
    top.add_argument("--budgets-rst", action="store_true",
                     help="print the tables of suites and stages for the manual")
    commands = top.add_subparsers(dest="command")
    check = commands.add_parser("check", help="the tests that guard every change")
    check.add_argument("--suite", default="", help="names, with commas between them")
    check.add_argument("--test", default="", help="PROGRAM or PROGRAM:CASE")
    check.add_argument("--all", default="", help="neither empty nor 0: also what takes long")
    check.add_argument("--list", default="", help="not empty: print the table of suites")
    for name in STAGES:
        long = commands.add_parser(name, help="stages that take long")
        long.add_argument("--stage", default="", help="names, with commas between them")
        long.add_argument("--fresh", default="", help="not empty: begin anew")
        long.add_argument("--list", default="", help="not empty: print the table of stages")
    return top


def mistake(text):
    """A mistake on the command line: one line and the status of make's own mistakes."""
    print(f"check: {text}", file=sys.stderr)
    return 2


def choose(rows, names, kind):
    """The rows that are named, in the order of the table."""
    wanted = names.replace(",", " ").split()
    known = [row.name for row in rows]
    for name in wanted:
        if name not in known:
            raise Unknown(f"there is no {kind} '{name}'; there are: {' '.join(known)}")
    return [row for row in rows if not wanted or row.name in wanted]


def owner(suites, choice, lanes):
    """The suite that a test belongs to: the first that has the name, as it is or nearly."""
    names = {}
    for exact in (True, False):
        for suite in suites:
            # Not before it is asked for: some must configure a build to know.
            if suite.name not in names:
                names[suite.name] = suite.work.programs(Job(suite, lanes))
            found = work.find(choice.program, names[suite.name], exact)
            if found:
                return suite, Choice(found, choice.case)
    if len(suites) == 1:
        has = f"suite {suites[0].name} has: {' '.join(sorted(names[suites[0].name]))}"
    else:
        has = "make check LIST=1 names the suites, and LIST=1 SUITE=name the tests of one"
    raise Unknown(f"there is no test '{choice.program}'; {has}")


def with_build(rows):
    """These rows behind the build of the machine; stages need it, although their rows do not say
    so.
    """
    if rows[0].name == "build":
        return rows
    build = next(suite for suite in SUITES if suite.name == "build")
    return [build, *(replace(row, needs=("build",)) for row in rows)]


def table(rows):
    """The table as text."""
    lines = [f"{'name':<16} {'lane':<7} {'budget':>7} {'limit':>7}  what it proves"]
    for row in rows:
        lines.append(f"{row.name:<16} {row.lane:<7} {row.budget:>5} s {row.limit:>5} s  {row.what}")
    lines.append(f"in lanes side by side the budgets add up to {planned(with_build(rows))} s")
    return "\n".join(lines)


def rst_table(title, rows):
    """The table as the manual has it."""
    lines = [f".. list-table:: {title}", "   :header-rows: 1", "   :widths: 15 10 10 65", "",
             "   * - Name", "     - Lane", "     - Budget", "     - What it proves"]
    for row in rows:
        budget = f"{row.budget} s" + (f", all {row.whole} s" if row.whole else "")
        lines += [f"   * - ``{row.name}``", f"     - {row.lane}", f"     - {budget}",
                  f"     - {row.what}"]
    total = ("In lanes side by side, and with the build before them, the budgets add up to "
             f"{planned(with_build(rows))} s")
    if any(row.whole for row in rows):
        everything = with_build([row.with_all() for row in rows])
        total += f", with ``ALL=1`` to {planned(everything)} s"
    lines += ["", f"{total}."]
    return "\n".join(lines) + "\n"


def one_at_a_time(processes):
    """Two runs in one checkout would work in the same folders: the second waits.

    It may be ended while it waits; then it counts all of its suites as failed.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    lock = open(BUILD / "check.lock", "w")
    told = False
    while not processes.cancelled:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not told:
                print("another check runs in this checkout; waiting for it", flush=True)
            told = True
            time.sleep(0.5)
    return lock


def catch_signals(processes):
    """A request to end leaves time for the table."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: processes.cancel())


def skip_rules():
    """The table of allowed skips."""
    return results.SkipRules(SKIPS.read_text())


def finish(report, variable, begin):
    """The table, the lines that repeat failures, the counts; the exit status."""
    report.table(time.monotonic() - begin)
    report.repeats(variable)
    return 0 if report.last_line() else 1


def needs_build(suites, choice):
    """Whether what was chosen needs a machine that is up to date and does not build it itself."""
    if choice and getattr(suites[0].work, "builds_for_one", False):
        return False
    return any("build" in suite.needs for suite in suites)


def with_its_build(every, chosen):
    """The chosen suites and the build, in the order of all of them."""
    names = {"build", *(suite.name for suite in chosen)}
    return [suite for suite in every if suite.name in names]


def run_check(args):
    """make check"""
    begin = time.monotonic()
    whole = args.all not in ("", "0")
    every = [suite.with_all() for suite in SUITES] if whole else SUITES
    suites = choose(every, args.suite, "suite")
    if args.list and not args.suite:
        print(table(suites))
        return 0
    processes, report = Processes(), Report("check ALL=1" if whole else "check", "suite")
    lanes = Lanes(OUT, processes, report, skip_rules(), later=later.TABLE.read_text(),
                  whole=whole)
    if args.list:
        print("\n".join(sorted(name for suite in suites
                               for name in suite.work.programs(Job(suite, lanes)))))
        return 0
    catch_signals(processes)
    with one_at_a_time(processes):
        OUT.mkdir(parents=True, exist_ok=True)
        choice = None
        if args.test:
            suite, choice = owner(suites, Choice.parse(args.test), lanes)
            suites = [suite]
        if needs_build(suites, choice):
            suites = with_its_build(every, suites)
        lanes.run(suites, choice)
    if any(lanes.left_out):
        report.say("\nleft out: {} programs and {} cases, for {}".format(
            *lanes.left_out, "make check-nightly" if whole else "ALL=1 and make check-nightly"))
    return finish(report, "SUITE", begin)


def run_stages(args):
    """make check-long and make check-nightly"""
    begin = time.monotonic()
    rows = choose(STAGES[args.command], args.stage, "stage")
    if args.list:
        print(table(rows))
        return 0
    processes, report = Processes(), Report(args.command, "stage")
    catch_signals(processes)
    with one_at_a_time(processes):
        out = BUILD / args.command
        key = stages.commit()
        if not key:
            report.say("git cannot tell what is in this checkout: no stage is remembered")
        state = stages.State(out, key, args.fresh)
        todo = []
        for row in rows:
            kept = state.passed(row.name)
            if kept:
                report.outcomes.append(Outcome(row.name, row.budget, *kept, earlier=True))
                report.say(f"passed {row.name:<16} earlier, for this commit (FRESH=1 begins anew)")
            else:
                todo.append(row)
        Lanes(out, processes, report, skip_rules(), state.keep).run(todo and with_build(todo))
    return finish(report, "STAGE", begin)


def main():
    """The exit status: 0 when all passed, 1 when something failed, 2 for a mistake."""
    args = parser().parse_args()
    if args.budgets_rst:
        print(rst_table("Suites of ``make check``", SUITES))
        for name, rows in STAGES.items():
            print(rst_table(f"Stages of ``make {name}``", rows))
        return 0
    if not args.command:
        return mistake("what is to be run? check, " + ", ".join(STAGES))
    try:
        return run_check(args) if args.command == "check" else run_stages(args)
    except Unknown as error:
        return mistake(error)
    # Some suites build something to know their tests.
    except Broken as error:
        print(f"check: {error}", file=sys.stderr)
    except Cancelled:
        print("check: the run was ended before a test began", file=sys.stderr)
    return 1
