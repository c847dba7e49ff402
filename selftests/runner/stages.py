# SPDX-License-Identifier: MIT
"""The stages of make check-long and make check-nightly: one row each.

The budgets of check-long fit an hour; a test of the runner holds that. check-nightly has what
is slower by nature; each of its stages alone ends within an hour. What has passed is remembered
for the commit, so a second call goes on with the rest.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from . import counters, culprit, guest, results
from .guest import Kselftests, Task
from .schedule import BUILD, ROOT, TOOLS, Suite
from .suites import QTEST, SANITIZE, asan
from .work import Command, Native, Pytest, Script, Several

FUZZ = BUILD / "fuzz"
DEBUG = BUILD / "debug"
HOUR = 3600
MINUTE = 60
# The kernel's own checkers; a machine of a debug kernel needs more memory for them.
DEBUG_OPTIONS = ("--memory", "3G", "--append",
                 "kasan_multi_shot kunit.enable=1 no_console_suspend")
# valgrind changes the exit status of a program with an error. The test harness runs each test in
# a process of its own and judges it by that status.
MEMCHECK = "valgrind --quiet --error-exitcode=99"
# Stacks of 96 KiB, for the main thread and all others: as if a thread with 128 KiB had used a
# quarter of them before it calls libnrt.
SMALL_STACKS = "prlimit --stack=98304"
FAILURE_SWEEPS = ["test_fail_claims", "test_fail_nth"]
# Variables that change what a stage does.
OVERRIDES = ("FUZZ_SECONDS", "FUZZ_SEED", "FUZZ_OPERATIONS", "HAMMER_SECONDS", "NB_SYNC_SEED")
# TAP that has no plan: that of the unit tests inside the module is cut out of the kernel log.
PLANLESS = ("kunit",)


def build_fuzzer(job, name):
    """One of them, and the libraries that it needs."""
    # libFuzzer counts each branch, which keeps loops from being vectorized; clang warns of it.
    job.must([TOOLS / "userspace", FUZZ, "-Dnative_only=true", "-Dfuzz=true", "-Db_lundef=false",
              SANITIZE, "-Dc_args=-fsanitize=fuzzer-no-link -Wno-pass-failed", "-Dwerror=true"],
             "build.log", env={"CC": "clang", "TARGETS": fuzzer(name)})


def fuzzer(name):
    """Its program, as ninja names it."""
    return f"selftests/fuzz/fuzz-{name}"


class Fuzzer:
    """One of the libFuzzer targets, for a time or until something is found.

    The corpus is kept in build/fuzz. operations: the chip's fuzzer counts what it does and
    goes on, in rounds of the time, until it has done so many.
    """

    def __init__(self, name, seconds, *options, operations=0, rounds=1):
        self.name = name
        self.seconds = int(os.environ.get("FUZZ_SECONDS", seconds))
        self.operations = int(os.environ.get("FUZZ_OPERATIONS", operations)) if operations else 0
        self.rounds = rounds
        self.options = options

    def programs(self, _job):
        """One program."""
        return [f"fuzz-{self.name}"]

    def run(self, job):
        """Build it and run it."""
        build_fuzzer(job, self.name)
        (FUZZ / f"corpus-{self.name}").mkdir(exist_ok=True)
        done, total = None, 0
        for number in range(self.rounds):
            done, counted = self._round(job, number)
            total += counted
            if done.status or total >= self.operations:
                break
        program = f"fuzz-{self.name}"
        if done.status:
            job.add([results.failed(program, "corpus", results.ended_by(done.status),
                                    job.log_tail(f"{program}-{number}.log"))])
        elif total < self.operations:
            job.add([results.failed(program, "corpus", f"only {total} of {self.operations} "
                                    f"operations in {self.rounds} rounds")])
        else:
            job.add([results.Case(program, "corpus", results.PASSED)])

    def _round(self, job, number):
        log = f"fuzz-{self.name}-{number}.log"
        done = job.run([FUZZ / fuzzer(self.name),
                        f"-max_total_time={self.seconds}", "-max_len=4096", "-rss_limit_mb=4096",
                        "-timeout=60", "-print_final_stats=1", *self.options,
                        f"corpus-{self.name}"],
                       log, limit=self.seconds + 120, cwd=FUZZ)
        found = re.findall(r"^operations: (\d+)", (job.out / log).read_text(errors="replace"), re.M)
        return done, int(found[-1]) if found else 0


class FuzzLeak:
    """The chip's fuzzer, with an input that loses one byte: a finding, and the right one."""

    INPUT = 20
    RUNS = 1000
    FINDING = "resets do not give all memory back"

    def programs(self, _job):
        """One program."""
        return ["fuzz-leak"]

    def run(self, job):
        """From no corpus, so that it takes seconds; what it writes is not an input to keep."""
        build_fuzzer(job, "chip")
        log = "fuzz-leak.log"
        done = job.run([FUZZ / fuzzer("chip"), f"-runs={self.RUNS}",
                        "-seed=1", "-len_control=0", f"-artifact_prefix={job.out}/leak-"],
                       log, limit=300, env={"FUZZ_LEAK": str(self.INPUT)})
        said = (job.out / log).read_text(errors="replace")
        if done.status and self.FINDING in said:
            job.add([results.Case("fuzz-leak", "one byte", results.PASSED)])
        else:
            job.add([results.failed("fuzz-leak", "one byte", "nobody has noticed that it was lost",
                                    job.log_tail(log))])


