# SPDX-License-Identifier: MIT
"""From what test programs print to a list of cases.

TAP comes from cmocka, from the kernel's kselftest harness and from scripts; JUnit XML
comes from pytest. A case is one test function. A program that does not do what it
announced, or whose exit status does not fit its results, gets a failed case of its own.
"""

import fnmatch
import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

RESULT = re.compile(r"^(not ok|ok)\b\s*(\d*)\s*-?\s*([^#]*)(?:#\s*(\w+)?\s*(.*))?$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?$", re.I)
EXIT = re.compile(r"^# exit (\d+)$")
BAIL_OUT = re.compile(r"^Bail out!\s*(.*)")
EXIT_SKIP = (4, 77)
EXIT_TIME_LIMIT = (124, 137, 143)
NO_DEVICE = "no neuron device"
# The name of the case that stands for the end of its program.
END = "end"


@dataclass
class Case:
    """One test and its result."""

    program: str
    name: str
    outcome: str
    why: str = ""
    seconds: float = 0.0
    details: list = field(default_factory=list)

    @property
    def title(self):
        """What names the case in a report and in TEST=."""
        return f"{self.program}:{self.name}"


def failed(program, name, why, details=()):
    """A case that has failed."""
    return Case(program, name, FAILED, why, details=list(details))


def count(cases):
    """(passed, failed, skipped)"""
    outcomes = [case.outcome for case in cases]
    return outcomes.count(PASSED), outcomes.count(FAILED), outcomes.count(SKIPPED)


class TapProgram:
    """Reads the output of one program."""

    def __init__(self, program):
        self.program = program
        self.cases = []
        self.planned = None
        # How many results the program printed, without the cases that the reader adds.
        self.ran = 0
        self.whole_skip = False
        self.notes = []
        # The last line that is no TAP. cmocka prints the reason of a skip there, before the result.
        self.remark = ""

    def read(self, text, status, needs_plan=True):
        """All of the output and the exit status; the cases."""
        lines = [line.rstrip("\r") for line in text.splitlines()]
        for place, line in enumerate(lines):
            self._line(line, lines[place + 1:place + 3])
        self._judge_end(lines, status, needs_plan)
        return self.cases

    def _line(self, line, following):
        if match := PLAN.match(line):
            # A program with several groups of tests announces each of them.
            self.planned = (self.planned or 0) + int(match[1])
            if match[2] is not None and not int(match[1]):
                self.whole_skip = True
                self.cases.append(Case(self.program, "all", SKIPPED, match[2].strip()))
        elif match := RESULT.match(line):
            self._result(match, following)
            self.notes, self.remark = [], ""
        elif match := BAIL_OUT.match(line):
            self.cases.append(failed(self.program, END, f"bailed out: {match[1]}"))
        elif line.startswith("#") or "rror" in line:
            self.notes.append(line.lstrip("# ").strip()[:200])
        elif line.strip():
            self.remark = line.strip()[:200]

    def _result(self, match, following):
        word, text = (match[4] or "").upper(), (match[5] or "").strip()
        name = match[3].strip()
        self.ran += 1
        if word == "SKIP":
            # cmocka writes the name where the reason should be.
            reason = text if name else self.remark
            self.cases.append(Case(self.program, name or text or match[2], SKIPPED, reason))
        elif word == "XFAIL" or word == "TODO" and match[1] == "not ok":
            self.cases.append(Case(self.program, name or match[2], SKIPPED,
                                   f"expected to fail: {text or 'no reason given'}"))
        elif match[1] == "ok":
            self.cases.append(Case(self.program, name or match[2], PASSED))
        else:
            # The kernel's harness explains before the result, cmocka after it.
            after = [note[1:].strip() for note in following if note.startswith("#")]
            why = " / ".join(self.notes[-3:] or after) or "not ok"
            self.cases.append(Case(self.program, name or match[2], FAILED, why))

    def _judge_end(self, lines, status, needs_plan):
        any_failed = any(case.outcome == FAILED for case in self.cases)
        if self.planned is None and not self.ran:
            self._no_tap(lines, status)
        elif self.planned is None and needs_plan:
            self._end(f"{self.ran} tests without a plan, exit status {status}")
        elif self.planned is not None and self.ran != self.planned:
            self._end(f"ended after {self.ran} of {self.planned} tests, {ended_by(status)}")
        elif self.planned == 0 and not self.whole_skip:
            self._end(f"no test was run, exit status {status}")
        elif status and not any_failed and not (status in EXIT_SKIP and self._all_skipped()):
            self._end(f"every test passed, yet {ended_by(status)}")

    def _all_skipped(self):
        return all(case.outcome == SKIPPED for case in self.cases)

    def _end(self, why):
        self.cases.append(failed(self.program, END, why))

    def _no_tap(self, lines, status):
        last = [line for line in lines if line.strip()][-1:] or ["no output"]
        if status in EXIT_SKIP:
            self.cases.append(Case(self.program, "all", SKIPPED, last[0][:200]))
        else:
            self._end(f"no results, {ended_by(status)}: {last[0][:200]}")


def ended_by(status):
    """An exit status in words."""
    if status in EXIT_TIME_LIMIT:
        return f"ended by the time limit (exit status {status})"
    return f"exit status {status}"


def from_tap(program, text, status, needs_plan=True):
    """The cases of one program's output."""
    return TapProgram(program).read(text, status, needs_plan)


