# SPDX-License-Identifier: MIT
"""The two back ends of libnrt: models give the same bits, take the same device time and do the
same at the same nanosecond, on chips of the machine behind the driver and on chips in a process
of the host. nrt-digest executes them, with their tensors in memory of several kinds: of the
device, in one piece and in single pages; of the host, on pages that lie apart; from an odd byte on.
"""

import os
import subprocess

import pytest

from conftest import ROOT, TWO_CHIPS

BUILD = os.environ.get("BUILD_DIR") or ROOT / "build"
DIGEST = f"{BUILD}/user/selftests/libnrt/nrt-digest"
NCCOM_TEST = f"{BUILD}/user/tools/nccom-test/nccom-test"
TIME_S = 600
LAYOUTS = 5
FAILURES = (": NRT_INVALID", ": NRT_EXEC_OOB")
# Nothing of the host's environment may make a difference.
KEPT = {"PATH": "/usr/bin:/bin"}


def of_process(kind, lnc):
    """The lines of two chips in a process of the host."""
    env = {**KEPT, "NEURON_RT_BACKEND": "embedded", "NEURON_EMU_INSTANCE": f"{kind}:2",
           "NEURON_EMU_QUIET": "1", "NEURON_LOGICAL_NC_CONFIG": str(lnc)}
    done = subprocess.run([DIGEST], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIME_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def reset_chips(vm):
    """A job begins where its core's last one has ended in device time: let all begin at 0."""
    vm.output("for file in /sys/class/accel/accel*/device/reset; do echo 1 > $file; done",
              timeout=TIME_S)


def of_driver(vm, lnc):
    """The lines of the machine."""
    reset_chips(vm)
    return vm.output(f"NEURON_LOGICAL_NC_CONFIG={lnc} nrt-digest", timeout=TIME_S).splitlines()


def different_outputs(lines):
    """Executions of a model that give other outputs, or another status, in another layout."""
    given = {}
    for line in lines:
        model, _layout, run, outputs = line.split()[:4]
        given.setdefault((model, run), set()).add(outputs)
    return {execution: outputs for execution, outputs in given.items() if len(outputs) != 1}


def compare(vm, folder, kind, lnc):
    """Line by line; the outputs also between the layouts, whose times may differ."""
    expected, seen = of_process(kind, lnc), of_driver(vm, lnc)
    (folder / "process.txt").write_text("\n".join(expected) + "\n", encoding="utf-8")
    (folder / "driver.txt").write_text("\n".join(seen) + "\n", encoding="utf-8")
    differ = [(ours, theirs) for ours, theirs in zip(seen, expected) if ours != theirs]
    assert not differ, f"{len(differ)} lines differ, the first: {differ[0]}"
    assert len(seen) == len(expected)
    assert len({line.split()[1] for line in seen}) == LAYOUTS
    assert not different_outputs(seen)
    assert not [line for line in seen if not line.endswith((" flags 0", *FAILURES))]


@pytest.mark.parametrize("lnc", (1, 2))
def test_trn2(guest, folder, lnc):
    compare(guest, folder, "trn2", lnc)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ("trn1", "trn3"))
def test_other_generations(machines, folder, kind):
    vm = machines.get(*TWO_CHIPS, "--type", kind)
    compare(vm, folder, kind, 1)


# --- Times of groups ---

def group_times(output):
    """The columns of device time of nccom-test, line by line."""
    head, *rows = [line.split() for line in output.splitlines()[:-1]]
    places = [i for i, name in enumerate(head) if name.startswith("device:")]
    assert len(places) == 4 and len(rows) == 2, output
    return [[row[i] for i in places] for row in rows]


@pytest.mark.parametrize("operation", ("all_reduce", "all_gather", "alltoall"))
def test_group_times(guest, operation):
    """Ranks on two chips share links and memories alike, whoever issues their jobs."""
    reset_chips(guest)
    options = ["-r", "8", "-b", "4kb", "-e", "256kb", "-f", "64", "-d", "fp32", "-n", "3", "-w",
               "1", "--stats", "avg", "p100", "--modelled", operation]
    env = {**KEPT, "NEURON_RT_BACKEND": "embedded", "NEURON_EMU_INSTANCE": "trn2:2",
           "NEURON_EMU_QUIET": "1"}
    here = subprocess.run([NCCOM_TEST, *options], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIME_S, check=False)
    assert (here.returncode, here.stderr) == (0, "")
    there = guest.run(["nccom-test", *options], timeout=TIME_S)
    assert (there.returncode, there.stderr) == (0, ""), there
    assert "~" not in here.stdout and "~" not in there.stdout
    assert group_times(there.stdout) == group_times(here.stdout)
