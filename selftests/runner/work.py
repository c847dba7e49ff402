# SPDX-License-Identifier: MIT
"""The kinds of suites: how each is built, run and read.

A kind has run(job), which adds cases to the job, and programs(job), the names that TEST=
may have. A program may have cases; what they are called the program knows.
"""

import ast
import json
import os
import pathlib
import re

from . import later, results
from .schedule import BUILD, ROOT, TOOLS, Broken, Unknown

PYTEST = ["/usr/bin/python3", "-m", "pytest"]
# Programs of the host give way to machines: a guest without a processor misses its timers.
NICE = ["nice", "-n", "5"]


def plain(name):
    """test_udma-state, test-udma_state and udma_state mean the same."""
    return re.sub(r"^test_", "", name.replace("-", "_"))


def find(wanted, names, exact=False):
    """The program that is meant, or None."""
    if wanted in names:
        return wanted
    if exact:
        return None
    return next((name for name in names if plain(name) == plain(wanted)), None)


def chosen(job, names):
    """The program that TEST= means; Unknown when there is none."""
    found = find(job.choice.program, names)
    if found is None:
        raise Unknown(f"suite {job.suite.name} has no test '{job.choice.program}'; it has: "
                      + " ".join(sorted(names)))
    return found


class Build:
    """Everything that a machine needs."""

    def programs(self, _job):
        """One program."""
        return ["build"]

    def run(self, job):
        """One case: it was built."""
        job.must([TOOLS / "all"], "build.log")
        job.add([results.Case("build", "all", results.PASSED)])


class Script:
    """A program that prints TAP and takes the names of cases as arguments."""

    def __init__(self, program, *argv, env=None):
        self.program = program
        self.argv = argv
        self.env = env

    def programs(self, _job):
        """One program."""
        return [self.program]

    def run(self, job):
        """Run it, whole or for one case."""
        argv = [ROOT / self.argv[0], *self.argv[1:]]
        if job.choice and job.choice.case:
            argv.append(job.choice.case)
        log = job.out / f"{self.program}.tap"
        done = job.run(argv, log.name, env={"NEURON_TEST_OUT": str(job.out), **(self.env or {})})
        cases = results.from_tap(self.program, log.read_text(errors="replace"), done.status)
        with log.open("a") as file:
            file.write(f"# exit {done.status}\n")
        job.add(cases)


class Command:
    """A program that is one test, by its exit status; what it says last is shown."""

    def __init__(self, name, *argv, env=None):
        self.name = name
        self.argv = argv
        self.env = env

    def programs(self, _job):
        """One program."""
        return [self.name]

    def run(self, job):
        """Run it."""
        log = f"{self.name}.log"
        done = job.run([ROOT / self.argv[0], *self.argv[1:]], log, env=self.env)
        if done.status:
            job.add([results.failed(self.name, results.END, results.ended_by(done.status),
                                    job.log_tail(log))])
        else:
            job.add([results.Case(self.name, "all", results.PASSED)])


class Several:
    """Kinds that make one suite, one after the other."""

    def __init__(self, *parts):
        self.parts = parts

    def programs(self, job):
        """Those of all parts."""
        return [name for part in self.parts for name in part.programs(job)]

    def run(self, job):
        """All, or the one that has the program."""
        if job.choice:
            wanted = chosen(job, self.programs(job))
        for part in self.parts:
            if not job.choice or wanted in part.programs(job):
                part.run(job)


def select(path, case):
    """(file or test, options) with which pytest runs a case: a whole name or a part of one.

    -k takes words and operators, so the name of a case with parameters is none of its.
    """
    if case.partition("[")[0] in test_names(path):
        return f"{path}::{case}", []
    return path, ["-k", case]


def test_names(path):
    """The tests in a file of pytest, as it names them: function, or Class::function."""
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            names += [f"{node.name}::{child.name}" for child in node.body
                      if isinstance(child, ast.FunctionDef)]
    return names


class Pytest:
    """Files of pytest below a folder: all, or those that only names, and of them what has the
    marks."""

    def __init__(self, folder, marks="", only=()):
        self.folder = folder
        self.marks = marks
        self.only = only

    def _files(self):
        files = {path.stem: path for path in sorted((ROOT / self.folder).glob("**/test_*.py"))}
        return {name: path for name, path in files.items() if not self.only or name in self.only}

    def programs(self, _job):
        """One for each file."""
        return list(self._files())

    def run(self, job):
        """The results come as XML."""
        files, options = self._files(), []
        files = {name: files[name] for name in job.later.now(files)}
        if not files:
            raise Broken(f"there are no tests in {self.folder}")
        if job.choice:
            name = chosen(job, self.programs(job))
            files, options = {name: files[name]}, []
            if job.choice.case:
                files[name], options = select(files[name], job.choice.case)
        elif self.marks:
            options = ["-m", self.marks]
        env = {"PYTHONDONTWRITEBYTECODE": "1", "NEURON_TEST_OUT": str(job.out)}
        later, more = job.later.pytest(job.out / "later")
        env.update(more)
        report = job.out / "pytest.xml"
        done = job.run([*PYTEST, "-p", "no:cacheprovider", *files.values(), *options,
                        *later, f"--junitxml={report}"], "pytest.log", env=env)
        job.later.count_cases(job.out / "later")
        if not report.exists():
            raise Broken(f"pytest left no results, {results.ended_by(done.status)}",
                         job.log_tail("pytest.log"))
        cases = results.from_junit(report)
        job.add(cases)
        if done.status and not results.count(cases)[1]:
            raise Broken(f"pytest: {results.ended_by(done.status)}", job.log_tail("pytest.log"))


