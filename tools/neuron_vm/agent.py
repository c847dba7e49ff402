# SPDX-License-Identifier: MIT
"""The host's side of the guest's agent, which runs commands for it.

tools/guest/neuron-agent.c describes the frames. One thread reads them for all commands.
"""

import re
import secrets
import signal
import socket
import struct
import threading
import time

from .errors import MachineError

HEADER = struct.Struct("<4sII")
# The agent keeps at most so many bytes of input for a command that has not read them yet.
INPUT_BYTES = 64 << 10
CHUNK_BYTES = 16 << 10
# The most that the agent takes: one command with its arguments and variables.
REQUEST_BYTES = 1 << 20
LAST_WORDS_S = 2


class Process:
    """A command in the guest.

    What it prints is kept in stdout and stderr (bytes), or is given to the sinks, functions
    that the reading thread calls without a lock, as it comes. With a terminal all of it is
    stdout.
    """

    def __init__(self, agent, channel, words, sinks=None):
        self.agent = agent
        self.channel = channel
        self.words = words
        self.returncode = None
        self.lost = None
        self.seen = []
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.sinks = sinks
        self.under_way = 0
        self.changed = threading.Condition(agent.lock)

    # --- called by the reading thread ---

    def receive(self, kind, payload):
        if self.sinks and kind in (b"OUT1", b"OUT2"):
            self.sinks[kind == b"OUT2"](payload)
            return
        with self.agent.lock:
            if kind == b"OUT1":
                self.stdout.extend(payload)
            elif kind == b"OUT2":
                self.stderr.extend(payload)
            elif kind == b"TOOK":
                self.under_way -= int(payload)
            elif kind == b"EXIT":
                self.returncode = int(payload)
                self.agent.processes.pop(self.channel, None)
            self.changed.notify_all()

    def lose(self, why):
        """With the lock held."""
        self.lost = why
        self.changed.notify_all()

    # --- for everybody ---

    def name(self):
        return " ".join(self.words)

    def wait_until(self, condition, timeout, what):
        """Wait with the lock held. No timeout (None) waits for as long as it takes."""
        end = None if timeout is None else time.monotonic() + timeout
        gone = None
        while not condition():
            if not self.agent.alive():
                # Its last frames may not have been read yet. After a while they will not come.
                gone = gone or time.monotonic()
                self.lost = self.lost or (time.monotonic() - gone > LAST_WORDS_S
                                          and "the machine has ended")
            if self.lost:
                raise MachineError(f"{self.name()}: {self.lost}")
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise MachineError(f"{self.name()}: {what} within {timeout} s; the command said: "
                                   + self.tail())
            # In slices, so that a signal of the host is looked at.
            self.changed.wait(0.5 if left is None else min(left, 0.5))

    def tail(self):
        text = bytes(self.stdout[-400:] + self.stderr[-400:]).decode(errors="replace")
        return " | ".join(text.splitlines()) or "(nothing)"

    def wait(self, timeout=None):
        """Wait for its end and return its exit status."""
        with self.agent.lock:
            self.wait_until(lambda: self.returncode is not None, timeout, "has not ended")
        return self.returncode

    def write(self, data, timeout=None):
        """Bytes for its standard input; waits while it does not read."""
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = data[start:start + CHUNK_BYTES]
            with self.agent.lock:
                self.wait_until(lambda n=len(chunk): self.returncode is not None
                                or self.under_way + n <= INPUT_BYTES,
                                timeout, "does not read its input")
                if self.returncode is not None:
                    return
                self.under_way += len(chunk)
            self.agent.send(b"STDI", self.channel, chunk)

    def send(self, text):
        """A line, or several, for its standard input; the last newline is added."""
        self.write((text if text.endswith("\n") else text + "\n").encode())

    def close_stdin(self):
        self.agent.send(b"STDI", self.channel, b"")

    def signal(self, number):
        """Send a signal, by number or by name without SIG, to its process group."""
        if isinstance(number, str):
            number = signal.Signals["SIG" + number]
        self.agent.send(b"SIGN", self.channel, str(int(number)).encode())

    def resize(self, rows, columns):
        self.agent.send(b"SIZE", self.channel, f"{rows}x{columns}".encode())

    def take_match(self, pattern, lines):
        """Drop what has been read up to a match, which is returned. With the lock held."""
        if not lines:
            match = pattern.search(self.stdout.decode(errors="replace"))
            if match:
                used = len(match.string[:match.end()].encode(errors="replace"))
                del self.stdout[:used]
            return match
        complete = self.stdout.rfind(b"\n") + 1
        used, seen = 0, []
        for line in bytes(self.stdout[:complete]).splitlines(keepends=True):
            used += len(line)
            text = line.decode(errors="replace").rstrip("\r\n")
            match = pattern.search(text)
            if match:
                self.seen = seen
                del self.stdout[:used]
                return match
            seen.append(text)
        return None

    def expect(self, pattern, timeout, lines=True):
        """Wait until a line of standard output matches, and return the match.

        The lines before it are in seen; they and the match are not looked at again. Without
        lines, the text as a whole is searched, as a prompt needs it that no newline ends.
        """
        pattern = re.compile(pattern)
        found = []

        def matched():
            match = self.take_match(pattern, lines)
            if match:
                found.append(match)
            return match

        with self.agent.lock:
            self.wait_until(lambda: matched() or self.returncode is not None, timeout,
                            f"does not print '{pattern.pattern}'")
            if not found:
                raise MachineError(f"{self.name()}: ended with status {self.returncode} and did "
                                   f"not print '{pattern.pattern}'; it said: {self.tail()}")
        return found[0]


