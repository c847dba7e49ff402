#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""neuron-sim: what it runs, what it prints, and what it says of mistakes.

neuron-as and neuron-sim are on the path.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tap

LIMIT = 120

# y = x of type TYPE, through SBUF.
COPY = """\
.input x TYPE 128*4
.output y TYPE 128*4
.queue q_in in sync
.queue q_out out sync
.sem loaded
.engine sync
        .dma q_in, sbuf[0:128, 0 : 4 TYPE], x, loaded
        .dma q_out, y, sbuf[0:128, 0 : 4 TYPE] wait loaded >= 1
        halt
"""

# A tile beyond the end of its partitions, in the second line.
OUTSIDE = """\
.engine vector
        memset sbuf[0:128, 0x3f000 : 16 fp32], 0.0
        halt
"""

# The scalar engine reads in line 8 what the vector engine writes in line 5, in no order.
RACE = """\
.output y fp32 128*4
.queue q_out out sync
.sem done
.engine vector
        memset sbuf[0:128, 0 : 4 fp32], 3.0
        halt
.engine scalar
        copy sbuf[0:128, 16 : 4 fp32], sbuf[0:128, 0 : 4 fp32] post done += 1
        halt
.engine sync
        .dma q_out, y, sbuf[0:128, 16 : 4 fp32] wait done >= 1
        halt
"""

# y = 0 * x, in line 10.
NAN = """\
.input x fp32 128*4
.output y fp32 128*4
.queue q_in in sync
.queue q_out out sync
.sem loaded
.sem done
.engine vector
        nop wait loaded >= 1

        tensor_scalar.multiply.add TILE, TILE, 0.0, 0.0 post done += 1
        halt
.engine sync
        .dma q_in, sbuf[0:128, 0 : 4 fp32], x, loaded
        .dma q_out, y, sbuf[0:128, 0 : 4 fp32] wait done >= 1
        halt
""".replace("TILE", "sbuf[0:128, 0 : 4 fp32]")

# y = x of the rank behind, read from there.
PULL = """\
.input x int32 128*4
.output y int32 128*4
.peer next 1 x
.queue q data sync
.engine sync
        .dma q, y, next
        halt
"""

# y = x, by a collective of each rank alone, so that no other rank puts anything in order.
SUM = """\
.input x int32 128*4
.output y int32 128*4
.tmp mine 128*4*4
.file one
.words 1
.sem copied
.sem done
.collective sum all_reduce add int32 mine y done groups 0 / 1
.queue copy data sync
.queue start data scalar
.engine sync
        .dma copy, mine, x, copied
        halt
.engine scalar
        .dma start, sum, one wait copied >= 1
        nop wait done >= 1
        halt
"""

# A loop that comes to the end of w, in line 13, and of v, in line 14 or 15.
LOOP = """\
.input v fp32 4096
.input w fp32 64
.output y fp32 4096
.queue q data gpsimd
.dge.cast.fp32 from_v, sbuf[0:1, 0 : 64 fp32], v[0 : 64 fp32]
.dge.cast.fp32 from_w, sbuf[0:1, 0x400 : 64 fp32], w[0 : 64 fp32]
.dge.cast.fp32 to_y, y[0 : 64 fp32], sbuf[0:1, 0 : 64 fp32]
.sem done
.engine gpsimd
        reg_set r1, 0
        reg_set r2, 100
again:  dma_generate q, to_y:0, r0, r0
        dma_generate q, from_w:0, W, r0
        dma_generate q, from_v:0, V, r0
        dma_generate q, from_v:0, V, r0 landed post done += 1
        nop take done >= 1
        reg_alu.add r1, r1, 256
        loop r2, again
        halt
"""

# Of y bytes 256 to 767 and 1024 to 1535 are written, of z none, of w all.
PART = """\
.input x int32 128
.output w int32 128
.output y int32 512
.output z fp32 16
.queue q out sync
.engine sync
        .dma q, w, x
        .dma q, y[0x100 : 512], x[0 : 512]
        .dma q, y[0x400 : 512], x[0 : 512]
        halt
"""

# A program that makes its NaN behind what a trace of NaNs keeps as a rule: 70,000 instructions.
LATE = NAN.replace("        nop wait loaded >= 1\n", """\
        nop wait loaded >= 1
        reg_set r1, 70000
again:  loop r1, again
""")

# The types of a NEFF, by the assembler's names, and how NumPy has them.
TYPES = {
    "uint8": "|u1", "int8": "|i1", "uint16": "<u2", "int16": "<i2", "uint32": "<u4",
    "int32": "<i4", "uint64": "<u8", "int64": "<i8", "fp32": "<f4", "fp32r": "<f4",
    "fp16": "<f2", "bf16": "|V2", "fp8_e3": "|V1", "fp8_e4": "|V1", "fp8_e5": "|V1",
}


