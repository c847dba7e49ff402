# SPDX-License-Identifier: MIT
"""How .ci/run ends: its last line always has the counts, and its exit status agrees.

A program of this test takes the place of make.
"""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from neuron_vm.process import signal_session

CI = pathlib.Path(__file__).resolve().parents[3] / ".ci" / "run"
GENEROUS = 60
PASSED = "3 passed, 0 failed, 1 skipped"
FAILED = "3 passed, 1 failed, 0 skipped"
# The tests were not counted.
NOT_COUNTED = "0 passed, 1 failed, 0 skipped"
# Ends with the counts when it is asked to end, as the runner does. timeout asks twice, and print()
# must not be called while it prints.
OBEYS = f"""exec {sys.executable} -c '
import os, signal

def end(*_):
    os.write(1, b"{FAILED}\\n")
    os._exit(1)

signal.signal(signal.SIGTERM, end)
print("begun", flush=True)
while True:
    signal.pause()
'"""
# What make itself says last when a recipe fails.
MAKE_SAYS = "make: *** [Makefile:45: check] Error 1"


class Ci:
    """.ci/run with other programs in front in PATH."""

    def __init__(self, folder):
        self.folder = folder
        self.sessions = []

    def program(self, name, script):
        """Put a program in front."""
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def start(self):
        """Start it, in a session of its own as a CI system does."""
        path = f"{self.folder}:{os.environ['PATH']}"
        process = subprocess.Popen([CI], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   text=True, start_new_session=True,
                                   env={**os.environ, "PATH": path})
        self.sessions.append(process.pid)
        return process

    def run(self, make):
        """(what it printed, line by line, and its exit status) with this script as make."""
        self.program("make", make)
        with self.start() as process:
            return process.communicate(timeout=GENEROUS)[0].splitlines(), process.returncode

    def limit(self, seconds, grace):
        """Give the run less time than .ci/run asks for."""
        self.program("timeout", f"""[ "$1 $2 $3" = "-k 60 3420" ] || exit 125
exec /usr/bin/timeout -k {grace} {seconds} "${{@:4}}" """)


@pytest.fixture
def ci(tmp_path):
    """One with no program yet; nothing that it started goes on behind the test."""
    ci = Ci(tmp_path)
    yield ci
    for session in ci.sessions:
        signal_session(session, signal.SIGKILL)


def test_all_passed(ci):
    assert ci.run(f"echo begun; echo '{PASSED}'") == (["begun", PASSED], 0)


def test_it_runs_make_check(ci):
    assert ci.run(f'echo "$*"; echo "{PASSED}"')[0] == ["--no-print-directory check ALL=1", PASSED]


def test_a_failure(ci):
    """The last word is that of the tests, not that of make."""
    lines, status = ci.run(f"echo '{FAILED}'; echo '{MAKE_SAYS}' >&2; exit 2")
    assert (lines, status) == ([FAILED], 2)


@pytest.mark.parametrize("end, expected", (
    ("exit 0", 1), ("exit 2", 2), ("kill -KILL $$", 128 + signal.SIGKILL),
), ids=("good", "bad", "killed"))
def test_a_runner_that_dies_without_its_last_line(ci, end, expected):
    """It is a failure, whatever the exit status was."""
    lines, status = ci.run(f"echo begun; echo '{MAKE_SAYS}'; {end}")
    assert (lines[0], lines[-1], status) == ("begun", NOT_COUNTED, expected)


def test_counts_that_are_not_the_last_line(ci):
    """Something went wrong behind them."""
    lines, status = ci.run(f"echo '{PASSED}'; echo 'Traceback'; exit 1")
    assert (lines[-1], status) == (NOT_COUNTED, 1)


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_ended_by_a_signal(ci, number):
    """The runner is asked to end, and its counts are the last line."""
    ci.program("make", OBEYS)
    with ci.start() as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        rest = process.communicate(timeout=GENEROUS)[0].splitlines()
    assert (rest[-1], process.returncode) == (FAILED, 1)


def test_ended_by_a_signal_without_a_last_word(ci):
    """A runner that dies of it is counted."""
    ci.program("make", "echo begun; exec sleep 1000")
    with ci.start() as process:
        assert process.stdout.readline() == "begun\n"
        process.terminate()
        rest = process.communicate(timeout=GENEROUS)[0].splitlines()
    assert (rest[-1], process.returncode) == (NOT_COUNTED, 128 + signal.SIGTERM)


def test_time_over(ci):
    """The runner has time to count."""
    ci.limit(1, GENEROUS)
    lines, status = ci.run(OBEYS)
    assert (lines[0], lines[-1], status) == ("begun", FAILED, 124)


def test_time_over_and_the_runner_does_not_end(ci):
    """It is killed, and that is counted."""
    ci.limit(1, 1)
    lines, status = ci.run("trap '' TERM; echo begun; while :; do sleep 0.1; done")
    assert (lines[0], lines[-1], status) == ("begun", NOT_COUNTED, 128 + signal.SIGKILL)
