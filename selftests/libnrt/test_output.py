#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tool that cannot write all of its output says so, and its exit status is not 0.

usage: test_output.py FOLDER TOOL...

The folder has the assembler's examples, as NEFFs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import tap

NEFFS = pathlib.Path(sys.argv[1]).resolve()
TOOLS = {pathlib.Path(path).name: pathlib.Path(path).resolve() for path in sys.argv[2:]}
LIMIT = 120


def run(*command, **more):
    """Run a tool, with its errors caught."""
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False,
                          **more)


class Output(unittest.TestCase):
    """Each tool with a standard output on which nothing has room."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def full(self, tool, *arguments, text=""):
        """It fails with one line."""
        with open("/dev/full", "w") as full:
            done = run(TOOLS[tool], *arguments, stdout=full, cwd=self.folder, input=text)
        self.assertEqual(done.returncode, 1, done.stderr)
        # What each line of the output has found out is not known any more at the end.
        self.assertRegex(done.stderr, f"\\A{tool}: standard output: (No space left on device|"
                                      "not all of it could be written)\n\\Z")

    def test_help(self):
        """Of all tools, also of those that need a chip."""
        for tool in TOOLS:
            with self.subTest(tool=tool):
                self.full(tool, "--help")

    def test_wrong_usage(self):
        """All tools have the same status for it, and one for failures."""
        for tool in TOOLS:
            with self.subTest(tool=tool):
                done = run(TOOLS[tool], "--no-such-option", stdout=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_chips_of_a_process(self):
        """Who looks for a device is told where embedded chips are."""
        for tool in ("neuron-ls", "neuron-top"):
            words = ["--batch"] if tool == "neuron-top" else []
            done = run(TOOLS[tool], *words, stdout=subprocess.DEVNULL,
                       env={**os.environ, "NEURON_RT_BACKEND": "embedded"})
            if pathlib.Path("/dev/accel").exists():
                self.skipTest("this host has chips of its own")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"\\A{tool}: NEURON_RT_BACKEND=embedded: the chips are "
                                          "in the process .*neuron-sim --profile.*\n\\Z")

    def test_results(self):
        """What a tool has found out is lost, so it has not done its work."""
        neff = NEFFS / "vector_add.neff"
        self.full("neuron-sim", neff, "--list")
        self.full("neuron-sim", neff, "--zeros")
        self.full("neuron-objdump", neff)
        self.full("neuron-objdump", "-h", neff)
        self.full("neuron-packager", "info", neff)
        self.full("neuron-packager", "print", neff, "sg00/def.json")
        self.full("neuron-packager", "unpack", neff)
        self.full("neuron-debug", neff, "--zeros", text="continue\ncontinue\n")
        done = run(TOOLS["neuron-sim"], neff, "--zeros", "--profile", "p.jsonl",
                   cwd=self.folder, stdout=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        with unittest.mock.patch.dict(os.environ, {"NEURON_RT_BACKEND": "embedded"}):
            self.full("neuron-profile", "capture", "-n", neff, "-s", "q.jsonl")
        for command in ("view", "timeline", "trace", "html"):
            self.full("neuron-profile", command, "p.jsonl", "--neff", neff)

    def test_no_output(self):
        """A closed standard output is none; who prints nothing does not need it."""
        neff = NEFFS / "vector_add.neff"
        for command, status in ((("info", neff), 1),
                                (("edit", "--set", "header:name=a", "-o", "a.neff", neff), 0)):
            done = run("sh", "-c", 'exec "$0" "$@" >&-', TOOLS["neuron-packager"], *command,
                       cwd=self.folder)
            self.assertEqual(done.returncode, status, done.stderr)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