class Simulator(unittest.TestCase):
    """neuron-sim, in a folder of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_program(self, *words):
        """Run a program in the folder."""
        return subprocess.run([str(word) for word in words], cwd=self.folder, timeout=LIMIT,
                              capture_output=True, text=True, check=False)

    def assemble(self, name, text):
        """Make a NEFF of a source."""
        (self.folder / f"{name}.s").write_text(text)
        done = self.run_program("neuron-as", "-w", f"{name}.s")
        self.assertEqual(done.returncode, 0, done.stderr)

    def simulate(self, *words, status=0):
        """Run neuron-sim, whose exit status must be `status`."""
        done = self.run_program("neuron-sim", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def refused(self, *words, status=1, lines=1):
        """What neuron-sim says of a mistake: one line, with what libnrt has found two."""
        done = self.simulate(*words, status=status)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), lines, done.stderr)
        return done.stderr.rstrip("\n")

    def save(self, name, array):
        """Write a .npy file."""
        np.save(self.folder / name, array)

    def load(self, name):
        """Read a .npy file."""
        return np.load(self.folder / name)

    def test_types(self):
        """What goes in comes out, in every type."""
        for name, descr in TYPES.items():
            with self.subTest(name):
                self.assemble("copy", COPY.replace("TYPE", name))
                size = np.dtype(descr).itemsize
                data = np.random.default_rng(1).bytes(128 * 4 * size)
                x = np.frombuffer(data, dtype=descr).reshape(128, 4)
                self.save("x.npy", x)
                done = self.simulate("copy.neff", "--input", "x=x.npy", "-o", "out")
                self.assertEqual(done.stderr, "")
                y = self.load("out/y.npy")
                self.assertEqual(y.tobytes(), data)
                self.assertEqual((y.shape, y.dtype), ((128, 4), np.dtype(descr)))

    def test_times(self):
        """The device time is the same each time, and the tables count what ran."""
        self.assemble("copy", COPY.replace("TYPE", "fp32"))
        first = self.simulate("copy.neff", "--zeros").stdout
        self.assertRegex(first, r"^device time [1-9]\d* ns, 3 instructions, \d+ bytes by DMA\n$")
        again = self.simulate("copy.neff", "--random", "5", "--repeat", "3").stdout
        self.assertEqual(first, again)
        done = self.simulate("copy.neff", "--zeros", "--profile", "p.jsonl", "--trace", "t.json")
        self.assertTrue(done.stdout.startswith(first))
        self.assertRegex(done.stdout, r"\| 0 +\| sync +\| 3 +\|")
        self.assertRegex(done.stdout, r"\| 0 +\| DMA  +\|")
        lines = [json.loads(line) for line in (self.folder / "p.jsonl").open()]
        self.assertEqual(lines[0]["format"], "neuron-emu-profile")
        self.assertEqual(lines[0]["events"], len(lines) - 1)
        trace = json.loads((self.folder / "t.json").read_text())
        self.assertIn("nrt_execute", {event["name"] for event in trace["trace_events"]})

    def test_list(self):
        """The tensors are shown, and nothing runs."""
        self.assemble("copy", COPY.replace("TYPE", "bf16"))
        done = self.simulate("copy.neff", "--list")
        self.assertRegex(done.stdout, r"\| x +\| input +\| bfloat16 \| \|V2 \(128, 4\) \| 1024 +\|")
        self.assertRegex(done.stdout, r"\| y +\| output \| bfloat16 \| \|V2 \(128, 4\) \| 1024 +\|")
        self.assertNotIn("device time", done.stdout)

    def test_random(self):
        """A seed gives the same numbers, each rank others, and all of them are of use."""
        self.assemble("copy", COPY.replace("TYPE", "fp16"))
        self.simulate("copy.neff", "--random", "7", "-o", "a")
        self.simulate("copy.neff", "--random", "7", "-o", "b", "--ranks", "2")
        self.simulate("copy.neff", "--random", "8", "-o", "c")
        a, b, other, c = (self.load(name) for name in ("a/y.npy", "b/y@0.npy", "b/y@1.npy",
                                                       "c/y.npy"))
        self.assertTrue((a == b).all())
        self.assertFalse((a == other).all() or (a == c).all())
        self.assertTrue((np.abs(a) >= 1 / 16).all() and (np.abs(a) < 1).all())
        self.assertTrue((a < 0).any() and (a > 0).any())
        # Each type has normal numbers below 1; float8e3 has them from 1/4 on.
        for name, least, one in (("fp8_e3", 0x10, 0x30), ("fp8_e4", 0x18, 0x38),
                                 ("fp8_e5", 0x2c, 0x3c)):
            self.assemble(name, COPY.replace("TYPE", name))
            self.simulate(f"{name}.neff", "--random", "7", "-o", name)
            bits = self.load(f"{name}/y.npy").view(np.uint8) & 0x7f
            self.assertTrue((bits >= least).all() and (bits < one).all())

    def test_ranks(self):
        """A file for one rank counts more than that for all."""
        self.assemble("copy", COPY.replace("TYPE", "int32"))
        for number in range(2):
            self.save(f"x{number}.npy", np.full((128, 4), number, dtype=np.int32))
        done = self.simulate("copy.neff", "--ranks", "3", "-i", "x@1=x1.npy", "-i", "x=x0.npy",
                             "-o", "out", "--profile", "p.jsonl")
        self.assertEqual(re.findall(r"^rank (\d): device time", done.stdout, re.MULTILINE),
                         ["0", "1", "2"])
        for rank, number in enumerate([0, 1, 0]):
            self.assertTrue((self.load(f"out/y@{rank}.npy") == number).all())
            self.assertTrue((self.folder / f"p@{rank}.jsonl").stat().st_size)

    def test_peers(self):
        """Ranks read from each other, and need to be loaded as such."""
        self.assemble("pull", PULL)
        for number in range(2):
            self.save(f"x{number}.npy", np.full((128, 4), number + 5, dtype=np.int32))
        words = ("pull.neff", "-i", "x@0=x0.npy", "-i", "x@1=x1.npy", "-o", "out")
        self.simulate(*words, "--ranks", "2", "--instance", "trn2:2")
        self.assertTrue((self.load("out/y@0.npy") == 6).all())
        self.assertTrue((self.load("out/y@1.npy") == 5).all())
        self.assertIn("works with peers", self.refused("pull.neff", "--zeros", lines=2))

    def test_pairs(self):
        """A program for a logical core of two physical ones gets such cores."""
        self.assemble("pair", COPY.replace("TYPE", "int32") + ".core 1\n.engine sync\n        nop\n"
                                                              "        halt\n")
        done = self.simulate("pair.neff", "--zeros", "--ranks", "2", "--profile", "p.jsonl")
        self.assertEqual(len(re.findall(r"^\| 1 +\| sync", done.stdout, re.MULTILINE)), 2)
        self.assertIn("make no pairs",
                      self.refused("pair.neff", "--zeros", "--instance", "trn1"))

    def test_instances(self):
        """The chips are those that are asked for."""
        self.assemble("copy", COPY.replace("TYPE", "int32"))
        for name in ("trn1", "inf2", "trn2:2", "trn3"):
            self.simulate("copy.neff", "--zeros", "--instance", name)
        self.assertIn('NEURON_EMU_INSTANCE="trn9"',
                      self.refused("copy.neff", "--zeros", "--instance", "trn9"))
        self.assertIn("3 ranks need as many logical cores, and there are 2",
                      self.refused("copy.neff", "--zeros", "--ranks", "3", "--instance", "trn1"))

    def test_names(self):
        """Files for what is no input of the NEFF, or is one already."""
        self.assemble("copy", COPY.replace("TYPE", "int32"))
        self.save("x.npy", np.zeros((128, 4), dtype=np.int32))
        self.assertIn('no input is called "z"', self.refused("copy.neff", "-i", "z=x.npy"))
        self.assertIn('"y" is an output', self.refused("copy.neff", "-i", "y=x.npy"))
        self.assertIn("there is no rank 1", self.refused("copy.neff", "-i", "x@1=x.npy"))
        self.assertIn('"x=x.npy" and "x=b.npy" are for the same input',
                      self.refused("copy.neff", "-i", "x=x.npy", "-i", "x=b.npy"))

    def test_bad_arrays(self):
        """A line names the tensor, what was wanted, and what was there."""
        self.assemble("copy", COPY.replace("TYPE", "bf16"))
        cases = [
            (np.zeros((4, 128), dtype="|V2"), "wanted |V2 (128, 4) (bfloat16), got |V2 (4, 128)"),
            (np.zeros((128, 4), dtype="<f2"), "wanted |V2 (128, 4) (bfloat16), got <f2 (128, 4)"),
            (np.zeros((512,), dtype="|V2"), "got |V2 (512,) in x.npy"),
            (np.zeros((128, 4), dtype=">f4"), "big endian"),
            (np.asfortranarray(np.zeros((128, 4))), "Fortran order"),
        ]
        for array, words in cases:
            self.save("x.npy", array)
            line = self.refused("copy.neff", "--input", "x=x.npy")
            self.assertTrue(line.startswith('neuron-sim: input "x": '), line)
            self.assertIn(words, line)
        self.assertIn('input "x": none.npy: No such file',
                      self.refused("copy.neff", "--input", "x=none.npy"))
        self.assertEqual(self.refused("copy.neff"),
                         'neuron-sim: input "x" has no file: use --input x=FILE, --zeros or '
                         "--random")

    def test_bad_files(self):
        """NEFFs that are none, and outputs that cannot be written."""
        self.assertIn("none.neff: No such file", self.refused("none.neff"))
        self.assertIn(".: no regular file", self.refused("."))
        self.assemble("copy", COPY.replace("TYPE", "bf16"))
        done = self.simulate("copy.neff", "--zeros", "-o", "none/out", status=1)
        self.assertIn("neuron-sim: none/out: No such file or directory\n", done.stderr)
        self.assertIn("none/p.jsonl",
                      self.refused("copy.neff", "--zeros", "--profile", "none/p.jsonl"))

    def test_bad_options(self):
        """The command line."""
        for words in (["a.neff", "b.neff"], [], ["a.neff", "--ranks", "0"], ["a", "-i", "x"],
                      ["a.neff", "--repeat", "-1"], ["a.neff", "--zeros", "--random", "1"],
                      ["a.neff", "--timeout", "1s"], ["a.neff", "--random", "x"]):
            done = self.simulate(*words, status=2)
            self.assertTrue(done.stderr.startswith("neuron-sim: "), done.stderr)

    def complete(self, word, before=""):
        """What bash makes of a word behind another one."""
        script = self.simulate("--completion").stdout
        done = self.run_program("bash", "-c", script + '_neuron_sim neuron-sim "$0" "$1"\n'
                                'echo "${COMPREPLY[@]}"', word, before)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split())

    def test_completion(self):
        """bash completes options, files and folders."""
        (self.folder / "out").mkdir()
        (self.folder / "other.neff").touch()
        self.assertEqual(self.complete("--r"), ["--random", "--ranks", "--repeat"])
        self.assertEqual(self.complete("o"), ["other.neff", "out"])
        self.assertEqual(self.complete("o", "--output-dir"), ["out"])
        self.assertEqual(self.complete("o", "-o"), ["out"])
        self.assertEqual(self.complete("o", "--profile"), ["other.neff", "out"])
        self.assertEqual(self.complete("", "--repeat"), [])
        shown = re.findall(r"--[a-z-]+", self.simulate("--help").stdout.split("Example:")[0])
        self.assertEqual(set(self.complete("--")) - set(shown), set())

    def test_chips_of_the_environment(self):
        """NEURON_EMU_INSTANCE holds without --instance, as the help says."""
        self.assemble("copy", COPY.replace("TYPE", "fp32"))
        self.assertIn("NEURON_EMU_INSTANCE", self.simulate("--help").stdout)
        for words, status in (([], 1), (["--instance", "trn1"], 0)):
            done = self.run_program("env", "NEURON_EMU_INSTANCE=none", "neuron-sim", "copy.neff",
                                    "--zeros", *words)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_failure(self):
        """A program that fails, and one that waits for ever."""
        self.assemble("bad", COPY.replace("TYPE", "fp32") + OUTSIDE)
        line = self.refused("bad.neff", "--zeros", status=3)
        self.assertIn('model "bad" failed on core 0: vector engine, pc 0, bad.s:11: access '
                      "outside of SBUF or PSUM", line)
        self.assemble("wait", COPY.replace("TYPE", "fp32").replace(">= 1", ">= 2"))
        line = self.refused("wait.neff", "--zeros", "--timeout", "1", status=4)
        self.assertIn("sync engine, pc 1, wait.s:8, waits for semaphore", line)

    def test_failure_in_a_loop(self):
        """The lines that can have triggered a transfer are named."""
        for name, w, v, lines in (("w", "r1", "r0", "w.s:13"),
                                  ("v", "r0", "r1", "v.s:14 or v.s:15")):
            self.assemble(name, LOOP.replace("W", w).replace("V", v))
            line = self.refused(f"{name}.neff", "--zeros", status=3)
            self.assertRegex(line, f'queue "q", generated packet [0-9]+, {lines}: access outside '
                                   f'of a variable.* \\("{name}" \\+ 0x')

    def test_loop_without_an_end(self):
        """It is said to run still, and where."""
        self.assemble("spin", ".engine vector\nnop wait s1 >= 1\nhalt\n"
                              ".engine sync\nagain: branch again\n")
        line = self.refused("spin.neff", "--timeout", "1", status=4)
        self.assertRegex(line, "still ran when its time was over .*; sync engine, pc 0, "
                               "spin.s:5, runs; vector engine, pc 0, spin.s:2, waits")

    def test_a_failed_read_of_the_host(self):
        """A fault on demand of host memory is named, also if it strikes the job itself."""
        self.assemble("copy", COPY.replace("TYPE", "fp32"))
        done = self.run_program("env", "NEURON_EMU_FAULT=0:host-read-fail,count=1", "neuron-sim",
                                "copy.neff", "--zeros")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the chip could not read the job: a read of host memory failed", done.stderr)

    def test_check_of_outputs(self):
        """Outputs that the program leaves out, or a part of them, are named once."""
        self.assemble("part", PART)
        self.simulate("part.neff", "--zeros")
        done = self.simulate("part.neff", "--zeros", "--check", "--repeat", "2", status=5)
        lines = [line.split("check output: ")[1] for line in done.stderr.splitlines()]
        self.assertEqual(lines, [
            '"y", of 2048 bytes, has bytes that nobody has written: 0 to 255, and 768 more',
            '"z", of 64 bytes, has bytes that nobody has written: 0 to 63'])

    def test_check_of_collectives(self):
        """A race with a collective is told also when the collective comes second."""
        self.assemble("sum", SUM)
        done = self.simulate("sum.neff", "--zeros", "--check", "--ranks", "2", "--repeat", "2")
        self.assertEqual(done.stderr, "")
        self.assemble("early", SUM.replace(" wait copied >= 1", "\n        nop wait copied >= 1"))
        done = self.simulate("early.neff", "--zeros", "--check", "--ranks", "2", status=5)
        ours, theirs = 'queue "copy", descriptor .*', r"queue \d+ of DMA engine \d+ of a collective"
        self.assertRegex(done.stderr, f"check race: ({theirs}, reads, in no order with the write "
                                      f"of the {ours}|{ours}, writes, in no order with the read "
                                      f"of the {theirs})")

    def test_check(self):
        """A race is found at the lines of the source, whether it did harm or not."""
        self.assemble("race", RACE)
        self.simulate("race.neff")
        done = self.simulate("race.neff", "--check", status=5)
        races = [line for line in done.stderr.splitlines() if "check race" in line]
        self.assertEqual(len(races), 1, done.stderr)
        self.assertRegex(races[0], "(scalar engine, pc 0, race.s:8, reads, in no order with the "
                                   "write of the vector engine, pc 0, race.s:5|vector engine, "
                                   "pc 0, race.s:5, writes, in no order with the read of the "
                                   "scalar engine, pc 0, race.s:8): SBUF of core 0 partition 0")
        self.assemble("copy", COPY.replace("TYPE", "bf16"))
        # Zeros that were written are no memory that nobody has written.
        done = self.simulate("copy.neff", "--check", "--zeros", "--repeat", "2")
        self.assertEqual(done.stderr, "")
        self.assemble("early", COPY.replace("TYPE", "bf16").replace(" wait loaded >= 1", ""))
        done = self.simulate("early.neff", "--check", "--zeros", "--ranks", "2", status=5)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r'queue "q_(in|out)", descriptor \d+, early.s:(7|8), ')
        # Each of 128 descriptors has the same mistake.
        self.assertIn("more descriptors", done.stderr)
        self.assertLess(done.stderr.count("\n"), 20)

    def test_nan(self):
        """The first NaN: engine, pc, line and output."""
        self.assemble("nan", NAN)
        x = np.ones((128, 4), dtype=np.float32)
        self.save("x.npy", x)
        self.simulate("nan.neff", "-i", "x=x.npy", "--break-on-nan")
        x[3, 2] = np.inf
        self.save("x.npy", x)
        self.simulate("nan.neff", "-i", "x=x.npy")
        done = self.simulate("nan.neff", "-i", "x=x.npy", "--break-on-nan", "--repeat", "5", "-o",
                             "out", status=6)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertRegex(done.stderr, "vector engine, pc 1, nan.s:10, made the first NaN, at "
                                      "[0-9]+ ns; output \"y\" has one in element 14")
        self.assemble("late", LATE)
        done = self.simulate("late.neff", "-i", "x=x.npy", "--break-on-nan", status=6)
        self.assertIn("vector engine, pc 3, late.s:12, made the first NaN", done.stderr)
        self.assertEqual(np.argwhere(np.isnan(self.load("out/y.npy"))).tolist(), [[3, 2]])


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
