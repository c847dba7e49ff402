#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""neuron-monitor with programs on chips in their process: what it writes, how it ends, mistakes.

usage: see monitor_rig.py
"""

import fcntl
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import tap
from monitor_rig import LIMIT, MONITOR, RUNTIME, SYSTEM, Case, Program, groups

PERCENTILES = {"p0", "p1", "p25", "p50", "p75", "p99", "p100"}
HOST = {"application_memory", "constants", "dma_buffers", "tensors"}
CPU = {"user", "nice", "system", "idle", "io_wait", "irq", "soft_irq"}


class Reports(Case):
    """What the documents say."""

    def check_memory(self, group):
        """All keys, and sums that fit; the models."""
        self.assertEqual(set(group), {"period", "neuron_runtime_used_bytes", "loaded_models",
                                      "error"})
        used = group["neuron_runtime_used_bytes"]
        self.assertEqual(set(used), {"host", "neuron_device", "usage_breakdown"})
        host = used["usage_breakdown"]["host"]
        cores = used["usage_breakdown"]["neuroncore_memory_usage"]
        self.assertEqual(set(host), HOST)
        self.assertEqual(used["host"], sum(host.values()))
        self.assertEqual(set(cores), {"0", "1"})
        for core in cores.values():
            self.assertEqual(set(core), {"constants", "model_code", "model_shared_scratchpad",
                                         "runtime_memory", "tensors"})
        self.assertEqual(used["neuron_device"], sum(sum(core.values()) for core in cores.values()))
        for model in group["loaded_models"]:
            self.assertEqual(set(model), {"name", "uuid", "model_id", "is_running", "subgraphs"})
            self.assertRegex(model["uuid"], "^[0-9a-f]{32}$")
            self.assertEqual(set(model["subgraphs"]), {"sg_00"})
            graph = model["subgraphs"]["sg_00"]
            self.assertEqual(set(graph), {"memory_used_bytes", "neuroncore_index",
                                          "neuron_device_index"})
            bytes_ = graph["memory_used_bytes"]
            self.assertEqual(set(bytes_["usage_breakdown"]["host"]), HOST)
            device = bytes_["usage_breakdown"]["neuron_device"]
            self.assertEqual(set(device), {"constants", "model_code", "runtime_memory",
                                           "tensors"})
            self.assertEqual(bytes_["neuron_device"], sum(device.values()))
        return used, group["loaded_models"]

    def check_system(self, system):
        """All keys of the groups of the system."""
        self.assertEqual(set(system), set(SYSTEM))
        cpus = system["vcpu_usage"]
        self.assertEqual(set(cpus), {"period", "average_usage", "usage_data",
                                     "context_switch_count", "error"})
        self.assertEqual(set(cpus["average_usage"]), CPU)
        self.assertGreaterEqual(len(cpus["usage_data"]), os.cpu_count())
        for usage in (cpus["average_usage"], *cpus["usage_data"].values()):
            self.assertLessEqual(sum(usage.values()), 100.1)
        self.assertEqual(set(system["memory_info"]), {
            "period", "memory_total_bytes", "memory_used_bytes", "swap_total_bytes",
            "swap_used_bytes", "error"})
        memory = system["memory_info"]["memory_total_bytes"]
        text = pathlib.Path("/proc/meminfo").read_text()
        self.assertEqual(memory, int(re.search("MemTotal: *([0-9]+) kB", text)[1]) << 10)
        self.assertGreater(memory, system["memory_info"]["memory_used_bytes"])
        self.assertEqual(set(system["neuron_hw_counters"]), {"period", "neuron_devices", "error"})
        for group in system.values():
            self.assertGreater(group["period"], 0)

    def test_document(self):
        """Each key of the public format, and no other one."""
        program = Program(self, self.tag)
        document = self.documents()()
        self.assertEqual(set(document), {"neuron_runtime_data", "system_data", "instance_info",
                                         "neuron_hardware_info"})
        self.assertEqual(set(document["instance_info"]), {
            "instance_name", "instance_id", "instance_type", "instance_availability_zone",
            "instance_availability_zone_id", "instance_region", "ami_id", "subnet_id", "error"})
        [data] = document["neuron_runtime_data"]
        report = data.pop("report")
        self.assertEqual(data, {"pid": program.pid, "address": "", "error": "",
                                "neuron_runtime_tag": self.tag})
        self.assertEqual(set(report), set(RUNTIME))
        for group in report.values():
            self.assertEqual(group["error"], "")
            self.assertTrue(0.05 < group["period"] < LIMIT, group["period"])
        self.assertEqual(report["neuroncore_counters"]["neuroncores_in_use"], {
            core: {"neuroncore_utilization": 0, "flops": 0} for core in ("0", "1")})
        self.assertEqual(set(report["neuron_runtime_vcpu_usage"]["vcpu_usage"]),
                         {"user", "system"})
        self.assertEqual(set(report["execution_stats"]), {
            "period", "error_summary", "execution_summary", "latency_stats", "error"})
        self.assertEqual(report["execution_stats"]["latency_stats"],
                         {"total_latency": None, "device_latency": None})
        self.check_memory(report["memory_used"])
        self.check_system(document["system_data"])
        if not pathlib.Path("/dev/accel").exists():
            self.assertEqual(document["instance_info"]["instance_type"], "trn2:1")
            self.assertEqual(document["neuron_hardware_info"], {
                "neuron_device_type": "trainium2", "neuron_device_version": "v4",
                "neuroncore_version": "v3", "neuron_device_count": 1,
                "neuron_device_memory_size": 96 << 30, "neuroncore_per_device_count": 8,
                "logical_neuroncore_config": 1, "error": ""})
        self.assertEqual(self.complaints(), [])

    def test_counts(self):
        """What the program did in the period, and nothing that it did before."""
        program = Program(self, self.tag)
        program.do("run 2")
        documents = self.documents(period="200ms")
        first = self.of(documents(), program.pid)["execution_stats"]
        self.assertEqual(set(first["execution_summary"].values()), {0})
        program.do("run 7")
        program.do("bad")
        program.do("input")
        ends, errors = {}, {}
        while sum(ends.values()) < 9:
            stats = self.of(documents(), program.pid)["execution_stats"]
            for sums, group in ((ends, "execution_summary"), (errors, "error_summary")):
                for name, count in stats[group].items():
                    sums[name] = sums.get(name, 0) + count
            for latency in stats["latency_stats"].values():
                if latency:
                    self.assertEqual(set(latency), PERCENTILES)
                    values = [latency[name] for name in ("p0", "p1", "p25", "p50", "p75", "p99",
                                                         "p100")]
                    self.assertEqual(values, sorted(values))
                    self.assertTrue(0 < values[0] and values[-1] < LIMIT)
        self.assertEqual(ends, {"completed": 7, "completed_with_err": 1, "incorrect_input": 1,
                                "completed_with_num_err": 0, "timed_out": 0,
                                "failed_to_queue": 0})
        self.assertEqual(errors, {"model": 2, "generic": 0, "numerical": 0, "transient": 0,
                                  "runtime": 0, "hardware": 0})

    def test_begins_later(self):
        """Of a program that begins when the monitor runs all is reported."""
        documents = self.documents()
        self.assertEqual(documents()["neuron_runtime_data"], [])
        # It sees the program when that has done something.
        self.monitor.send_signal(signal.SIGSTOP)
        program = Program(self, self.tag)
        program.do("run 3")
        self.monitor.send_signal(signal.SIGCONT)
        total = 0
        while total < 3:
            report = self.of(documents(), program.pid)
            total += report["execution_stats"]["execution_summary"]["completed"] if report else 0
        self.assertEqual(total, 3)
        program.child.kill()
        program.child.wait()
        while documents()["neuron_runtime_data"]:
            pass

    def test_memory(self):
        """A tensor more, in whole pages."""
        program = Program(self, self.tag)
        documents = self.documents()
        before, models = self.check_memory(self.of(documents(), program.pid)["memory_used"])
        self.assertEqual([(model["model_id"], model["is_running"]) for model in models],
                         [(1, False)])
        program.do("tensor 1000001")
        report = self.until(documents, program.pid, lambda report: report["memory_used"][
            "neuron_runtime_used_bytes"]["neuron_device"] > before["neuron_device"])
        after, _ = self.check_memory(report["memory_used"])
        self.assertEqual(after["neuron_device"] - before["neuron_device"], 1003520)
        cores = [used["usage_breakdown"]["neuroncore_memory_usage"]["0"]["tensors"]
                 for used in (before, after)]
        self.assertEqual(cores[1] - cores[0], 1003520)

    def test_busy(self):
        """A core whose job does not end, by half of a pair."""
        program = Program(self, self.tag)
        pair = Program(self, self.tag, NEURON_LOGICAL_NC_CONFIG="2")
        documents = self.documents(period="200ms")
        program.do("stuck")

        def utilization(report):
            return report["neuroncore_counters"]["neuroncores_in_use"]["0"][
                "neuroncore_utilization"]

        report = self.until(documents, program.pid, lambda report: utilization(report) == 100)
        self.assertTrue([model for model in report["memory_used"]["loaded_models"]
                         if model["is_running"]])
        self.assertEqual(report["neuroncore_counters"]["neuroncores_in_use"]["1"],
                         {"neuroncore_utilization": 0, "flops": 0})
        # One execution is too short for two digits behind the point.
        end = time.monotonic() + LIMIT
        report = None
        while not report or not utilization(report):
            self.assertLess(time.monotonic(), end)
            pair.do("run 100")
            report = self.of(documents(), pair.pid)
        cores = report["neuroncore_counters"]["neuroncores_in_use"]
        self.assertEqual(set(cores), {"0", "1"})
        self.assertEqual(set(cores["0"]), {"neuroncore_utilization", "flops", "v3d"})
        self.assertEqual(set(cores["1"]["v3d"]), {"nc_v3.2", "nc_v3.3"})
        graphs = report["memory_used"]["loaded_models"][0]["subgraphs"]
        self.assertEqual(set(graphs), {"sg_00", "sg_01"})

    def test_periods(self):
        """A document has the groups that are due, with the time that has really passed."""
        program = Program(self, self.tag)
        documents = self.documents({
            "period": "1h", "system_metrics": groups("memory_info") + groups(
                "vcpu_usage", period="100ms"),
            "neuron_runtimes": [{"tag_filter": self.tag, "period": "2s", "metrics": groups(
                "execution_stats") + groups("memory_used", period="100ms")}]})
        begin = time.monotonic()
        passed = {}
        nr = {}
        while not nr.get("execution_stats"):
            document = documents()
            reports = {**document["system_data"], **(self.of(document, program.pid) or {})}
            self.assertTrue(reports)
            for name, group in reports.items():
                passed[name] = passed.get(name, 0) + group["period"]
                nr[name] = nr.get(name, 0) + 1
        elapsed = time.monotonic() - begin
        self.assertEqual(set(nr), {"execution_stats", "memory_used", "vcpu_usage"})
        self.assertGreater(nr["memory_used"], 1)
        self.assertGreater(nr["vcpu_usage"], 1)
        for name in nr:
            # The first period began when the monitor did.
            self.assertLess(passed[name], elapsed + 1, name)
        self.assertGreater(passed["execution_stats"], 1.9)

    def test_filter(self):
        """The first entry that a tag fits to; the pid is the tag of who has none."""
        names = {tag: Program(self, f"{self.tag}-{tag}") for tag in ("a", "b", "c")}
        nobody = Program(self, None)
        documents = self.documents({"period": "100ms", "neuron_runtimes": [
            {"tag_filter": f"{self.tag}-[ab]$", "metrics": groups("memory_used")},
            {"tag_filter": f"^{self.tag}-(b|c)$", "metrics": groups("execution_stats")},
            {"tag_filter": f"^{nobody.pid}$", "metrics": groups("neuroncore_counters")}]})
        data = {data["pid"]: data for data in documents()["neuron_runtime_data"]}
        self.assertEqual({pid: list(entry["report"]) for pid, entry in data.items()}, {
            names["a"].pid: ["memory_used"], names["b"].pid: ["memory_used"],
            names["c"].pid: ["execution_stats"], nobody.pid: ["neuroncore_counters"]})
        self.assertEqual(data[nobody.pid]["neuron_runtime_tag"], str(nobody.pid))

    def test_child(self):
        """A child that was forked is no second runtime."""
        program = Program(self, self.tag)
        program.do("fork")
        children = program.children()
        self.assertEqual(len(children), 1)
        self.pids |= children
        documents = self.documents()
        for _ in range(2):
            self.assertEqual([data["pid"] for data in documents()["neuron_runtime_data"]],
                             [program.pid])
        self.assertEqual(self.complaints(), [])

    def test_tag(self):
        """A tag of strange bytes makes no bad document, and a long one is cut."""
        program = Program(self, None, NEURON_PROCESS_TAG=b'\xff"\\\n\xc3\xa4' + b"x" * 300)
        documents = self.documents({"period": "100ms", "neuron_runtimes": [
            {"metrics": groups("memory_used")}]})
        [data] = [data for data in documents()["neuron_runtime_data"]
                  if data["pid"] == program.pid]
        self.assertEqual(data["neuron_runtime_tag"], '?"\\\nä' + "x" * 249)

    def test_nothing(self):
        """Without a runtime and without a driver."""
        document = self.documents()()
        self.assertEqual(document["neuron_runtime_data"], [])
        self.check_system(document["system_data"])
        if not pathlib.Path("/dev/accel").exists():
            info = document["neuron_hardware_info"]
            self.assertEqual(info["neuron_device_count"], 0)
            self.assertRegex(info["error"], "^the neuron module is ")
            self.assertEqual(document["system_data"]["neuron_hw_counters"]["error"],
                             info["error"])


class Ends(Case):
    """How the monitor ends."""

    def ended(self, child):
        """Its exit status, without a word."""
        status = child.wait(LIMIT)
        self.assertEqual(self.complaints(), [])
        return status

    def test_signals(self):
        """Both end it, whatever it waits for."""
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start(period="1h")
            # Not before it waits for them.
            status = pathlib.Path(f"/proc/{child.pid}/status")
            end = time.monotonic() + LIMIT
            while "\nSigBlk:\t0000000000000000" in status.read_text():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            child.send_signal(number)
            self.assertEqual(self.ended(child), 0)

    def test_full_pipe(self):
        """Nobody reads: both end it while it waits for its reader."""
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start(period="10ms")
            before = 0
            # It writes, and then no more for many periods.
            while not before or before != self.waiting(child):
                before = self.waiting(child)
                time.sleep(0.5)
            child.send_signal(number)
            self.assertEqual(self.ended(child), 0)

    @staticmethod
    def waiting(child):
        """Bytes that a child has written, and nobody has read."""
        return struct.unpack("i", fcntl.ioctl(child.stdout, termios.FIONREAD, bytes(4)))[0]

    def test_closed_pipe(self):
        """Nobody reads any more: it ends, also when nothing is due for long."""
        for period in ("1h", "10ms"):
            child = self.start(period=period)
            child.stdout.close()
            self.assertEqual(self.ended(child), 0)

    def test_full(self):
        """What cannot be written is an error."""
        with open("/dev/full", "w") as full:
            done = subprocess.run([MONITOR, "-c", self.config("10ms")], stdout=full, text=True,
                                  stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^neuron-monitor: standard output: .*\n$")

    def config(self, period):
        """A file."""
        path = self.folder / "short.json"
        path.write_text(json.dumps({"period": period, "system_metrics": groups("memory_info")}))
        return path


class Mistakes(Case):
    """Each has its own line, and the exit status is 2."""

    def refused(self, text, line):
        """A file with a mistake."""
        path = self.folder / "bad.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        done = subprocess.run([MONITOR, "-c", path.name], cwd=self.folder, capture_output=True,
                              text=True, timeout=LIMIT, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (2, "", f"neuron-monitor: bad.json: {line}\n"))

    def test_files(self):
        """What is wrong with a configuration."""
        period = 'use a text such as "1s" or "500ms", from 10 ms to 24 h'
        runtime = "neuroncore_counters, execution_stats, memory_used, neuron_runtime_vcpu_usage"
        for text, line in (
                ("", "no JSON: byte 0: it ends too early"),
                ("{} x", "no JSON: byte 3: unexpected character"),
                ("{}\0", "no JSON: byte 2: there is more behind its end"),
                ("[]", "an object was expected"),
                ({"perod": "1s"}, 'unknown key "perod"'),
                ({"period": 1}, f"period is 1; {period}"),
                ({"period": "1"}, f'period is "1"; {period}'),
                ({"period": "0s"}, f'period is "0s"; {period}'),
                ({"period": "-1s"}, f'period is "-1s"; {period}'),
                ({"period": "1e9s"}, f'period is "1e9s"; {period}'),
                ({"period": "25h"}, f'period is "25h"; {period}'),
                ({"period": "1.2.3s"}, f'period is "1.2.3s"; {period}'),
                ({"system_metrics": {}}, "system_metrics: an array was expected"),
                ({"system_metrics": [1]}, "system_metrics[0]: an object was expected"),
                ({"system_metrics": groups("memory_used")},
                 "system_metrics[0]: type must be one of vcpu_usage, memory_info, "
                 "neuron_hw_counters"),
                ({"system_metrics": groups("vcpu_usage", "vcpu_usage")},
                 "system_metrics[1]: vcpu_usage is there twice"),
                ({"neuron_runtimes": [{"filter": ""}]},
                 'neuron_runtimes[0]: unknown key "filter"'),
                ({"neuron_runtimes": [{}, {"tag_filter": 1}]},
                 "neuron_runtimes[1]: tag_filter: a text was expected"),
                ({"neuron_runtimes": [{"tag_filter": "(", "metrics": []}]},
                 'neuron_runtimes[0]: tag_filter is "(": Unmatched ( or \\('),
                ({"neuron_runtimes": [{"metrics": [{}]}]},
                 f"neuron_runtimes[0]: metrics[0]: type must be one of {runtime}"),
                ({"neuron_runtimes": [{"metrics": groups("memory_used", period="x")}]},
                 f'neuron_runtimes[0]: metrics[0]: period is "x"; {period}'),
                ({"neuron_runtimes": [{"metrics": groups("memory_used", perod="x")}]},
                 'neuron_runtimes[0]: metrics[0]: unknown key "perod"')):
            with self.subTest(text=text):
                self.refused(text, line)

    def test_no_file(self):
        """A file that cannot be read."""
        done = subprocess.run([MONITOR, "-c", "/nowhere"], capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "neuron-monitor: /nowhere: No such file or directory\n"))

    def test_options(self):
        """What is wrong with the command line."""
        for words in (["--verbose", "5"], ["--verbose", "x"], ["more"]):
            done = subprocess.run([MONITOR, *words], capture_output=True, text=True,
                                  timeout=LIMIT, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    sys.exit(tap.run(sys.modules[__name__]))
