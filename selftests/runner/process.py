# SPDX-License-Identifier: MIT
"""Run programs with a time limit, and end them with everything that they started.

Each program gets a session of its own, so that a signal for the runner does not reach it
and so that its children can be found when it has to be ended.
"""

import os
import pathlib
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

POLL = 0.05
# Seconds between the request to end and the signal that cannot be refused. neuron-vm saves
# what the guest left before it ends.
GRACE = 15
TIME_LIMIT = 124


class Cancelled(Exception):
    """The run was ended from outside while the program was running."""


@dataclass
class Done:
    """A program that has ended."""

    status: int
    seconds: float
    cpu: float

    @property
    def timed_out(self):
        """Did the time limit end it?"""
        return self.status == TIME_LIMIT


def session_members(session):
    """The processes of a session."""
    members = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may hold anything; the fields follow its end.
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            members.append(int(stat.parent.name))
    return members


def signal_session(session, number):
    """Send a signal to every process of a session."""
    for pid in session_members(session):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Processes:
    """Starts programs; cancel() ends all of them and lets no new one begin."""

    def __init__(self):
        self.cancelled = threading.Event()

    def cancel(self):
        """End what is running."""
        self.cancelled.set()

    def run(self, argv, log, limit, *, env=None, cwd=None, tick=None, append=False):
        """Run argv with its output in the file log; after limit seconds end it.

        tick is called again and again while the program runs.
        """
        if self.cancelled.is_set():
            raise Cancelled
        begin = time.monotonic()
        pathlib.Path(log).parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab" if append else "wb") as output:
            try:
                child = subprocess.Popen(
                    [str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, cwd=cwd, start_new_session=True,
                    env=None if env is None else {**os.environ, **env})
            except OSError as error:
                output.write(f"{argv[0]}: {error.strerror}\n".encode())
                return Done(127, 0.0, 0.0)
        status, cpu = self._wait(child, begin + limit, tick)
        return Done(status, time.monotonic() - begin, cpu)

    def _wait(self, child, deadline, tick):
        try:
            return self._watch(child, deadline, tick)
        except BaseException:
            # Nobody else would end the child.
            if child.returncode is None:
                self._end(child)
            raise

    def _watch(self, child, deadline, tick):
        while True:
            status = self._reap(child)
            if status is not None:
                return status
            if tick:
                tick()
            if self.cancelled.is_set():
                raise Cancelled
            if time.monotonic() > deadline:
                return TIME_LIMIT, self._end(child)
            time.sleep(POLL)

    @staticmethod
    def _reap(child):
        """(status as a shell says it, CPU seconds), or None while the child runs."""
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        return (code if code >= 0 else 128 - code), usage.ru_utime + usage.ru_stime

    def _end(self, child):
        """End the child and all of its session; the CPU seconds it used."""
        signal_session(child.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE
        done = None
        while done is None and time.monotonic() < end:
            time.sleep(POLL)
            done = self._reap(child)
        # Of what the child started something may be left even when it has ended itself.
        signal_session(child.pid, signal.SIGKILL)
        while done is None:
            time.sleep(POLL)
            done = self._reap(child)
        return done[1]


def tail(path, lines=15, width=200):
    """The last lines of a log."""
    try:
        text = pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return []
    return [line[:width] for line in text.splitlines()[-lines:]]
