#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""neuron-debug --dap: a client of the Debug Adapter Protocol, as an editor is one.

usage: test_debug_dap.py NEURON_DEBUG NEURON_AS FOLDER

The folder has the assembler's examples, as NEFFs.
"""

import base64
import json
import pathlib
import queue
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import tap

DEBUG, AS, NEFFS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
ROOT = pathlib.Path(__file__).resolve().parents[2]
LATE = ROOT / "tools" / "neuron-debug" / "example" / "late.s"
LIMIT = 120
VECTOR, SYNC = 2, 5
NAN = """.program nan
.engine vector
        memset sbuf[0:4, 0 : 8 fp32], 0.0
        reciprocal sbuf[0:4, 0 : 8 fp32], sbuf[0:4, 0 : 8 fp32]
        tensor_scalar.multiply.add sbuf[0:4, 0 : 8 fp32], sbuf[0:4, 0 : 8 fp32], 0.0, 0.0
        memset sbuf[0:4, 0 : 8 fp32], 1.0
        halt
"""


class Client:
    """Sends requests, and keeps what comes back until somebody asks for it."""

    def __init__(self, folder):
        self.process = subprocess.Popen([DEBUG, "--dap"], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.sequence = 0
        self.answers = queue.Queue()
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        out = self.process.stdout
        while True:
            line = out.readline()
            if not line:
                return
            length = int(line.split(b":")[1])
            out.readline()
            message = json.loads(out.read(length))
            (self.events if message["type"] == "event" else self.answers).put(message)

    def _message(self, command, arguments):
        self.sequence += 1
        text = json.dumps({"seq": self.sequence, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)

    def send_all(self, *requests):
        """Send requests, each a command and its arguments, in one piece."""
        self.process.stdin.write(b"".join(self._message(*request) for request in requests))
        self.process.stdin.flush()

    def send(self, command, **arguments):
        """Send a request; its number."""
        self.send_all((command, arguments))
        return self.sequence

    def answer(self, command, **arguments):
        """The whole answer to a request."""
        number = self.send(command, **arguments)
        answer = self.answers.get(timeout=LIMIT)
        assert answer["request_seq"] == number and answer["command"] == command, answer
        return answer

    def ask(self, command, **arguments):
        """The body of the answer to a request that succeeds."""
        answer = self.answer(command, **arguments)
        assert answer["success"], answer
        return answer.get("body", {})

    def refused(self, command, **arguments):
        """Why a request is refused."""
        answer = self.answer(command, **arguments)
        assert not answer["success"], answer
        return answer["message"]

    def event(self, name):
        """The body of the next event of this name; others before it are dropped."""
        while True:
            event = self.events.get(timeout=LIMIT)
            if event["event"] == name:
                return event.get("body", {})

    def end(self):
        """The exit status, and what was written on standard error."""
        late = threading.Timer(LIMIT, self.process.kill)
        late.start()
        self.process.stdin.close()
        errors = self.process.stderr.read().decode()
        status = self.process.wait(timeout=LIMIT)
        self.process.stderr.close()
        late.cancel()
        return status, errors


class Dap(unittest.TestCase):
    """Sessions with a program in a folder of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "late.s").write_text(LATE.read_text())
        self.path = str(self.folder / "late.s")
        subprocess.run([AS, "late.s"], cwd=self.folder, check=True, timeout=LIMIT)
        self.client = Client(self.folder)
        self.addCleanup(self.client.process.kill)

    def launch(self, neff="late.neff", lines=(), **more):
        """Everything until the program runs; the breakpoints that were set."""
        client = self.client
        self.assertTrue(client.ask("initialize")["supportsStepBack"])
        client.ask("launch", program=str(self.folder / neff), **more)
        client.event("initialized")
        body = client.ask("setBreakpoints", source={"path": self.path},
                          breakpoints=[{"line": line} for line in lines])
        client.ask("configurationDone")
        return body["breakpoints"]

    def frame(self, thread):
        """The frame of an engine."""
        return self.client.ask("stackTrace", threadId=thread)["stackFrames"][0]

    def variables(self, thread, scope):
        """What a scope of an engine shows, by name."""
        scopes = {one["name"]: one["variablesReference"]
                  for one in self.client.ask("scopes", frameId=thread)["scopes"]}
        body = self.client.ask("variables", variablesReference=scopes[scope])
        return {one["name"]: one["value"] for one in body["variables"]}

    def disconnect(self, status=0):
        """The session ends as it should."""
        self.client.ask("disconnect")
        self.assertEqual(self.client.end(), (status, ""))

    def test_a_whole_session(self):
        """Breakpoint, engines, registers, steps, a change, and the end with its output."""
        client = self.client
        found = self.launch(lines=[13, 99], outputDir=str(self.folder / "out"))
        self.assertTrue(found[0]["verified"])
        self.assertEqual(found[0]["line"], 13)
        self.assertFalse(found[1]["verified"])
        self.assertIn("no instruction at line 99", found[1]["message"])
        stopped = client.event("stopped")
        self.assertEqual((stopped["reason"], stopped["threadId"]), ("breakpoint", VECTOR))
        self.assertEqual(stopped["hitBreakpointIds"], [found[0]["id"]])
        self.assertEqual([thread["name"] for thread in client.ask("threads")["threads"]],
                         ["vector", "sync"])
        frame = self.frame(VECTOR)
        self.assertEqual((frame["line"], frame["source"]["path"]), (13, self.path))
        self.assertTrue(frame["name"].startswith("1: memset"))
        self.assertEqual(self.variables(VECTOR, "Registers")["r1"], "2")
        client.ask("next", threadId=VECTOR)
        self.assertEqual(client.event("stopped")["reason"], "step")
        self.assertEqual(self.frame(VECTOR)["line"], 14)
        self.assertEqual(self.variables(VECTOR, "Semaphores"), {"semaphore 0": "1"})
        reference = client.ask("scopes", frameId=VECTOR)["scopes"][0]["variablesReference"]
        client.ask("setVariable", variablesReference=reference, name="r1", value="3")
        self.assertIn("1.5", client.ask("evaluate", expression="sbuf[0] 2")["result"])
        client.ask("setBreakpoints", source={"path": self.path}, breakpoints=[])
        client.ask("continue", threadId=VECTOR)
        self.assertEqual(client.event("exited")["exitCode"], 0)
        client.event("terminated")
        self.disconnect()
        values = (self.folder / "out" / "y.npy").read_bytes()[-128:]
        self.assertEqual(struct.unpack("<32f", values), (1.5,) * 32)

    def test_stuck_and_back(self):
        """It says who waits, steps back, and goes back to the stop before."""
        client = self.client
        self.launch(lines=[14])
        for _ in range(2):
            self.assertEqual(client.event("stopped")["reason"], "breakpoint")
            client.ask("continue", threadId=VECTOR)
        stopped = client.event("stopped")
        self.assertEqual((stopped["reason"], stopped["description"]),
                         ("exception", "Nothing can go on:"))
        client.ask("reverseContinue", threadId=VECTOR)
        self.assertEqual(client.event("stopped")["reason"], "breakpoint")
        self.assertEqual(self.variables(VECTOR, "Registers")["r1"], "1")
        client.ask("stepBack", threadId=VECTOR)
        self.assertEqual(client.event("stopped")["reason"], "step")
        self.assertEqual(self.frame(VECTOR)["line"], 13)
        where = client.ask("evaluate", expression="where", context="repl")["result"]
        self.assertIn("* vector    runs; 3 instructions done", where)
        client.ask("evaluate", expression="step", context="repl")
        self.assertTrue(client.event("continued")["allThreadsContinued"])
        self.assertEqual(client.event("stopped")["reason"], "step")
        self.assertEqual(self.variables(VECTOR, "Registers")["r1"], "1")
        self.disconnect()

    def test_memory_and_code(self):
        """Memory by name, code by reference, and breakpoints on both."""
        client = self.client
        self.launch(stopOnEntry=True)
        self.assertEqual(client.event("stopped")["reason"], "entry")
        frame = self.frame(VECTOR)
        code = client.ask("disassemble", memoryReference=frame["instructionPointerReference"],
                          instructionOffset=-1, instructionCount=3)["instructions"]
        self.assertEqual([one["instruction"][:10] for one in code],
                         ["", "0: reg_set", "1: memset "])
        body = client.ask("setInstructionBreakpoints",
                          breakpoints=[{"instructionReference": code[2]["address"],
                                        "offset": 256}])
        self.assertTrue(body["breakpoints"][0]["verified"])
        info = client.ask("dataBreakpointInfo", name="y")
        self.assertEqual(info["dataId"], "y")
        client.ask("setDataBreakpoints", breakpoints=[{"dataId": "y"}])
        client.ask("continue", threadId=VECTOR)
        self.assertEqual(client.event("stopped")["reason"], "breakpoint")
        self.assertTrue(self.frame(VECTOR)["name"].startswith("3: halt"))
        client.ask("evaluate", expression="set semaphore 0 3", context="repl")
        client.ask("continue", threadId=VECTOR)
        self.assertEqual(client.event("stopped")["reason"], "data breakpoint")
        data = client.ask("readMemory", memoryReference="y", offset=0, count=8)["data"]
        self.assertEqual(struct.unpack("<2f", base64.b64decode(data)), (1.5, 1.5))
        self.assertTrue(self.variables(VECTOR, "Variables")["y"].startswith("1.5"))
        self.disconnect()

    def test_nan(self):
        """An exception: an instruction has left a NaN. The program goes on, back, and on again."""
        (self.folder / "nan.s").write_text(NAN)
        subprocess.run([AS, "nan.s"], cwd=self.folder, check=True, timeout=LIMIT)
        client = self.client
        filters = client.ask("initialize")["exceptionBreakpointFilters"]
        self.assertEqual([one["filter"] for one in filters], ["nan"])
        client.ask("launch", program=str(self.folder / "nan.neff"))
        body = client.ask("setExceptionBreakpoints", filters=["nan"])
        self.assertTrue(body["breakpoints"][0]["verified"])
        client.ask("configurationDone")
        for _ in range(2):
            stopped = client.event("stopped")
            self.assertEqual((stopped["reason"], stopped["threadId"]), ("exception", VECTOR))
            self.assertEqual(stopped["hitBreakpointIds"], [body["breakpoints"][0]["id"]])
            self.assertEqual(stopped["description"], "Breakpoint 1, NaN: vector, instruction 2 has "
                             "left one in sbuf[0, 0]: element 0 of row 0 of its tile, 32 NaNs of "
                             "32 numbers")
            self.assertEqual(self.frame(VECTOR)["line"], 6)
            client.ask("stepBack", threadId=VECTOR)
            self.assertEqual(client.event("stopped")["reason"], "step")
            self.assertEqual(self.frame(VECTOR)["line"], 5)
            self.assertEqual(client.ask("evaluate", expression="sbuf[0] 1")["result"].split()[-1],
                             "inf")
            client.ask("continue", threadId=VECTOR)
        client.event("stopped")
        self.assertEqual(client.ask("setExceptionBreakpoints", filters=[])["breakpoints"], [])
        client.ask("stepBack", threadId=VECTOR)
        client.event("stopped")
        client.ask("continue", threadId=VECTOR)
        self.assertEqual(client.event("exited")["exitCode"], 0)
        self.disconnect()

    def test_inputs(self):
        """Inputs are those of the launch; a value is what a variable shows."""
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 256), }"
        head += " " * (63 - (10 + len(head)) % 64) + "\n"
        (self.folder / "x.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() +
            struct.pack("<f", 0.25) * (128 * 256))
        client = self.client
        client.ask("initialize")
        client.ask("launch", program=str(NEFFS / "softmax.neff"), stopOnEntry=True,
                   inputs={"x": str(self.folder / "x.npy")})
        client.ask("configurationDone")
        client.event("stopped")
        self.assertEqual(self.variables(VECTOR, "Variables")["x"].split(),
                         ["0.25"] * 4 + ["..."])
        self.disconnect()

    def test_pause(self):
        """A program that never ends is paused, told to go on, and ended."""
        client = self.client
        client.ask("initialize")
        client.ask("launch", program=str(NEFFS / "spin.neff"))
        client.ask("configurationDone")
        for _ in range(2):
            self.assertEqual(client.refused("stackTrace", threadId=SYNC),
                             "the program does not stand still")
            thread = client.ask("threads")["threads"][0]["id"]
            client.ask("pause", threadId=thread)
            self.assertEqual(client.event("stopped")["reason"], "pause")
            self.frame(thread)
            client.ask("continue", threadId=thread)
        self.disconnect()

    def test_pause_before_the_beginning(self):
        """A pause that comes before the first instruction stops the program there."""
        client = self.client
        client.ask("initialize")
        client.ask("launch", program=str(NEFFS / "spin.neff"))
        client.ask("pause", threadId=SYNC)
        client.ask("configurationDone")
        self.assertEqual(client.event("stopped")["reason"], "pause")
        self.assertEqual(self.variables(SYNC, "Registers")["pc"], "0")
        self.disconnect()

    def test_pause_behind_continue(self):
        """Each pause that comes right behind a continue stops the program again."""
        client = self.client
        client.ask("initialize")
        client.ask("launch", program=str(NEFFS / "spin.neff"), stopOnEntry=True)
        client.ask("configurationDone")
        client.event("stopped")
        for _ in range(20):
            client.send_all(*[("threads", {})] * 20, ("continue", {"threadId": SYNC}),
                            ("pause", {"threadId": SYNC}))
            for _ in range(22):
                self.assertTrue(client.answers.get(timeout=LIMIT)["success"])
            self.assertEqual(client.event("stopped")["reason"], "pause")
        self.disconnect()

    def test_gone_behind_continue(self):
        """A program that never ends is ended when its editor says go on and is gone."""
        client = self.client
        client.ask("initialize")
        client.ask("launch", program=str(NEFFS / "spin.neff"), stopOnEntry=True)
        client.ask("configurationDone")
        client.event("stopped")
        client.send_all(*[("threads", {})] * 20, ("continue", {"threadId": SYNC}))
        self.assertEqual(client.end()[0], 0)

    def test_a_type_without_a_layout(self):
        """A variable of type float32r is shown as fp32."""
        (self.folder / "round.s").write_text(".program round\n.input x fp32r 4\n"
                                             ".engine vector\n        halt\n")
        subprocess.run([AS, "round.s"], cwd=self.folder, check=True, timeout=LIMIT)
        client = self.client
        self.launch("round.neff", stopOnEntry=True, zeros=True)
        client.event("stopped")
        self.assertEqual(self.variables(VECTOR, "Variables")["x"], "0           0           0"
                                                                   "           0")
        self.assertEqual(client.ask("evaluate", expression="x 2")["result"].split()[1:],
                         ["0", "0"])
        client.ask("evaluate", expression="set x 1.5", context="repl")
        self.assertEqual(client.ask("evaluate", expression="x 1")["result"].split()[1:], ["1.5"])
        self.disconnect()

    def test_mistakes(self):
        """What cannot be done is refused with a line, and the session goes on."""
        client = self.client
        client.ask("initialize")
        self.assertEqual(client.refused("threads"), "there is no program yet")
        self.assertEqual(client.refused("dance"), "this request is not known")
        client.ask("launch", program=str(self.folder / "late.neff"), stopOnEntry=True)
        self.assertEqual(client.refused("launch", program="x"), "one program at a time")
        client.ask("configurationDone")
        client.event("stopped")
        self.assertEqual(client.refused("stackTrace", threadId=7), "there is no thread 7")
        self.assertEqual(client.refused("evaluate", expression="z"),
                         "the program has no variable \"z\"")
        self.assertEqual(client.refused("stepBack", threadId=VECTOR),
                         "the engine has not carried out as many instructions")
        self.disconnect()

    def test_a_program_that_is_not_there(self):
        """The launch fails with the reason, and the debugger waits for no more."""
        client = self.client
        client.ask("initialize")
        self.assertEqual(client.refused("launch", program="none.neff"),
                         "none.neff: No such file or directory")
        self.assertEqual(client.end()[0], 0)

    def test_an_editor_that_is_gone(self):
        """The program is ended with it, when it runs and when it stands still."""
        self.launch(stopOnEntry=True)
        self.client.event("stopped")
        self.assertEqual(self.client.end()[0], 0)

    def test_no_messages(self):
        """Noise ends the session with one line."""
        self.client.process.stdin.write(b"hello\r\n\r\n")
        status, errors = self.client.end()
        self.assertEqual(status, 1)
        self.assertEqual(errors, "neuron-debug: standard input: no message of the Debug Adapter "
                                 "Protocol\n")


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
