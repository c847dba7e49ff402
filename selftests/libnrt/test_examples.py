#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The programs of Documentation/examples: what they print, and what they say of mistakes.

usage: test_examples.py PROGRAMS FOLDER...

The first folder holds the programs in C and add.neff, another one scale.neff; neuron-as is on the
path.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tap

FOLDERS = [pathlib.Path(folder).resolve() for folder in sys.argv[1:]]
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Documentation" / "examples"
LIMIT = 120


def neff(name):
    """The path of a NEFF."""
    return next(folder / f"{name}.neff" for folder in FOLDERS
                if (folder / f"{name}.neff").exists())


class Examples(unittest.TestCase):
    """Each program as a reader runs it, in a folder of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_program(self, *words):
        """Run a program in the folder."""
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                              timeout=LIMIT, check=False)

    def test_debug(self):
        """The kernel fails as it should, and the mended one succeeds."""
        done = self.run_program(SOURCES / "nrtpy_debug.py", SOURCES / "gather_rows.s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "Model inputs:",
            "  src_tensor: shape=[128, 512], size=262144",
            "Model outputs:",
            "  output_0: shape=[128, 512], size=262144",
            "Caught NrtError:",
            "  NRT Error NRT_EXEC_OOB(1006): Failed to execute model",
            "Execution succeeded. Output shape: (128, 512)",
            "Output sample (first row): [1. 1. 1. 1. 1.]"])
        # The line of libnrt that leads to the mistake: 99999 rows of 2048 bytes.
        self.assertIn(f'"src_tensor" + {99999 * 2048:#x}', done.stderr)

    def test_debug_limit(self):
        """With the true length of the table the index is refused: still an access out of bounds."""
        source = (SOURCES / "gather_rows.s").read_text(encoding="utf-8")
        self.assertIn("0x7fffffff", source)
        path = self.folder / "limit.s"
        path.write_text(source.replace("0x7fffffff", "ROWS"), encoding="utf-8")
        done = self.run_program(SOURCES / "nrtpy_debug.py", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NRT Error NRT_EXEC_OOB(1006)", done.stdout)
        self.assertIn("Execution succeeded.", done.stdout)
        self.assertIn('an index that is not below its limit ("indices" + 0x0;', done.stderr)

    def test_benchmark(self):
        """All cases pass, both modes measure, and the files are there."""
        done = self.run_program(SOURCES / "nrtpy_benchmark.py", neff("add"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Results: 5 passed, 0 failed\n", done.stdout)
        self.assertEqual(re.findall("Benchmark, mode (.*):", done.stdout), ["device", "host"])
        self.assertEqual(done.stdout.count("Iterations: 100\n"), 2)
        self.assertIn("OK: 1.00x of the baseline\n", done.stdout)
        self.assertTrue((self.folder / "baseline_perf.json").stat().st_size)
        self.assertTrue((self.folder / "kernel_trace.ntff").stat().st_size)

    def test_run_neff(self):
        """Inputs come from files or are zero, outputs go to files."""
        numbers = np.arange(12, dtype=np.float16)
        numbers.tofile(self.folder / "a.bin")
        done = self.run_program(FOLDERS[0] / "run_neff", neff("add"), "a_input", "a.bin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("run_neff: input b_input is zero\n", done.stderr)
        self.assertTrue((np.fromfile(self.folder / "output_0.out", np.float16) == numbers).all())
        done = self.run_program(FOLDERS[0] / "run_neff", neff("add"), "b_input", "a.bin", "a_input",
                                "a.bin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((np.fromfile(self.folder / "output_0.out", np.float16) == 2 * numbers)
                        .all())

    def test_run_neff_mistakes(self):
        """One line each, and a status that is not 0."""
        (self.folder / "short.bin").write_bytes(b"1234")
        program = FOLDERS[0] / "run_neff"
        for words, line in (
                ((), "usage: run_neff NEFF [INPUT FILE]..."),
                ((neff("add"), "a_input"), "usage: run_neff NEFF [INPUT FILE]..."),
                (("nonexistent",), "run_neff: nonexistent: No such file or directory"),
                (("short.bin",), "run_neff: nrt_load: NRT_INVALID"),
                ((neff("add"), "a_input", "nonexistent"),
                 "run_neff: nonexistent: No such file or directory"),
                ((neff("add"), "a_input", "short.bin"),
                 "run_neff: short.bin: has 4 bytes, but input a_input has 24")):
            done = self.run_program(program, *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.splitlines()[-1], line)

    def test_pipeline(self):
        """Each item gives its own result, in order."""
        for items in (1, 3, 25):
            done = self.run_program(FOLDERS[0] / "pipeline", neff("scale"), str(items))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines(),
                             [f"item {item}: {2 * item + 1}" for item in range(items)])

    def test_pipeline_mistakes(self):
        """A model that has other tensors, and no model at all."""
        done = self.run_program(FOLDERS[0] / "pipeline", neff("add"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "pipeline: the model: must have an fp32 input and an output of the same "
                         "size")
        self.assertEqual(self.run_program(FOLDERS[0] / "pipeline").returncode, 2)


if __name__ == "__main__":
    if not FOLDERS:
        sys.exit(__doc__)
    sys.exit(tap.run(sys.modules[__name__]))
