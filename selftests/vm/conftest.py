# SPDX-License-Identifier: MIT
"""What the tests of machines share: options, machines that tests use one after another, and
the evidence that each test leaves in a folder of its own.

    /usr/bin/python3 -m pytest selftests/vm [-m "not slow"] [-k NAME] [--out DIR]

The built machine is the one of BUILD_DIR (default: build in the source tree).
"""

import os
import pathlib
import re
import shutil
import sys

import pytest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "selftests/vm")]

from fault_job import Rig
from neuron_vm import Machine, MachineError, klog

# A host with more to do than it has processors for may not let a guest's processor run for
# seconds, which the guest's watchdogs must not take for a lockup. A real one does not end.
PATIENCE = "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120"
TWO_CHIPS = ("--chips", "2", "--ports", "--append", PATIENCE)


def pytest_addoption(parser):
    """Options of these tests, beside those of pytest."""
    build = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build")
    out = os.environ.get("NEURON_TEST_OUT") or build / "vm-tests"
    parser.addoption("--out", type=pathlib.Path, default=out,
                     help="folder for the console, kernel log and trace of each test")
    parser.addoption("--points", type=int, default=50,
                     help="points at which the long snapshot test saves and loads")
    parser.addoption("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"),
                     help="of what the snapshot tests choose by chance")


def pytest_report_header(config):
    """What is needed to repeat a run."""
    return f"seed: {config.getoption('--seed')}, evidence: {config.getoption('--out')}"


def pytest_collection_modifyitems(items):
    """What nobody can use the machine after comes last."""
    items.sort(key=lambda item: item.get_closest_marker("ends_machine") is not None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Let fixtures see how the test ended."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        item.failed = True


def has_failed(request):
    """Whether the test of a fixture has failed so far."""
    return getattr(request.node, "failed", False)


def start_machine(options, out):
    """A machine with the driver loaded."""
    vm = Machine(*options, out=out)
    try:
        vm.prepare(["driver"])
    except BaseException:
        vm.close()
        raise
    return vm


class Machines:
    """The machine that tests share: at most one runs, and the next shape replaces it."""

    def __init__(self, out):
        self.out = out
        self.options = None
        self.vm = None
        self.started = 0

    def get(self, *options):
        """A machine with these options of neuron-vm: the running one or a new one."""
        if self.vm and self.options == options:
            return self.vm
        self.close()
        self.started += 1
        self.vm = start_machine(options, self.out / f"machine-{self.started}")
        self.options = options
        return self.vm

    def close(self):
        """End the machine; the next test gets a new one."""
        vm, self.vm = self.vm, None
        if vm:
            vm.close()


class Evidence:
    """What a machine wrote during one test, copied into the folder of the test."""

    def __init__(self, vm, folder):
        self.vm = vm
        self.folder = folder
        self.begin = {path: self.size(path) for path in (vm.console, vm.trace)}
        vm.output("dmesg -c >/dev/null")

    @staticmethod
    def size(path):
        """Bytes that are in the file now."""
        return os.path.getsize(path) if os.path.exists(path) else 0

    def save(self):
        """Copy it. A machine that does not answer any more has no kernel log to give."""
        for path, begin in self.begin.items():
            if not os.path.exists(path):
                continue
            with open(path, "rb") as file, open(self.folder / os.path.basename(path), "wb") as copy:
                file.seek(begin)
                shutil.copyfileobj(file, copy)
        try:
            log = self.vm.kernel_log()
        except (MachineError, OSError) as error:
            log = f"the kernel log could not be read: {error}\n"
        (self.folder / "dmesg.txt").write_text(log, encoding="utf-8")


@pytest.fixture(scope="session")
def machines(request):
    """The machine that tests share."""
    shared = Machines(request.config.getoption("--out"))
    yield shared
    shared.close()


@pytest.fixture
def folder(request):
    """An empty folder for what the test leaves behind; its kernel logs are judged at the end."""
    name = re.sub(r"[^\w.-]+", "-", request.node.name.removeprefix("test_")).strip("-")
    path = request.config.getoption("--out") / request.node.path.stem / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    found = [line for _log, lines in klog.judge(path) for line in lines]
    assert not found, f"the kernel log in {path}: " + "; ".join(found[:3])


@pytest.fixture(scope="session")
def layout():
    """What the tests have found out about the registers of a chip."""
    return {}


@pytest.fixture
def guest(request, machines, folder):
    """A running machine with two chips behind ports. A failure ends it."""
    vm = machines.get(*TWO_CHIPS)
    try:
        evidence = Evidence(vm, folder)
        yield vm
        evidence.save()
    except BaseException:
        machines.close()
        raise
    if has_failed(request) or request.node.get_closest_marker("ends_machine"):
        machines.close()


@pytest.fixture
def rig(guest, folder, layout):
    """The same with a program that does jobs and copies on demand."""
    with open(folder / "dialog.txt", "w", encoding="utf-8", buffering=1) as dialog:
        program = Rig(guest, dialog, layout)
        yield program
        program.close()


@pytest.fixture
def new_rig(folder, layout):
    """Machines of the test's own, one at a time: new_rig(OPTION...) gives a rig."""
    rigs = []
    with open(folder / "dialog.txt", "w", encoding="utf-8", buffering=1) as dialog:
        def start(*options):
            stop()
            vm = start_machine((*TWO_CHIPS, *options), folder / f"machine-{len(rigs) + 1}")
            rigs.append(Rig(vm, dialog, layout))
            return rigs[-1]

        def stop():
            if rigs:
                rigs[-1].vm.close()

        yield start
        stop()
