#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nccom-test on chips in its own process: what it runs, prints and refuses.

usage: test_nccom.py NCCOM-TEST
"""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import tap
from nccom_rig import LIMIT, TOOL, Tool, environment

# Fewer files than 32 ranks need, but enough for chips and a sanitizer.
FILES = 64
TYPES = ("uint8", "int8", "fp8", "uint16", "int16", "fp16", "bf16", "uint32", "int32", "fp32")


class Output(Tool):
    """What it prints."""

    def test_table(self):
        """The columns of the public tool, in its units."""
        head, *rows = self.rows("-r", "2", "--minbytes", "1kb", "--maxbytes", "64kb",
                                "--stepfactor", "8", "--datatype", "fp32", "allr")
        self.assertEqual(head, ["size(B)", "count(elems)", "type", "time:avg(us)", "algbw(GB/s)",
                                "busbw(GB/s)"])
        self.assertEqual([row[:3] for row in rows],
                         [["1024", "256", "fp32"], ["8192", "2048", "fp32"],
                          ["65536", "16384", "fp32"]])
        for size, _, _, microseconds, algorithm, bus in rows:
            expected = int(size) / 2**30 / (float(microseconds) / 1e6)
            self.assertAlmostEqual(float(algorithm), expected, delta=0.006)
            # 2 (r - 1) / r is 1.
            self.assertEqual(algorithm, bus)

    def test_lines_are_aligned(self):
        """All columns end where their names end."""
        done = self.run_tool("-r", "2", "-b", "8", "-e", "8192", "-f", "32", "-n", "2", "--stats",
                             "avg", "p50", "--show-input-output-size", "allg")
        *lines, _ = done.stdout.splitlines()
        ends = [[match.end() for match in re.finditer(r"\S+", line)] for line in lines]
        self.assertGreater(len(ends), 2)
        for line in ends[1:]:
            self.assertEqual(line, ends[0])

    def test_public_examples(self):
        """Lines of the public guide, on fewer ranks and sizes where it has more."""
        head, row = self.rows("-r", "4", "--minbytes", "1kb", "--maxbytes", "1kb", "--stepfactor",
                              "8", "--datatype", "fp32", "--check", "allg",
                              "--show-input-output-size")
        self.assertEqual(head[:5], ["size(B)", "count(elems)", "total_input_size(B)",
                                    "total_output_size(B)", "type"])
        self.assertEqual(row[:5], ["1024", "256", "256", "1024", "fp32"])
        head, *rows = self.rows("-r", "8", "--minbytes", "1kb", "--maxbytes", "8kb", "--stepfactor",
                                "8", "--datatype", "fp32", "--stats", "avg", "p25", "p50", "p90",
                                "p99", "--iters", "30", "allg")
        self.assertEqual(head[3:8], [f"time:{stat}(us)" for stat in
                                     ("avg", "p25", "p50", "p90", "p99")])
        for row in rows:
            times = [float(word) for word in row[4:8]]
            self.assertEqual(times, sorted(times))

    def test_public_metadata(self):
        """The files of the public guide: one number for all ranks, and lists that are empty."""
        self.write("allgv_metadata.json", {"metadata": [{
            "send_counts": [256], "send_displs": [0], "recv_counts": [256, 256, 256, 256],
            "recv_displs": [0, 256, 512, 768]}]})
        _, row = self.rows("allgv", "-r", "4", "-N", "1", "-b", "2048", "-e", "2048", "-d", "fp16",
                           "--variable-size-op-metadata", "allgv_metadata.json")
        self.assertEqual(row[:3], ["2048", "1024", "fp16"])
        self.write("alltoallv_metadata.json", {"metadata": [{
            "send_counts": [512, 1024], "send_displs": [0, 512], "recv_counts": [],
            "recv_displs": []}]})
        self.rows("-r", "2", "-d", "fp32", "alltoallv", "-b", "1MB", "-e", "1MB", "-n", "2",
                  "--variable-size-op-metadata", "alltoallv_metadata.json")

    def test_json(self):
        """The public keys, and numbers that agree with the table."""
        head, *rows = self.rows("-r", "4", "-b", "4kb", "-e", "32kb", "-f", "8", "-d", "bf16",
                                "redsct", "--stats", "avg", "p50", "--report-to-json-file",
                                "results.json", "--show-input-output-size")
        results = json.loads((self.folder / "results.json").read_text())["results"]
        self.assertEqual(len(results), len(rows))
        for result, row in zip(results, rows):
            self.assertEqual(set(result), set(head))
            for key, word in zip(head, row):
                if key == "type":
                    self.assertEqual(result[key], word)
                else:
                    self.assertAlmostEqual(result[key], float(word), delta=0.0051)

    def test_json_replaces_an_old_file(self):
        """However long it was."""
        (self.folder / "results.json").write_text("x" * 10000)
        self.rows("-r", "2", "-b", "8", "-e", "8", "-n", "1", "allr", "--report-to-json-file",
                  "results.json")
        results = json.loads((self.folder / "results.json").read_text())["results"]
        self.assertEqual([result["size(B)"] for result in results], [8])

    def test_steps(self):
        """Sizes by addition, and a tenth of the range if nothing is said."""
        for arguments, sizes in ((("-b", "8", "-e", "16", "-i", "4"), [8, 12, 16]),
                                 (("-b", "8", "-e", "32", "-f", "2"), [8, 16, 32]),
                                 (("-b", "100", "-e", "200"), list(range(100, 201, 10))),
                                 (("-b", "8", "-e", "10"), [8, 9, 10])):
            with self.subTest(arguments=arguments):
                _, *rows = self.rows("-r", "2", "-n", "1", "-w", "0", *arguments, "allr")
                self.assertEqual([int(row[0]) for row in rows], sizes)

    def test_sizes_that_ranks_cannot_share(self):
        """They are rounded up, and the table has what was done."""
        _, row = self.rows("-r", "3", "-b", "1kb", "-e", "1kb", "-d", "fp32", "allg")
        self.assertEqual(row[:2], ["1032", "258"])
        _, row = self.rows("-r", "3", "-b", "1", "-e", "1", "-d", "fp16", "allr")
        self.assertEqual(row[:2], ["2", "1"])

    def test_repeated_runs(self):
        """-I and -W: operations are repeated in groups."""
        self.rows("-r", "2", "-b", "64", "-e", "64", "-n", "3", "-w", "2", "-I", "4", "-W", "1",
                  "allr")

    def test_progress(self):
        """On a terminal it says how far it is, and wipes that."""
        for more, shows in (((), True), (("--non-interactive",), False)):
            master, terminal = pty.openpty()
            child = self.start("-r", "2", "-b", "1MB", "-e", "1MB", "-n", "50", "allr", *more,
                               stdout=subprocess.DEVNULL, stderr=terminal)
            os.close(terminal)
            said = b""
            # The end of a terminal that nobody has any more is an error.
            with contextlib.suppress(OSError):
                while chunk := os.read(master, 4096):
                    said += chunk
            os.close(master)
            self.assertEqual(child.wait(), 0)
            if shows:
                self.assertRegex(said, rb"\r\x1b\[K1048576 bytes: \d+ of 55 operations")
                self.assertTrue(said.endswith(b"\r\x1b[K"))
            else:
                self.assertEqual(said, b"")


class Results(Tool):
    """What it does, and whether it sees that it went wrong."""

    def test_types_and_reductions(self):
        """Each type with each reduction, on sizes that nothing divides."""
        for number, kind in enumerate(TYPES):
            for turn, reduction in enumerate(("add", "min", "max")):
                ranks = (2, 3, 4, 16)[(number + turn) % 4]
                operation = ("allr", "redsct")[(number // 2 + turn) % 2]
                with self.subTest(ranks=ranks, type=kind, reduction=reduction):
                    self.rows("-r", str(ranks), "-d", kind, "-o", reduction, operation, "-b",
                              "1001", "-e", "70021", "-i", "69020", "-n", "2", "-w", "1")
        for ranks in (2, 3, 4, 16):
            self.rows("-r", str(ranks), "-d", "fp8e4", "allg", "-b", "70001", "-e", "70001", "-n",
                      "2", "-w", "1")

    def test_operations_of_neffs(self):
        """What the host interface does not have, on cores of one physical core and of two."""
        for operation in ("alltoall", "permute", "sendrecv"):
            for lnc, ranks in (("1", "1"), ("1", "5"), ("2", "8")):
                head, *rows = self.rows("-r", ranks, "-b", "120", "-e", "480kb", "-f", "64", "-n",
                                        "3", "-w", "1", "--show-input-output-size", "-d", "bf16",
                                        operation, NEURON_LOGICAL_NC_CONFIG=lnc)
                self.assertEqual(head[2:4], ["total_input_size(B)", "total_output_size(B)"])
                self.assertEqual(len(rows), 3)
                for row in rows:
                    self.assertEqual(row[2:4], [row[0], row[0]])

    def test_pairs(self):
        """Permutations of a file: that of the public guide, and one that leaves ranks out."""
        public = [[0, 1], [1, 0], [2, 3], [3, 2], [4, 4], [5, 5], [6, 6], [7, 7]]
        for ranks, pairs in (("8", public), ("5", [[4, 0], [0, 2], [2, 1]]), ("4", [[3, 1]])):
            self.write("pairs.json", {"src_target_pairs": [pairs]})
            for operation in ("permute", "sendrecv"):
                _, *rows = self.rows("-r", ranks, "-b", "1kb", "-e", "1mb", "-f", "1024", "-n", "2",
                                     "--custom-src-target-pairs", "pairs.json", operation)
                self.assertEqual([row[0] for row in rows], ["1024", "1048576"])

    def test_whole_blocks(self):
        """Operations with metadata, when there is no file: each block is as large as it can be."""
        for operation, lnc, ranks, kind in (("all_gatherv", "1", "1", "fp8"),
                                            ("allgv", "2", "8", "bf16"),
                                            ("alltoallv", "1", "5", "uint8"),
                                            ("alltoallv", "2", "4", "fp32"),
                                            ("reduce_scatterv", "1", "16", "int32"),
                                            ("redsctv", "2", "3", "fp16")):
            with self.subTest(operation=operation, lnc=lnc):
                _, *rows = self.rows("-r", ranks, "-b", "240", "-e", "480kb", "-f", "64", "-n", "2",
                                     "-w", "1", "-d", kind, operation,
                                     NEURON_LOGICAL_NC_CONFIG=lnc)
                self.assertEqual(len(rows), 2)

    def test_metadata(self):
        """Counts and displacements of a file, one entry for all ranks or one for each."""
        counts = ([3, 0, 7, 10], [1, 2, 3, 4], [0, 0, 0, 0], [9, 10, 1, 0])
        self.write("each.json", {"metadata": [{"send_counts": row} for row in counts]})
        self.write("one.json", {"metadata": [{"send_counts": counts[0],
                                              "send_displs": [30, 0, 12, 1]}]})
        # To places in the opposite order.
        self.write("to.json", {"metadata": [{"send_counts": row, "send_displs": [1, 11, 20, 30],
                                             "recv_counts": [0] * 4,
                                             "recv_displs": [30, 20, 10, 0]} for row in counts]})
        for operation, files in (("allgv", ("each.json", "to.json")),
                                 ("alltoallv", ("each.json", "one.json", "to.json")),
                                 ("redsctv", ("one.json",))):
            for file in files:
                for kind in ("fp32", "int16"):
                    with self.subTest(operation=operation, file=file, type=kind):
                        size = "80" if kind == "int16" else "160"
                        self.rows("-r", "4", "-b", size, "-e", size, "-d", kind, "-n", "2",
                                  operation, "--variable-size-op-metadata", file)
        for reduction in ("min", "max"):
            self.rows("-r", "4", "-b", "40kb", "-e", "40kb", "-d", "bf16", "-n", "2", "redsctv",
                      "-o", reduction, "--variable-size-op-metadata", "one.json")
        # Rounded sums; several groups.
        self.rows("-r", "8", "--data-parallel-dimension", "4", "-b", "160", "-e", "160", "-d",
                  "fp16", "-n", "2", "redsctv", "--check", "--variable-size-op-metadata",
                  "one.json")
        # A size that is too small for it is refused before it starts.
        done = self.run_tool("-r", "4", "-b", "144", "-e", "160", "-i", "16", "-d", "fp32", "-n",
                             "1", "alltoallv", "--variable-size-op-metadata", "each.json", status=1)
        self.assertIn("    144    send_counts[3] of place 0 is 10, and a block of this size has 9 "
                      "elements\n    160    ", done.stdout)

    def test_rounded_sums(self):
        """With --check the bits of rounded sums are those of the plan's order."""
        for number, algorithm in enumerate(("ring", "mesh", "kangaring", "rdh", "")):
            for turn, kind in enumerate(("fp8", "fp16", "bf16", "fp32")[number % 2::2]):
                operation = ("allr", "redsct")[(number // 2 + turn) % 2]
                with self.subTest(algorithm=algorithm, type=kind, operation=operation):
                    head, *rows = self.rows("-r", "16", "-d", kind, operation, "-b", "999", "-e",
                                            "200999", "-i", "200000", "-n", "1", "-w", "0",
                                            "--check", "--show-algorithm",
                                            NEURON_EMU_CC_ALGORITHM=algorithm)
                    self.assertEqual(head[-1], "algorithm")
                    for row in rows:
                        self.assertEqual(row[-1], algorithm or row[-1])
        # Of one rank.
        self.rows("-r", "1", "-d", "fp16", "allr", "-b", "5000", "-e", "5000", "-n", "1", "-c")
        # No rank has another algorithm than the plan.
        done = self.run_tool("-r", "3", "allr", "-b", "64", "-e", "64", status=1,
                             NEURON_EMU_CC_ALGORITHM="rdh")
        self.assertRegex(done.stdout, r"(?m)^ +64    .*rdh")

    def test_many_ranks_of_a_small_type(self):
        """The sum of 32 ranks stays exact in fp8, because not all of them add something."""
        self.rows("-r", "32", "-d", "fp8", "allr", "-b", "5000", "-e", "5000", "-n", "2", "-c",
                  NEURON_EMU_INSTANCE="trn2:8")

    def test_all_ones(self):
        """Each input is full of ones."""
        for kind in ("fp8", "fp32", "uint8"):
            self.rows("-r", "16", "-d", kind, "allr", "-b", "5000", "-e", "5000", "-n", "1",
                      "--check", "all_ones")
        self.refused("--check=all_ones: fp8 cannot count 32 ranks exactly", "-r", "32", "-d", "fp8",
                     "allr", "--check=all_ones")

    def test_wrong_results(self):
        """A chip that moves packets twice adds them twice, and the tool sees it."""
        done = self.run_tool("-r", "32", "-b", "100kb", "-e", "200kb", "-f", "2", "-n", "3", "-d",
                             "fp32", "allr", "--report-to-json-file", "results.json", status=1,
                             NEURON_EMU_INSTANCE="trn2:8", NEURON_EMU_CC_ALGORITHM="mesh",
                             NEURON_EMU_FAULT="0:dma-dup")
        _, *rows, last = done.stdout.splitlines()
        self.assertEqual([row.split(None, 1) for row in rows],
                         [["102400", "wrong result"], ["204800", "wrong result"]])
        self.assertEqual(last, "2 errors found - test failed")
        number = r"-?[\d.e+-]+ \(0x[0-9a-f]{8}\)"
        for line in done.stderr.splitlines():
            self.assertRegex(line, rf"\Anccom-test: rank \d+: element \d+ is {number}, expected "
                                   rf"{number}; \d+ of \d+ elements are wrong\Z")
        self.assertEqual(json.loads((self.folder / "results.json").read_text()), {"results": []})


class Threads(Tool):
    """What also runs under ThreadSanitizer."""

    def test_groups(self):
        """Several groups side by side; a rank may be in none."""
        self.write("groups.json", {"replica_groups": [[[0, 2, 1], [7, 4, 5]]]})
        for operation in ("allr", "allg", "redsct"):
            _, row = self.rows("-r", "8", "--custom-replica-groups", "groups.json", "-d", "fp32",
                               operation, "-b", "999", "-e", "999")
            self.assertEqual(row[0], "1000" if operation == "allr" else "1008")
        _, row = self.rows("-r", "8", "--data-parallel-dimension", "2", "-d", "fp32", "allg", "-b",
                           "1kb", "-e", "1kb", "--show-input-output-size")
        self.assertEqual(row[2:4], ["512", "1024"])
        # Those of NEFFs: ranks of other groups, or of none, do not load together.
        for operation in ("alltoall", "permute", "sendrecv"):
            _, row = self.rows("-r", "8", "--custom-replica-groups", "groups.json", operation,
                               "-d", "uint8", "-b", "999", "-e", "999", "-n", "3")
            self.assertEqual(row[0], "999")
        # Sums that are rounded, of each group by itself.
        self.rows("-r", "6", "--data-parallel-dimension", "3", "-d", "fp16", "allr", "-b", "5000",
                  "-e", "5000", "-n", "1", "-c")

    def test_failing_chip(self):
        """An operation that fails ends the test."""
        done = self.run_tool("-r", "4", "-b", "1kb", "-e", "2kb", "-f", "2", "allr", status=1,
                             NEURON_EMU_FAULT="0:dma-abort", NEURON_RT_EXEC_TIMEOUT="5")
        self.assertEqual([line.split() for line in done.stdout.splitlines()[1:]],
                         [["1024", "failure"], "1 errors found - test failed".split()])
        self.assertRegex(done.stderr, r"(?m)^nccom-test: rank \d: all_reduce: NRT_")

    def test_interrupt(self):
        """Ctrl-C ends it soon, as a signal, and a file of results is not left."""
        child = self.start("-r", "4", "-b", "64MB", "-e", "64MB", "-n", "100000", "-d", "fp32",
                           "allr", "--report-to-json-file", "results.json",
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The head comes when all ranks have met.
        self.assertTrue(child.stdout.readline().lstrip().startswith("size(B)"))
        time.sleep(1)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual((child.returncode, out, err), (-signal.SIGINT, "", ""))
        self.assertFalse((self.folder / "results.json").exists())

    def test_interrupt_while_ranks_join(self):
        """Ctrl-C ends it at once while ranks wait for one that does not come."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            env = environment(NEURON_RT_ROOT_COMM_ID=f"127.0.0.1:{port}",
                              NEURON_RT_EXEC_TIMEOUT="600")
            child = self.start("-r", "4", "allr", env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
            # Rank 0 cannot be where all look for it. The others do not know that.
            self.assertIn("cannot listen there", child.stderr.readline())
            child.send_signal(signal.SIGINT)
            out, _err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, out), (-signal.SIGINT, ""))


class Refusals(Tool):
    """What it refuses, in one line each."""

    def test_mistakes(self):
        """Each has one line."""
        self.refused("--nworkers is missing", "allr")
        self.refused("an operation is missing, for instance all_reduce", "-r", "2")
        self.refused("there is no operation \"allreduce\"; there are all_reduce (allr), "
                     "all_gather (allg), reduce_scatter (redsct), alltoall, permute, sendrecv, "
                     "all_gatherv (allgv), alltoallv, reduce_scatterv (redsctv)", "-r", "2",
                     "allreduce")
        self.refused("\"allg\": there is an operation already, all_reduce", "-r", "2", "allr",
                     "allg")
        self.refused("there is no data type \"fp64\"; there are uint8, int8, fp8, uint16, int16, "
                     "fp16, bf16, uint32, int32, fp32", "-r", "2", "-d", "fp64", "allr")
        self.refused("--op is add, min or max, not \"mul\"", "-r", "2", "-o", "mul", "allr")
        self.refused("--nworkers is a number from 1 to 256, not \"0\"", "-r", "0", "allr")
        for size in ("0", "-1", "x", "1q", "1kbx", "2000GB", "17179869185G",
                     "16777217T"):
            self.refused("--minbytes is a size such as 8, 1kb, 32M or 1GB, at most 1024GB, not "
                         f"\"{size}\"", "-r", "2", f"--minbytes={size}", "allr")
        self.refused("--minbytes is 64, more than --maxbytes, which is 32", "-r", "2", "-b", "64",
                     "-e", "32", "allr")
        for words in (("-n", "1000000"), ("-I", "1000", "-n", "1000"), ("-W", "1000", "-w", "999")):
            self.refused("at most 1000000 operations of a size, with those of --warmup_iters",
                         "-r", "2", "allr", *words)
        self.refused("--stepbytes and --stepfactor exclude each other", "-r", "2", "-i", "8", "-f",
                     "2", "allr")
        self.refused("--stats is avg, or p0 to p100, not \"p101\"", "-r", "2", "--stats", "p101",
                     "allr")
        self.refused("--check is random or all_ones, not \"ones\"", "-r", "2", "--check=ones",
                     "allr")

    def test_not_possible(self):
        """Operations and options of the public tool that cannot be done are refused by name."""
        self.refused("--hosts: not possible: all ranks are on one server", "-r", "2", "allr",
                     "--hosts", "127.0.0.1", "10.1.4.138")
        self.refused("--nnodes: not possible: all ranks are on one server", "-r", "2", "allr", "-N",
                     "2")
        for option in "--input-shape", "--output-shape":
            self.refused(f"{option}: not possible yet: the tool places the tile of each size by "
                         "itself", "-r", "2", "allr", option, "[1,1][4,4]")

    def test_several_tensors(self):
        """One operation of a list of tensors gives what one of one tensor gives, to the bit."""
        for operation in "allr", "allg", "redsct", "alltoall", "permute", "sendrecv":
            _, row = self.rows("-r", "4", "-b", "10kb", "-e", "10kb", "-n", "2", "-w", "1", "-d",
                               "fp16", "--check", "--coalesced-cc-size-ratio", "[1,2,1]",
                               operation)
            self.assertEqual(row[:3], ["10240", "5120", "fp16"])
        # Each of them must have something.
        done = self.run_tool("-r", "2", "-b", "8", "-e", "8", "--coalesced-cc-size-ratio", "1,9",
                             "allr", status=1)
        self.assertIn("--coalesced-cc-size-ratio: tensor 0 of a block of 8 is empty", done.stdout)
        self.refused("--coalesced-cc-size-ratio: alltoallv has one tensor", "-r", "2",
                     "--coalesced-cc-size-ratio=[1,1]", "alltoallv")
        for bad in "", "[]", "[1,2", "1,", "[0,1]", "[1,-2]", "[1]x", str([1] * 65):
            self.refused("--coalesced-cc-size-ratio is a list of 1 to 64 numbers from 1 to 999999, "
                         f"such as [1,2,1], not \"{bad}\"", "-r", "2",
                         f"--coalesced-cc-size-ratio={bad}", "allr")

    def test_every_option_of_the_public_guide_is_known(self):
        """It is done or refused by name, never ignored."""
        text = self.run_tool("--help").stdout
        for option in """
                nworkers nnodes minbytes maxbytes stepbytes stepfactor iters warmup_iters neff_iters
                neff_warmup_iters datatype check seed unique-buff coalesced-cc-size-ratio
                shared-output-buff variable-size-op-metadata hosts hosts-file mpi-log-dir slurm-mode
                slurm-vcpus-per-node slurm-setup-script slurm-job-id
                slurm-use-head-node-neuron-bench non-interactive report-to-json-file stats
                show-algorithm show-input-output-size debug sb2sb input-shape output-shape cc-dim
                data-parallel-dimension custom-replica-groups custom-src-target-pairs streams-json
                vcpu-pin-mode data-collector-port data-collector-host""".split():
            self.assertRegex(text, rf"--{option}\b")

    def test_ranks_and_memory(self):
        """More than there is, of one and of the other."""
        self.refused("--nworkers: 17 ranks need as many cores, and there are 16", "-r", "17",
                     "allr", status=1)
        done = self.run_tool("-r", "16", "-b", "1kb", "-e", "32GB", "-i", "30GB", "-n", "1", "-d",
                             "fp32", "allg", status=1)
        _, small, large, bandwidth, last = done.stdout.splitlines()
        self.assertEqual(small.split()[0], "1024")
        self.assertRegex(large, r"\A32212255744    rank 0 needs [\d.]+ GiB of its chip's memory, "
                                r"and there are [\d.]+ GiB\Z")
        self.assertIn("Avg bus bandwidth", bandwidth)
        self.assertEqual(last, "1 errors found - test failed")

    def test_open_files(self):
        """It opens as many files as it is let, and says what to do when these are too few."""
        words = [TOOL, "-r", "32", "allr", "-b", "1kb", "-e", "1kb", "-n", "1", "-w", "0"]
        env = environment(NEURON_EMU_INSTANCE="trn2:8", NEURON_EMU_CC_ALGORITHM="mesh")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        for limits, status in (((FILES, hard), 0), ((FILES, FILES), 1)):
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False,
                                  cwd=self.folder, env=env, preexec_fn=lambda limits=limits:
                                  resource.setrlimit(resource.RLIMIT_NOFILE, limits))
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn("too many open files; raise the limit (ulimit -n)", done.stderr)

    def test_too_large(self):
        """A size of which there is no plan is refused before it starts, and has no tensors."""
        done = self.run_tool("-r", "2", "-b", "8GB", "-e", "8GB", "allr", status=1)
        self.assertIn("8589934592    all_reduce: 8589934592 elements, and a block has at most "
                      "536870912\n", done.stdout)

    def test_no_device(self):
        """libnrt says why, in one line."""
        done = self.run_tool("-r", "2", "allr", status=1, NEURON_RT_BACKEND="drm")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\A\S+ \S+ +\S+ +ERROR NRT:nrt_get_visible_vnc_count no "
                                      r"Neuron device: .*\n\Z")

    def test_metadata_that_makes_no_sense(self):
        """In the file, or for the size."""
        self.refused("--variable-size-op-metadata: all_reduce has no metadata", "-r", "2", "allr",
                     "--variable-size-op-metadata", "a")
        for content, message in (
                ({}, "\"metadata\" is not there, or no list"),
                ({"metadata": [{}, {}, {}]},
                 "\"metadata\" has 3 entries; one is for all ranks, else each of the 2 ranks of a "
                 "group has one"),
                ({"metadata": [{"send_counts": [1]}]},
                 "\"send_counts\" of entry 0 is not there, or no list of 2 numbers, one for each "
                 "rank of a group"),
                ({"metadata": [{"send_counts": [1, -1]}]},
                 "send_counts[1] of entry 0 is -1, no number of elements"),
                ({"metadata": [{"send_counts": [1, 1], "send_displs": [0, 0]},
                               {"send_counts": [1, 1]}]},
                 "\"send_displs\" of entry 1 is not there, or no list of 2 numbers, one for each "
                 "rank of a group")):
            self.write("a", content)
            self.refused(f"a: {message}", "-r", "2", "alltoallv", "--variable-size-op-metadata",
                         "a")
        self.write("a", {"metadata": [{"send_counts": [1, 1]}]})
        self.refused("a: \"send_counts\" of entry 0 is not there, or no list of one number: all "
                     "ranks of a group get the same", "-r", "4", "allgv",
                     "--variable-size-op-metadata", "a")
        for operation, content, message in (
                ("alltoallv", [{"send_counts": [4, 4], "send_displs": [0, 5]}],
                 "send_displs[1] of place 0 is 5, and 4 elements from there on are outside of the "
                 "input"),
                ("alltoallv", [{"send_counts": [4, 4], "recv_displs": [0, 5]}],
                 "recv_displs[1] of place 0 is 5, and 4 elements from there on are outside of the "
                 "output"),
                ("allgv", [{"send_counts": [4, 4], "recv_displs": [0, 3]}],
                 "place 0: what comes from place 1 would lie upon what comes from place 0"),
                ("redsctv", [{"send_counts": [4, 4]}, {"send_counts": [4, 3]}],
                 "send_counts[1] of place 1 is not that of place 0")):
            self.write("a", {"metadata": content})
            done = self.run_tool("-r", "2", "-b", "32", "-e", "32", "-d", "fp32", operation,
                                 "--variable-size-op-metadata", "a", status=1)
            self.assertIn(f"     32    {message}\n", done.stdout)

    def test_files(self):
        """Those that cannot be written or read, or make no sense."""
        self.refused("no/x.json: No such file or directory", "-r", "2", "allr",
                     "--report-to-json-file", "no/x.json")
        for name, content, message in (
                ("a", {}, "\"replica_groups\" is not there, or no list of lists of groups"),
                ("b", {"replica_groups": [[[0, 1], [2]]]},
                 "group 1 has 1 ranks and group 0 has 2; all must have as many"),
                ("c", {"replica_groups": [[[0, 1], [1, 2]]]}, "rank 1 is there twice"),
                ("d", {"replica_groups": [[[0, 4]]]},
                 "group 0: 4 is no rank; there are ranks 0 to 3"),
                ("e", {"replica_groups": [[["x"]]]},
                 "group 0: \"x\" is no rank; there are ranks 0 to 3"),
                ("f", {"replica_groups": [[[0]], [[1]]]},
                 "\"replica_groups\" has 2 lists of groups, and there is one operation"),
                ("g", {"replica_groups": [[[0, 1, 2], [3, 0, 1]]]},
                 "the groups have 6 ranks together, and --nworkers is 4"),
                ("h", {"replica_groups": [[7]]}, "group 0 is no list of ranks")):
            self.write(name, content)
            self.refused(f"{name}: {message}", "-r", "4", "allr", "--custom-replica-groups", name)
        (self.folder / "k").write_text('{"replica_groups": [[[0, 1]]]}\n} rest')
        self.refused("k: there is something behind the JSON, at byte 31", "-r", "4", "allr",
                     "--custom-replica-groups", "k")
        (self.folder / "i").write_text("{")
        self.refused("i: this is no JSON: unexpected end of data", "-r", "4", "allr",
                     "--custom-replica-groups", "i")
        self.refused("j: No such file or directory", "-r", "4", "allr", "--custom-replica-groups",
                     "j")
        self.refused("--data-parallel-dimension: 4 ranks are no groups of 3", "-r", "4", "allr",
                     "--data-parallel-dimension", "3")

    def test_pairs_that_make_no_sense(self):
        """In the file, or beside other options."""
        pairs = ("--custom-src-target-pairs", "a")
        for content, message in (
                ({}, "\"src_target_pairs\" is not there, or no list of lists of pairs"),
                ({"src_target_pairs": [[[0, 1]], [[1, 0]]]},
                 "\"src_target_pairs\" has 2 lists of pairs, and there is one operation"),
                ({"src_target_pairs": [[]]},
                 "the list in \"src_target_pairs\" is no list of pairs"),
                ({"src_target_pairs": [[[0, 1], [1]]]}, "pair 1 is no list of two ranks"),
                ({"src_target_pairs": [[[0, 4]]]},
                 "pair 0: 4 is no rank; there are ranks 0 to 3"),
                ({"src_target_pairs": [[[0, 1], [2, 3], [0, 2]]]},
                 "rank 0 is the source of pairs 0 and 2"),
                ({"src_target_pairs": [[[r, r] for r in range(4)] + [[0, 0]]]},
                 "rank 0 is the source of pairs 0 and 4"),
                ({"src_target_pairs": [[[0, 1], [2, 1]]]},
                 "rank 1 is the target of pairs 0 and 1")):
            self.write("a", content)
            self.refused(f"a: {message}", "-r", "4", "permute", *pairs)
        self.refused("--custom-src-target-pairs: all_reduce has no pairs", "-r", "4", "allr",
                     *pairs)
        self.refused("--custom-src-target-pairs and --data-parallel-dimension exclude each other",
                     "-r", "4", "permute", *pairs, "--data-parallel-dimension", "2")


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
