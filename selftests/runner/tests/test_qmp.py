# SPDX-License-Identifier: MIT
"""The client of QEMU's control protocol, with a QEMU that answers in an order of the test's."""

import json
import pathlib
import socket
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from neuron_vm import MachineError
from neuron_vm.qmp import Qmp

EVENT = {"event": "JOB_STATUS_CHANGE", "data": {}}
DONE = {"return": {}}


def jobs(status, **more):
    """The answer to query-jobs."""
    return {"return": [{"id": "job", "status": status, **more}]}


def serve(connection, answers):
    """What QEMU sends: a greeting, then a list of objects for each command."""
    with connection, connection.makefile("rw", encoding="utf-8") as file:
        for objects in ([{"QMP": {}}], [DONE], *answers):
            if objects[0] != {"QMP": {}}:
                file.readline()
            for item in objects:
                file.write(json.dumps(item) + "\n")
            file.flush()
        # Until the client closes: a QEMU that has nothing more to say.
        file.readline()


def run_job(*answers):
    """Run a job whose QEMU sends these objects after each command."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=serve, args=(theirs, answers), daemon=True).start()
    qmp = Qmp(ours)
    try:
        qmp.run_job("start", job_id="job", timeout=20)
    finally:
        qmp.close()


def test_job_that_is_waited_for():
    """An event says that it is time to look again."""
    run_job([DONE], [jobs("running"), EVENT], [jobs("concluded")], [DONE])


def test_event_before_the_answer():
    """The answer is older than the event that came before it, and no other event will come."""
    run_job([DONE], [EVENT, jobs("running")], [jobs("concluded")], [DONE])


def test_job_that_fails():
    """Its error is told."""
    with pytest.raises(MachineError, match="start: no space"):
        run_job([DONE], [jobs("concluded", error="no space")], [DONE])
