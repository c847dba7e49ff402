# SPDX-License-Identifier: MIT
"""What the tests of neuron-monitor share.

Their arguments are NEURON-MONITOR MONITORED NEURON-MONITOR-PROMETHEUS.PY. Other programs that use
libnrt may run on this host, so each test watches those with its own tags.
"""

import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

MONITOR, MONITORED, EXPORTER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
LIMIT = 60
RUNTIME = ("neuroncore_counters", "memory_used", "neuron_runtime_vcpu_usage", "execution_stats")
REFUSAL = re.compile("neuron-monitor: process ([0-9]+): its statistics page is left out: ")
SYSTEM = ("vcpu_usage", "memory_info", "neuron_hw_counters")


def groups(*types, **more):
    """A list of metric groups."""
    return [{"type": name, **more} for name in types]


class Lines:
    """The lines of a child; who waits for too many has an error."""

    def __init__(self, child):
        self.child = child
        self.rest = b""
        self.end = time.monotonic() + 2 * LIMIT

    def next(self):
        """The next line, or an error."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [],
                                        max(0, self.end - time.monotonic()))
            data = os.read(self.child.stdout.fileno(), 1 << 20) if ready else b""
            if not data:
                raise AssertionError(f"no line but {self.rest!r} of {self.child.args}")
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line


class Program:
    """A program that is monitored."""

    def __init__(self, test, tag, **environment):
        environment = {**os.environ, "NEURON_RT_BACKEND": "embedded", "NEURON_EMU_QUIET": "1",
                       "NEURON_EMU_INSTANCE": "trn2:1", "NEURON_RT_NUM_CORES": "2",
                       "NEURON_RT_LOG_LEVEL": "QUIET", **environment}
        if tag:
            environment["NEURON_PROCESS_TAG"] = tag
        self.child = subprocess.Popen([MONITORED], stdin=subprocess.PIPE, bufsize=0,
                                      stdout=subprocess.PIPE, env=environment)
        test.addCleanup(self.child.wait)
        test.addCleanup(self.child.kill)
        self.pid = self.child.pid
        test.pids.add(self.pid)
        self.lines = Lines(self.child)
        assert self.lines.next() == b"ready"

    def do(self, line):
        """Do what a line says."""
        self.child.stdin.write(f"{line}\n".encode())
        assert self.lines.next() == b"done"

    def children(self):
        """The processes that it has forked."""
        found = set()
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = path.read_text(errors="replace").rpartition(")")[2].split()[1]
            except OSError:
                # It has ended meanwhile.
                continue
            if int(parent) == self.pid:
                found.add(int(path.parent.name))
        return found


class Case(unittest.TestCase):
    """A test in a folder of its own, with a tag of its own."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tag = uuid.uuid4().hex
        self.monitor = None
        self.pids = {os.getpid()}

    def start(self, config=None, period="100ms", **more):
        """The monitor, with a configuration; one that was started before ends."""
        if self.monitor:
            self.monitor.kill()
            self.monitor.wait()
        if config is None:
            config = {"period": period, "system_metrics": groups(*SYSTEM), "neuron_runtimes": [
                {"tag_filter": self.tag, "metrics": groups(*RUNTIME)}]}
        path = self.folder / "config.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        self.errors = open(self.folder / "stderr", "w+")
        self.addCleanup(self.errors.close)
        self.monitor = subprocess.Popen([MONITOR, "--config-file", path], stdout=subprocess.PIPE,
                                        stderr=self.errors, **more)
        self.addCleanup(self.monitor.wait)
        self.addCleanup(self.monitor.stdout.close)
        self.addCleanup(self.monitor.kill)
        return self.monitor

    def documents(self, *arguments, **more):
        """A function that gives the monitor's next document."""
        lines = Lines(self.start(*arguments, **more))
        return lambda: json.loads(lines.next())

    def complaints(self):
        """The lines on standard error so far, without those about processes of other tests."""
        lines = (self.folder / "stderr").read_text().splitlines()
        return [line for line in lines if not (process := REFUSAL.match(line)) or
                int(process[1]) in self.pids]

    @staticmethod
    def of(document, pid):
        """The report of a process, or None."""
        found = [data for data in document["neuron_runtime_data"] if data["pid"] == pid]
        assert len(found) <= 1
        return found[0]["report"] if found else None

    def until(self, documents, pid, what):
        """The first report of a process that is as wanted."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            report = self.of(documents(), pid)
            if report and what(report):
                return report
        raise AssertionError(f"process {pid} has no such report")
