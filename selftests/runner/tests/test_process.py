# SPDX-License-Identifier: MIT
"""Programs that are run with a log and a limit."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from neuron_vm.process import TIME_LIMIT, Cancelled, Processes

GENEROUS = 120


def test_output_and_status(tmp_path):
    """Both streams are in the log, in their order; the status is that of the program."""
    log = tmp_path / "log"
    done = Processes().run(["sh", "-c", "echo a; echo b >&2; exit 3"], log, GENEROUS)
    assert (done.status, log.read_text()) == (3, "a\nb\n")


def test_errors_in_a_file_of_their_own(tmp_path):
    """Then the log has the standard output only."""
    log, errors = tmp_path / "log", tmp_path / "errors"
    Processes().run(["sh", "-c", "echo a; echo b >&2"], log, GENEROUS, errors=errors)
    assert (log.read_text(), errors.read_text()) == ("a\n", "b\n")


def test_a_program_that_does_not_exist(tmp_path):
    """The log says why it could not be started."""
    log = tmp_path / "log"
    assert Processes().run(["/nonexistent/program"], log, GENEROUS).status == 127
    assert log.read_text() == "/nonexistent/program: No such file or directory\n"


def test_limit(tmp_path):
    """The status says that the limit has ended it."""
    assert Processes().run(["sleep", "1000"], tmp_path / "log", 0.1).status == TIME_LIMIT


def test_until(tmp_path):
    """What it was to print has come: it is ended, and that is no failure."""
    log = tmp_path / "log"
    done = Processes().run(["sh", "-c", "echo a; exec sleep 1000"], log, GENEROUS,
                           until=lambda: log.read_text() == "a\n")
    assert done.status == 0
    assert done.seconds < GENEROUS


def test_cancelled(tmp_path):
    """A program that runs is ended, and no new one begins."""
    processes = Processes()
    with pytest.raises(Cancelled):
        processes.run(["sleep", "1000"], tmp_path / "log", GENEROUS, tick=processes.cancel)
    with pytest.raises(Cancelled):
        processes.run(["true"], tmp_path / "log", GENEROUS)


MANY_SIGNALS = """
import os, signal, subprocess, sys
from neuron_vm.process import Processes

processes = Processes()
signal.signal(signal.SIGTERM, lambda *_: processes.cancel())
send = f"import os; [os.kill({os.getpid()}, 15) for _ in range(100000)]"
sender = subprocess.Popen([sys.executable, "-c", send])
while sender.poll() is None:
    pass
sys.exit(not processes.cancelled)
"""


def test_cancelled_by_many_signals():
    """make passes a signal on that its group has got, too: two come at once."""
    subprocess.run([sys.executable, "-c", MANY_SIGNALS], check=True, timeout=GENEROUS,
                   env={**os.environ, "PYTHONPATH": str(TOOLS)})


def test_grace(tmp_path):
    """What the program has started may end on its own after the program has."""
    script = "(trap 'sleep 0.3; echo ended; exit' TERM; while :; do sleep 0.05; done) & wait"
    log = tmp_path / "log"
    begin = time.monotonic()
    Processes(grace=GENEROUS).run(["sh", "-c", script], log, 0.5)
    assert log.read_text().endswith("ended\n")
    assert time.monotonic() - begin < GENEROUS
