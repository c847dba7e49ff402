# SPDX-License-Identifier: MIT
"""Try the virtual machines on this host and write one text file to send back.

The project's own hosts have no working KVM. This script says what works on yours: which
machines boot with KVM and with emulated processors (TCG), how long it takes, whether the
main job and the tests of the driver pass, and which versions were used.

The file has no user name, no host name, no serial number and no address of a network.
"""

import argparse
import getpass
import os
import pathlib
import re
import socket
import tempfile
from dataclasses import dataclass, field

from . import host, klog
from .process import Processes

ROOT = pathlib.Path(host.SOURCE)
VM = ROOT / "build/vm"
# Of the processor's flags only these: what decides how fast chips compute and guests run.
FLAGS = ("vmx", "svm", "ept", "npt", "hypervisor", "la57", "fma", "f16c", "avx2", "avx512f",
         "avx512bw", "avx512vl", "avx512dq")
# The option of neuron-vm, and what it means.
ACCELS = {"kvm": "KVM", "no-kvm": "TCG"}
BUILD_LIMIT = 5400
# A machine boots in seconds. Under KVM the guest's code runs at the processor's speed, so a guest
# that has not booted after this time hangs; without KVM a busy host can take much longer.
BOOT_LIMITS = {"kvm": 120, "no-kvm": 600}
TAIL_LINES = 25
MACHINE_LINES = 8
FAILED, PASSED, LEFT_OUT = "FAILED", "passed", "left out"


@dataclass
class Step:
    """One thing to try. LIMIT is in seconds."""
    name: str
    words: list
    limit: int
    # A regular expression that the output must contain.
    wanted: str = ""
    # Lines of the output that the report shows.
    shown: str = "$^"


@dataclass
class Result:
    """What came of a step."""
    step: Step
    outcome: str
    seconds: float = 0.0
    notes: list = field(default_factory=list)


def vm_step(name, accel, chips, limit, *words, wanted="", shown="$^"):
    """A step that starts a machine."""
    command = [str(ROOT / "tools/neuron-vm"), f"--{accel}", "--chips", str(chips),
               "--timeout", str(limit), *words]
    where = f"{ACCELS[accel]}, {chips} chip{'s' if chips > 1 else ''}"
    return Step(f"{where}: {name}", command, limit + 60, wanted, shown)


def steps_of(accel, quick):
    """What is tried with one way to run the processors."""
    steps = [vm_step("boot, neuron-ls", accel, chips, BOOT_LIMITS[accel], "--task", "list",
                     wanted=rf"^\| {chips - 1} ")
             for chips in (1, 2, 16)]
    if quick:
        return steps[:1]
    steps.append(vm_step("main job", accel, 2, 600, "--task", "run", wanted=r"^PASS: ",
                         shown=r"^(classify|total|PASS|\(seconds since)"))
    steps.append(vm_step("main job, IOMMU", accel, 2, 600, "--iommu", "--task", "run",
                         wanted=r"^PASS: ", shown=r"^(classify|total|PASS)"))
    if accel == "kvm":
        steps.append(vm_step("tests of the driver", accel, 2, 1500, "--task", "check"))
    return steps


def bounded(words, limit):
    """Run a program; returns how it ended and what it printed."""
    with tempfile.NamedTemporaryFile() as log:
        done = Processes().run(words, log.name, limit, cwd=ROOT)
        return done, read(log.name).replace("\r", "")


def tap_notes(folder):
    """The sum of the TAP files that the tests of the driver left, and what failed."""
    lines = [f"{path.stem}: {line}" for path in sorted(folder.glob("tap/*.tap"))
             for line in path.read_text(errors="replace").splitlines()
             if re.match(r"(not )?ok ", line)]
    failed = [line for line in lines if ": not ok " in line]
    return ([f"{len(lines) - len(failed)} of {len(lines)} tests ok"] if lines else []) + failed


def take(step):
    """Take a step and judge it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        words = [*step.words, "--out", str(folder)] if "--timeout" in step.words else step.words
        done, text = bounded(words, step.limit)
        bad = [line for _log, lines in klog.judge(folder) for line in lines]
        tests = tap_notes(folder)
        machine = [f"{name}| {line}" for name in ("qemu-output", "console")
                   for line in read(folder / f"{name}.txt").splitlines()[-MACHINE_LINES:]]
    complaints = []
    if done.timed_out:
        complaints.append(f"not done after {step.limit} s")
    elif done.status:
        complaints.append(f"exit status {done.status}")
    elif not re.search(step.wanted, text, re.M):
        complaints.append(f"the output does not contain '{step.wanted}'")
    if any(": not ok " in line for line in tests):
        complaints.append("tests failed")
    complaints += [f"kernel log: {line}" for line in bad[:10]]
    notes = complaints + tests + [line for line in text.splitlines() if re.search(step.shown, line)]
    if complaints:
        notes += ["the end of the output:"] + ["| " + line
                                               for line in text.splitlines()[-TAIL_LINES:]]
        notes += machine
    return Result(step, FAILED if complaints else PASSED, done.seconds, notes)


def read(path):
    """The text of a file, or nothing."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def first(pattern, text, otherwise="unknown"):
    """The group of the first match."""
    match = re.search(pattern, text, re.M)
    return match[1].strip() if match else otherwise


