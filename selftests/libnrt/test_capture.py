#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""neuron-profile capture: what it runs and writes, and what it says of mistakes.

usage: test_capture.py NEURON_AS NEURON_PROFILE
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tap

LIMIT = 120
ASSEMBLER, PROFILE = map(os.path.abspath, sys.argv[1:3])

# y = x.
COPY = """\
.input x fp32 64
.output y fp32 64
.queue q data sync
.engine sync
        .dma q, y, x
        halt
"""

# y is the sum of x over all executions.
COUNT = """\
.input x fp32 64
.output y fp32 64
.tmp sum 256
.tmp more 256
.queue q data sync
.engine sync
        .dma.add.fp32 q, more, sum + x
        .dma q, sum, more
        .dma q, y, more
        halt
"""

# y = x of the rank behind, read from there.
PULL = """\
.input x fp32 64
.output y fp32 64
.peer next 1 x
.queue q data sync
.engine sync
        .dma q, y, next
        halt
"""

# A tile beyond the end of its partitions, in the last line but one.
BAD = COPY + """\
.engine vector
        memset sbuf[0:128, 0x3f000 : 16 fp32], 0.0
        halt
"""


class Capture(unittest.TestCase):
    """neuron-profile, in a folder of its own, with chips in the process."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.assemble("copy", COPY)

    def run_program(self, *words, **environment):
        """Run a program in the folder."""
        environment = {**os.environ, "NEURON_RT_BACKEND": "embedded", **environment}
        return subprocess.run([str(word) for word in words], cwd=self.folder, timeout=LIMIT,
                              env=environment, capture_output=True, text=True, check=False)

    def assemble(self, name, text):
        """Make a NEFF of a source."""
        (self.folder / f"{name}.s").write_text(text)
        done = self.run_program(ASSEMBLER, "-w", f"{name}.s")
        self.assertEqual(done.returncode, 0, done.stderr)

    def capture(self, *words, status=0, **environment):
        """Capture, with an exit status that must be `status`."""
        done = self.run_program(PROFILE, "capture", *words, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def refused(self, *words, status=2):
        """The one line about a mistake."""
        done = self.capture(*words, status=status)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("neuron-profile capture: "), done.stderr)
        return done.stderr

    def files(self):
        """The profiles in the folder."""
        return sorted(path.name for path in self.folder.glob("*.jsonl"))

    def load(self, name):
        """A tensor that was written."""
        return np.load(self.folder / name)

    def test_view(self):
        """view reads what capture has written, and finds the NEFF beside it."""
        done = self.capture("-n", "copy.neff", "-s", "copy.jsonl")
        time = re.match(r"copy.jsonl: device time ([1-9]\d*) ns; neuron-profile view copy.jsonl "
                        r"--neff copy.neff\n$", done.stdout)
        self.assertTrue(time, done.stdout)
        self.assertEqual(done.stderr, "")
        done = self.run_program(PROFILE, "view", "copy.jsonl", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["device_ns"], int(time[1]))

    def test_defaults(self):
        """The names of files, and zeros."""
        (self.folder / "copy.neff").rename(self.folder / "file.neff")
        self.capture("--save-output-npy")
        self.assertEqual(self.files(), ["profile.jsonl"])
        self.assertFalse(self.load("y.npy").any())

    def test_inputs(self):
        """Files for inputs, and random numbers for others."""
        x = np.arange(64, dtype=np.float32)
        np.save(self.folder / "a.npy", x)
        self.capture("-n", "copy.neff", "--save-output-npy", "x", "a.npy")
        self.assertTrue((self.load("y.npy") == x).all())
        self.capture("-n", "copy.neff", "--save-output-npy", "--random", "3")
        first = self.load("y.npy")
        self.assertTrue(first.any())
        self.capture("-n", "copy.neff", "--save-output-npy", "--random", "4")
        self.assertFalse((self.load("y.npy") == first).all())

    def test_executions(self):
        """How often the NEFF runs, and which execution is profiled."""
        self.assemble("count", COUNT)
        np.save(self.folder / "x.npy", np.ones(64, dtype=np.float32))
        for words, runs, profiles in ((["--num-exec", "3"], 3, 1),
                                      (["--profile-nth-exec", "2"], 2, 1),
                                      (["--num-exec", "2", "--profile-nth-exec", "0"], 2, 0),
                                      (["--disable-profile"], 1, 0)):
            done = self.capture("-n", "count.neff", "-s", "p.jsonl", "--save-output-npy", *words,
                                "x", "x.npy")
            self.assertTrue((self.load("y.npy") == runs).all(), words)
            self.assertEqual(self.files(), ["p.jsonl"] * profiles, words)
            self.assertEqual(done.stdout.count("\n"), profiles)
            (self.folder / "p.jsonl").unlink(missing_ok=True)

    def test_nth_execution(self):
        """The profile is that of the execution that was asked for: device time goes on."""
        starts = []
        for number in (1, 3):
            self.capture("-n", "copy.neff", "-s", "p.jsonl", "--num-exec", "3",
                         "--profile-nth-exec", number)
            head = json.loads((self.folder / "p.jsonl").read_text().splitlines()[0])
            starts.append(head["start_ns"])
        self.assertLess(starts[0], starts[1])

    def test_determinism(self):
        """Outputs that change are found, and those that do not are not."""
        self.assemble("count", COUNT)
        words = ("--num-exec", "2", "--check-output-determinism", "--random", "1")
        self.capture("-n", "copy.neff", *words)
        done = self.capture("-n", "count.neff", *words, status=3)
        self.assertRegex(done.stderr, '^neuron-profile capture: output "y" of worker 0 is not the '
                                      "same in execution 2 as in execution 1, from byte [0-9]+ "
                                      "on\n$")

    def test_workers(self):
        """Each worker has a profile and inputs of its own."""
        self.assemble("pull", PULL)
        for worker in range(2):
            np.save(self.folder / f"{worker}.npy", np.full(64, worker, dtype=np.float32))
        inputs = ("x@0", "0.npy", "x@1", "1.npy")
        for words in (["-r", "2"], ["--collectives-worker-count", "2"],
                      ["-r", "2", "--collectives-worker-count", "2",
                       "--collectives-worker-start-id", "0", "-i", "all"]):
            done = self.capture("-n", "pull.neff", "-s", "p.jsonl", "--save-output-npy", *words,
                                *inputs)
            self.assertEqual(self.files(), ["p_rank_0.jsonl", "p_rank_1.jsonl"])
            self.assertEqual(done.stdout.count("\n"), 2)
            self.assertTrue((self.load("y@0.npy") == 1).all() and (self.load("y@1.npy") == 0).all())
            for name in self.files():
                done = self.run_program(PROFILE, "view", name, "--neff", "pull.neff")
                self.assertEqual(done.returncode, 0, done.stderr)
                (self.folder / name).unlink()
        self.capture("-n", "pull.neff", "-s", "p.jsonl", "-r", "2", "-i", "1")
        self.assertEqual(self.files(), ["p_rank_1.jsonl"])

    def test_failure(self):
        """An execution that fails leaves no profile, unless errors are ignored."""
        self.assemble("bad", BAD)
        done = self.capture("-n", "bad.neff", "-s", "p.jsonl", "--num-exec", "2", status=3)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("bad.s:8: access outside of SBUF or PSUM", done.stderr)
        self.assertEqual(self.files(), [])
        done = self.capture("-n", "bad.neff", "-s", "p.jsonl", "--num-exec", "2",
                            "--ignore-exec-errors")
        self.assertEqual(done.stderr.count("access outside of SBUF or PSUM"), 2, done.stderr)
        done = self.run_program(PROFILE, "view", "p.jsonl", "--neff", "bad.neff")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_refused(self):
        """What is not possible here is said in one line, with what to do instead."""
        for words, line in (
                (["--multi-input", "m"], "--multi-input is not supported; give NAME@WORKER FILE"),
                (["--single-io"], "--single-io is not supported; each tensor has a buffer"),
                (["--single-io-threshold", "1"], "--single-io-threshold is not supported"),
                (["--save-output"], "--save-output is not supported; use --save-output-npy"),
                (["--io-from", "runtime"], "--io-from is not supported; give NAME FILE"),
                (["--systrace-get-event-types"], "--systrace-get-event-types is not supported"),
                (["--systrace-event-filter", "x"], "--systrace-event-filter is not supported"),
                (["-t", "systrace"], '--capture-type is profile, not "systrace"; use NEURON_RT_'),
                (["--exec-mode", "async"], '--exec-mode is sync, not "async"'),
                (["--collectives-worker-start-id", "1"], "all workers are on this machine"),
                (["-r", "2", "--collectives-worker-count", "4"], "all workers are on this"),
                (["-r", "2", "-i", "2"], "--collectives-profile-id is 2, but the last worker is 1"),
                (["-i", "1"], "--collectives-profile-id is 1, but the last worker is 0"),
                (["--num-exec", "0"], '--num-exec is a number from 1 to 1000000000, not "0"'),
                (["--num-exec", "1", "--profile-nth-exec", "2"], "--profile-nth-exec is 2, but"),
                (["--check-output-determinism"], "needs --num-exec 2 or more"),
                (["--random", "x"], "--random wants a number"),
                (["x"], 'input "x" has no file: give NAME FILE')):
            with self.subTest(words=words):
                self.assertIn(line, self.refused("-n", "copy.neff", *words))
        self.assertEqual(self.files(), [])

    def test_bad_files(self):
        """Files that are not there, and names that the NEFF has not."""
        for words, line in ((["-n", "none.neff"], "none.neff: No such file"),
                            (["-n", "copy.neff", "z", "x.npy"], 'no input is called "z"'),
                            (["-n", "copy.neff", "x", "x.npy"], 'input "x": x.npy: No such file')):
            with self.subTest(words=words):
                self.assertIn(line, self.refused(*words, status=1))
        done = self.capture("-n", "copy.neff", "-s", "none/p.jsonl", status=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn('cannot make the file "none/p.jsonl": No such file', done.stderr)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
