#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what neuron-monitor writes, and serves it to Prometheus: neuron-monitor | this program."""

import argparse
import http.server
import json
import math
import signal
import sys
import threading
import time

NAME = "neuron-monitor-prometheus.py"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# A gauge of a runtime that is not renewed for so many of its periods is no longer true.
PERIODS = 3
# Counters of a runtime that are not renewed for so many seconds are forgotten.
COUNTERS_STAY = 3600
INSTANCE_LABELS = {
    "availability_zone": "instance_availability_zone",
    "instance_id": "instance_id",
    "instance_name": "instance_name",
    "instance_type": "instance_type",
    "region": "instance_region",
    "subnet_id": "subnet_id",
}
# Name, type and help of each metric, in the order in which they are shown.
METRICS = {
    "execution_errors_total": ("counter", "Executions that failed, by the kind of error"),
    "execution_status_total": ("counter", "Executions, by how they ended"),
    "execution_latency_seconds": ("gauge", "Latency of executions of the last period"),
    "neuron_runtime_memory_used_bytes": ("gauge", "Memory that a runtime uses"),
    "neuron_runtime_vcpu_usage_ratio": ("gauge", "Processor time of a runtime"),
    "neuroncore_utilization_ratio": ("gauge", "Share of the time in which a core had a job"),
    "neuroncore_memory_usage_constants": ("gauge", "Device memory of constants"),
    "neuroncore_memory_usage_model_code": ("gauge", "Device memory of programs"),
    "neuroncore_memory_usage_model_shared_scratchpad": ("gauge", "Device memory of scratchpads"),
    "neuroncore_memory_usage_runtime_memory": ("gauge", "Device memory of the runtime"),
    "neuroncore_memory_usage_tensors": ("gauge", "Device memory of tensors"),
    "hardware_ecc_events_total": ("counter", "Memory errors of a device"),
    "system_memory_total_bytes": ("gauge", "Memory of the host"),
    "system_memory_used_bytes": ("gauge", "Memory of the host that is in use"),
    "system_swap_total_bytes": ("gauge", "Swap space of the host"),
    "system_swap_used_bytes": ("gauge", "Swap space of the host that is in use"),
    "system_vcpu_count": ("gauge", "Processors of the host"),
    "system_vcpu_usage_ratio": ("gauge", "Processor time of the host"),
    "neuron_hardware_info": ("gauge", "The devices of the host"),
    "instance_info": ("gauge", "The instance"),
}


class BadDocument(Exception):
    """A line is not what neuron-monitor writes."""


def member(value, key, kind):
    """The member of an object, of a type; None: it is not there."""
    found = value.get(key)
    if found is not None and not isinstance(found, kind):
        raise BadDocument(f'"{key}" has the wrong type')
    return found


def number(value, key):
    """A member that is a number."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise BadDocument(f'"{key}" is no number')
    return found


def escape(text):
    """A value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Document:
    """What a line says, as samples: (metric, labels, value, period, None: it stays for ever)."""

    def __init__(self, line):
        try:
            self.root = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadDocument(f"no JSON: {error}") from error
        if not isinstance(self.root, dict):
            raise BadDocument("no object")
        self.samples = []
        info = member(self.root, "instance_info", dict) or {}
        self.labels = {label: info.get(key, "") for label, key in INSTANCE_LABELS.items()}
        self._add("instance_info", {}, 1)
        self._hardware(member(self.root, "neuron_hardware_info", dict) or {})
        self._system(member(self.root, "system_data", dict) or {})
        for runtime in member(self.root, "neuron_runtime_data", list) or []:
            if not isinstance(runtime, dict):
                raise BadDocument("a runtime is no object")
            self._runtime(runtime)

    def _add(self, metric, labels, value, period=None):
        labels = {name: str(text) for name, text in {**self.labels, **labels}.items()}
        self.samples.append((metric, labels, value, period))

    def _hardware(self, info):
        names = ("neuron_device_type", "neuron_device_version", "neuroncore_version",
                 "neuron_device_count", "neuroncore_per_device_count",
                 "logical_neuroncore_config")
        self._add("neuron_hardware_info", {name: info.get(name, "") for name in names}, 1)

    def _system(self, data):
        memory = member(data, "memory_info", dict)
        for name in ("memory_total", "memory_used", "swap_total", "swap_used") if memory else ():
            self._add(f"system_{name}_bytes", {}, number(memory, f"{name}_bytes"))
        cpus = member(data, "vcpu_usage", dict)
        if cpus:
            self._add("system_vcpu_count", {}, len(member(cpus, "usage_data", dict) or {}))
            usage = member(cpus, "average_usage", dict) or {}
            for name in usage:
                self._add("system_vcpu_usage_ratio", {"usage_type": name},
                          number(usage, name) / 100)
        counters = member(data, "neuron_hw_counters", dict) or {}
        for device in member(counters, "neuron_devices", list) or []:
            self._device(device)

    def _device(self, device):
        if not isinstance(device, dict):
            raise BadDocument("a device is no object")
        index = number(device, "neuron_device_index")
        for name in ("mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_corrected",
                     "sram_ecc_uncorrected"):
            self._add("hardware_ecc_events_total",
                      {"event_type": name, "neuron_device_index": index}, number(device, name))

    def _runtime(self, runtime):
        tag = {"runtime_tag": runtime.get("neuron_runtime_tag", "")}
        report = member(runtime, "report", dict) or {}
        for name, add in (("execution_stats", self._executions), ("memory_used", self._memory),
                          ("neuron_runtime_vcpu_usage", self._vcpu),
                          ("neuroncore_counters", self._cores)):
            group = member(report, name, dict)
            if group:
                add(group, tag, number(group, "period"))

    def _executions(self, group, tag, period):
        errors = member(group, "error_summary", dict) or {}
        for name in errors:
            self._add("execution_errors_total", {**tag, "error_type": name},
                      number(errors, name), period)
        ends = member(group, "execution_summary", dict) or {}
        for name in ends:
            self._add("execution_status_total", {**tag, "status_type": name},
                      number(ends, name), period)
        latency = member(member(group, "latency_stats", dict) or {}, "total_latency", dict) or {}
        for name in latency:
            self._add("execution_latency_seconds", {**tag, "percentile": name},
                      number(latency, name), period)

    def _memory(self, group, tag, period):
        used = member(group, "neuron_runtime_used_bytes", dict) or {}
        for name in ("host", "neuron_device") if used else ():
            self._add("neuron_runtime_memory_used_bytes", {**tag, "memory_location": name},
                      number(used, name), period)
        breakdown = member(used, "usage_breakdown", dict) or {}
        for core, usage in (member(breakdown, "neuroncore_memory_usage", dict) or {}).items():
            if not isinstance(usage, dict):
                raise BadDocument("the memory of a core is no object")
            for name in ("constants", "model_code", "model_shared_scratchpad", "runtime_memory",
                         "tensors"):
                self._add(f"neuroncore_memory_usage_{name}", {**tag, "neuroncore": core},
                          number(usage, name), period)

    def _vcpu(self, group, tag, period):
        usage = member(group, "vcpu_usage", dict) or {}
        for name in usage:
            self._add("neuron_runtime_vcpu_usage_ratio", {**tag, "usage_type": name},
                      number(usage, name) / 100, period)

    def _cores(self, group, tag, period):
        for core, counters in (member(group, "neuroncores_in_use", dict) or {}).items():
            if not isinstance(counters, dict):
                raise BadDocument("the counters of a core are no object")
            self._add("neuroncore_utilization_ratio", {**tag, "neuroncore": core},
                      number(counters, "neuroncore_utilization") / 100, period)


