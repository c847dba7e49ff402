# SPDX-License-Identifier: MIT
"""What a suite of native tests builds before it runs."""

import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from runner import later, schedule, work

LATER = "few | c | nightly | it takes long\n"


class Job:
    """Notes what is built."""

    def __init__(self, choice=None, table=""):
        self.choice = choice
        self.later = later.Later("few", table)
        self.suite = types.SimpleNamespace(name="few")
        self.built = []
        self.read = []

    def must(self, _argv, _log, env, **_options):
        self.built.append(env["TARGETS"])
        self.read.append(env["SYNTAX"])

    def add(self, cases):
        """What is printed is not looked at here."""


class Built(unittest.TestCase):
    """The targets that ninja is given, in the order of its calls."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "vm" / "kselftest").mkdir(parents=True)
        patch = unittest.mock.patch.multiple(work, BUILD=self.root, MesonLog=unittest.mock.Mock())
        patch.start()
        self.addCleanup(patch.stop)
        info = self.root / "build" / "meson-info"
        info.mkdir(parents=True)
        made = {name: [str(self.root / "build" / name)] for name in ("a", "b", "c", "data")}
        (info / "intro-targets.json").write_text(json.dumps(
            [{"id": f"{name}@exe", "filename": files} for name, files in made.items()]))
        rows = [("a", "few", ["a@exe", "data@exe"]), ("b", "many", ["b@exe"]),
                ("c", "few", ["c@exe", "data@exe"])]
        (info / "intro-tests.json").write_text(json.dumps(
            [{"name": name, "suite": [f"project:{suite}"], "depends": depends}
             for name, suite, depends in rows]))

    def build(self, job, **options):
        """The last call; the first brings meson's tables up to date."""
        work.Native("build", "few", **options).run(job)
        self.assertEqual(job.built[0], "build.ninja")
        return job.built[-1]

    def test_what_its_tests_need(self):
        self.assertEqual(self.build(Job()), "a c data")

    def test_nothing_for_what_runs_later(self):
        self.assertEqual(self.build(Job(table=LATER)), "a data")

    def test_one_test_when_it_is_named(self):
        self.assertEqual(self.build(Job(schedule.Choice("c", ""))), "c data")

    def test_the_night_runs_the_rest(self):
        with tempfile.NamedTemporaryFile("w") as table:
            table.write(LATER)
            table.flush()
            with unittest.mock.patch.object(later, "TABLE", pathlib.Path(table.name)):
                self.assertEqual(self.build(Job(), rest_of="few"), "c data")

    def test_another_compiler_reads_what_it_need_not_build(self):
        job = Job()
        self.assertEqual(self.build(job, compiler="clang"), "a c data")
        self.assertEqual(job.read, ["", "1"])
        job = Job(schedule.Choice("c", ""))
        self.assertEqual(self.build(job, compiler="clang"), "c data")
        self.assertEqual(job.read, ["", ""])

    def test_nothing_left_is_a_mistake(self):
        job = Job(table="few | * | all | each takes long\n")
        with self.assertRaisesRegex(schedule.Broken, "no test is left"):
            self.build(job)


class Syntax(unittest.TestCase):
    """tools/build/syntax, with gcc: one source that is built, one that is not."""

    PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "tools" / "build" / "syntax"
    NINJA = """
rule cc
  command = cc -Wall -Werror -c $in -o $out
rule made
  command = echo '#define MADE 1' >$out
build made.h: made
build a.o: cc a.c
build b.o: cc b.c || made.h
"""

    def read(self, source):
        """The exit status and the output, when b.c has this text."""
        (self.root / "b.c").write_text(source)
        done = subprocess.run([self.PROGRAM, self.root, "a.o"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "build.ninja").write_text(self.NINJA)
        (self.root / "a.c").write_text("int a;\n")
        (self.root / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(self.root), "file": f"{name}.c", "output": f"{name}.o",
              "command": f"ccache cc -Wall -Werror -MD -MQ {name}.o -MF {name}.o.d "
                         f"-o {name}.o -c {name}.c"} for name in ("a", "b")]))

    def test_a_warning_is_found_and_goes(self):
        good = '#include "made.h"\nint b = MADE;\n'
        status, said = self.read(good + "void f(void) { int unused; }\n")
        self.assertEqual(status, 1, said)
        self.assertIn("unused", said)
        status, said = self.read(good)
        self.assertEqual(status, 0, said)
        self.assertNotIn("a.c", said)
        self.assertFalse((self.root / "b.o").exists())
        self.assertIn("no work to do", self.read(good)[1])


if __name__ == "__main__":
    unittest.main()
