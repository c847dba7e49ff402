#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run tests of numbers, functions and products in emulated processors that have AVX-512.

Each test gets a small Linux on a Skylake-X that Bochs emulates, so it makes no difference
whether this host has AVX-512. The processor has the speed of one of 1996. Therefore only those
tests run that compare the paths, as many at a time as the host has processors. Prints TAP.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "selftests"), str(ROOT / "tools")]

from neuron_vm.process import Cancelled, Processes, tail
from runner import results

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build"))
NATIVE = BUILD / "native-avx512"
KERNEL = BUILD / "vm/vmlinuz"
# The slowest first.
TESTS = ("matmul", "num", "num-paths", "act", "exec-product", "num-alu", "num-mix", "num-mx",
         "num-ops")
NEEDED = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
FLAGS = re.compile(r"^flags\s*:(.*)$", re.M)
BUILD_S = 3600
PACK_S = 300
END = "# end"
# To power off would lose what the serial line has not sent yet.
INIT = f"""#!/bin/busybox sh
alias b=/bin/busybox
b mount -t proc proc /proc
b mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1
echo
b grep -m 1 ^flags /proc/cpuinfo
CMOCKA_MESSAGE_OUTPUT=TAP /test >/tmp/out 2>&1
status=$?
b cat /tmp/out
echo "# exit $status"
echo "{END}"
b sleep 100000
"""
# Bochs' sizes of the compact format are not what Linux expects; the plain one will do.
WITHOUT = "clearcpuid=xsaves,xsavec"
BOOT = f"""default tests
prompt 0
label tests
kernel /vmlinuz
append initrd=/initrd console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable {WITHOUT}
"""
MACHINE = """plugin_ctrl: speaker=0
cpu: model=corei7_skylake_x, ips=100000000, reset_on_triple_fault=0
memory: guest=512, host=512
romimage: file={tree}/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file={tree}/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path={folder}/disc.iso, status=inserted
boot: cdrom
display_library: rfb, options="timeout=0"
com1: enabled=1, mode=file, dev={folder}/console
log: {folder}/bochs.log
panic: action=fatal
clock: sync=none
"""


class Failed(Exception):
    """A machine cannot be made, or its tests are not what they should be."""


class Unpacked:
    """Programs that tools/build/bochs has unpacked, with their own libraries."""

    def __init__(self, tree):
        self.tree = pathlib.Path(tree)
        self.libraries = self.tree / "usr/lib/x86_64-linux-gnu"
        self.env = {"LTDL_LIBRARY_PATH": str(self.libraries / "bochs/plugins"),
                    "BXSHARE": str(self.tree / "usr/share/bochs")}

    def words(self, program, *arguments):
        """The command line of one of them."""
        return [self.tree / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", self.libraries,
                self.tree / "usr/bin" / program, *arguments]


def run(processes, words, log, limit, **more):
    """Run a program that must succeed."""
    done = processes.run(words, log, limit, **more)
    if done.status:
        raise Failed(f"{pathlib.Path(str(words[0])).name} {results.ended_by(done.status)}: "
                     + " | ".join(tail(log, 3)))


def libraries_of(program):
    """The files of the host that a program is linked with, its loader too."""
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r"(/\S+) \(0x", done.stdout)