class FuzzThreads:
    """Inputs that the chip's fuzzer has kept once more, with threads, under TSan.

    Then the first of them with a race on purpose, which must be found: the races of guests that
    tsan.supp names, and no others, are left out.
    """

    INPUTS = 400
    FOLDER = BUILD / "fuzz-tsan"
    FINDING = "ThreadSanitizer: data race"
    BLAMED = "copy_to_shared"

    def programs(self, _job):
        """Two runs of one program."""
        return ["fuzz-threads", "fuzz-race"]

    def run(self, job):
        """Run the first inputs by name. Names are hashes, so this is a choice by chance."""
        job.must([TOOLS / "userspace", self.FOLDER, "-Dnative_only=true", "-Dfuzz=true",
                  "-Db_lundef=false", "-Db_sanitize=thread", "-Dwerror=true"],
                 "build-tsan.log", env={"CC": "clang", "TARGETS": fuzzer("chip")})
        corpus = FUZZ / "corpus-chip"
        inputs = sorted(corpus.iterdir())[:self.INPUTS] if corpus.exists() else []
        if not inputs:
            job.add([results.failed("fuzz-threads", "corpus", "there are no inputs; the stage "
                                    "fuzz-chip makes them")])
            return
        done = self._fuzz(job, "fuzz-threads.log", inputs)
        if done.status:
            job.add([results.failed("fuzz-threads", "corpus", results.ended_by(done.status),
                                    job.log_tail("fuzz-threads.log"))])
        else:
            job.add([results.Case("fuzz-threads", "corpus", results.PASSED)])
        self._race(job, inputs[:1])

    def _race(self, job, inputs):
        log = "fuzz-race.log"
        done = self._fuzz(job, log, inputs, FUZZ_RACE="1")
        said = (job.out / log).read_text(errors="replace")
        if done.status and self.FINDING in said and self.BLAMED in said:
            job.add([results.Case("fuzz-race", "two copies", results.PASSED)])
        else:
            job.add([results.failed("fuzz-race", "two copies", "nobody has noticed the race",
                                    job.log_tail(log))])

    def _fuzz(self, job, log, inputs, **more):
        return job.run(["setarch", "-R", self.FOLDER / fuzzer("chip"),
                        "-rss_limit_mb=8192", "-timeout=120", *inputs], log,
                       env={"FUZZ_WORKERS": "3", "TSAN_OPTIONS": "halt_on_error=1:suppressions="
                            f"{ROOT}/selftests/fuzz/tsan.supp", **more})


