# SPDX-License-Identifier: MIT
"""QEMU's control protocol, as much of it as machines and tests need.

Debian 12 has no package of QEMU's own client library, which is why this one exists.
"""

import json
import socket

from .errors import MachineError


class Qmp:
    """A connection to QEMU's control socket. Not safe for several threads at once."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rw", encoding="utf-8")
        # How many events have come, between answers.
        self.events = 0
        self.read_object()
        self.run("qmp_capabilities")

    @classmethod
    def connect(cls, path):
        """A client of the socket at this path, on which QEMU listens already."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        return cls(connection)

    def read_object(self):
        """The next object that QEMU sends."""
        try:
            line = self.file.readline()
        except TimeoutError:
            raise
        except OSError as error:
            raise MachineError(f"QEMU's control socket: {error}") from error
        if not line:
            raise MachineError("QEMU has gone")
        return json.loads(line)

    def run(self, command, **arguments):
        """Run a command and return its answer; underscores in names stand for dashes."""
        arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        try:
            self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
            self.file.flush()
        except OSError as error:
            raise MachineError(f"{command}: QEMU's control socket: {error}") from error
        while True:
            answer = self.read_object()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise MachineError(f"{command}: {answer['error']['desc']}")
            self.events += 1

    def human(self, line):
        """Run a line of QEMU's human monitor and return what it prints."""
        return self.run("human-monitor-command", command_line=line)

    def run_job(self, command, timeout=600, **arguments):
        """Run a command that starts a job of QEMU, and wait for the job's end."""
        name = arguments["job_id"]
        self.run(command, **arguments)
        self.socket.settimeout(timeout)
        try:
            while True:
                before = self.events
                job = next(job for job in self.run("query-jobs") if job["id"] == name)
                if job["status"] == "concluded":
                    break
                # QEMU may send the job's last event after it has looked at the job and before it
                # answers. Nobody would send another one.
                if self.events == before:
                    self.read_object()      # an event: the job has gone on
        except TimeoutError as error:
            raise MachineError(f"{command}: not done after {timeout} s") from error
        finally:
            self.socket.settimeout(None)
        self.run("job-dismiss", id=name)
        if "error" in job:
            raise MachineError(f"{command}: {job['error']}")

    def close(self):
        try:
            self.file.close()
        except OSError:
            pass        # QEMU has not read the last command
        self.socket.close()
