# SPDX-License-Identifier: MIT
"""What is measured in machines: the boot, an idle machine, the guest's benchmarks, counts.

Every tree starts its machines with its own neuron-vm, so that trees may differ in it.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

import figures
from hosts import PAIRS, in_turns
from trees import NotMeasured, last_words

CHIPS = 2
BOOT_S = 300
BENCH_S = 1200
BOOTS_LARGE = 5
IDLE_WINDOW_S = 1
IDLE_SETTLE_S = 3
COUNT_RUNS = 5
DISK_BYTES = 64 << 20


def boot_once(tree, instance):
    """Seconds from the start of neuron-vm to the last line of neuron-ls' table: the driver is
    loaded and every chip was found."""
    words = [tree.neuron_vm, "--instance", instance, "--task", "list", "--timeout", str(BOOT_S)]
    end, said = None, []
    begin = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=tree.environment(),
                          errors="replace") as process:
        for line in process.stdout:
            said.append(line)
            if line.startswith("+-"):
                end = time.monotonic()
    if process.returncode or end is None:
        raise NotMeasured(f"{tree.name}: {instance} does not boot: {last_words(''.join(said))}")
    return end - begin


def measure_boot(trees, progress):
    """One chip and sixteen in turns; those are the goal's pairs. Then sixty-four."""
    one, many, large = ({tree.name: [] for tree in trees} for _ in range(3))
    for i, tree in in_turns(trees, PAIRS):
        progress(f"boot {i + 1} of {PAIRS}, 1 and 16 chips")
        one[tree.name].append(boot_once(tree, "trn2.3xlarge"))
        many[tree.name].append(boot_once(tree, "trn2.48xlarge"))
    for i, tree in in_turns(trees, BOOTS_LARGE if len(trees) == 1 else PAIRS):
        progress(f"boot {i + 1}, 64 chips")
        large[tree.name].append(boot_once(tree, "trn2-ultraserver"))
    return [[figures.figure("boot_1_chip", "s", one[tree.name], goal=10, lower_is_better=True),
             figures.figure("boot_16_chips", "s", many[tree.name], baseline=one[tree.name],
                            goal=1.5, lower_is_better=True),
             figures.figure("boot_64_chips", "s", large[tree.name], goal=30,
                            lower_is_better=True)] for tree in trees]


