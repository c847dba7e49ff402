# SPDX-License-Identifier: MIT
"""Save and load a running machine again and again; its job must end as if undisturbed.

A reference run gives the device times and the verdict of the main job on two chips. The same
job is then saved at random points. After each it goes on for a moment, so that there is
something to undo, and is loaded again: in the same QEMU, in a new one, or by migration to a
file and a new one. What the job prints at its end must be the same.
"""

import random
import re
import time

import pytest

from kept import Kept

BOOT_S = 300
WAYS = ("same", "new", "file")      # each of them first, then by chance
# A busy host may have held the reference up: the points come so many times as fast, lest the
# job ends before the last one.
HASTE = 2
CHANCE = ("same",) * 6 + ("new",) * 2 + ("file",) * 2


class Job(Kept):
    """The main job."""

    def __init__(self, folder, repeat):
        super().__init__(folder, "/tasks/run", env={"NEURON_TASK_ARGS": f"--repeat {repeat}"})
        self.wait_for("== neuron-top while neuron-digits runs", BOOT_S)

    def finish(self):
        """Wait for the job's end; the lines that must be the same in every run."""
        text = self.end()
        tail = "\n".join(text.splitlines()[-15:])
        verdict = re.findall(r"^PASS: .*", text, re.M)
        times = re.findall(r"^(classify, \d+ times|all-reduce the counts|total) +[\d.]+ +([\d.]+)",
                           text, re.M)
        assert verdict and len(times) >= 3, f"the job's report is not there:\n{tail}"
        return [verdict[-1].strip()] + [" ".join(words) for words in times[-3:]]


def reference(folder, repeat):
    """The report of an undisturbed run, and the seconds that its main part takes."""
    job = Job(folder / "reference", repeat)
    with job.vm:
        begin = time.monotonic()
        return job.finish(), time.monotonic() - begin


def disturbed(folder, repeat, points, chance, seconds):
    """The report of a run that is saved and loaded at so many random points."""
    job = Job(folder / "disturbed", repeat)
    with job.vm:
        for i in range(points):
            time.sleep(chance.uniform(0, seconds / points / HASTE))
            assert job.vm.alive(), f"the job ended before point {i}: use a longer one"
            how = WAYS[i] if i < len(WAYS) else chance.choice(CHANCE)
            print(f"point {i + 1} of {points}: {how}")
            if how == "file":
                job.by_file()
            else:
                job.by_snapshot(how == "new", chance.uniform(0, 0.1))
        return job.finish()


def compare(request, folder, points):
    """The disturbed run has the report of the undisturbed one."""
    chance = random.Random(request.config.getoption("--seed"))
    repeat = 100 + 25 * points
    expected, seconds = reference(folder, repeat)
    assert disturbed(folder, repeat, points, chance, seconds) == expected


def test_three_points(request, folder):
    """One of each way."""
    compare(request, folder, len(WAYS))


@pytest.mark.slow
def test_many_points(request, folder):
    """As many as --points says."""
    compare(request, folder, request.config.getoption("--points"))