def from_tap_file(path, needs_plan=True):
    """A file of the guest, whose last line tells the exit status: "# exit 0"."""
    path = pathlib.Path(path)
    text = path.read_text(errors="replace")
    found = [int(match[1]) for match in map(EXIT.match, text.splitlines()) if match]
    text = "\n".join(line for line in text.splitlines() if not EXIT.match(line))
    if not found:
        cases = from_tap(path.stem, text, 0, needs_plan)
        return cases + [failed(path.stem, END, "the program has left no exit status")]
    return from_tap(path.stem, text, found[-1], needs_plan)


def from_meson(line):
    """The cases of one line of meson's testlog.json, and the program's output."""
    test = json.loads(line)
    program = test["name"].split(" / ")[-1]
    status = test.get("returncode", 1)
    if test["result"] == "TIMEOUT":
        status = EXIT_TIME_LIMIT[0]
    elif status < 0:
        status = 128 - status
    text = test.get("stdout", "")
    errors = test.get("stderr", "").strip()
    cases = from_tap(program, text, status)
    for case in cases:
        case.seconds = test.get("duration", 0.0) / len(cases)
        if case.outcome == FAILED and errors:
            case.details = [line[:200] for line in errors.splitlines()[-12:]]
    return program, cases, f"{text}{errors}\n# exit {status}\n"


def pytest_name(classname, name):
    """(program, case) of what pytest calls folder.file.Class and name.

    The program is the file, and the case is what follows it in the name that pytest takes. A
    file that cannot be read has its own name as the test's.
    """
    if not classname:
        return name.split(".")[-1], END
    words = classname.split(".")
    at = max((i for i, word in enumerate(words) if word.startswith("test_")), default=-1)
    return words[at], "::".join([*words[at + 1:], name] if at >= 0 else [name])


def why_skipped(element):
    """The reason of a skip; of a whole file pytest has it in the text, as the repr of a tuple."""
    message = element.get("message", "")
    found = re.search(r"Skipped: (.*?)['\"]\)$", element.text or "")
    return found.group(1) if message == "collection skipped" and found else message


def from_junit(path):
    """The cases of a JUnit file that pytest wrote."""
    cases = []
    for element in ElementTree.parse(path).iter("testcase"):
        case = Case(*pytest_name(element.get("classname", ""), element.get("name", "?")), PASSED,
                    seconds=float(element.get("time", 0)))
        for child in element:
            if child.tag == "skipped":
                case.outcome, case.why = SKIPPED, why_skipped(child)
            elif child.tag in ("failure", "error"):
                case.outcome = FAILED
                case.why = (child.get("message") or "failed").splitlines()[0][:200]
                case.details = [line[:200] for line in (child.text or "").splitlines()[-15:]]
        cases.append(case)
    return cases


def to_junit(suite, cases, seconds, path):
    """Write the cases of a suite as JUnit XML."""
    passed, failures, skipped = count(cases)
    root = ElementTree.Element(
        "testsuite", name=suite, tests=str(passed + failures + skipped), errors="0",
        failures=str(failures), skipped=str(skipped), time=f"{seconds:.3f}")
    for case in cases:
        element = ElementTree.SubElement(root, "testcase", classname=f"{suite}.{case.program}",
                                         name=case.name, time=f"{case.seconds:.3f}")
        if case.outcome == FAILED:
            failure = ElementTree.SubElement(element, "failure", message=printable(case.why))
            failure.text = printable("\n".join(case.details))
        elif case.outcome == SKIPPED:
            ElementTree.SubElement(element, "skipped", message=printable(case.why))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def to_tap(cases, path):
    """Write the cases of a suite as TAP; from_tap() reads back how each of them ended."""
    lines = [f"1..{len(cases)}"]
    for number, case in enumerate(cases, 1):
        result = "not ok" if case.outcome == FAILED else "ok"
        # A # would begin what TAP calls a directive.
        line = f"{result} {number} - {case.title.replace('#', '_')}"
        if case.outcome == SKIPPED:
            line += f" # SKIP {case.why}"
        told = [case.why, *case.details] if case.outcome == FAILED else []
        lines += [printable(line), *(f"# {printable(text)}" for text in told)]
    path.write_text("".join(f"{line.replace(chr(10), ' ')}\n" for line in lines))


def printable(text):
    """XML knows no control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def table_rows(name, text, columns):
    """The rows of a table in a file: lines with | between the columns, none of them empty."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = [column.strip() for column in line.split("|")]
        if len(row) != columns or not all(row):
            raise ValueError(f"{name}, line {number}: {columns} columns are wanted")
        rows.append(row)
    return rows


def suite_is(suite, names):
    """Whether a column of a table, patterns with commas between them, names the suite."""
    return any(fnmatch.fnmatchcase(suite, name) for name in names.split(","))


class SkipRules:
    """The skips that are allowed, from a table whose head says what is what."""

    def __init__(self, text):
        self.rules = table_rows("skips.table", text, 4)

    def reason(self, suite, case):
        """Why this skip is allowed, or None."""
        if NO_DEVICE in case.why:
            return None
        for suites, title, why, reason in self.rules:
            if (suite_is(suite, suites)
                    and fnmatch.fnmatchcase(case.title, title)
                    and fnmatch.fnmatchcase(case.why, why)):
                return reason
        return None

    def judge(self, suite, cases):
        """Make failures of the skips that the table does not have."""
        for case in cases:
            if case.outcome != SKIPPED:
                continue
            reason = self.reason(suite, case)
            if reason is None:
                case.outcome = FAILED
                case.why = (f"skipped ({case.why or 'no reason given'}), and "
                            "selftests/runner/skips.table does not allow it")
            elif not case.why:
                case.why = reason