class DebugSuite:
    """Tests of the driver in the debug kernel, with leaks and locks judged at the end.

    part of parts: every so many of the programs; the sweeps of failures are a part alone.
    """

    def __init__(self, part=0, parts=1, tests=()):
        self.part = part
        self.parts = parts
        self.tests = list(tests)

    def programs(self, job):
        """The programs of this part."""
        if self.tests:
            return self.tests
        every = [name for name in Kselftests("").programs(job) if name not in FAILURE_SWEEPS]
        return every[self.part::self.parts]

    def run(self, job):
        """In a machine of its own."""
        name = job.suite.name
        programs = self.programs(job)
        debug_machine(job, name, "--chips", "2", *DEBUG_OPTIONS,
                      args=f"suite {' '.join(programs)}", programs=programs)
        coverage(job, name)


class Hammer:
    """Many processes on many chips, killed at any time.

    Small apertures: sixteen full ones would be 2 TiB of addresses for nothing.
    """

    def programs(self, _job):
        """One program."""
        return ["hammer"]

    def run(self, job):
        """In a machine of its own."""
        seconds = os.environ.get("HAMMER_SECONDS", "60")
        debug_machine(job, job.suite.name, "--chips", "16", "--chip-prop", "bar4-size=8G",
                      *DEBUG_OPTIONS, "--memory", "4G", args=f"hammer {seconds}")


class IoctlFuzzer:
    """Programs of ioctls by chance, led by the coverage of the driver.

    Each day begins elsewhere. When something is wrong culprit.txt has the programs that ran last
    before it.
    """

    SECONDS = 600

    def programs(self, _job):
        """One program."""
        return ["fuzz-ioctls"]

    def run(self, job):
        """In a machine of its own."""
        name = job.suite.name
        seconds = os.environ.get("FUZZ_SECONDS", self.SECONDS)
        seed = os.environ.get("FUZZ_SEED", time.strftime("%Y%m%d"))
        try:
            debug_machine(job, name, "--chips", "2", *DEBUG_OPTIONS, args=f"fuzz {seconds} {seed}")
            coverage(job, name)
        finally:
            log = job.out / f"{name}.log"
            text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            suspects = culprit.suspects(text)
            if suspects:
                (job.out / "culprit.txt").write_text("\n".join(suspects), encoding="utf-8")
                job.add([results.failed("fuzz-ioctls", "programs", "the last one that ran before "
                                        "something went wrong; culprit.txt has those before it",
                                        suspects[-1].splitlines())])


class OldProgram:
    """The program of version 2.0 beside a driver whose structs have grown since."""

    PROGRAM = "test_old_abi"

    def programs(self, _job):
        """One program."""
        return [self.PROGRAM]

    def run(self, job):
        """The driver first."""
        job.must([TOOLS / "module", "--grown"], "build.log")
        status = guest.machine(job, "abi-grown", "--module",
                               str(BUILD / "module-grown" / "neuron.ko"), task="check",
                               args=self.PROGRAM)
        guest.judge_tests(job, "abi-grown", status)


def debug_machine(job, name, *options, args, programs=()):
    """Run the task debug, with some kselftests, in the debug kernel and read what it has left."""
    job.must([TOOLS / "debug-machine"], "build.log")
    # Before the tests: who edits the driver while they run changes what is counted next time.
    counters.keep(job.out, counters.source(ROOT))
    guest.must_be_installed(programs)
    status = guest.machine(job, name, "--kernel", "debug", *options, task="debug", args=args)
    guest.judge_tests(job, name, status, PLANLESS)


class DebugTask(Task):
    """A task in the debug kernel."""

    def __init__(self, name, *options):
        super().__init__(name, "--kernel", "debug", *options)

    def run(self, job):
        """The kernel first."""
        job.must([TOOLS / "debug-machine"], "build.log")
        super().run(job)


class DebugPytest(Pytest):
    """Tests that start machines of the debug kernel by themselves."""

    def run(self, job):
        """The kernel first."""
        job.must([TOOLS / "debug-machine"], "build.log")
        super().run(job)


