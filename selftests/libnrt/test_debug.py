#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""neuron-debug: the session of its page, what its commands do, and what it says of mistakes.

usage: test_debug.py NEURON_DEBUG NEURON_AS FOLDER

The folder has the assembler's examples, as NEFFs.
"""

import array
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tap

DEBUG, AS, NEFFS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Documentation" / "tools" / "neuron-debug.rst"
LATE = ROOT / "tools" / "neuron-debug" / "example" / "late.s"
PROMPT = "(neuron) "
# Each core of the pair writes another number.
PAIR = """.program pair
.engine vector
        memset sbuf[0:4, 0 : 8 fp32], 1.5
        halt
.core 1
.engine vector
        reg_set r2, 7
        memset sbuf[0:4, 0 : 8 fp32], 2.5
        halt
"""
# The vector engine makes a NaN where x has infinity, and passes it on. z may bring NaNs in.
NAN = """.program nan
.input x fp32 128*4
.input z fp32 128*4
.output y fp32 128*4
.queue q_in in sync
.queue q_out out sync
.sem loaded
.sem done
.engine vector
        nop wait loaded >= 2
        tensor_scalar.multiply.add sbuf[0:128, 64 : 4 fp32], sbuf[0:128, 0 : 4 fp32], 0.0, 0.0
        copy psum[0:128, 32 : 4 fp32], sbuf[0:128, 64 : 4 fp32]
        memset sbuf[0:128, 64 : 4 fp32], 1.0 post done += 1
        halt
.engine sync
        .dma q_in, sbuf[0:128, 0 : 4 fp32], x, loaded
        .dma q_in, sbuf[0:128, 128 : 4 fp32], z, loaded
        .dma q_out, y, sbuf[0:128, 64 : 4 fp32] wait done >= 1
        halt
"""
LIMIT = 120


def console_blocks(page):
    """The lines of all console blocks of a page, one block after the other."""
    lines = []
    inside = False
    for line in page.read_text().splitlines():
        if line == ".. code-block:: console":
            inside = True
        elif inside and line and not line.startswith("   "):
            inside = False
        elif inside and line:
            lines.append(line[3:])
    return lines


def write_npy(path, shape, values):
    """An array of fp32."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() +
                     array.array("f", values).tobytes())


def read_npy(path):
    """The numbers of an array of fp32."""
    data = path.read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