class Native:
    """Tests of one suite of meson, in a build folder of their own."""

    def __init__(self, folder, suite, *options, compiler="", env=None, wrapper="", sleepy=False,
                 rest_of=""):
        """sleepy: its tests mostly wait for time limits, so more of them run at once.

        rest_of: only what later.table leaves to the night, of a suite of make check.
        """
        self.dir = BUILD / folder
        self.sleepy = sleepy
        self.suite = suite
        self.options = ["-Dnative_only=true", "-Db_lundef=false", *options]
        self.compiler = compiler
        self.env = env or {}
        self.wrapper = wrapper
        self.rest_of = rest_of

    def _introspect(self, what):
        path = self.dir / "meson-info" / f"intro-{what}.json"
        return json.loads(path.read_text()) if path.exists() else []

    def _tests(self):
        """The tests of the suite, by name."""
        return {test["name"]: test for test in self._introspect("tests")
                if any(suite.split(":")[-1] == self.suite for suite in test["suite"])}

    def _build(self, job, targets, syntax=False):
        env = {"TARGETS": targets, "SYNTAX": "1" if syntax else ""}
        if self.compiler:
            env["CC"] = self.compiler
        job.must([*NICE, TOOLS / "userspace", self.dir, *self.options], "build.log", env=env,
                 append=True)

    def programs(self, job):
        """The tests as meson.build names them now."""
        # Without the headers of the kernel's own tests most are left out.
        if not (BUILD / "vm" / "kselftest").exists():
            job.must([*NICE, TOOLS / "kernel"], "build.log", append=True)
        self._build(job, "build.ninja")
        return list(self._tests())

    def _targets(self, names):
        """The files that ninja must make for these tests."""
        files = {target["id"]: target["filename"] for target in self._introspect("targets")}
        tests = self._tests()
        needed = {file for name in names for id_ in tests[name]["depends"]
                  for file in files.get(id_, [])}
        return " ".join(sorted(str(pathlib.Path(file).relative_to(self.dir)) for file in needed))

    def _names(self, job):
        """The tests that run without TEST=."""
        tests = list(self._tests())
        if self.rest_of:
            return later.Later(self.rest_of, later.TABLE.read_text(), True).rest(tests)
        return job.later.now(tests)

    def run(self, job):
        """Build what the tests need, run them, read what meson has logged."""
        if job.choice:
            names = [chosen(job, self.programs(job))]
        else:
            self._build(job, "build.ninja")
            names = self._names(job)
        if not names:
            raise Broken("no test is left to run")
        # Another compiler is there to show its warnings, so it reads what it need not build, too.
        whole = bool(self.compiler) and not job.choice
        self._build(job, self._targets(names), whole)
        if whole:
            job.add([results.Case("build", f"{self.compiler} -Werror", results.PASSED)])
        MesonLog(self, job, names, len(names) < len(self._tests())).run()


class MesonLog:
    """One call of meson test, whose log is read while it grows."""

    def __init__(self, native, job, names, some):
        """some: the suite has more tests than these."""
        self.native = native
        self.job = job
        self.some = some
        self.missing = dict.fromkeys(names)
        self.offset = 0
        self.logs = native.dir / "meson-logs"

    def _path(self):
        # With a wrapper meson puts the wrapper's name into the log's.
        return next(self.logs.glob("runner*.json"), None)

    def run(self):
        """Run the tests; those without a result have failed."""
        for old in self.logs.glob("runner*"):
            old.unlink()
        native, choice = self.native, self.job.choice
        argv = [*NICE, "meson", "test", "-C", native.dir, "--no-rebuild", "--logbase", "runner",
                "--suite", native.suite, "--timeout-multiplier", "5"]
        if native.sleepy:
            argv += ["--num-processes", str(2 * os.cpu_count())]
        if native.wrapper:
            argv += ["--wrapper", native.wrapper]
        env = dict(native.env, CMOCKA_MESSAGE_OUTPUT="TAP")
        if self.some:
            argv += list(self.missing)
        if choice and choice.case:
            env["CMOCKA_TEST_FILTER"] = choice.case
        try:
            done = self.job.run(argv, "meson.log", env=env, tick=self._read)
        finally:
            self._read()
            self.job.add([results.failed(name, results.END, "was not run to its end")
                          for name in self.missing])
        if choice and choice.case and [case.name for case in self.job.cases] == [results.END]:
            self.job.cases[0].why += f"; is there a case '{choice.case}'?"
        if done.status and not results.count(self.job.cases)[1]:
            raise Broken(f"meson test: {results.ended_by(done.status)}",
                         self.job.log_tail("meson.log"))

    def _read(self):
        path = self._path()
        if not path:
            return
        with path.open("rb") as file:
            file.seek(self.offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self.offset += len(whole) + len(newline)
        for line in whole.splitlines():
            self._result(line.decode("utf-8", errors="replace"))

    def _result(self, line):
        program, cases, output = results.from_meson(line)
        self.missing.pop(program, None)
        (self.job.out / f"{program}.tap").write_text(output)
        self.job.add(cases)