def kvm_state():
    """Why KVM can or cannot be used, in words; the second value says whether it can be tried."""
    if not os.path.exists("/dev/kvm"):
        return "there is no /dev/kvm", False
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR))
    except OSError as error:
        return f"/dev/kvm cannot be opened ({error.strerror}); are you in the group kvm?", False
    return "/dev/kvm can be opened", True


def host_lines():
    """The host, without anything that names it."""
    cpu = read("/proc/cpuinfo")
    flags = first(r"^flags\s*:(.*)", cpu, "").split()
    system = first(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"))
    memory = int(first(r"^MemTotal:\s*(\d+)", read("/proc/meminfo"), "0")) >> 20
    return [
        f"system       {system}",
        f"kernel       {os.uname().release} {os.uname().machine}",
        f"processor    {first(r'^model name.*:(.*)', cpu)}, {os.cpu_count()} of them",
        f"flags        {' '.join(flag for flag in FLAGS if flag in flags)}",
        f"addresses    {first(r'^address sizes.*:(.*)', cpu)}",
        f"memory       {memory} GB",
        f"KVM          {kvm_state()[0]}",
    ]


def version_lines():
    """What was built."""
    done, commit = bounded(["git", "describe", "--always", "--dirty"], 60)
    lines = [f"commit       {'unknown' if done.status else commit.strip()}"]
    if (VM / "qemu-system-x86_64").exists():
        qemu = bounded([str(VM / "qemu-system-x86_64"), "--version"], 60)[1].splitlines()
        lines.append(f"QEMU         {qemu[0] if qemu else 'prints no version'}")
    lines.append(f"guest        {read(VM / 'release').strip() or 'not built'}")
    return lines


def anonymous(text):
    """The text without the names of user, host and folders."""
    home = os.path.expanduser("~")
    names = [(str(ROOT), "TREE"), (home, "HOME"), (socket.gethostname(), "HOST"),
             (socket.gethostname().split(".")[0], "HOST"), (getpass.getuser(), "USER")]
    for name, placeholder in names:
        # "root" names nobody, and neither does a single letter.
        if len(name) > 1 and name != "root" and name != "/root":
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", placeholder, text)
    return text


def result_lines(result):
    """One step in the report."""
    head = f"{result.outcome:<9} {result.seconds:>6.1f} s  {result.step.name}"
    return [head] + ["          " + note for note in result.notes]


def report_text(results):
    """The whole file."""
    failed = sum(result.outcome == FAILED for result in results)
    passed = sum(result.outcome == PASSED for result in results)
    lines = ["neuron-emu: report of a host", "",
             f"{passed} passed, {failed} failed, {len(results) - passed - failed} left out", "",
             "Host", *host_lines(), "", "Versions", *version_lines(), "", "Steps"]
    for result in results:
        lines += result_lines(result)
    return anonymous("\n".join(lines) + "\n")


def take_all(options):
    """Take every step; stop after the build if that fails."""
    results = []

    def done(result):
        results.append(result)
        print(anonymous("\n".join(result_lines(result)[:3])), flush=True)

    if not options.no_build:
        print("building (some minutes the first time)", flush=True)
        done(take(Step("make vm", ["make", "vm"], BUILD_LIMIT)))
        if results[-1].outcome == FAILED:
            return results
    why, usable = kvm_state()
    for accel in ACCELS:
        for step in steps_of(accel, options.quick):
            if accel == "kvm" and not usable:
                done(Result(step, LEFT_OUT, notes=[why]))
            else:
                done(take(step))
    return results


def main():
    """Returns the exit status: 0 when nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only boot a machine with one chip")
    parser.add_argument("--no-build", action="store_true", help="use what 'make vm' has built")
    parser.add_argument("--output", default="neuron-report.txt", help="the file (%(default)s)")
    options = parser.parse_args()
    results = take_all(options)
    pathlib.Path(options.output).write_text(report_text(results), encoding="utf-8")
    print(f"\nThe report is in {options.output}. Read it, then send it to the project.")
    return 1 if any(result.outcome == FAILED for result in results) else 0
