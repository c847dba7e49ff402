#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Device times of nccom-test: the formulas of the manual, links that groups share, every run alike.

usage: test_nccom_times.py NCCOM-TEST INEXACT-TIMES
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tap

TOOL = pathlib.Path(sys.argv[1]).resolve()
INEXACT = pathlib.Path(sys.argv[2]).resolve()
LIMIT = 250
MIB = 1 << 20
GIB = 1 << 30

# Of the manual (hardware/device-time.rst, hardware/fabric.rst), Trainium2: bytes per us of a DMA
# engine and of a link, the start of an idle queue and a hop in us.
ENGINE = 23_000
LINK = 128_000
START = 1.3
HOP = 1.5
# Of plans (libnrt/collectives.rst): channels and slices of a ring, queues of a mesh. The torus of
# 16 chips has two cycles, and twice as many channels.
CHANNELS = 4
TORUS_CHANNELS = 8
SLICES = 2
QUEUES = 8
# Virtual cores of a chip: one rank of each chip takes part.
CORES = 4


def way(start, end, size):
    """The links on a ring of so many chips, each as the chip that it leaves and the direction."""
    step = 1 if (end - start) % size <= (start - end) % size else -1
    while start != end:
        yield start, step
        start = (start + step) % size


def route(start, end, ranks):
    """The links of the fixed way between two chips: a ring, or for 16 the torus of a server."""
    if ranks < 16:
        return [("ring", *link) for link in way(start, end, ranks)]
    (row, column), (to_row, to_column) = divmod(start, 4), divmod(end, 4)
    return [("row", row, *link) for link in way(column, to_column, 4)] + \
        [("column", to_column, *link) for link in way(row, to_row, 4)]


def busiest(ranks, first, last):
    """Blocks on the busiest link when each rank writes to those first to last after it."""
    load = {}
    for start in range(ranks):
        for distance in range(first, last):
            for link in route(start, (start + distance) % ranks, ranks):
                load[link] = load.get(link, 0) + 1
    return max(load.values())


def ring_us(operation, ranks, size):
    """Time of a ring by the manual."""
    channels = TORUS_CHANNELS if ranks == 16 else CHANNELS
    move = size / (ranks * channels * SLICES) / ENGINE
    moves = {"all_reduce": (ranks - 1) * (2 + 1),
             "all_gather": 2 + (ranks - 2),
             "reduce_scatter": 1 + 2 * (ranks - 1)}[operation]
    return START + HOP + SLICES * moves * move


def mesh_us(operation, ranks, size):
    """Time of a mesh by the manual."""
    queues = min(QUEUES, ranks - 1)
    block = size / ranks
    rounds = sum(max(block / ENGINE,
                     block * busiest(ranks, first, min(first + queues, ranks)) / LINK)
                 for first in range(1, ranks, queues))
    reduces = ranks * block / queues / ENGINE
    return {"all_reduce": 3 * (START + HOP) + 2 * rounds + reduces,
            "all_gather": START + HOP + rounds + block / ENGINE,
            "reduce_scatter": 2 * (START + HOP) + rounds + reduces}[operation]


