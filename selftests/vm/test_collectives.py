# SPDX-License-Identifier: MIT
"""Collectives of many chips on the driver: ranks on every logical core of a server of 16 chips, and
of UltraServers of 64 and 144. nccom-test compares each result with a host reference.
"""

import re

import pytest

from conftest import start_machine

LIMIT = 300         # s
# Name: logical cores, which are ranks.
SERVERS = {"trn1.32xlarge": 32, "trn2.48xlarge": 64, "trn2-ultraserver": 256,
           "trn3-ultraserver-gen2": 288}
# By the host API, and in a NEFF.
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "permute", "sendrecv")


def collective(vm, ranks, operation, *options):
    """Two sizes of an operation, each with its result compared."""
    done = vm.run(["nccom-test", "-r", str(ranks), "-b", "4kb", "-e", "64kb", "-f", "16", "-d",
                   "fp32", "-n", "1", "-w", "0", "--check", *options, operation], timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, ""), f"{operation}: {done}"
    assert re.findall(r"^ *(\d+) +\d+ +fp32 ", done.stdout, re.MULTILINE) == ["4096", "65536"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ("trn1.32xlarge", "trn2.48xlarge"))
def test_server(name, folder):
    """All operations, on all logical cores of 16 chips; then a network is trained on the chips."""
    vm = start_machine(("--instance", name), folder / "machine")
    try:
        for operation in OPERATIONS:
            collective(vm, SERVERS[name], operation)
        done = vm.run(["neuron-train", "--steps", "2", "--images", "32"], timeout=LIMIT)
        assert done.returncode == 0 and "\nPASS: " in done.stdout, done
    finally:
        vm.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ("trn2-ultraserver", "trn3-ultraserver-gen2"))
def test_ultraserver(name, folder):
    """What the host API has, on all logical cores of 64 and 144 chips."""
    vm = start_machine(("--instance", name), folder / "machine")
    try:
        for operation in OPERATIONS[:3]:
            collective(vm, min(256, SERVERS[name]), operation)
    finally:
        vm.close()
