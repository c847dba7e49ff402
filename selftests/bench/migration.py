# SPDX-License-Identifier: MIT
"""The pause of a migration: how long no machine runs, with much and with little HBM in use.

A machine without a guest (QEMU's qtest) has a chip whose HBM has been written through BAR4. It
is migrated to a second QEMU on this host, by a socket. The pause lasts from the moment when the
one QEMU begins to stop its machine to the moment when the other has started it. Both tell these
moments in their logs, by a trace event of QEMU; what QEMU calls "downtime" is in whole
milliseconds and ends before the other machine has loaded its state. QEMU may leave as much memory
for the pause as it hopes to send in the time "downtime-limit", also of a machine that changes
none. So that limit is 0 here: the machine stops when nothing is left.
"""

import contextlib
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import figures
from hosts import PAIRS, in_turns
from trees import NotMeasured, last_words
from neuron_vm.errors import MachineError
from neuron_vm.qmp import Qmp

LIMIT_S = 600
CHIP = "trn2,addr=4,hbm-size=1G,bar4-size=4G"
CONFIG = 0x80000000 | 4 << 11       # of the chip, for I/O port 0xcf8
COMMAND, BAR4 = 0x04, 0x20
BAR4_AT = 1 << 36
CHUNK = 64 << 20
LITTLE, MUCH = 64 << 20, 4 << 30
LEFT_MS = 0
TRACED = "vmstate_downtime_checkpoint"
STOP, STARTED = "src-downtime-start", "dst-precopy-bh-vm-started"
GOAL = 1.2


class Qemu:
    """A machine without a processor that runs; its memory is written by qtest's lines."""

    def __init__(self, tree, folder, name, *words):
        self.log = tree.log(f"migration-{name}")
        listeners = [self.listen(folder, f"{name}-{kind}") for kind in ("qtest", "qmp")]
        program = tree.build / "vm/qemu-system-x86_64"
        if not program.exists():
            raise NotMeasured(f"{tree.name} has no {program.name}: run make vm")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(program), "-machine", "q35", "-accel", "qtest", "-m", "64M", "-nodefaults",
                 "-no-user-config", "-display", "none", "-L", str(tree.build / "vm/firmware"),
                 "-qtest-log", "/dev/null", "-qtest", f"unix:{folder}/{name}-qtest",
                 "-chardev", f"socket,id=mon,path={folder}/{name}-qmp",
                 "-mon", "chardev=mon,mode=control", "-device", CHIP,
                 "-trace", f"enable={TRACED}", "-msg", "timestamp=on", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.qtest, connection = (self.accept(one) for one in listeners)
            self.lines = self.qtest.makefile("rw", encoding="ascii")
            self.qmp = Qmp(connection)
        except (OSError, MachineError) as error:
            self.close()
            raise NotMeasured(f"{name}: {self.why(error)}") from error

    @staticmethod
    def listen(folder, name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/{name}")
        listener.listen(1)
        listener.settimeout(LIMIT_S)
        return listener

    @staticmethod
    def accept(listener):
        with listener:
            return listener.accept()[0]

    def why(self, error):
        return f"{error}: {last_words(self.log.read_text(errors='replace'))}"

    def tell(self, line):
        self.lines.write(f"{line}\n")
        self.lines.flush()
        answer = self.lines.readline()
        if not answer.startswith("OK"):
            raise NotMeasured(f"qtest: {line}: {answer.strip() or 'QEMU has gone'}")

    def configure(self, register, value):
        self.tell(f"outl 0xcf8 {CONFIG | register:#x}")
        self.tell(f"outl 0xcfc {value:#x}")

    def map_memory(self):
        """Place BAR4 where firmware would."""
        self.configure(BAR4, BAR4_AT & 0xffffffff)
        self.configure(BAR4 + 4, BAR4_AT >> 32)
        self.configure(COMMAND, 0x6)

    def fill(self, size):
        """Write so many bytes of HBM."""
        for at in range(0, size, CHUNK):
            self.tell(f"memset {BAR4_AT + at:#x} {CHUNK:#x} 0x5a")

    def close(self):
        self.process.terminate()
        self.process.wait()


def moment(log, checkpoint):
    """When a QEMU came there, in seconds of the host's clock, or None."""
    found = re.search(rf"@(\d+\.\d+):{TRACED} {checkpoint}$", log, re.MULTILINE)
    return float(found[1]) if found else None


def wait_for_start(here, there):
    """Wait until the second machine runs. Milliseconds of the pause."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        answer = here.qmp.run("query-migrate")
        if answer.get("status") == "failed":
            raise NotMeasured(f"the migration failed: {here.why(answer.get('error-desc'))}")
        started = moment(there.log.read_text(errors="replace"), STARTED)
        if started:
            stopped = moment(here.log.read_text(errors="replace"), STOP)
            if not stopped:
                raise NotMeasured(f"QEMU has not traced when it stopped: {here.why('no line')}")
            return 1000 * (started - stopped)
        time.sleep(0.1)
    raise NotMeasured(f"the migration has not ended after {LIMIT_S} s")


def pause(tree, size):
    """Milliseconds, with so many bytes of HBM in use."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        uri = f"unix:{folder}/migration"
        there = Qemu(tree, folder, "there", "-incoming", uri)
        stack.callback(there.close)
        here = Qemu(tree, folder, "here")
        stack.callback(here.close)
        here.map_memory()
        here.fill(size)
        here.qmp.run("migrate-set-parameters", max_bandwidth=1 << 34, downtime_limit=LEFT_MS)
        here.qmp.run("migrate", uri=uri)
        return wait_for_start(here, there)


def measure(trees, progress):
    """Much and little in turns, and the trees in turns around them."""
    pauses = {tree.name: {MUCH: [], LITTLE: []} for tree in trees}
    for i, tree in in_turns(trees, PAIRS):
        for size, values in pauses[tree.name].items():
            progress(f"{tree.name}: {size >> 20} MiB, pair {i + 1} of {PAIRS}")
            try:
                values.append(pause(tree, size))
            except MachineError as error:
                raise NotMeasured(str(error)) from error
    return [[figures.figure("migration_pause_4GiB_to_64MiB", "ms", pauses[tree.name][MUCH],
                            baseline=pauses[tree.name][LITTLE], goal=GOAL, lower_is_better=True)]
            for tree in trees]