class Modelled(unittest.TestCase):
    """Each test runs the tool as a user does."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_tool(self, *arguments, status=0, **variables):
        """The run, which must have that exit status."""
        env = {**os.environ, "NEURON_RT_BACKEND": "embedded", "NEURON_EMU_INSTANCE": "trn2:4",
               "NEURON_EMU_QUIET": "1", **variables}
        done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=LIMIT,
                              check=False, cwd=self.folder, env=env)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def measure(self, operation, groups, size, chips, **variables):
        """The JSON result of groups of chips: of each a rank takes part."""
        ranks = [[CORES * chip for chip in group] for group in groups]
        (self.folder / "groups").write_text(json.dumps({"replica_groups": [ranks]}))
        self.run_tool("-r", str(CORES * chips), "-b", str(size), "-e", str(size), "-n", "1",
                      "-w", "0", "-d", "fp32", "--modelled", "--custom-replica-groups", "groups",
                      "--report-to-json-file", "result", operation,
                      NEURON_EMU_INSTANCE=f"trn2:{chips}", **variables)
        result, = json.loads((self.folder / "result").read_text())["results"]
        self.assertEqual(result["device:inexact(operations)"], 0)
        return result

    def compare(self, algorithm, formula):
        """The bus bandwidth is that of the formula, within 5 %."""
        all_three = ("all_reduce", "all_gather", "reduce_scatter")
        for chips, size, operations in ((2, 16 * MIB, all_three), (4, 16 * MIB, all_three),
                                        (8, 32 * MIB, all_three),
                                        (16, 64 * MIB, ("all_reduce",))):
            for operation in operations:
                result = self.measure(operation, [list(range(chips))], size, chips,
                                      NEURON_EMU_CC_ALGORITHM=algorithm)
                factor = (chips - 1) / chips * (2 if operation == "all_reduce" else 1)
                expected = factor * size / GIB / (formula(operation, chips, size) / 1e6)
                with self.subTest(f"{operation} of {chips} ranks, {size} bytes"):
                    self.assertAlmostEqual(result["device:busbw(GB/s)"] / expected, 1, delta=0.05)

    def test_ring_formula(self):
        """Rings of several numbers of ranks."""
        self.compare("ring", ring_us)

    def test_mesh_formula(self):
        """Meshes, whose links have more to do."""
        self.compare("mesh", mesh_us)

    def test_groups_that_share_links(self):
        """Two groups slow each other down on the links between them, and nowhere else."""
        def time(*groups):
            result = self.measure("all_reduce", groups, 8 * MIB, 4, NEURON_EMU_CC_ALGORITHM="ring")
            return result["device:avg(us)"]

        self.assertEqual(time([0, 1], [2, 3]), time([0, 1]))
        # Of three parts one is a copy, for which the engines of two groups are faster than a link.
        slower = (2 + 2 * CHANNELS * ENGINE / LINK) / 3
        self.assertGreater(slower, 1.1)
        self.assertAlmostEqual(time([0, 2], [1, 3]) / time([0, 2]), slower, delta=0.05)

    def test_every_run_is_alike(self):
        """All figures of device time, of operations of the host and of NEFFs."""
        for operation in ("all_reduce", "all_gather", "alltoall", "permute"):
            runs = []
            for _ in range(3):
                self.run_tool("-r", "16", "-b", "1kb", "-e", "1mb", "-f", "32", "-n", "5", "-d",
                              "fp32", "--modelled", "--stats", "avg", "p0", "p50", "p100",
                              "--report-to-json-file", "result", operation)
                results = json.loads((self.folder / "result").read_text())["results"]
                runs.append([{key: value for key, value in result.items() if "device" in key}
                             for result in results])
            self.assertEqual(len(runs[0][0]), 7)
            for run in runs[1:]:
                self.assertEqual(run, runs[0])
            self.assertTrue(all(result["device:p0(us)"] > 0 for result in runs[0]))

    def test_columns(self):
        """Beside the others, in their units, with the bandwidth of a link."""
        done = self.run_tool("-r", "2", "-b", "1kb", "-e", "64kb", "-f", "8", "--stats", "avg",
                             "p50", "--modelled", "--show-algorithm", "--report-to-json-file",
                             "result", "allr")
        *table, last = done.stdout.splitlines()
        self.assertTrue(last.startswith("Avg bus bandwidth:"))
        head, *rows = [line.split() for line in table]
        self.assertEqual(head[5:], ["algbw(GB/s)", "busbw(GB/s)", "device:avg(us)",
                                    "device:p50(us)", "device:algbw(GB/s)", "device:busbw(GB/s)",
                                    "link(GB/s)", "algorithm"])
        results = json.loads((self.folder / "result").read_text())["results"]
        for row, result in zip(rows, results, strict=True):
            self.assertEqual(set(result), {*head, "device:inexact(operations)"})
            self.assertAlmostEqual(float(row[7]), result["device:avg(us)"], delta=0.006)
            expected = int(row[0]) / GIB / (result["device:avg(us)"] / 1e6)
            self.assertAlmostEqual(result["device:algbw(GB/s)"], expected, delta=1e-6)
            self.assertEqual(row[11], f"{LINK * 1e6 / GIB:.2f}")

    def test_wall_times_alone(self):
        """Without the option there is nothing of it."""
        done = self.run_tool("-r", "2", "-b", "1kb", "-e", "1kb", "allr")
        self.assertNotIn("device", done.stdout)

    def test_inexact_times_are_marked(self):
        """Never as if they were exact."""
        done = self.run_tool("-r", "2", "-b", "1kb", "-e", "1kb", "-n", "3", "--modelled",
                             "--report-to-json-file", "result", "allr", LD_PRELOAD=str(INEXACT),
                             ASAN_OPTIONS="verify_asan_link_order=0")
        _, row, why, _ = done.stdout.splitlines()
        self.assertEqual([word.startswith("~") for word in row.split()],
                         [False] * 6 + [True] * 3 + [False])
        self.assertEqual(why, "~: 3 device times are not exact: the device had no room for so much "
                              "work at once")
        result, = json.loads((self.folder / "result").read_text())["results"]
        self.assertEqual(result["device:inexact(operations)"], 3)

    def test_auto(self):
        """libnrt chooses, and it looks for chips, not for a folder of other devices."""
        self.run_tool("-r", "2", "-b", "1kb", "-e", "1kb", "-n", "3", "--modelled", "allr",
                      NEURON_RT_BACKEND="auto")


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
