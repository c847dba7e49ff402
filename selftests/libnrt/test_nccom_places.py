#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nccom-test on chips in its own process: where tensors lie, pinned threads, and streams.

usage: test_nccom_places.py NCCOM-TEST
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import tap
from nccom_rig import Tool


class Places(Tool):
    """Where tensors lie, and threads run."""

    def needs(self, *arguments):
        """The GiB that a rank needs for a size that no chip has room for."""
        done = self.run_tool("-r", "16", "-b", "30GB", "-e", "30GB", "-d", "fp32", "allg",
                             *arguments, status=1)
        return float(re.search(r"rank 0 needs ([\d.]+) GiB of its chip's memory",
                               done.stdout).group(1))

    def test_tensors_of_each_operation(self):
        """Each operation of a run has an input and an output, and all are compared."""
        for operation in ("allr", "allg", "alltoall", "alltoallv"):
            for counts in (("-n", "3", "-w", "2"), ("-n", "1", "-w", "3"),
                           ("-n", "2", "-w", "1", "-I", "2", "-W", "1")):
                self.rows("-r", "4", "-b", "4kb", "-e", "4kb", "-d", "fp16", "--check",
                          "--unique-buff", operation, *counts)
        one, four = self.needs(), self.needs("--unique-buff", "-n", "3", "-w", "1")
        self.assertAlmostEqual(four / one, 4, delta=0.1)

    def test_sbuf(self):
        """Blocks beside and below each other, of sizes that make wide tiles and flat ones."""
        for number, (operation, ranks) in enumerate((("allr", "4"), ("allg", "3"), ("allg", "8"),
                                                     ("redsct", "5"), ("redsct", "16"))):
            kind = ("fp16", "fp32", "uint8", "bf16", "int16")[number]
            for dimension in (), ("--cc-dim", "0"), ("--cc-dim", "1"):
                for size in "999", "6000", "122880":
                    self.rows("-r", ranks, "-b", size, "-e", size, "-n", "2", "-w", "1", "-d",
                              kind, "--check", "--sb2sb", operation, *dimension)
        self.rows("-r", "4", "-b", "6000", "-e", "6000", "-n", "2", "--sb2sb", "--unique-buff",
                  "allg", NEURON_LOGICAL_NC_CONFIG="1")

    def test_outputs_of_two_ranks(self):
        """Cores with the same HBM have one output, which both compare."""
        for algorithm in "ring", "mesh", "kangaring", "rdh", "chip:mesh+mesh":
            for operation in ("allr", "allg")[algorithm == "rdh":]:
                self.rows("-r", "16", "-b", "40kb", "-e", "40kb", "-n", "3", "-w", "1", "-d",
                          "fp16", "--check", "--shared-output-buff", operation,
                          NEURON_LOGICAL_NC_CONFIG="1", NEURON_EMU_CC_ALGORITHM=algorithm)
        self.rows("-r", "2", "-b", "1kb", "-e", "1kb", "-n", "2", "--shared-output-buff",
                  "--unique-buff", "--sb2sb", "allg", NEURON_LOGICAL_NC_CONFIG="1")
        done = self.run_tool("-r", "8", "-b", "4kb", "-e", "4kb", "allr", "--shared-output-buff",
                             status=1, NEURON_LOGICAL_NC_CONFIG="1", NEURON_EMU_CC_ALGORITHM="rdh")
        self.assertIn("4096    --shared-output-buff: rdh adds in the outputs; try "
                      "NEURON_EMU_CC_ALGORITHM=ring\n", done.stdout)
        self.refused("--shared-output-buff: no other rank of its group has the HBM of rank 2; try "
                     "NEURON_LOGICAL_NC_CONFIG=1", "-r", "3", "allr", "--shared-output-buff",
                     status=1, NEURON_LOGICAL_NC_CONFIG="1")
        self.refused("--shared-output-buff: each rank of reduce_scatter has another result", "-r",
                     "2", "redsct", "--shared-output-buff")

    def test_sizes_that_do_not_fit_into_sbuf(self):
        """An odd block is in one partition: four of them fit below each other, not beside."""
        size = ("-r", "4", "-b", "280004", "-e", "280004", "-n", "1", "-w", "0")
        self.rows(*size, "allg", "--sb2sb")
        done = self.run_tool(*size, "allg", "--sb2sb", "--cc-dim", "0", status=1)
        self.assertIn("280004    tensors need 350080 bytes of a partition of SBUF, and there are "
                      "229376\n", done.stdout)
        done = self.run_tool("-r", "2", "allr", "--sb2sb", status=1)
        self.assertIn("33554432    tensors need 524288 bytes of a partition of SBUF", done.stdout)

    def test_sbuf_of_many_ranks(self):
        """Blocks that no number of rows lets lie below each other evenly."""
        done = self.run_tool("-r", "144", "-b", "144", "-e", "144", "-n", "1", "-w", "0", "allg",
                             "--sb2sb", status=1, NEURON_EMU_INSTANCE="trn3:36")
        self.assertIn("144    144 blocks of 1 elements cannot lie below each other in SBUF; use "
                      "--cc-dim 0\n", done.stdout)

    def processors(self, *arguments):
        """The processors of each thread of a run that may use all that there are."""
        child = self.start("-r", "4", "-b", "1MB", "-e", "1MB", "-n", "100000", "allr", *arguments,
                           stdout=subprocess.PIPE)
        self.assertTrue(child.stdout.readline().lstrip().startswith("size(B)"))
        lists = [re.search(r"(?m)^Cpus_allowed_list:\s*(\S+)$", status.read_text()).group(1)
                 for status in pathlib.Path(f"/proc/{child.pid}/task").glob("*/status")]
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        return lists

    def test_options_that_make_no_sense(self):
        """Options of SBUF, beside others and for operations that do not work there."""
        for operation in "alltoall", "permute", "sendrecv", "all_gatherv", "alltoallv":
            self.refused(f"--sb2sb: {operation} works in HBM only", "-r", "2", operation, "--sb2sb")
        self.refused("--cc-dim is for --sb2sb", "-r", "2", "allg", "--cc-dim", "1")
        self.refused("--cc-dim is a number from 0 to 1, not \"2\"", "-r", "2", "allg", "--sb2sb",
                     "--cc-dim", "2")
        self.refused("--sb2sb and --coalesced-cc-size-ratio exclude each other", "-r", "2", "allg",
                     "--sb2sb", "--coalesced-cc-size-ratio", "[1,1]")
        for flag in "--sb2sb", "--unique-buff", "--vcpu-pin-mode":
            done = self.run_tool("-r", "2", "allg", f"{flag}=1", status=2)
            self.assertIn(f": option '{flag}' doesn't allow an argument\n", done.stderr)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one processor")
    def test_pinned_threads(self):
        """The threads of the ranks are spread over all processors, and stay there."""
        self.assertEqual(len(set(self.processors())), 1)
        pinned = self.processors("--vcpu-pin-mode")
        ours = sorted(os.sched_getaffinity(0))
        for cpu in ours[:4]:
            self.assertIn(str(cpu), pinned)
        # Others, as those of the chips, run anywhere.
        self.assertTrue(set(pinned) - {str(cpu) for cpu in ours})