def coverage(job, name):
    """Lines of the module that were run, by file, from the counters that the guest left."""
    files = sorted((job.out / name / "gcov").glob("*.gcda"))
    if not files:
        return
    folder = job.out / "coverage"
    folder.mkdir(exist_ok=True)
    for file in [*files, *(DEBUG / "module" / "driver").glob("*.gcno"),
                 job.out / counters.STAMP]:
        shutil.copy(file, folder)
    job.run(["gcov", "-o", ".", *(file.name for file in files)], "coverage.txt", cwd=folder)


def arm64(suite):
    """Native tests for arm64, in an emulator of a user's program."""
    return Several(Command("aarch64", "tools/build/aarch64"),
                   Native("native-aarch64", suite, "--cross-file", BUILD / "aarch64.ini",
                          "-Dwerror=true"))


def vm_tests(*files):
    """Tests of selftests/vm, the quick ones too."""
    return Pytest("selftests/vm", "not nightly", files)


# name, lane, budget and limit in seconds, what it proves, how it is run
LONG = [
    Suite("fuzz-neff", "native", 2 * MINUTE, 1800, "the reader of NEFF files",
          Fuzzer("neff", 60)),
    Suite("fuzz-as", "native", 2 * MINUTE, 1800, "the assembler", Fuzzer("as", 60)),
    Suite("fuzz-profile", "native", 2 * MINUTE, 1800, "the reader of device profiles",
          Fuzzer("profile", 60)),
    Suite("fuzz-contract", "native", 2 * MINUTE, 1800, "what kernel, chip and runtime believe of "
          "each other", Fuzzer("contract", 60)),
    # Inputs of up to 16 edits from the start: libFuzzer would take an hour to let them grow so far.
    Suite("fuzz-state", "native", 2 * MINUTE, 1800, "loading of saved chips that were edited",
          Fuzzer("state", 60, "-max_len=256", "-len_control=0")),
    # Long inputs from the start, because what is interesting takes many operations. libFuzzer's
    # entropic schedule is off: it takes more time than the chips do.
    Suite("fuzz-chip", "native", 5 * MINUTE, 1800, "the chip, a million operations of its port, "
          "and a byte that is lost on purpose; then with threads under ThreadSanitizer",
          Several(FuzzLeak(), Fuzzer("chip", 60, "-len_control=0", "-entropic=0",
                                     operations=1000000, rounds=6), FuzzThreads())),
    Suite("fuzz-api", "native", 3 * MINUTE, 1800, "calls of libnrt by chance, with good, stale and "
          "forged handles, under AddressSanitizer and UBSan",
          asan("fuzz_api", FUZZ_SECONDS=os.environ.get("FUZZ_SECONDS", "60"))),
    Suite("nki-random", "native", 3 * MINUTE, 1800, "1,000 kernels in Python by chance, against "
          "NumPy", Pytest("selftests/nki", "slow", ("test_random",))),
    Suite("nki-torch", "native", 2 * MINUTE, 1800, "kernels that PyTorch calls, with Debian's own",
          Several(Command("python3-torch", "tools/build/deps", "torch"),
                  Pytest("selftests/nki", only=("test_torch",)))),
    Suite("memcheck", "native", 15 * MINUTE, HOUR, "libnrt on chips in the process reads and "
          "writes only what it has, and uses only what has a value, by valgrind",
          Native("native-memcheck", "memcheck", wrapper=MEMCHECK)),
    Suite("stacks", "native", 3 * MINUTE, 1800, "libnrt on chips in the process, in threads with "
          "small stacks", Native("native-memcheck", "stacks", wrapper=SMALL_STACKS)),
    Suite("qtest-asan", "native", 4 * MINUTE, HOUR, "the device in a QEMU that checks itself",
          Several(Command("qemu-asan", "tools/build/qemu", env={"SANITIZE": "1"}),
                  asan("qtest", **dict(QTEST, ASAN_OPTIONS="detect_leaks=0",
                                       QTEST_QEMU=QTEST["QTEST_QEMU"] + ".asan")))),
    Suite("timeline", "native", 5 * MINUTE, HOUR, "the page of neuron-profile in a browser, with a "
          "million events", Several(Command("chromium", "tools/build/deps", "browser"),
                                    Script("timeline", "selftests/long/timeline.py"))),
    Suite("runtime", "native", 3 * MINUTE, 1800, "what make runtime installs, used by those who "
          "know no more than what it prints", Script("runtime", "selftests/long/runtime.py")),
    Suite("kernels", "native", 3 * MINUTE, HOUR, "the module builds for the newest kernels",
          Script("check-kernels", "tools/build/check-kernels")),
    Suite("dkms", "native", 3 * MINUTE, HOUR, "the module builds and installs by DKMS",
          Script("check-dkms", "tools/build/check-dkms")),
    Suite("aarch64", "vm", 5 * MINUTE, HOUR, "instructions and number formats have the same bits "
          "on an emulated arm64; the rest of these tests is in check-nightly", arm64("quick-bits")),
    Suite("abi-grown", "vm", 2 * MINUTE, 1300, "a program of version 2.0 beside a later driver",
          OldProgram()),
    Suite("checks", "vm", 2 * MINUTE, 1300, "programs in a machine whose chips check them",
          vm_tests("test_checks")),
    Suite("stress", "vm", 3 * MINUTE, 900, "the main job 20 times, the driver reloaded between",
          Task("stress", "--chips", "2", task="stress", args="20")),
    Suite("snapshots", "vm", 6 * MINUTE, 1800, "the main job, saved and loaded at 50 points",
          vm_tests("test_snapshot")),
    Suite("faults", "vm", 5 * MINUTE, 1800, "all faults on demand", vm_tests("test_faults")),
    Suite("collective-faults", "vm", 120, 1800, "each fault of chips, links and ranks, with each "
          "collective", asan("collective-faults")),
    Suite("lies", "vm", 5 * MINUTE, 1800, "a chip that lies", vm_tests("test_lies")),
    Suite("recovery", "vm", 5 * MINUTE, 1800, "what is rare, hibernation and kexec",
          vm_tests("test_recovery")),
    Suite("health", "vm", 3 * MINUTE, 1800, "what a chip tells of itself", vm_tests("test_health")),
    Suite("shapes", "vm", 4 * MINUTE, 1800, "instances, booted", vm_tests("test_shapes")),
    Suite("same", "vm", 3 * MINUTE, 1800, "models on both back ends of libnrt: bits and times",
          vm_tests("test_same")),
    Suite("packages", "vm", 2 * MINUTE, 1800, "neuron-vm with packages, ssh, QMP and gdb; the rest "
          "of its tests is quick and in make check",
          Pytest("selftests/vm", "slow and not nightly", ("test_neuron_vm",))),
    Suite("trn1", "vm", 6 * MINUTE, 1800, "the driver on two chips of type trn1",
          Several(Kselftests("kselftest-trn1", "--chips", "2", "--type", "trn1"),
                  Task("job-trn1", "--chips", "2", "--type", "trn1"))),
    Suite("trn3", "vm", 6 * MINUTE, 1800, "the driver on two chips of type trn3",
          Several(Kselftests("kselftest-trn3", "--chips", "2", "--type", "trn3"),
                  Task("job-trn3", "--chips", "2", "--type", "trn3"))),
]