class Agent:
    """The connection to the agent of one machine."""

    def __init__(self, path):
        # Whether the machine runs; its owner gives a better answer.
        self.alive = lambda: True
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lock = threading.RLock()
        self.sending = threading.Lock()
        self.greeted = threading.Condition(self.lock)
        self.greetings = 0
        self.gone = False
        self.processes = {}
        # A guest that was loaded may still run commands that another neuron-vm started, under
        # other numbers.
        self.next_channel = secrets.randbelow(1 << 30) + 1
        self.reader = threading.Thread(target=self.read_frames, name="neuron-agent", daemon=True)
        self.reader.start()

    def send(self, kind, channel, payload):
        try:
            with self.sending:
                self.socket.sendall(HEADER.pack(kind, channel, len(payload)) + payload)
        except OSError:
            pass        # the reading thread sees the end of the machine, too, and tells it

    def read_bytes(self, length):
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise OSError("the machine has ended")
            data += part
        return data

    def read_frames(self):
        try:
            while True:
                kind, channel, length = HEADER.unpack(self.read_bytes(HEADER.size))
                self.dispatch(kind, channel, self.read_bytes(length))
        except OSError:
            with self.lock:
                self.gone = True
                self.lose_all("the machine has ended")
                self.greeted.notify_all()

    def dispatch(self, kind, channel, payload):
        with self.lock:
            if kind == b"HELO":
                self.lose_all("the guest has started again")
                self.greetings += 1
                self.greeted.notify_all()
                return
            process = self.processes.get(channel)
        if process:
            process.receive(kind, payload)

    def lose_all(self, why):
        for process in self.processes.values():
            process.lose(why)
        self.processes.clear()

    def greeting_after(self, before, timeout, alive):
        """Wait until the agent has said so many greetings and one more.

        alive() tells whether it can still come. Returns False when it did not come in time.
        """
        end = time.monotonic() + timeout
        with self.lock:
            while self.greetings <= before:
                left = end - time.monotonic()
                if left <= 0 or self.gone or not alive():
                    return False
                self.greeted.wait(min(left, 0.5))
        return True

    def start(self, words, env=None, cwd=None, root=None, tty=None, sinks=None):
        """Start a command; tty: (rows, columns) of a terminal of its own."""
        parts = [f"arg={word}" for word in words]
        parts += [f"env={name}={value}" for name, value in (env or {}).items()]
        if cwd:
            parts.append(f"cwd={cwd}")
        if root:
            parts.append(f"root={root}")
        if tty:
            parts.append(f"tty={tty[0]}x{tty[1]}")
        if any("\0" in part for part in parts):
            raise MachineError(f"{words[0]}: a word or variable contains a zero byte")
        payload = "".join(part + "\0" for part in parts).encode(errors="surrogateescape")
        if len(payload) > REQUEST_BYTES:
            raise MachineError(f"{words[0]}: the command and its variables have {len(payload)} "
                               f"bytes; the guest's agent takes {REQUEST_BYTES}")
        with self.lock:
            if self.gone:
                raise MachineError(f"{words[0]}: the machine has ended")
            process = Process(self, self.next_channel, words, sinks)
            self.processes[self.next_channel] = process
            self.next_channel += 1
        self.send(b"EXEC", process.channel, payload)
        return process

    def finish(self):
        """Ask the guest to power itself off."""
        self.send(b"DONE", 0, b"")

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass        # QEMU has closed it already
        self.socket.close()
