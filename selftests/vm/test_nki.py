# SPDX-License-Identifier: MIT
"""Kernels in Python (NKI) in a guest: Python and NumPy are the host's, libnrt uses the driver."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME_S = 900


def test_kernels():
    """A kernel, one of two ranks that add up, and an error of the chip at its line."""
    script = ROOT / "selftests/vm/nki_guest.py"
    done = subprocess.run(
        [ROOT / "tools/neuron-vm", "--env", "PYTHONPATH=/usr/lib/neuron-emu/python",
         "--env", "PYTHONDONTWRITEBYTECODE=1", "--env", "NEURON_LOGICAL_NC_CONFIG=1",
         "--env", "NEURON_RT_BACKEND=drm", "--env", "XDG_CACHE_HOME=/tmp", "--",
         "/usr/bin/python3", script],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_S,
        check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    said = done.stdout
    assert re.search(r"^kernel True\r?$", said, re.M), said
    assert re.search(r"^collective 2\r?$", said, re.M), said
    assert re.search(r"^error 1006 .*nki_guest\.py:\d+: access outside", said, re.M), said
    assert re.search(r"^backend drm\r?$", said, re.M), said
