# SPDX-License-Identifier: MIT
"""A program in a machine that goes on in other QEMUs: by snapshots, by migration to a file."""

import time

from neuron_vm import Machine

END_S = 600
DISK_BYTES = 64 << 20
FAST = 16 << 30         # bytes a second: as fast as it goes
# The program writes to a port of its own, which is the same file in each QEMU.
START = ("for port in /sys/class/virtio-ports/*; do "
         "[ \"$(cat $port/name)\" = job ] && out=/dev/${port##*/}; done; "
         "setsid sh -c \"(%s; echo status \\$?) >$out 2>&1; poweroff -f\" "
         "</dev/null >/dev/null 2>&1 &")


class Kept:
    """A command of the guest, after which the machine ends.

    It finds prepared what the lines in prepare say (Machine.prepare()).
    """

    def __init__(self, folder, command, *, prepare=(), env=None, options=("--chips", "2")):
        folder.mkdir()
        self.folder = folder
        self.said = folder / "job.txt"
        words = ("-chardev", f"file,id=job,path={self.said},append=on",
                 "-device", "virtserialport,chardev=job,name=job")
        self.vm = Machine(*options, *(f"--qemu-option={word}" for word in words), out=folder)
        # Before the program begins: it does not wait for it.
        self.make_disk()
        self.vm.prepare(prepare)
        done = self.vm.sh(START % command, env=env)
        assert done.returncode == 0, f"the program does not start: {done.stderr}"

    def text(self):
        """What the program has printed, in all QEMUs one behind the other."""
        return self.said.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text, seconds):
        """Wait until the program has printed a text."""
        deadline = time.monotonic() + seconds
        while text not in self.text():
            assert self.vm.alive(), f"QEMU ended before the program said '{text}'"
            assert time.monotonic() < deadline, f"the program did not say '{text}' in {seconds} s"
            time.sleep(0.01)

    def end(self):
        """Wait for the program's end; what it has printed."""
        self.vm.wait_exit(END_S)
        text = self.text()
        tail = "\n".join(text.splitlines()[-15:])
        assert text.rstrip().endswith("\nstatus 0"), f"the program has not succeeded:\n{tail}"
        return text

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

    def migrate(self, command, path, bandwidth=FAST):
        """Begin to migrate to or from a file, with so many bytes a second."""
        # The program goes on until all memory has been written but for a little.
        self.vm.qmp.run("migrate-set-parameters", max_bandwidth=bandwidth, downtime_limit=1000)
        self.vm.qmp.run(command, uri=f"file:{path}")

    def wait_migrated(self):
        """Wait until it is done; what QEMU tells of it."""
        deadline = time.monotonic() + END_S
        while True:
            answer = self.vm.qmp.run("query-migrate")
            status = answer.get("status")
            if status == "completed":
                return answer
            assert status not in ("failed", "cancelled"), f"migration: {status}"
            assert time.monotonic() < deadline, f"migration: still {status}"
            time.sleep(0.005)

    def by_file(self):
        """Go on in a new QEMU by way of a file."""
        self.migrate("migrate", self.folder / "migrated")
        self.wait_migrated()
        self.load_file()

    def load_file(self):
        """Go on in a new QEMU from the file that a migration has written."""
        path = self.folder / "migrated"
        self.vm.restart_qemu("-S", "-incoming", "defer")
        self.migrate("migrate-incoming", path)
        self.wait_migrated()
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
