# SPDX-License-Identifier: MIT
"""Suites that run in a machine: the tests of the driver, the main job.

The machines are those of the package neuron_vm; the kernel log of each is one more test.
"""

import contextlib
import json
import os
import threading

from neuron_vm import Machine, MachineError, klog
from neuron_vm.errors import EndedError
from neuron_vm.process import POLL, TIME_LIMIT, Cancelled

from . import results
from .schedule import BUILD, ROOT, TOOLS, Broken

DRIVER_TESTS = ROOT / "selftests" / "drivers" / "neuron"
NRT_TESTS = ROOT / "selftests" / "libnrt"
# The kselftests that go to the guest.
INSTALLED = BUILD / "stage" / "usr" / "libexec" / "neuron" / "selftests"
# Where the guest's user space is built.
USER = BUILD / "user"
# A file beside the TAP files, written before the first program runs: which programs will run.
PROGRAMS = "programs.txt"
LEFTOVER_LINES = 10
# Seconds that a machine has to save what a guest leaves.
SAVE_S = 60
# Exit status of neuron-vm when the machine has ended and the command gave no status.
NO_STATUS = 125


@contextlib.contextmanager
def ended_with_the_run(vm, processes):
    """End the machine as soon as the run is ended from outside."""
    over = threading.Event()

    def watch():
        while not over.wait(POLL):
            if processes.cancelled:
                vm.kill()
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def run_task(vm, limit, write, note):
    """Start the machine and run its task; the exit status of neuron-vm."""
    try:
        vm.start()
        return vm.task([write, write], limit)
    except EndedError as error:
        note(error)
        return error.status
    except MachineError as error:
        note(error)
        return TIME_LIMIT if vm.alive() else NO_STATUS


def machine(job, name, *options, task, args="", limit=None):
    """Run a task in a machine; what it leaves is in OUT/name. Its exit status.

    At the limit the task is ended, and the machine has time to save what is there. When it does
    not, it is ended as well.
    """
    limit = int(max(1, min(limit or job.suite.limit, job.left() - SAVE_S)))
    words = [*options, "--task", task, "--args", args, "--timeout", str(limit + SAVE_S)]
    with open(job.out / f"{name}.log", "wb", buffering=0) as log:
        def note(text):
            log.write(f"neuron-vm: {text}\n".encode())

        status = NO_STATUS
        try:
            with Machine(*words, out=str(job.out / name), start=False, note=note) as vm, \
                    ended_with_the_run(vm, job.processes):
                status = run_task(vm, limit, log.write, note)
                job.cpu += vm.cpu_seconds()
        except MachineError as error:
            note(error)
    if job.processes.cancelled:
        raise Cancelled
    return status


def judge_log(job, name):
    """The kernel log of a machine as a case."""
    verdicts = klog.judge(job.out / name)
    if not verdicts:
        return results.failed(name, "kernel log", "the guest has left no kernel log")
    for log, lines in verdicts:
        if lines:
            return results.failed(name, "kernel log",
                                  f"{log} has {len(lines)} lines that report an error",
                                  [line[:200] for line in lines[:LEFTOVER_LINES]])
    return results.Case(name, "kernel log", results.PASSED)


def ended(job, name, status):
    """A failure when a machine whose tests speak for themselves did not come to its end."""
    if status == 0:
        return []
    return [results.failed(name, "machine", results.ended_by(status),
                           job.log_tail(f"{name}.log"))]


class Task:
    """A task that is one test, by its exit status."""

    def __init__(self, name, *options, task="run", args="", limit=None):
        self.name = name
        self.options = options
        self.task = task
        self.args = args
        self.limit = limit

    def programs(self, _job):
        """One program."""
        return [self.name]

    def run(self, job):
        """The task, then the kernel log."""
        status = machine(job, self.name, *self.options, task=self.task, args=self.args,
                         limit=self.limit)
        if status:
            job.add([results.failed(self.name, "task", results.ended_by(status),
                                    job.log_tail(f"{self.name}.log"))])
        else:
            job.add([results.Case(self.name, "task", results.PASSED)])
        job.add([judge_log(job, self.name)])


class Kselftests:
    """The tests of the driver and of libnrt in one machine.

    For one of them only what it needs is built.
    """

    builds_for_one = True

    def __init__(self, name, *options, limit=None):
        self.name = name
        self.options = options
        self.limit = limit

    def programs(self, _job):
        """The programs by the names of their sources."""
        files = list(DRIVER_TESTS.glob("test_*.c")) + list(NRT_TESTS.glob("test_nrt*"))
        return sorted({path.stem for path in files if path.suffix != ".py"})

    def run(self, job):
        """All of them, or one of them or of its cases."""
        every, args = self.programs(job), ""
        programs = job.later.now(every)
        if job.choice:
            programs = [job.choice.program]
            args = " ".join(filter(None, (job.choice.program, job.choice.case)))
            build_for_test(job)
        elif len(programs) < len(every):
            args = " ".join(["--but", *sorted(set(every).difference(programs))])
        must_be_installed(programs)
        status = machine(job, self.name, *self.options, task="check", args=args, limit=self.limit)
        judge_tests(job, self.name, status)


def must_be_installed(programs):
    """The guest has each program of a list.

    The names are those of sources. Without this, one that is not built for the guest would end
    all that runs with it, or would not run without a word.
    """
    missing = [name for name in programs if not os.access(INSTALLED / name, os.X_OK)]
    if missing:
        raise Broken(f"the guest has no kselftest {', '.join(missing)}: install it, or rename its "
                     "source if it is for the host only")


def judge_tests(job, name, status, planless=()):
    """All that a machine with tests has left. The TAP is last: it may be missing."""
    job.add(ended(job, name, status))
    job.add([judge_log(job, name)])
    read_tap(job, name, planless)


def read_tap(job, name, planless=()):
    """What the guest has left in OUT/name/tap, of each program that it meant to run."""
    folder = job.out / name / "tap"
    files = {path.stem: path for path in sorted(folder.glob("*.tap"))}
    if not files:
        raise Broken("no TAP came from the guest", job.log_tail(f"{name}.log"))
    for program, path in files.items():
        job.add(results.from_tap_file(path, program not in planless))
    planned = folder / PROGRAMS
    if not planned.exists():
        raise Broken(f"the guest has left no list of its programs ({PROGRAMS})",
                     job.log_tail(f"{name}.log"))
    job.add([results.failed(program, results.END, "the guest has not run it")
             for program in planned.read_text().split() if program not in files])


def build_for_test(job):
    """What a test in the guest needs: the module, what is installed there, the initramfs.

    Where the machine has never been built, everything is.
    """
    if not (BUILD / "vm" / "initramfs.cpio").exists() or not (BUILD / "stage").exists():
        job.must([TOOLS / "all"], "build.log")
        return
    job.must([TOOLS / "qemu"], "build.log", append=True)
    job.must([TOOLS / "module"], "build.log", append=True)
    user = [TOOLS / "userspace"]
    # The list of files is that of the last build. When it is out of date this fails, and all is
    # built.
    if job.run(user, "build.log", env={"TARGETS": installed()}, append=True).status:
        job.must(user, "build.log", append=True)
    job.must([TOOLS / "initramfs"], "build.log", append=True)


def installed():
    """The files of user space that are installed, as ninja names them."""
    path = USER / "meson-info" / "intro-targets.json"
    targets = json.loads(path.read_text()) if path.exists() else []
    files = [file for target in targets if target["installed"] for file in target["filename"]]
    return " ".join(file.removeprefix(f"{USER}/") for file in files)
