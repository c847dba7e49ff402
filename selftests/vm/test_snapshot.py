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

from neuron_vm import Machine

BOOT_S = 300
JOB_S = 600
DISK_BYTES = 64 << 20
WAYS = ("same", "new", "file")      # each of them first, then by chance
# A busy host may have held the reference up: the points come so many times as fast, lest the
# job ends before the last one.
HASTE = 2
CHANCE = ("same",) * 6 + ("new",) * 2 + ("file",) * 2
# The job writes to a port of its own, which is the same file in each QEMU.
START = ("for port in /sys/class/virtio-ports/*; do "
         "[ \"$(cat $port/name)\" = job ] && out=/dev/${port##*/}; done; "
         "setsid sh -c \"(/tasks/run; echo status \\$?) >$out 2>&1; poweroff -f\" "
         "</dev/null >/dev/null 2>&1 &")


class Job:
    """The main job in a machine that survives the end of its QEMU."""

    def __init__(self, folder, repeat):
        folder.mkdir()
        self.folder = folder
        self.said = folder / "job.txt"
        words = ("-chardev", f"file,id=job,path={self.said},append=on",
                 "-device", "virtserialport,chardev=job,name=job")
        self.vm = Machine("--chips", "2", *(f"--qemu-option={word}" for word in words), out=folder)
        # Before the job begins: it does not wait for it.
        self.make_disk()
        done = self.vm.sh(START, env={"NEURON_TASK_ARGS": f"--repeat {repeat}"})
        assert done.returncode == 0, f"the job does not start: {done.stderr}"
        self.wait_for("== neuron-top while neuron-digits runs", BOOT_S)

    def text(self):
        """What the job has printed, in all QEMUs one behind the other."""
        return self.said.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text, seconds):
        """Wait until the job has printed a text."""
        deadline = time.monotonic() + seconds
        while text not in self.text():
            assert self.vm.alive(), f"QEMU ended before the job said '{text}'"
            assert time.monotonic() < deadline, f"the job did not say '{text}' in {seconds} s"
            time.sleep(0.01)

    def finish(self):
        """Wait for the job's end; the lines that must be the same in every run."""
        self.vm.wait_exit(JOB_S)
        text = self.text()
        tail = "\n".join(text.splitlines()[-15:])
        assert text.rstrip().endswith("\nstatus 0"), f"the job has not succeeded:\n{tail}"
        verdict = re.findall(r"^PASS: .*", text, re.M)
        times = re.findall(r"^(classify, \d+ times|all-reduce the counts|total) +[\d.]+ +([\d.]+)",
                           text, re.M)
        assert verdict and len(times) >= 3, f"the job's report is not there:\n{tail}"
        return [verdict[-1].strip()] + [" ".join(words) for words in times[-3:]]

    # Snapshots on a disk, and migration to a file.

    def make_disk(self):
        """An empty qcow2 image for snapshots, which QEMU itself makes."""
        qmp, path = self.vm.qmp, str(self.folder / "disk")
        qmp.run_job("blockdev-create", job_id="file",
                    options={"driver": "file", "filename": path, "size": 0})
        qmp.run("blockdev-add", driver="file", node_name="raw", filename=path)
        qmp.run_job("blockdev-create", job_id="qcow2",
                    options={"driver": "qcow2", "file": "raw", "size": DISK_BYTES})
        qmp.run("blockdev-del", node_name="raw")
        self.open_disk()

    def open_disk(self):
        """Let QEMU use the image."""
        self.vm.qmp.run("blockdev-add", driver="qcow2", node_name="disk",
                        file={"driver": "file", "filename": str(self.folder / "disk")})

    def snapshot(self, what):
        """Save or load the machine."""
        self.vm.qmp.run_job(f"snapshot-{what}", job_id=what, tag="point", vmstate="disk",
                            devices=["disk"])

    def migrate(self, command, path):
        """Migrate to or from a file, and wait for it."""
        # The job goes on until all memory has been written but for a little.
        self.vm.qmp.run("migrate-set-parameters", max_bandwidth=16 << 30, downtime_limit=1000)
        self.vm.qmp.run(command, uri=f"file:{path}")
        deadline = time.monotonic() + JOB_S
        while True:
            status = self.vm.qmp.run("query-migrate").get("status")
            if status == "completed":
                return
            assert status not in ("failed", "cancelled"), f"{command}: {status}"
            assert time.monotonic() < deadline, f"{command}: still {status}"
            time.sleep(0.005)

    def by_file(self):
        """Go on in a new QEMU by way of a file."""
        path = self.folder / "migrated"
        self.migrate("migrate", path)
        self.vm.restart_qemu("-S", "-incoming", "defer")
        self.migrate("migrate-incoming", path)
        path.unlink()
        self.open_disk()
        self.vm.qmp.run("cont")

    def by_snapshot(self, new, moment):
        """Save, go on for a moment, and go back; in a new QEMU if asked for."""
        self.snapshot("save")
        time.sleep(moment)
        if new:
            self.vm.restart_qemu("-S")
            self.open_disk()
        self.snapshot("load")
        if new:
            self.vm.qmp.run("cont")
        self.vm.qmp.run_job("snapshot-delete", job_id="delete", tag="point", devices=["disk"])


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
    repeat = 400 + 100 * points
    expected, seconds = reference(folder, repeat)
    assert disturbed(folder, repeat, points, chance, seconds) == expected


def test_three_points(request, folder):
    """One of each way."""
    compare(request, folder, len(WAYS))


@pytest.mark.slow
def test_many_points(request, folder):
    """As many as --points says."""
    compare(request, folder, request.config.getoption("--points"))
