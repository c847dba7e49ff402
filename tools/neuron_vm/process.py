# SPDX-License-Identifier: MIT
"""Run programs of the host with a log and a time limit, and end them with all that they started.

Each program gets a session of its own. So a signal for the caller does not reach it, and its
children can be found when it has to be ended.
"""

import contextlib
import os
import pathlib
import select
import signal
import subprocess
import time
from dataclasses import dataclass

POLL = 0.05
# Seconds between the request to end and the signal that cannot be refused. neuron-vm and make
# check end what they have started in sessions of their own.
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
    """Starts programs; cancel() ends all of them and lets no new one begin.

    grace: seconds that a program has to end what it started, when it is asked to end.
    """

    def __init__(self, grace=GRACE):
        self.grace = grace
        # A plain value: a second signal may come while the first one is handled, which with the
        # lock of an Event would wait for itself.
        self.cancelled = False

    def cancel(self):
        """End what is running."""
        self.cancelled = True

    def run(self, argv, log, limit, *, env=None, cwd=None, tick=None, until=None, append=False,
            errors=None):
        """Run argv with its output in the file log; after limit seconds end it.

        env: variables beside those of this process. errors: another file, for the standard error.
        tick is called again and again while the program runs. When until() is true the program
        is ended, and its status counts as 0.
        """
        if self.cancelled:
            raise Cancelled
        begin = time.monotonic()
        pathlib.Path(log).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as files:
            output = files.enter_context(open(log, "ab" if append else "wb"))
            second = files.enter_context(open(errors, "wb")) if errors else subprocess.STDOUT
            try:
                child = subprocess.Popen(
                    [str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=output,
                    stderr=second, cwd=cwd, start_new_session=True,
                    env=None if env is None else {**os.environ, **env})
            except OSError as error:
                output.write(f"{argv[0]}: {error.strerror}\n".encode())
                return Done(127, 0.0, 0.0)
        status, cpu = self._wait(child, begin + limit, tick, until)
        return Done(status, time.monotonic() - begin, cpu)

    def _wait(self, child, deadline, tick, until):
        ended = os.pidfd_open(child.pid)
        try:
            return self._watch(child, ended, deadline, tick, until)
        except BaseException:
            # Nobody else would end the child.
            if child.returncode is None:
                self._end(child, ended)
            raise
        finally:
            os.close(ended)

    def _watch(self, child, ended, deadline, tick, until):
        while True:
            status = self._reap(child)
            if status is not None:
                return status
            if tick:
                tick()
            if self.cancelled:
                raise Cancelled
            if until and until():
                return 0, self._end(child, ended)
            if time.monotonic() > deadline:
                return TIME_LIMIT, self._end(child, ended)
            select.select([ended], [], [], POLL)

    @staticmethod
    def _reap(child):
        """(status as a shell says it, CPU seconds), or None while the child runs."""
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        return (code if code >= 0 else 128 - code), usage.ru_utime + usage.ru_stime

    def _end(self, child, ended):
        """End the child and all of its session; the CPU seconds it used."""
        signal_session(child.pid, signal.SIGTERM)
        end = time.monotonic() + self.grace
        done = self._reap(child)
        # What the child started may outlast it.
        while (done is None or session_members(child.pid)) and time.monotonic() < end:
            select.select([ended] if done is None else [], [], [], POLL)
            done = done or self._reap(child)
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