class Machine:
    """One emulated computer, which runs one test."""

    def __init__(self, test, folder, bochs, processes):
        self.test = test
        self.folder = folder
        self.bochs = bochs
        self.processes = processes
        self.console = folder / "console"

    def pack_initramfs(self):
        """A system of busybox, the test and its libraries."""
        tree, test = self.folder / "initramfs", NATIVE / "selftests/native" / f"test-{self.test}"
        if not test.exists():
            raise Failed(f"there is no test '{self.test}' in {test.parent}")
        for name in ("bin", "proc", "dev", "tmp"):
            (tree / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
        run(self.processes, ["strip", "--strip-debug", "-o", tree / "test", test],
            self.folder / "pack.log", PACK_S)
        for file in libraries_of(test):
            to = tree / file.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)
        (tree / "init").write_text(INIT)
        (tree / "init").chmod(stat.S_IRWXU)
        names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
        with open(self.folder / "disc/initrd", "wb") as packed:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, check=True,
                           input=names.encode(), stdout=packed)

    def pack(self):
        """The disc that it boots from."""
        loader = self.folder / "disc/isolinux"
        loader.mkdir(parents=True)
        self.pack_initramfs()
        shutil.copy(KERNEL, self.folder / "disc/vmlinuz")
        for file in ("ISOLINUX/isolinux.bin", "syslinux/modules/bios/ldlinux.c32"):
            shutil.copy(self.bochs.tree / "usr/lib" / file, loader)
        (loader / "isolinux.cfg").write_text(BOOT)
        words = self.bochs.words(
            "xorriso", "-as", "mkisofs", "-quiet", "-o", self.folder / "disc.iso",
            "-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-no-emul-boot",
            "-boot-load-size", "4", "-boot-info-table", self.folder / "disc")
        run(self.processes, words, self.folder / "pack.log", PACK_S)

    def printed(self):
        """What it has sent over its serial line."""
        return self.console.read_text(errors="replace").replace("\r", "")

    def has_ended(self):
        """Whether the test has."""
        return self.printed().endswith(f"\n{END}\n")

    def emulate(self, limit):
        """Run it until the test has ended.

        Debian's Bochs starts in its debugger, which is told to go on. It does not end with the
        computer that it emulates.
        """
        # Bochs makes it when something is sent first.
        self.console.touch()
        (self.folder / "bochsrc").write_text(
            MACHINE.format(tree=self.bochs.tree, folder=self.folder))
        (self.folder / "commands").write_text("c\n")
        words = self.bochs.words("bochs-bin", "-q", "-f", self.folder / "bochsrc", "-rc",
                                 self.folder / "commands")
        self.processes.run(words, self.folder / "bochs.out", limit, env=self.bochs.env,
                           until=self.has_ended)

    def judge(self, limit):
        """What the test has said, in words. Nothing may be skipped: that is what this is about."""
        printed = self.printed()
        flags = FLAGS.search(printed)
        if flags is None:
            raise Failed("the machine has not booted: " + " | ".join(tail(self.console, 3)))
        if missing := NEEDED - set(flags[1].split()):
            raise Failed(f"the emulated processor lacks {' '.join(sorted(missing))}")
        if not self.has_ended():
            raise Failed(f"the test has not ended within {limit} s: "
                         + " | ".join(tail(self.console, 3)))
        status = int(re.findall(r"^# exit (\d+)$", printed, re.M)[-1])
        cases = results.from_tap(self.test, printed[flags.end():], status)
        wrong = [case for case in cases if case.outcome != results.PASSED]
        if wrong:
            raise Failed("; ".join(f"{case.name} {case.outcome}: {case.why}" for case in wrong))
        return f"{len(cases)} passed"

    def run(self, limit):
        """(passed, text)"""
        try:
            self.pack()
            self.emulate(limit)
            return True, self.judge(limit)
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            return False, str(error)


def keep(machine, folder):
    """Save what a machine has said."""
    to = pathlib.Path(folder) / machine.test
    to.mkdir(parents=True, exist_ok=True)
    for name in ("console", "bochs.log", "bochs.out", "pack.log"):
        if (machine.folder / name).exists():
            shutil.copy(machine.folder / name, to)


def run_all(tests, limit, bochs, processes, out):
    """A line of TAP for each test, as soon as it has ended. Whether all have passed."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = {}
        for test in tests:
            folder = pathlib.Path(scratch) / test
            folder.mkdir()
            machine = Machine(test, folder, bochs, processes)
            begun[pool.submit(machine.run, limit)] = machine
        for number, future in enumerate(concurrent.futures.as_completed(begun), 1):
            passed, text = future.result()
            failed += not passed
            if not passed:
                print(f"# {begun[future].test}: {text}")
            print(f"{'ok' if passed else 'not ok'} {number} - {begun[future].test}"
                  + (f": {text}" if passed else ""), flush=True)
            if out:
                keep(begun[future], out)
    return not failed


def prepare(tests, processes):
    """Unpack Bochs and build the tests. Returns Bochs."""
    log = BUILD / "log/avx512.log"
    script = ROOT / "tools/build"
    run(processes, [script / "bochs"], log, BUILD_S)
    bochs = Unpacked(tail(log, 1)[0])
    run(processes, [script / "userspace", NATIVE, "-Dnative_only=true"], log, BUILD_S,
        env={"TARGETS": " ".join(f"selftests/native/test-{test}" for test in tests)})
    return bochs


def main():
    """The exit status: 0 when all have passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=4500, metavar="SECONDS",
                        help="for one test (%(default)s)")
    parser.add_argument("--out", default=os.environ.get("NEURON_TEST_OUT"), metavar="DIR",
                        help="keep what the machines say here")
    parser.add_argument("tests", nargs="*", metavar="TEST", default=TESTS,
                        help=f"one of the native tests (default: {' '.join(TESTS)})")
    options = parser.parse_args()
    processes = Processes()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: processes.cancel())
    try:
        bochs = prepare(options.tests, processes)
        print(f"1..{len(options.tests)}", flush=True)
        passed = run_all(options.tests, options.limit, bochs, processes, options.out)
    except Failed as error:
        print(f"Bail out! {error}")
        return 1
    except Cancelled:
        print("Bail out! ended by a signal")
        return 1
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