class Debug(unittest.TestCase):
    """A debugger with a script, in a folder of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def assemble(self, name, text):
        """Assemble a program; its NEFF."""
        (self.folder / f"{name}.s").write_text(text)
        subprocess.run([AS, f"{name}.s"], cwd=self.folder, check=True, timeout=LIMIT)
        return f"{name}.neff"

    def debug(self, *arguments, commands=(), status=0):
        """Run the debugger; its output."""
        done = subprocess.run([DEBUG, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=LIMIT, check=False, input="\n".join([*commands, ""]))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.complaint = done.stderr
        return done.stdout

    def answer(self, text, command, nth=0):
        """What was printed behind the nth time that a command was given."""
        return text.split(f"{PROMPT}{command}\n")[nth + 1].split(PROMPT)[0]

    def late(self):
        """The example of the manual."""
        return self.assemble("late", LATE.read_text())

    def test_session(self):
        """The page shows what really happens."""
        self.late()
        lines = console_blocks(PAGE)
        self.assertEqual(lines[:2], ["$ neuron-as late.s", "$ neuron-debug late.neff"])
        commands = [line[len(PROMPT):] for line in lines if line.startswith(PROMPT)]
        self.assertGreater(len(commands), 5)
        text = self.debug("late.neff", commands=commands)
        self.assertEqual(text.splitlines(), lines[2:])

    def test_lines_and_steps(self):
        """Breakpoints by line and by pc, steps of one engine, of all, and to the next line."""
        text = self.debug(self.late(), commands=[
            "break late.s:13", "break sync:0", "breakpoints", "continue", "print pc", "step 2",
            "next", "print r1", "list", "disassemble 3", "delete 1", "finish", "step all", "where",
            "kill"], status=4)
        self.assertIn("Breakpoint 1, vector: late.s:13", self.answer(text, "continue"))
        self.assertEqual(self.answer(text, "print pc"), "pc = 1\n")
        self.assertIn("vector     1  late.s:13", self.answer(text, "step 2"))
        self.assertIn("vector     2  late.s:14", self.answer(text, "next"))
        self.assertEqual(self.answer(text, "print r1"), "r1 = 1 (0x1)\n")
        self.assertIn("2  break      sync:0, hit 0 times", self.answer(text, "breakpoints"))
        self.assertIn("\n=>   14          loop r1, next\n", self.answer(text, "list"))
        self.assertEqual([line[:7] for line in self.answer(text, "disassemble 3").splitlines()],
                         ["      1", "=>    2", "      3"])
        self.assertEqual(self.answer(text, "finish"), "vector     3  late.s:15  halt\n")
        self.assertIn("Breakpoint 2, sync: sync:0", self.answer(text, "step all"))
        self.assertIn("vector    has halted; 6 instructions done", self.answer(text, "where"))

    def test_changed_values_count(self):
        """What is set is what the program goes on with, and what its output has."""
        late = self.late()
        self.debug(late, "-o", "out", commands=[
            "continue", "set sbuf[1, 4] fp32 = -2 7.25", "set semaphore 0 3", "continue",
            "continue"])
        rows = read_npy(self.folder / "out" / "y.npy")
        self.assertEqual(list(rows[8:12]), [1.5, -2, 7.25, 1.5])
        text = self.debug(late, commands=["break vector:2", "continue", "set pc 3", "continue",
                                          "where", "kill"], status=4)
        self.assertIn("vector    has halted; 3 instructions done", self.answer(text, "where"))

    def test_an_end_is_no_error(self):
        """Who ends the program, or the script, is told of no failure."""
        for commands in ([], ["kill"], ["break vector:2", "continue", "kill"]):
            self.debug(self.late(), commands=commands, status=4)
            self.assertEqual(self.complaint, "")

    def test_semaphores(self):
        """A semaphore's value stops the program, behind the post."""
        text = self.debug(self.late(), commands=[
            "break semaphore 0 == 2", "continue", "print semaphore 0", "semaphores", "kill"],
            status=4)
        self.assertIn("Semaphore breakpoint 1, semaphore 0 == 2: from 1 to 2",
                      self.answer(text, "continue"))
        self.assertEqual(self.answer(text, "print semaphore 0"), "semaphore 0 = 2\n")
        self.assertIn("semaphore 0 is 2, last by vector", self.answer(text, "semaphores"))

    def test_inputs_and_transfers(self):
        """A transfer is blamed for what it writes; numbers have the types that are asked for."""
        write_npy(self.folder / "x.npy", (128, 256), [i % 256 / 64 for i in range(128 * 256)])
        text = self.debug(NEFFS / "softmax.neff", "-i", "x=x.npy", "-o", "out", commands=[
            "watch sbuf[3, 8]", "continue", "print sbuf[3] 4", "print sbuf[3, 6] bf16 1",
            "print x[8] hex 1", "set sbuf[5] uint32 0x7e40b838", "print sbuf[5] fp8_e4fn_x4 1",
            "print sbuf[5] e8m0 1", "set sbuf[6] int64 -3", "print sbuf[6] int32 2",
            "set sbuf[7] int64 -9223372036854775808", "print sbuf[7] hex 2",
            "set sbuf[8] uint64 0xfedcba9876543210", "print sbuf[8] hex 2", "delete 1", "continue",
            "print y 2", "continue"])
        self.assertRegex(self.answer(text, "continue"), "DMA engine 0, queue 0, descriptor [0-9]+ "
                         "has changed 00000000 to 0000003d")
        self.assertEqual(self.answer(text, "print sbuf[3] 4").split(),
                         ["3", "0:", "0", "0.015625", "0.03125", "0.046875"])
        self.assertEqual(self.answer(text, "print sbuf[3, 6] bf16 1").split(),
                         ["3", "0:", "0.015625"])
        self.assertEqual(self.answer(text, "print x[8] hex 1").split(), ["0:", "0x3d000000"])
        self.assertEqual(self.answer(text, "print sbuf[5] fp8_e4fn_x4 1").split(),
                         ["5", "0:", "1", "-1", "2", "448"])
        self.assertEqual(self.answer(text, "print sbuf[5] e8m0 1").split(),
                         ["5", "0:", "4.235165e-22"])
        self.assertEqual(self.answer(text, "print sbuf[6] int32 2").split(),
                         ["6", "0:", "-3", "-1"])
        self.assertEqual(self.answer(text, "print sbuf[7] hex 2").split(),
                         ["7", "0:", "0x00000000", "0x80000000"])
        self.assertEqual(self.answer(text, "print sbuf[8] hex 2").split(),
                         ["8", "0:", "0x76543210", "0xfedcba98"])
        out = read_npy(self.folder / "out" / "y.npy")
        self.assertAlmostEqual(sum(out[:256]), 1, places=3)
        self.assertAlmostEqual(float(self.answer(text, "print y 2").split()[1]), out[0])

    def test_going_back(self):
        """Each way back ends where the program was, and it goes on to the same end."""
        text = self.debug(NEFFS / "softmax.neff", "--zeros", commands=[
            "break vector:1", "break vector:3", "continue", "continue", "checkpoint", "continue",
            "reverse-continue", "print pc", "reverse-continue", "print pc", "reverse-continue",
            "print pc", "restore 2", "print sbuf[0, 0x804] 1", "reverse-step 2",
            "print sbuf[0, 0x804] 1", "step 2", "print sbuf[0, 0x804] 1", "checkpoints",
            "continue", "print y 1", "continue"])
        self.assertEqual([self.answer(text, "print pc", n) for n in range(3)],
                         ["pc = 3\n", "pc = 1\n", "pc = 0\n"])
        sums = [float(self.answer(text, "print sbuf[0, 0x804] 1", n).split()[2]) for n in range(3)]
        self.assertEqual(sums, [1 / 256, 0, 1 / 256])
        self.assertEqual(self.answer(text, "print y 1").split()[1], "0.00390625")

    def nan(self, **changes):
        """The program with a NaN; each of `changes` is an input, the element and its value."""
        for name in ("x", "z"):
            values = [1.0] * 512
            if name in changes:
                at, value = changes[name]
                values[at] = float(value)
            write_npy(self.folder / f"{name}.npy", (128, 4), values)
        return self.assemble("nan", NAN), "-i", "x=x.npy", "-i", "z=z.npy"

    def test_nan(self):
        """It stops behind the first instruction that leaves a NaN, goes on and back."""
        text = self.debug(*self.nan(x=(14, "inf")), commands=[
            "break nan", "breakpoints", "continue", "print pc", "print sbuf[3, 72] 1",
            "continue", "reverse-continue", "reverse-step", "print sbuf[3, 72] 1", "step",
            "delete 1", "continue"])
        first = ("Breakpoint 1, NaN: vector, instruction 1 has left one in sbuf[3, 72]: element 2 "
                 "of row 3 of its tile, 1 NaN of 512 numbers\n"
                 "      1  nan.s:11  tensor_scalar")
        self.assertIn("  1  nan        NaN, hit 0 times\n", self.answer(text, "breakpoints"))
        self.assertIn(first, self.answer(text, "continue"))
        self.assertIn("vector     2  nan.s:12  copy", self.answer(text, "continue"))
        self.assertEqual(self.answer(text, "print pc"), "pc = 2\n")
        self.assertEqual(self.answer(text, "print sbuf[3, 72] 1").split()[-1], "nan")
        self.assertIn("instruction 2 has left one in psum[3, 40]",
                      self.answer(text, "continue", 1))
        self.assertNotIn("input", text)
        self.assertIn(first, self.answer(text, "reverse-continue"))
        self.assertIn("vector     1  nan.s:11", self.answer(text, "reverse-step"))
        self.assertEqual(self.answer(text, "print sbuf[3, 72] 1", 1).split()[-1], "0")
        self.assertIn(first, self.answer(text, "step"))
        self.assertEqual(self.answer(text, "continue", 2), "The program has ended.\n")

    def test_nans_of_inputs(self):
        """A transfer that brings one in is no stop; the next stop names the input."""
        text = self.debug(*self.nan(z=(5, "nan")), commands=["break nan", "continue"])
        self.assertEqual(self.answer(text, "continue"), "The program has ended.\n")
        text = self.debug(*self.nan(x=(7, "inf"), z=(5, "nan")), commands=[
            "break nan", "continue", "kill"], status=4)
        self.assertIn('\n       the input "z" has a NaN in element 5\n',
                      self.answer(text, "continue"))

    def test_no_nan(self):
        """A program without one runs to its end."""
        text = self.debug(*self.nan(), commands=["break nan", "continue"])
        self.assertEqual(self.answer(text, "continue"), "The program has ended.\n")

    def test_faults_stop_before_the_end(self):
        """The instruction that failed, and then the exit status of a program that fails."""
        text = self.debug(NEFFS / "fault-window.neff", "--zeros", commands=[
            "continue", "reverse-step", "print pc", "continue", "continue"], status=3)
        self.assertIn("Error of sync: outside its window\n      1  window.s:9  reg_load",
                      self.answer(text, "continue"))
        self.assertEqual(self.answer(text, "print pc"), "pc = 0\n")
        self.assertIn("core 0: sync engine, pc 1", self.complaint)

    def test_no_limit_for_who_looks(self):
        """A job may take a second, and the program stands still for longer."""
        environment = {**os.environ, "NEURON_RT_EXEC_TIMEOUT": "1"}
        with subprocess.Popen([DEBUG, self.late()], cwd=self.folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=environment) as process:
            process.stdin.write("step\n")
            process.stdin.flush()
            time.sleep(2.5)
            text, _ = process.communicate("set semaphore 0 7\ncontinue\ncontinue\n",
                                          timeout=LIMIT)
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("The program has ended.", text)

    def test_interrupt(self):
        """Ctrl-C stops a program that never ends, and the script goes on."""
        with subprocess.Popen([DEBUG, NEFFS / "spin.neff"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write("continue\n")
            process.stdin.flush()
            for line in process.stdout:
                if line == f"{PROMPT}continue\n":
                    break
            process.send_signal(signal.SIGINT)
            text, _ = process.communicate("where\nkill\n", timeout=LIMIT)
        self.assertEqual(process.returncode, 4, text)
        self.assertIn("Interrupted.\n", text)
        self.assertIn("* sync      runs;", self.answer(text, "where"))

    def test_pairs(self):
        """The engines of a pair's second core have names of their own."""
        neff = self.assemble("pair", PAIR)
        text = self.debug(neff, commands=[
            "break vector@1:1", "continue", "print r2", "step", "print sbuf[0] 1",
            "print sbuf@0[0] 1", "continue"])
        self.assertIn("Breakpoint 1, vector@1: vector@1:1\n", self.answer(text, "continue"))
        self.assertEqual(self.answer(text, "print r2"), "r2 = 7 (0x7)\n")
        self.assertEqual(self.answer(text, "print sbuf[0] 1").split(), ["0", "0:", "2.5"])
        self.assertEqual(self.answer(text, "print sbuf@0[0] 1").split(), ["0", "0:", "0"])

    def test_nan_of_the_second_core(self):
        """The core of a pair is named."""
        neff = self.assemble("pair", PAIR.replace(
            "memset sbuf[0:4, 0 : 8 fp32], 2.5",
            "memset sbuf[0:4, 0 : 8 fp32], 0.0\n"
            "        reciprocal sbuf[0:4, 0 : 8 fp32], sbuf[0:4, 0 : 8 fp32]\n"
            "        tensor_scalar.multiply.add sbuf[0:4, 0 : 8 fp32], sbuf[0:4, 0 : 8 fp32], "
            "0.0, 0.0"))
        text = self.debug(neff, commands=["break nan", "continue", "kill"], status=4)
        self.assertIn("vector@1, instruction 3 has left one in sbuf@1[0, 0]: element 0 of row 0 of "
                      "its tile, 32 NaNs of 32 numbers", self.answer(text, "continue"))

    def test_mistakes(self):
        """One line each, with the place of the script, and nothing else happens."""
        late = self.late()
        for command, complaint in {
                "brake": "there is no command \"brake\"; help lists them",
                "break vectr:1": "\"vectr\": use tensor, vector, scalar, gpsimd or sync",
                "break early.s:1": "the program has no instruction from a file \"early.s\"",
                "break vector:9": "9: from 0 to 3",
                "break tensor:0": "the tensor engine has no instructions in this program",
                "break late.s:0": "0: from 1 to 4294967295",
                "break late.s:99": "late.s has no instruction at line 99 or behind",
                "break semaphore 256": "256: from 0 to 255",
                "break semaphore 1 > 2": "\">\": use ==, >= or <",
                "watch sbuf[0:2]": "a watchpoint is for bytes of one partition",
                "watch y[126] 4": "only 2 bytes are there",
                "watch 0xffffffffffff 4": "the chip cannot watch that: 32 places at most, in "
                                          "HBM, SBUF or PSUM",
                "print z": "the program has no variable \"z\"",
                "print sbuf[128]": "128: from 0 to 127",
                "print sbuf[0": "\"sbuf[0\": a \"]\" is missing",
                "print y fp33": "\"fp33\" is no type: use one such as fp32, bf16, fp8_e4, int32",
                "print y 33": "only 128 bytes are there",
                "set y": "which value?",
                "set y one": "\"one\" is no number",
                "set y uint64 -1": "-1: from 0 to 18446744073709551615",
                "set y uint64 18446744073709551616": "18446744073709551616: from 0 to "
                                                     "18446744073709551615",
                "set r1": "use: set r1 VALUE",
                "set pc 4": "the engine stands before no instruction, or its program is "
                            "not as long",
                "delete 3": "there is no breakpoint 3",
                "restore 3": "there is no checkpoint 3",
                "reverse-step": "the engine has not carried out as many instructions",
                "engine pool": "\"pool\": use tensor, vector, scalar, gpsimd or sync",
        }.items():
            (self.folder / "script").write_text(f"# a comment\n{command}\ncontinue\n")
            self.debug(late, "-x", "script", status=1)
            self.assertEqual(self.complaint.splitlines()[0],
                             f"neuron-debug: script:2: {complaint}")

    def test_bad_input(self):
        """A file that is not there, no NEFF, a missing input."""
        self.debug("none.neff", status=1)
        self.assertEqual(self.complaint, "neuron-debug: none.neff: No such file or directory\n")
        (self.folder / "text.neff").write_text("no NEFF")
        self.debug("text.neff", status=1)
        self.assertEqual(len(self.complaint.splitlines()), 1)
        self.debug(NEFFS / "softmax.neff", status=1)
        self.assertIn("x", self.complaint)
        self.assertEqual(len(self.complaint.splitlines()), 1)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