# All in one lane: nothing runs beside a stage while it is measured against its hour.
NIGHTLY = [
    Suite("mutants", "vm", 15 * MINUTE, HOUR, "the native tests notice one wrong bit",
          Script("mutants", "selftests/long/mutants.py")),
    Suite("checkpatch", "vm", 10 * MINUTE, 1800, "checkpatch has no complaint about the C that "
          "is not the kernel's", Script("checkpatch", "tools/build/style", "checkpatch_user")),
    Suite("native-aarch64", "vm", 20 * MINUTE, HOUR, "numbers, activation functions and "
          "instructions have the same bits on an emulated arm64",
          arm64("bits")),
    Suite("thorough", "vm", 10 * MINUTE, HOUR, "the native tests, with all rounds of what they "
          "draw by chance",
          Native("native-memcheck", "native", env={"NEURON_TEST_THOROUGH": "1"})),
    Suite("generations", "vm", 15 * MINUTE, HOUR, "the native tests of chip and libnrt on further "
          "generations, nccom-test with all operations, under AddressSanitizer and UBSan",
          Several(asan("native", rest_of="asan"),
                  asan("embedded", sleepy=True, rest_of="embedded"))),
    Suite("builder", "vm", 9 * MINUTE, HOUR, "10,000 programs that the builder synchronises",
          Native("native-memcheck", "builder", env={"NB_SYNC_PROGRAMS": "10000",
                                                    "NB_SCHEDULE_PROGRAMS": "3000"})),
    Suite("in-tree", "vm", 6 * MINUTE, HOUR, "the driver builds as a part of a kernel's tree, "
          "as a module and built in, and selects all that it needs",
          Script("check-in-tree", "tools/build/check-in-tree")),
    Suite("dma-iommu", "vm", 6 * MINUTE, 1800, "the tests of the driver behind a strict IOMMU",
          Kselftests("kselftest-iommu", "--chips", "2", "--iommu")),
    Suite("dma-swiotlb", "vm", 6 * MINUTE, 1800, "the tests of the driver with bounce buffers",
          Kselftests("kselftest-swiotlb", "--chips", "2", "--append", "swiotlb=force")),
    Suite("inf2", "vm", 6 * MINUTE, HOUR, "the driver on two chips of type inf2",
          Several(Kselftests("kselftest-inf2", "--chips", "2", "--type", "inf2"),
                  Task("job-inf2", "--chips", "2", "--type", "inf2"))),
    Suite("vm-nightly", "vm", 30 * MINUTE, HOUR, "UltraServers of 64 and 144 chips, and what "
          "else takes long", Pytest("selftests/vm", "nightly")),
    Suite("collectives", "vm", 15 * MINUTE, HOUR, "collectives of up to 256 ranks on 16, 64 and "
          "144 chips, by the driver; their device times against the formulas",
          Several(Pytest("selftests/vm", only=("test_collectives",)), asan("collective-times"))),
    Suite("debug-suite", "vm", 35 * MINUTE, HOUR, "a third of the driver's tests, and its unit "
          "tests, in the debug kernel", DebugSuite(0, 3)),
    Suite("debug-suite-2", "vm", 35 * MINUTE, HOUR, "the second third", DebugSuite(1, 3)),
    Suite("debug-suite-3", "vm", 35 * MINUTE, HOUR, "the last third", DebugSuite(2, 3)),
    Suite("debug-fail", "vm", 50 * MINUTE, HOUR, "each allocation and each access to user memory "
          "fails once", DebugSuite(tests=FAILURE_SWEEPS)),
    Suite("debug-hammer", "vm", 15 * MINUTE, HOUR, "24 processes on 16 chips, killed at any time, "
          "in the debug kernel", Hammer()),
    Suite("debug-fuzz", "vm", 15 * MINUTE, HOUR, "ioctls by chance for ten minutes, led by "
          "coverage, in the debug kernel", IoctlFuzzer()),
    Suite("debug-jobs", "vm", 15 * MINUTE, HOUR, "the main job in the debug kernel, also behind "
          "an IOMMU; neuron-vm with that kernel, and gdb on it",
          Several(DebugTask("debug-job", "--chips", "2", *DEBUG_OPTIONS),
                  DebugTask("debug-iommu", "--chips", "2", "--iommu", *DEBUG_OPTIONS),
                  DebugPytest("selftests/vm", only=("test_debug_kernel",)))),
    Suite("avx512-1", "vm", 50 * MINUTE, HOUR, "the AVX-512 path in an emulated processor",
          Script("avx512", "selftests/long/avx512.py", "--limit", "3300", "matmul", "num")),
    Suite("avx512-2", "vm", 50 * MINUTE, HOUR, "the AVX-512 path: more tests",
          Script("avx512", "selftests/long/avx512.py", "--limit", "3300", "num-paths", "act",
                 "exec-product")),
    Suite("avx512-3", "vm", 50 * MINUTE, HOUR, "the AVX-512 path: the rest",
          Script("avx512", "selftests/long/avx512.py", "--limit", "3300", "num-alu", "num-mix",
                 "num-mx", "num-ops")),
    Suite("fuzz-chip-long", "vm", 50 * MINUTE, HOUR, "the chip, ten million operations",
          Fuzzer("chip", 480, "-len_control=0", "-entropic=0", operations=10000000, rounds=6)),
    Suite("fuzz-state-long", "vm", 45 * MINUTE, HOUR, "loading of saved chips that were edited",
          Fuzzer("state", 2400, "-max_len=256", "-len_control=0")),
    Suite("fuzz-neff-long", "vm", 30 * MINUTE, HOUR, "the reader of NEFF files",
          Fuzzer("neff", 1500)),
    Suite("fuzz-as-long", "vm", 30 * MINUTE, HOUR, "the assembler", Fuzzer("as", 1500)),
    Suite("fuzz-qemu", "vm", 50 * MINUTE, HOUR, "QEMU's generic fuzzer of devices, each generation",
          Several(Command("build", "tools/build/fuzz-qemu", "--build"),
                  *(Command(f"fuzz-qemu-{kind}", "tools/build/fuzz-qemu", kind, "480")
                    for kind in ("trn1", "inf2", "trn2", "trn3")))),
]