class IdleMachine:
    """A machine that does nothing, and what its QEMU uses of the host."""

    def __init__(self, tree, chips, stack):
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.name = f"{tree.name} with {chips} chips"
        self.pidfile = folder / "pid"
        words = [tree.neuron_vm, "--chips", str(chips), "--task", "idle", "--args", "600",
                 "--qemu-option=-pidfile", f"--qemu-option={self.pidfile}"]
        log = stack.enter_context(open(tree.log(f"idle-{chips}"), "w+", encoding="utf-8"))
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=tree.environment(),
                                        stdout=subprocess.PIPE, stderr=log, text=True)
        stack.callback(self.stop)
        if not any(line.strip() == "idle" for line in self.process.stdout):
            log.seek(0)
            raise NotMeasured(f"{self.name} did not become idle: {last_words(log.read())}")
        self.pid = int(self.pidfile.read_text(encoding="ascii"))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def cpu_ms(self):
        """Processor time of all threads."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        return total / 1e6

    def own_kib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.M)[1])


def idle_windows(machines, progress):
    """Milliseconds of processor time a second, of all machines in the same windows."""
    windows = {machine: [] for machine in machines}
    for i in range(PAIRS):
        progress(f"window {i + 1} of {PAIRS}")
        before = {machine: machine.cpu_ms() for machine in machines}
        begin = time.monotonic()
        time.sleep(IDLE_WINDOW_S)
        spent = time.monotonic() - begin
        for machine in machines:
            windows[machine].append((machine.cpu_ms() - before[machine]) / spent)
    return windows


def measure_idle(trees, progress):
    """Two machines side by side, with and without chips."""
    with contextlib.ExitStack() as stack:
        pairs = []
        for tree in trees:
            progress(f"starting machines of {tree.name}")
            pairs.append((IdleMachine(tree, 0, stack), IdleMachine(tree, CHIPS, stack)))
        time.sleep(IDLE_SETTLE_S)
        windows = idle_windows([machine for pair in pairs for machine in pair], progress)
        return [[figures.figure("idle_cpu", "ms/s", windows[chips], baseline=windows[none],
                                lower_is_better=True),
                 figures.figure("idle_memory_per_chip_qemu", "KiB",
                                [(chips.own_kib() - none.own_kib()) / CHIPS],
                                lower_is_better=True)] for none, chips in pairs]


class GuestBench:
    """The guest's benchmark, which waits for us before each of its rounds."""

    def __init__(self, tree, memcpy, stack):
        self.tree = tree
        self.memcpy = memcpy
        self.out = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # In memory: the disk of the NVMe baseline must not measure the host's storage.
        disk = stack.enter_context(tempfile.NamedTemporaryFile(dir="/dev/shm"))
        os.truncate(disk.name, DISK_BYTES)
        words = [tree.neuron_vm, "--chips", str(CHIPS), "--task", "bench", "--nvme", disk.name,
                 "--args", f"--ask yes --rounds {PAIRS}", "--timeout", str(BENCH_S),
                 "--out", str(self.out)]
        log = stack.enter_context(open(tree.log("guest"), "w", encoding="utf-8"))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, env=tree.environment(), text=True)
        stack.callback(self.stop)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def answer(self, text):
        try:
            self.process.stdin.write(f"{text}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail()

    def fail(self):
        status = self.process.wait()
        said = last_words(self.tree.log("guest").read_text(errors="replace"))
        raise NotMeasured(f"{self.tree.name}: the guest's benchmark: exit status {status}: {said}")

    def go_on(self):
        """Serve it until it asks for the next round; False: it has ended."""
        for line in self.process.stdout:
            if line.strip() == "@round":
                return True
            if line.strip() == "@memcpy":
                self.memcpy.stdin.write("copy\n")
                self.memcpy.stdin.flush()
                self.answer(self.memcpy.stdout.readline().strip())
        return False

    def result(self):
        if self.process.wait():
            self.fail()
        return json.loads((self.out / "bench.json").read_text(encoding="utf-8"))


def measure_guest(trees, progress):
    """One machine of each tree; they take turns, round by round."""
    with contextlib.ExitStack() as stack:
        memcpy = stack.enter_context(subprocess.Popen(
            [str(trees[0].program("memcpy")), "--serve"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True))
        progress("booting")
        benches = [GuestBench(tree, memcpy, stack) for tree in trees]
        waiting = {bench.tree.name: bench.go_on() for bench in benches}
        for i, tree in in_turns(trees, PAIRS):
            bench = benches[trees.index(tree)]
            if not waiting[tree.name]:
                bench.fail()
            progress(f"round {i + 1} of {PAIRS}")
            bench.answer("1")
            waiting[tree.name] = bench.go_on()
        return [bench.result() for bench in benches]


# Figure, first mark, last mark: numbers of guest/mark.h. Between 0 and a mark: since power on.
MARKS = (
    ("guest_insns_boot", None, "MARK_BOOTED"),
    ("guest_insns_load_driver", "MARK_BOOTED", "MARK_LOADED"),
    ("guest_insns_open", "MARK_OPEN", "MARK_OPEN_END"),
    ("guest_insns_empty_job", "MARK_JOB", "MARK_JOB_END"),
    ("guest_insns_submit_to_doorbell", "MARK_JOB", "MARK_JOB_DOORBELL"),
    ("guest_insns_doorbell_to_interrupt", "MARK_JOB_DOORBELL", "MARK_JOB_INTERRUPT"),
    ("guest_insns_interrupt_to_wake_up", "MARK_JOB_INTERRUPT", "MARK_JOB_END"),
    ("guest_insns_doorbell_to_wake_up", "MARK_JOB_DOORBELL", "MARK_JOB_END"),
    ("guest_insns_copy_4KiB", "MARK_COPY_4K", "MARK_COPY_4K_END"),
    ("guest_insns_write_4KiB", "MARK_WRITE_4K", "MARK_WRITE_4K_END"),
    ("guest_insns_copy_64MiB", "MARK_COPY_64M", "MARK_COPY_64M_END"),
    ("guest_insns_bind_65531_windows", "MARK_BIND", "MARK_BIND_END"),
    ("guest_insns_change_10000_windows", "MARK_CHANGE", "MARK_CHANGE_END"),
)

# Half of what SUBMIT took to the doorbell, and half of what came after the interrupt, when both
# were counted first: 15,061 and 11,990. A job that is over when the doorbell returns needs no
# interrupt, so the second goal is for the whole way back.
GOALS = {
    "guest_insns_submit_to_doorbell": 7530,
    "guest_insns_doorbell_to_wake_up": 5995,
}


def mark_numbers(tree):
    """The enum of guest/mark.h."""
    text = (tree.root / "selftests/bench/guest/mark.h").read_text(encoding="utf-8")
    numbers, following = {}, 0
    for name, value in re.findall(r"^\t(MARK_\w+)(?: = (\d+))?,$", text, re.M):
        numbers[name] = int(value) if value else following
        following = numbers[name] + 1
    return numbers


def build_plugin(tree, now):
    """The counting plugin for a tree's QEMU, from the source of this tree."""
    header = tree.build / "vm/qemu-plugin.h"
    if not header.exists():
        raise NotMeasured(f"the QEMU of {tree.name} takes no plugins ({header} does not exist)")
    plugin = tree.build / "vm/count-plugin.so"
    flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout
    source = str(now.root / "selftests/bench/count_plugin.c")
    tree.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", f"-I{header.parent}",
              *shlex.split(flags), "-o", str(plugin), source], "count-plugin")
    return plugin