class Series:
    """All samples that are true now. Documents say how much was counted since the last one."""

    def __init__(self):
        self.lock = threading.Lock()
        # By metric and labels: the value, when it came, until when it is true.
        self.values = {name: {} for name in METRICS}
        self.last = math.inf

    def take(self, document):
        """All of a document, or nothing of one that is bad."""
        now = time.monotonic()
        with self.lock:
            self._forget(now)
            for metric, labels, value, period in document.samples:
                key = tuple(sorted(labels.items()))
                before, came, end = self.values[metric].get(key, (0, self.last, 0))
                stays = math.inf
                if period is not None:
                    # The first period of a runtime is as short as it was there.
                    stays = PERIODS * max(period, now - came)
                # The device itself counts its errors.
                if metric.startswith("execution_") and METRICS[metric][0] == "counter":
                    value += before
                    stays = max(stays, COUNTERS_STAY)
                # Processes with the same tag are in the same document.
                end = max(end if came == now else 0, now + stays)
                self.values[metric][key] = (value, now, end)
            self.last = now

    def _forget(self, now):
        for samples in self.values.values():
            for key in [key for key, (_, _, until) in samples.items() if until < now]:
                del samples[key]

    def text(self):
        """In the format of Prometheus."""
        now = time.monotonic()
        lines = []
        with self.lock:
            self._forget(now)
            for metric, (kind, what) in METRICS.items():
                samples = self.values[metric]
                if samples:
                    lines += [f"# HELP {metric} {what}", f"# TYPE {metric} {kind}"]
                for key, (value, _, _) in samples.items():
                    labels = ",".join(f'{name}="{escape(text)}"' for name, text in key)
                    lines.append(f"{metric}{{{labels}}} {value}")
        return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /metrics, and / alike."""

    # Of a client that says nothing.
    timeout = 10

    def do_GET(self):
        """All samples, or 404."""
        if self.path.partition("?")[0] not in ("/", "/metrics"):
            self.send_error(404)
            return
        text = self.server.series.text().encode(errors="replace")
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Nobody wants a line for each question."""


class Server(http.server.ThreadingHTTPServer):
    """A server for what a series has."""

    daemon_threads = True

    def __init__(self, port, series):
        self.series = series
        super().__init__(("", port), Handler)

    def handle_error(self, *_):
        """A client that goes away is no error of ours."""


def port_number(text):
    """A port for --port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("use 1 to 65535")
    return int(text)


def main():
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(
        prog=NAME, description="Serve the documents of neuron-monitor, which are read from "
        "standard input, to Prometheus.")
    parser.add_argument("-p", "--port", type=port_number, default=8000,
                        help="where to listen (8000)")
    port = parser.parse_args().port
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    series = Series()
    try:
        server = Server(port, series)
    except OSError as error:
        print(f"{NAME}: port {port}: {error.strerror}", file=sys.stderr)
        return 1
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for count, line in enumerate(sys.stdin.buffer, 1):
        try:
            series.take(Document(line))
        except BadDocument as error:
            print(f"{NAME}: line {count}: {error}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