def commit(root=ROOT):
    """What the state of the stages belongs to: the commit, and what differs from it.

    None when git, or a file that it names, cannot be read.
    """
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=True).stdout
    try:
        head = git("rev-parse", "--short=12", "HEAD").decode().strip()
        differs = [git("diff", "--binary", "--no-ext-diff", "--no-textconv", "HEAD")]
        for name in git("ls-files", "-o", "--exclude-standard", "-z").split(b"\0")[:-1]:
            differs += [name, content(pathlib.Path(root, os.fsdecode(name)))]
    except (OSError, subprocess.CalledProcessError):
        return None
    differs += [f"{name}={os.environ[name]}".encode() for name in OVERRIDES if name in os.environ]
    if differs == [b""]:
        return head
    # Each part is hashed by itself: two lists of parts could be the same text when joined.
    digests = b"".join(hashlib.sha256(part).digest() for part in differs)
    return f"{head}-{hashlib.sha256(digests).hexdigest()[:12]}"


def content(path):
    """What a file that git does not track holds, and whether it can be run."""
    if path.is_symlink():
        return b"link " + os.fsencode(os.readlink(path))
    return (b"program " if os.access(path, os.X_OK) else b"file ") + path.read_bytes()


class State:
    """The stages that have passed for this commit; nothing is kept where that is not known."""

    def __init__(self, folder, key, fresh):
        self.folder = pathlib.Path(folder) / key if key else None
        if not self.folder:
            return
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _file(self, name):
        return self.folder / f"{name}.json"

    def passed(self, name):
        """(cases, seconds) of a stage that has passed, or None."""
        if not self.folder:
            return None
        try:
            kept = json.loads(self._file(name).read_text())
        except (OSError, ValueError):
            return None
        return [results.Case(**case) for case in kept["cases"]], kept["seconds"]

    def keep(self, outcome):
        """Remember a stage, if it has passed."""
        passed, failed, _ = results.count(outcome.cases)
        if failed or not passed or not self.folder:
            return
        cases = [vars(case) for case in outcome.cases]
        self._file(outcome.name).write_text(json.dumps({"cases": cases,
                                                        "seconds": outcome.seconds}))
