# SPDX-License-Identifier: MIT
"""nrtpy in a guest: Python and NumPy are the host's, libnrt uses the driver."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = "/usr/share/neuron/examples"
# How often the test of leaks loads: the guest may be emulated, and slow.
LOADS = 100
TIME_S = 900


def run(*words):
    """Run a command in a guest with one chip; its TAP or other output."""
    done = subprocess.run(
        [ROOT / "tools/neuron-vm", "--env", "PYTHONPATH=/usr/lib/neuron-emu/python",
         "--env", "PYTHONDONTWRITEBYTECODE=1", "--env", "NEURON_LOGICAL_NC_CONFIG=1",
         "--env", f"NRTPY_LOADS={LOADS}", "--", *words],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_S,
        check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("name, least", [("test_nrtpy", 30), ("test_nrtpy_process", 8)])
def test_module(name, least):
    """The tests that also run with chips in the process."""
    lines = run("/usr/bin/python3", ROOT / f"selftests/libnrt/{name}.py", EXAMPLES).splitlines()
    passed = [line for line in lines if line.startswith("ok ")]
    assert f"1..{len(passed)}" in lines
    assert len(passed) >= least
    assert not [line for line in passed if "# SKIP" in line]


def test_tutorial():
    """A tutorial as a user runs it, with what is installed."""
    text = run("/usr/bin/python3", f"{EXAMPLES}/nrtpy_debug.py", f"{EXAMPLES}/gather_rows.s")
    assert "NRT Error NRT_EXEC_OOB(1006): Failed to execute model" in text
    assert "Output sample (first row): [1. 1. 1. 1. 1.]" in text
