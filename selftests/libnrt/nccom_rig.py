# SPDX-License-Identifier: MIT
"""nccom-test as a user runs it, on chips in its own process.

The tool is the first argument of the test.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]).resolve()
LIMIT = 200
# Four ranks on each chip.
CHIPS = {"NEURON_RT_BACKEND": "embedded", "NEURON_EMU_INSTANCE": "trn2:4", "NEURON_EMU_QUIET": "1"}


def environment(**more):
    """That of a run: four chips in the process."""
    return {**os.environ, **CHIPS, **more}


class Tool(unittest.TestCase):
    """Each test runs the tool as a user does."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, *arguments, env=None, **more):
        """A run that goes on."""
        child = subprocess.Popen([TOOL, *arguments], env=env or environment(), cwd=self.folder,
                                 text=True, **more)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def run_tool(self, *arguments, status=0, **variables):
        """The run, which must have that exit status."""
        done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=LIMIT,
                              check=False, cwd=self.folder, env=environment(**variables))
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def rows(self, *arguments, **variables):
        """The lines of the table of a run that succeeds, as lists of words."""
        done = self.run_tool(*arguments, **variables)
        self.assertEqual(done.stderr, "")
        *table, last = done.stdout.splitlines()
        self.assertRegex(last, r"\AAvg bus bandwidth:\t\d+\.\d{4}GB/s\Z")
        return [line.split() for line in table]

    def refused(self, message, *arguments, status=2, **variables):
        """One line says why, and perhaps another one where help is. Nothing else is printed."""
        done = self.run_tool(*arguments, status=status, **variables)
        self.assertEqual(done.stdout, "")
        first, *others = done.stderr.splitlines()
        self.assertEqual(first, f"nccom-test: {message}")
        self.assertIn(others, ([], ["Try `nccom-test --help' or `nccom-test --usage' for more "
                                    "information."]))

    def write(self, name, content):
        """A JSON file for the tool."""
        (self.folder / name).write_text(json.dumps(content))
