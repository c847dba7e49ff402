# SPDX-License-Identifier: MIT
"""What the runner says: progress, failures, the table and the last line."""

import shlex
import threading
from dataclasses import dataclass, field

from . import results

# Of each case that failed: so many lines of its own output.
DETAILS = 15
# So many lines that repeat one failure; one more repeats the suites of the rest.
REPEATS = 20


@dataclass
class Outcome:
    """What came of one suite or stage."""

    name: str
    budget: int
    cases: list = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    # Passed in an earlier call: its cases count, its time does not.
    earlier: bool = False


class Report:
    """Prints, from several threads, and keeps what was printed for the table."""

    def __init__(self, command, row_name):
        self.command = command
        self.row_name = row_name
        self.lock = threading.Lock()
        self.outcomes = []
        self.shown = set()

    def say(self, text):
        """One line, or several that belong together."""
        with self.lock:
            print(text, flush=True)

    def begin(self, name, budget):
        """A suite begins."""
        self.say(f"begin  {name:<16} (budget {budget} s)")

    def problem(self, suite, case):
        """A case that failed: at once, and once."""
        if id(case) in self.shown:
            return
        self.shown.add(id(case))
        lines = [f"    FAILED  {suite}: {case.title}: {case.why}"]
        lines += [f"        | {line}" for line in case.details[-DETAILS:]]
        self.say("\n".join(lines))

    def end(self, outcome):
        """A suite has ended."""
        for case in outcome.cases:
            if case.outcome == results.FAILED:
                self.problem(outcome.name, case)
        self.outcomes.append(outcome)
        self.say(f"end    {outcome.name:<16} {counts(outcome.cases)}, {outcome.seconds:.0f} s"
                 f"{over(outcome)}")

    def table(self, seconds):
        """All suites, one a line."""
        lines = ["", f"{self.row_name:<16} {'passed':>7} {'failed':>7} {'skipped':>7} {'time':>8} "
                     f"{'CPU':>8} {'budget':>8}"]
        for outcome in self.outcomes:
            passed, failed, skipped = results.count(outcome.cases)
            note = "  passed earlier" if outcome.earlier else over(outcome)
            lines.append(f"{outcome.name:<16} {passed:>7} {failed:>7} {skipped:>7} "
                         f"{outcome.seconds:>6.0f} s {outcome.cpu:>6.0f} s "
                         f"{outcome.budget:>6} s{note}")
        lines.append(f"{'total':<40} {seconds:>6.0f} s {self._cpu():>6.0f} s")
        self.say("\n".join(lines))

    def _cpu(self):
        return sum(outcome.cpu for outcome in self.outcomes)

    def repeats(self, variable):
        """For each failure the line that repeats just it; when there are many, for the first ones.

        The XML files name the rest, and one line repeats all their suites.
        """
        suites = {}
        for outcome in self.outcomes:
            for case in outcome.cases:
                if case.outcome == results.FAILED:
                    suites.setdefault(self._repeat(variable, outcome, case), outcome.name)
        lines = list(suites)
        if lines:
            self.say("\n" + "\n".join(lines[:REPEATS]))
        rest = lines[REPEATS:]
        if rest:
            names = ",".join(dict.fromkeys(suites[line] for line in rest))
            self.say(f"and {len(rest)} more, which the XML files in build name; "
                     f"repeat: make {self.command} {variable}={names}")

    def _repeat(self, variable, outcome, case):
        if variable == "STAGE" and outcome.name == "build":
            return "repeat: make vm"
        line = f"repeat: make {self.command} {variable}={outcome.name}"
        if variable != "SUITE" or case.program == outcome.name and case.name == results.END:
            return line
        test = case.program if case.name == results.END else case.title
        # Both the shell and make read the line.
        return f"{line} TEST={shlex.quote(test.replace('$', '$$'))}"

    def last_line(self):
        """The sum; True when something passed and nothing failed."""
        cases = [case for outcome in self.outcomes for case in outcome.cases]
        passed, failed, _ = results.count(cases)
        self.say(f"\n{counts(cases)}")
        return failed == 0 and passed > 0


def counts(cases):
    """The counts in words."""
    passed, failed, skipped = results.count(cases)
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def over(outcome):
    """A note, no failure: the machine may have had other things to do."""
    return "  over budget" if outcome.seconds > outcome.budget else ""
