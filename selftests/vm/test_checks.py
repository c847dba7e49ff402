# SPDX-License-Identifier: MIT
"""Checks on request (check=memory) with the driver and libnrt around the programs: the main
job and an example are without errors; of the example that does not wait for its operands the
log says who reads too early. Documentation/hardware/check.rst describes the reports.
"""

import re
import subprocess

import pytest

from conftest import ROOT

pytestmark = pytest.mark.slow

REPORT = re.compile(r"neuron chip \d+: check ")
# Of the addition and the transfers, whichever came second in real time is told of.
RACE = re.compile(r"check (race|unwritten): core 0 (vector engine at instruction 2 \(line 36\) "
                  r"reads|DMA .* writes, in no order with the read of vector engine at "
                  r"instruction 2)")


def run(folder, *options):
    """What QEMU says of a machine whose chips check, during a task that succeeds."""
    done = subprocess.run([str(ROOT / "tools/neuron-vm"), "--chip-prop", "check=memory",
                           "--timeout", "400", "--out", str(folder), *options],
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    (folder / "said.txt").write_text(done.stdout, encoding="utf-8")
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout[-300:]}"
    return (folder / "qemu-output.txt").read_text(encoding="utf-8")


def test_job(folder):
    """The main job."""
    assert not REPORT.search(run(folder, "--chips", "2", "--task", "run"))


def test_example(folder):
    assert not REPORT.search(run(folder, "--task", "example", "--args", "vector_add"))


def test_broken_example(folder):
    """The example without its wait."""
    assert RACE.search(run(folder, "--task", "example", "--args",
                           "vector_add s/take.*post/post/"))