def marks_of(tree, plugin):
    """One run of the counted work: (mark, instructions so far)."""
    with tempfile.NamedTemporaryFile("r", encoding="ascii") as out:
        tree.run([tree.neuron_vm, "--no-kvm", "--chips", "1", "--cpus", "1", "--task", "count",
                  "--qemu-option=-plugin", f"--qemu-option={plugin},out={out.name}"],
                 "count-guest", BOOT_S)
        return [tuple(map(int, line.split())) for line in out]


def differences(marks, first, last):
    """Instructions from each mark first to the mark last that follows it."""
    begin = 0 if first is None else None
    for number, executed in marks:
        if number == first:
            begin = executed
        elif number == last and begin is not None:
            yield executed - begin
            begin = None


def count_guest(trees, progress):
    """Instructions of the guest, by a plugin of QEMU's TCG. One processor, emulated."""
    plugins = {tree.name: build_plugin(tree, trees[0]) for tree in trees}
    counts = {tree.name: collections.defaultdict(list) for tree in trees}
    for i, tree in in_turns(trees, COUNT_RUNS):
        progress(f"run {i + 1} of {COUNT_RUNS} of {tree.name}")
        # The plugin has marks of its own, which an older tree does not know.
        numbers = {**mark_numbers(trees[0]), **mark_numbers(tree)}
        marks = marks_of(tree, plugins[tree.name])
        for name, first, last in MARKS:
            counts[tree.name][name] += differences(marks, numbers.get(first), numbers.get(last))
    return [[figures.figure(name, figures.COUNT_UNIT, values, goal=GOALS.get(name),
                            lower_is_better=True)
             for name, values in counts[tree.name].items() if values] for tree in trees]