class Streams(Tool):
    """Operations beside each other."""

    def test_public_example(self):
        """The file of the public guide, on fewer ranks and sizes."""
        self.write("stream_0_rg.json", {"replica_groups": [[[0, 1], [2, 3]]]})
        self.write("streams_example.json", {"streams": [
            {"operation": "all_reduce", "datatype": "bf16", "stepfactor": 2, "minbytes": "1KB",
             "maxbytes": "4KB", "custom_replica_groups": "stream_0_rg.json"},
            {"operation": "allg", "datatype": "fp32", "ops_per_iter": 2, "minbytes": "1KB",
             "maxbytes": "1KB"}]})
        done = self.run_tool("allg", "-r", "4", "-c", "-n", "3", "--streams-json",
                             "streams_example.json", "--report-to-json-file", "results.json")
        head, *lines = [line.split() for line in done.stdout.splitlines()]
        # The last word of a line about the average is its number.
        self.assertEqual([line[:3] for line in lines],
                         [["1024", "512", "bf16"], ["2048", "1024", "bf16"],
                          ["4096", "2048", "bf16"], lines[3][:3], head[:3],
                          ["1024", "256", "fp32"], ["1024", "256", "fp32"],
                          ["1024", "256", "fp32"], lines[8][:3]])
        self.assertEqual([lines[3][:2], lines[8][:2]], [["Avg", "bus"]] * 2)
        results = json.loads((self.folder / "results.json").read_text())["results"]
        self.assertEqual([(row["stream"], row["size(B)"], row["type"]) for row in results],
                         [(0, 1024, "bf16"), (1, 1024, "fp32"), (0, 2048, "bf16"),
                          (1, 1024, "fp32"), (0, 4096, "bf16"), (1, 1024, "fp32")])
        # An iteration has two operations of stream 1.
        for first, second in zip(results[::2], results[1::2]):
            self.assertAlmostEqual(first["time:avg(us)"], 2 * second["time:avg(us)"], places=2)

    def test_all_kinds(self):
        """Metadata, SBUF twice, lists and rounded sums beside each other; device time, too."""
        self.write("counts.json", {"metadata": [{"send_counts": [3, 0, 7, 10]}]})
        self.write("streams.json", {"streams": [
            {"operation": "alltoallv", "variable_size_op_metadata": "counts.json",
             "datatype": "int16", "minbytes": 160, "maxbytes": "160"},
            {"operation": "redsct", "datatype": "fp16", "check": "random", "sb2sb": True,
             "ops_per_iter": 16, "op": "add"},
            {"coalesced_cc_size_ratio": [1, 2, 1], "check": True}]})
        run = ("-r", "4", "-b", "3kb", "-e", "6kb", "-i", "3kb", "-n", "2", "-w", "1", "allr",
               "-d", "bf16", "--streams-json", "streams.json")
        for more in (), ("--unique-buff", "--modelled"):
            done = self.run_tool(*run, *more)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout.count("Avg bus bandwidth"), 3)
            self.assertEqual(len(done.stdout.splitlines()), 12)
        self.write("streams.json", {"streams": [{"sb2sb": True, "cc_dim": 0},
                                                {"sb2sb": True, "operation": "allg"}]})
        self.run_tool(*run)

    def test_wrong_results(self):
        """The line says on which stream."""
        self.write("s.json", {"streams": [{"operation": "permute"}, {"operation": "allr"}]})
        done = self.run_tool("-r", "32", "-b", "100kb", "-e", "100kb", "-n", "3", "-d", "fp32",
                             "--streams-json", "s.json", status=1, NEURON_EMU_INSTANCE="trn2:8",
                             NEURON_EMU_FAULT="0:dma-dup")
        self.assertRegex(done.stderr, r"\Anccom-test: rank \d+ on stream 1: element ")
        self.assertEqual(done.stdout.count("102400    wrong result"), 2)
        self.assertTrue(done.stdout.endswith("\n1 errors found - test failed\n"))

    def test_streams_that_a_core_has_not(self):
        """libnrt says which ones there are."""
        self.write("s.json", {"streams": [{}, {}]})
        done = self.run_tool("-r", "2", "-b", "8", "-e", "8", "allr", "--streams-json", "s.json",
                             status=1, NEURON_LOGICAL_NC_CONFIG="1")
        self.assertIn("stream 1", done.stderr)

    def test_files(self):
        """Each mistake has a line that says where it is."""
        run = ("-r", "4", "allr", "--streams-json", "s")
        self.refused("s: No such file or directory", *run)
        for content, message in (
                ([], "s: \"streams\" is not there, or no list"),
                ({"streams": []}, "s: there are 1 to 4 streams, not 0"),
                ({"streams": [{}] * 5}, "s: there are 1 to 4 streams, not 5"),
                ({"streams": [{}, 3]}, "s: stream 1: this is no object with an operation"),
                ({"streams": [{"iters": 3}]}, "s: stream 0: \"iters\" is no option of a stream"),
                ({"streams": [{"cc-dim": 3}]}, "s: stream 0: \"cc-dim\" is no option of a stream"),
                ({"streams": [{"ops_per_iter": 17}]},
                 "s: stream 0: ops_per_iter is a number from 1 to 16, not 17"),
                ({"streams": [{"sb2sb": 1}]}, "s: stream 0: 1 is no value of --sb2sb"),
                ({"streams": [{"minbytes": None}]}, "s: stream 0: null is no value of --minbytes"),
                ({"streams": [{"minbytes": True}]}, "s: stream 0: true is no value of --minbytes"),
                ({"streams": [{}, {"datatype": "fp64"}]},
                 "s: stream 1: there is no data type \"fp64\"; there are uint8, int8, fp8, uint16, "
                 "int16, fp16, bf16, uint32, int32, fp32"),
                ({"streams": [{"operation": "alltoall", "sb2sb": True}]},
                 "s: stream 0: --sb2sb: alltoall works in HBM only"),
                ({"streams": [{}, {"custom_replica_groups": "g"}]},
                 "rank 2 is in a group of stream 0, and in none of stream 1")):
            self.write("s", content)
            self.write("g", {"replica_groups": [[[0, 1]]]})
            self.refused(message, *run)
        self.refused("s: stream 0: an operation is missing, for instance all_reduce", "-r", "4",
                     "--streams-json", "s")


class Threads(Tool):
    """What also runs under ThreadSanitizer."""

    def test_streams(self):
        """Ranks that have several tensors and streams."""
        self.write("s.json", {"streams": [{}, {"operation": "allg", "sb2sb": True}]})
        self.run_tool("-r", "4", "-b", "1kb", "-e", "1kb", "-n", "3", "allr", "--unique-buff",
                      "--vcpu-pin-mode", "--streams-json", "s.json")


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
