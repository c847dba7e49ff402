#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""neuron-monitor-prometheus.py: what it serves, and how it ends.

usage: see monitor_rig.py
"""

import http.client
import json
import runpy
import socket
import subprocess
import sys
import time
import unittest.mock

import tap
from monitor_rig import EXPORTER, LIMIT, Case, Program


class Exporter(Case):
    """The exporter, with documents that are made up."""

    def serve(self):
        """The exporter on a port that was free."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            self.port = probe.getsockname()[1]
        child = subprocess.Popen([sys.executable, EXPORTER, "--port", str(self.port)],
                                 stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 bufsize=1)
        self.addCleanup(child.wait)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.kill)
        return child

    def get(self, path="/metrics"):
        """An answer, as soon as there is one: status, kind, text."""
        end = time.monotonic() + LIMIT
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.getheader("Content-Type"), answer.read().decode()
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
            finally:
                connection.close()

    def wait_for(self, word):
        """The samples, as soon as they have a word."""
        end = time.monotonic() + LIMIT
        text = ""
        while word not in text and time.monotonic() < end:
            text = self.get()[2]
        self.assertIn(word, text)
        return text

    @staticmethod
    def document(tag="t", completed=3, latency=0.5, period=1000):
        """What neuron-monitor writes."""
        stats = {"period": period, "error": "",
                 "error_summary": {"generic": 0, "model": 1},
                 "execution_summary": {"completed": completed, "timed_out": 1},
                 "latency_stats": {"device_latency": None, "total_latency":
                                   {"p50": latency} if latency else None}}
        core = {"constants": 1, "model_code": 2, "model_shared_scratchpad": 3,
                "runtime_memory": 4, "tensors": 5}
        memory = {"period": period, "error": "", "loaded_models": [],
                  "neuron_runtime_used_bytes": {
                      "host": 7, "neuron_device": 15, "usage_breakdown": {
                          "host": {}, "neuroncore_memory_usage": {"4": core}}}}
        report = {"execution_stats": stats, "memory_used": memory,
                  "neuron_runtime_vcpu_usage": {"period": period, "error": "",
                                                "vcpu_usage": {"user": 50, "system": 25}},
                  "neuroncore_counters": {"period": period, "error": "", "neuroncores_in_use": {
                      "4": {"neuroncore_utilization": 75, "flops": 1}}}}
        cpu = {"user": 10, "system": 20}
        return {"neuron_runtime_data": [{"pid": 1, "neuron_runtime_tag": tag, "error": "",
                                         "report": report}],
                "system_data": {
                    "memory_info": {"period": 1, "memory_total_bytes": 100,
                                    "memory_used_bytes": 60, "swap_total_bytes": 9,
                                    "swap_used_bytes": 8, "error": ""},
                    "vcpu_usage": {"period": 1, "average_usage": cpu, "error": "",
                                   "usage_data": {"0": cpu, "1": cpu}},
                    "neuron_hw_counters": {"period": 1, "error": "", "neuron_devices": [
                        {"neuron_device_index": 2, "mem_ecc_corrected": 5,
                         "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0,
                         "sram_ecc_corrected": 0}]}},
                "instance_info": {"instance_id": "i-1", "instance_type": "trn2"},
                "neuron_hardware_info": {"neuron_device_type": "trainium2"}}

    def sample(self, text, start, *labels):
        """The value of the only sample of a name that has these labels."""
        found = [line for line in text.splitlines() if line.startswith(start + "{") and
                 all(label in line for label in labels)]
        self.assertEqual(len(found), 1, text)
        for label in ('instance_id="i-1"', 'instance_type="trn2"'):
            self.assertIn(label, found[0])
        return float(found[0].rpartition(" ")[2])

    def test_samples(self):
        """Each metric has the value of the document."""
        child = self.serve()
        child.stdin.write(json.dumps(self.document()) + "\n")
        text = self.wait_for("instance_info{")
        tag = 'runtime_tag="t"'
        for start, labels, value in (
                ("execution_errors_total", ('error_type="model"', tag), 1),
                ("execution_status_total", ('status_type="completed"', tag), 3),
                ("execution_latency_seconds", ('percentile="p50"', tag), 0.5),
                ("neuron_runtime_memory_used_bytes", ('memory_location="host"', tag), 7),
                ("neuron_runtime_memory_used_bytes", ('memory_location="neuron_device"',), 15),
                ("neuron_runtime_vcpu_usage_ratio", ('usage_type="user"', tag), 0.5),
                ("neuroncore_utilization_ratio", ('neuroncore="4"', tag), 0.75),
                ("neuroncore_memory_usage_tensors", ('neuroncore="4"', tag), 5),
                ("hardware_ecc_events_total", ('event_type="mem_ecc_corrected"',
                                               'neuron_device_index="2"'), 5),
                ("system_memory_total_bytes", (), 100), ("system_memory_used_bytes", (), 60),
                ("system_swap_used_bytes", (), 8), ("system_vcpu_count", (), 2),
                ("system_vcpu_usage_ratio", ('usage_type="system"',), 0.2),
                ("instance_info", (), 1),
                ("neuron_hardware_info", ('neuron_device_type="trainium2"',), 1)):
            with self.subTest(start=start, labels=labels):
                self.assertEqual(self.sample(text, start, *labels), value)
                self.assertEqual(text.count(f"# TYPE {start} "), 1)
        self.assertEqual(self.get()[:2], (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual(self.get("/elsewhere")[0], 404)

    def test_counters(self):
        """Counts add up; a gauge is the last one; what the device counts is its own."""
        child = self.serve()
        for completed in (3, 4, 5):
            child.stdin.write(json.dumps(self.document(completed=completed)) + "\n")
        child.stdin.write(json.dumps(self.document(tag='a"b\\', latency=None)) + "\n")
        text = self.wait_for('runtime_tag="a\\"b\\\\"')
        self.assertEqual(self.sample(text, "execution_status_total", 'runtime_tag="t"',
                                     'status_type="completed"'), 12)
        self.assertEqual(self.sample(text, "neuroncore_utilization_ratio", 'runtime_tag="t"'),
                         0.75)
        self.assertEqual(self.sample(text, "hardware_ecc_events_total", "mem_ecc_corrected"), 5)

    def test_forgets(self):
        """Gauges of a runtime that has gone are no longer there; its counters are."""
        child = self.serve()
        child.stdin.write(json.dumps(self.document(period=0.1)) + "\n")
        self.wait_for("instance_info{")
        end = time.monotonic() + LIMIT
        while "neuroncore_utilization_ratio{" in (text := self.get()[2]):
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.sample(text, "execution_status_total", "completed"), 3)

    def served(self, *documents):
        """What is served after documents: each with the seconds that pass afterwards."""
        module = runpy.run_path(EXPORTER)
        series = module["Series"]()
        with unittest.mock.patch.object(time, "monotonic", return_value=0.0) as clock:
            for document, seconds in documents:
                series.take(module["Document"](json.dumps(document)))
                clock.return_value += seconds
            return series.text()

    def test_short_period(self):
        """The first period of a runtime is short; its gauges are there until the next document."""
        gauge, counter = "neuroncore_utilization_ratio{", "execution_status_total{"
        nothing = {"neuron_runtime_data": []}
        short, usual = self.document(period=0.01), self.document(period=5)
        self.assertIn(gauge, self.served((nothing, 5), (short, 14)))
        self.assertNotIn(gauge, self.served((nothing, 5), (short, 16)))
        self.assertIn(gauge, self.served((usual, 5), (short, 14)))
        self.assertNotIn(gauge, self.served((short, 1)))
        twice = {"neuron_runtime_data": usual["neuron_runtime_data"] +
                 short["neuron_runtime_data"]}
        self.assertIn(gauge, self.served((twice, 14)))
        self.assertIn(counter, self.served((usual, 3599)))
        self.assertNotIn(counter, self.served((usual, 3601)))
        long = self.document(period=7200)
        self.assertIn(counter, self.served((long, 7200)))
        self.assertIn("instance_info{", self.served((usual, 100000)))
        text = self.served((usual, 3599), (usual, 3599))
        self.assertEqual(self.sample(text, counter[:-1], '"completed"'), 6)

    def test_bad_lines(self):
        """Each has a line, and nothing of it is taken."""
        bad = self.document(tag="bad")
        bad["neuron_runtime_data"][0]["report"]["execution_stats"]["execution_summary"] = {
            "completed": "x"}
        child = self.serve()
        for line in ("", "x", "[]", '{"system_data": 1}', json.dumps(bad), "[" * 100000,
                     json.dumps(self.document())):
            child.stdin.write(line + "\n")
        text = self.wait_for("instance_info{")
        self.assertNotIn('runtime_tag="bad"', text)
        child.stdin.close()
        self.assertEqual(child.wait(LIMIT), 0)
        lines = child.stderr.read().splitlines()
        self.assertEqual([line.split(": ")[:2] for line in lines],
                         [["neuron-monitor-prometheus.py", f"line {i}"] for i in range(1, 7)])

    def test_end(self):
        """It ends with its input."""
        child = self.serve()
        self.get()
        child.stdin.close()
        self.assertEqual(child.wait(LIMIT), 0)
        self.assertEqual(child.stderr.read(), "")

    def test_port(self):
        """A port that is taken, and one that is none."""
        with socket.socket() as taken:
            taken.bind(("", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = subprocess.run([sys.executable, EXPORTER, "--port", str(port)], text=True,
                                  capture_output=True, timeout=LIMIT, check=False, input="")
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"neuron-monitor-prometheus.py: port {port}: Address already in "
                             "use\n"))
        done = subprocess.run([sys.executable, EXPORTER, "--port", "65536"], text=True,
                              capture_output=True, timeout=LIMIT, check=False, input="")
        self.assertEqual(done.returncode, 2)

    def test_monitor(self):
        """Both together, as a user runs them."""
        program = Program(self, self.tag)
        monitor = self.start(period="2s")
        with socket.socket() as probe:
            probe.bind(("", 0))
            self.port = probe.getsockname()[1]
        child = subprocess.Popen([sys.executable, EXPORTER, "--port", str(self.port)],
                                 stdin=monitor.stdout)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        # Otherwise the monitor would not see that the exporter has ended.
        monitor.stdout.close()
        self.wait_for("instance_info{")
        program.do("run 4")
        self.wait_for("execution_latency_seconds{")
        text = self.wait_for('status_type="completed"')
        [line] = [line for line in text.splitlines()
                  if line.startswith("execution_status_total{") and '"completed"' in line]
        self.assertIn(f'runtime_tag="{self.tag}"', line)
        child.kill()
        child.wait()
        self.assertEqual(monitor.wait(LIMIT), 0)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
