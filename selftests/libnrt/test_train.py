#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""neuron-train on chips in its own process: what it computes, prints and refuses.

usage: test_train.py NEURON-TRAIN DIGITS.BIN
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import tap

TOOL = pathlib.Path(sys.argv[1]).resolve()
DATA = pathlib.Path(sys.argv[2]).resolve().parent
LIMIT = 200
STATE = 29186  # numbers of weights, means and powers
ROW = re.compile(r"^ +(\d+) +(-|\d+\.\d+) +(\d+\.\d+) +(\d+) of 359 +(\d+\.\d+) %$", re.M)


class Train(unittest.TestCase):
    """Each test runs the tool as a user does."""

    def run_tool(self, chips, *arguments, status=0, **variables):
        """The run, which must have that exit status."""
        env = {**os.environ, "NEURON_RT_BACKEND": "embedded", "NEURON_EMU_INSTANCE": chips,
               "NEURON_EMU_QUIET": "1", **variables}
        done = subprocess.run([TOOL, "--data", DATA, *arguments], capture_output=True, text=True,
                              timeout=LIMIT, check=False, env=env)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def passes(self, chips, ranks, *arguments, steps=2, images=32, **variables):
        """A run whose bits are those of the reference; the rows of its table."""
        done = self.run_tool(chips, "--steps", str(steps), "--images", str(images), *arguments,
                             **variables)
        self.assertEqual(done.stderr, "")
        first, *_, last = done.stdout.splitlines()
        self.assertEqual(first, f"{ranks} chip{'s' if ranks > 1 else ''}, {images} images a step, "
                                f"{images // ranks} on each")
        self.assertEqual(last, f"PASS: the losses of {steps} steps and {ranks * STATE} values of "
                               "the state equal the host reference bit for bit")
        return ROW.findall(done.stdout)

    def test_ranks(self):
        """1, 2 and 16 chips, all with the bits of the reference."""
        for ranks in (1, 2, 16):
            with self.subTest(ranks):
                rows = self.passes(f"trn2:{ranks}", ranks)
                self.assertEqual([row[0] for row in rows], ["0", "1", "2"])

    def test_learns(self):
        """The network learns to read."""
        rows = self.passes("trn2:2", 2, steps=30, images=64)
        losses = [float(row[2]) for row in rows]
        self.assertEqual([row[0] for row in rows], [str(step) for step in range(0, 31, 3)])
        self.assertGreater(losses[0], 2)
        self.assertLess(losses[-1], 0.7)
        self.assertGreater(float(rows[-1][4]), 80)

    def test_epochs_and_blocks(self):
        """More terms than the array adds at a time, and images that begin another epoch."""
        self.passes("trn2:2", 2, steps=3, images=600)

    def test_orders_of_reduction(self):
        """The reference follows the algorithm that the chips are told to use."""
        for algorithm in ("ring", "rdh", "mesh1"):
            with self.subTest(algorithm):
                self.passes("trn2:4", 4, NEURON_EMU_CC_ALGORITHM=algorithm)

    def test_generations(self):
        """The same program on all chips, without races."""
        for chips in ("trn1:2", "trn3:2"):
            with self.subTest(chips):
                self.passes(chips, 2, NEURON_EMU_CHECK="memory")

    def test_some_chips(self):
        """Not all chips; and images that are dealt without being asked for."""
        self.passes("trn2:3", 2, "--chips", "2")
        done = self.run_tool("trn2:3", "--steps", "1")
        self.assertTrue(done.stdout.startswith("3 chips, 126 images a step, 42 on each\n"))

    def refused(self, message, chips, *arguments, status=1, **variables):
        """One line says why; nothing else is printed."""
        done = self.run_tool(chips, *arguments, status=status, **variables)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.splitlines()[0], f"neuron-train: {message}")

    def test_refused(self):
        """What cannot be done is refused before anything starts."""
        self.refused("--chips: 4 chips are asked for, and cores of 2 are visible", "trn2:2",
                     "--chips", "4")
        self.refused("--images: 33 images for 2 chips: take a multiple of 2",
                     "trn2:2", "--images", "33")
        self.refused("--images: a step of 4000 images, and there are 1438 to train with", "trn2:2",
                     "--images", "4000")
        self.refused("--chips wants a number from 1 to 16", "trn2:2", "--chips", "17", status=2)
        self.refused("--steps wants a number from 1 to 100000", "trn2:2", "--steps", "x", status=2)

    def test_rank_fails(self):
        """A rank whose engine stands ends the job on all ranks, by name."""
        done = self.run_tool("trn2:4", "--steps", "3", "--images", "32", status=1,
                             NEURON_RT_EXEC_TIMEOUT="2", NEURON_RT_LOG_LEVEL="QUIET",
                             NEURON_EMU_FAULT="2:engine-hang,core=0,engine=vector,count=1")
        self.assertRegex(done.stderr, r"\Aneuron-train: step 1: rank \d on NeuronCore \d+: "
                                      r"NRT_TIMEOUT\n\Z")
        self.assertNotIn("PASS", done.stdout)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
