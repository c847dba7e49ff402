# SPDX-License-Identifier: MIT
"""neuron-vm --instance NAME for every name: what is on QEMU's command line, and, in a booted
machine, the product name, the chips, their cores and whom each is connected to, as neuron-ls
reads them from the driver. The shapes are those of Documentation/hardware/fabric.rst; they
are written down here once more, independently of what neuron-vm knows.
"""

import re
import shlex
import subprocess

import pytest

from conftest import ROOT

VM = str(ROOT / "tools/neuron-vm")
LIMIT = 400         # s; 144 chips take the firmware a while
CORES = {"trn1": 2, "inf2": 2, "trn2": 4, "trn3": 4}    # logical ones

# Name: generation, servers, chips of each, topology, property of the fabric.
SHAPES = {
    "inf2.xlarge": ("inf2", 1, 1, "alone", ""),
    "inf2.8xlarge": ("inf2", 1, 1, "alone", ""),
    "inf2.24xlarge": ("inf2", 1, 6, "chain", ""),
    "inf2.48xlarge": ("inf2", 1, 12, "ring", ""),
    "trn1.2xlarge": ("trn1", 1, 1, "alone", ""),
    "trn1.32xlarge": ("trn1", 1, 16, "torus", ""),
    "trn1n.32xlarge": ("trn1", 1, 16, "torus", "link-mbps=96000"),
    "trn2.3xlarge": ("trn2", 1, 1, "alone", ""),
    "trn2.48xlarge": ("trn2", 1, 16, "torus", ""),
    "trn2u.48xlarge": ("trn2", 1, 16, "torus", "servers=4"),
    "trn2-ultraserver": ("trn2", 4, 16, "torus", ""),
    "trn3-ultraserver-gen1": ("trn3", 4, 16, "switch", ""),
    "trn3-ultraserver-gen2": ("trn3", 36, 4, "switch", ""),
}


def neighbours(topology, servers, each, device):
    """Devices that it is connected to, by links of its own or through a switch."""
    server, chip = divmod(device, each)
    if topology == "switch":
        return set(range(servers * each)) - {device}
    if topology == "torus":
        row, column = divmod(chip, 4)
        near = {(server, (row + d) % 4 * 4 + column) for d in (1, 3)}
        near |= {(server, row * 4 + (column + d) % 4) for d in (1, 3)}
        near |= {((server + d) % servers, chip) for d in (1, -1)}
    elif topology == "ring":
        near = {(0, (chip + d) % each) for d in (1, -1)}
    else:
        near = {(0, chip + d) for d in (1, -1) if 0 <= chip + d < each}
    return {s * each + c for s, c in near} - {device}


def neuron_vm(*options):
    """What neuron-vm prints."""
    done = subprocess.run([VM, *options], text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-300:]}"
    return done.stdout


def test_list():
    lines = neuron_vm("--instance", "list").splitlines()[1:]
    listed = {tuple(line.split()) for line in lines}
    known = {(name, chip, str(servers * each), str(servers))
             for name, (chip, servers, each, _, _) in SHAPES.items()}
    assert listed == known, f"--instance list has other shapes: {listed ^ known}"


@pytest.mark.parametrize("name", SHAPES)
def test_command_line(name):
    chip, servers, each, _, fabric = SHAPES[name]
    words = shlex.split(neuron_vm("--instance", name, "--dry-run"))
    assert any(word.endswith(f",product={name}") for word in words), "no such product name"
    places = [(word.split(",")[0], dict(re.findall(r"(server|chip-id)=(\d+)", word)))
              for word in words if ",fabric=fabric0," in word]
    assert places == [(chip, {"server": str(s), "chip-id": str(c)})
                      for s in range(servers) for c in range(each)]
    assert any(word.startswith("neuron-fabric,id=fabric0") and fabric in word
               for word in words), "the fabric"


def devices(text):
    """"0, 4-6" as a set."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def booted(name):
    """A name as a parameter; machines of 64 chips and more are in check-nightly."""
    _, servers, each, _, _ = SHAPES[name]
    return pytest.param(name, marks=[pytest.mark.nightly] if servers * each > 16 else [])


@pytest.mark.slow
@pytest.mark.parametrize("name", map(booted, SHAPES))
def test_guest(name, folder):
    chip, servers, each, topology, _ = SHAPES[name]
    text = neuron_vm("--instance", name, "--task", "list", "--timeout", str(LIMIT),
                     "--out", str(folder))
    (folder / "list.txt").write_text(text, encoding="utf-8")
    assert re.search(rf"^instance-type: {re.escape(name)}\s*$", text, re.M), "another product name"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()
            if re.match(r"\| *\d+ ", line)]
    assert len(rows) == servers * each, f"{len(rows)} chips of {servers * each}"
    for device, row in enumerate(rows):
        assert row[0] == str(device), f"device {row[0]} in row {device}"
        assert len(devices(row[2])) == CORES[chip], f"device {device} has cores {row[2]}"
        assert devices(row[4]) == neighbours(topology, servers, each, device), \
            f"device {device} is connected to {row[4]}"


# A property that is wrong, and a part of the one line about it.
REFUSED = (
    ("--fabric-prop", "servers=3", "2 or 4 servers"),
    ("--fabric-prop", "topology=ring", "torus3d"),
    ("--fabric-prop", "election-script=4.0:0x190=2", "a server beyond 3"),
    ("--fabric-prop", "election-script=1.16:0x190=2", "a chip beyond 15"),
    ("--fabric-prop", "election-script=1.0:0x1000=2", "no word of MISC RAM"),
    ("--fabric-prop", "election-script=0.0:0x190=2", "server 0"),
    ("--fabric-prop", "election-script=1.0", "SERVER.CHIP:OFFSET=VALUE"),
    ("--chip-prop", "server=1", "server=0 and rack=0"),
    ("--chip-prop", "rack=1", "server=0 and rack=0"),
)


@pytest.mark.parametrize("option, given, why", REFUSED)
def test_refused(option, given, why):
    words = [VM, "--instance", "trn2u.48xlarge", option, given, "--", "true"]
    done = subprocess.run(words, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    assert done.returncode == 125
    assert why in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
