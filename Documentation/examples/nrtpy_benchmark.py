#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Validate a kernel against NumPy, measure it, and save a trace of it.

usage: nrtpy_benchmark.py ADD.neff [FOLDER]

These are the steps of the public tutorial "Validate, benchmark, and trace a kernel". FOLDER, by
default the current one, gets baseline_perf.json and kernel_trace.ntff.
"""

import json
import os
import pathlib
import sys

import numpy as np

from nrtpy import NrtpyModel, NrtpyTensor

SHAPE = (4, 3)
SLOWER = 1.10                   # of the baseline: a regression


def cases():
    """(name, a, b)"""
    random = np.random.default_rng(17)

    def full(value):
        return np.full(SHAPE, value, dtype=np.float16)

    return [
        ("ones+ones", full(1.0), full(1.0)),
        ("zeros+zeros", full(0.0), full(0.0)),
        ("neg+pos", full(-3.0), full(5.0)),
        ("random", random.standard_normal(SHAPE).astype(np.float16),
         random.standard_normal(SHAPE).astype(np.float16)),
        ("large", full(1000.0), full(2000.0)),
    ]


def tensors(a, b):
    """Both inputs on the device."""
    return {"a_input": NrtpyTensor.from_numpy(a, name="a_input"),
            "b_input": NrtpyTensor.from_numpy(b, name="b_input")}


def validate(model):
    """Compare each case with NumPy; how many differ."""
    failed = 0
    for name, a, b in cases():
        outputs = model(inputs=tensors(a, b))
        result = next(iter(outputs.values())).numpy()
        same = np.allclose(result.astype(np.float32), (a + b).astype(np.float32), rtol=1e-3,
                           atol=1e-3)
        print(f"  {'PASS' if same else 'FAIL'}: {name}")
        failed += not same
    print(f"Results: {len(cases()) - failed} passed, {failed} failed")
    return failed


def measure(model, inputs, mode):
    """Print the times of a mode."""
    stats = model.benchmark(inputs=inputs, warmup_iter=10, benchmark_iter=100, mode=mode)
    print(f"Benchmark, mode {mode}:")
    print(f"  Mean:    {stats.mean_ms:.4f} ms")
    print(f"  Min:     {stats.min_ms:.4f} ms")
    print(f"  Max:     {stats.max_ms:.4f} ms")
    print(f"  Std dev: {stats.std_dev_ms:.4f} ms")
    print(f"  Iterations: {stats.iterations}")
    return stats


def compare(baseline, stats):
    """Is the kernel slower than the baseline in the file?"""
    ratio = stats.mean_ms / json.loads(baseline.read_text(encoding="utf-8"))["mean_ms"]
    print(f"{'REGRESSION' if ratio > SLOWER else 'OK'}: {ratio:.2f}x of the baseline")
    return ratio > SLOWER


def main(neff, folder="."):
    """All steps; the exit status tells whether all is well."""
    model = NrtpyModel.load_from_neff(neff)
    print("Inputs:", list(model.input_tensors_info))
    print("Outputs:", list(model.output_tensors_info))
    failed = validate(model)

    ones = np.ones(SHAPE, dtype=np.float16)
    inputs = tensors(ones, ones)
    device = measure(model, inputs, "device")
    host = measure(model, inputs, "host")
    print(f"  Overhead vs device: {host.mean_ms - device.mean_ms:.4f} ms")

    baseline = pathlib.Path(folder) / "baseline_perf.json"
    baseline.write_text(json.dumps({"mean_ms": device.mean_ms, "min_ms": device.min_ms}, indent=2),
                        encoding="utf-8")
    # Here somebody would change the kernel.
    slower = compare(baseline, model.benchmark(inputs=inputs, benchmark_iter=100))

    trace = pathlib.Path(folder) / "kernel_trace.ntff"
    model(inputs=inputs, save_trace=True, ntff_name=str(trace))
    print(f"Trace saved to {trace}")
    return 1 if failed or slower else 0


if __name__ == "__main__":
    # The kernel is for one physical core. On Trainium2 and 3 a core is two unless this is said.
    os.environ.setdefault("NEURON_LOGICAL_NC_CONFIG", "1")
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
