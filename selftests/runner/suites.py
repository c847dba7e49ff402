# SPDX-License-Identifier: MIT
"""The suites of make check: one row each.

The native lane and the vm lane run side by side, each in the order of the table.
"""

from .guest import Kselftests, Task
from .schedule import BUILD, EITHER, Suite
from .work import Build, Command, Native, Pytest, Script, Several

ASAN = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
TSAN = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
QTEST = {
    "QTEST_QEMU": str(BUILD / "vm" / "qemu-system-x86_64"),
    "QTEST_FIRMWARE": str(BUILD / "vm" / "firmware"),
}
VM_FILES = ("test_checks", "test_faults", "test_health", "test_lies", "test_migration",
            "test_recovery", "test_same", "test_shapes", "test_snapshot", "test_sysfs_abi",
            "test_tasks", "test_tools")
SANITIZE = "-Db_sanitize=address,undefined"


def asan(suite, sleepy=False, rest_of="", **env):
    """Tests under AddressSanitizer and UBSan; asan, embedded and qtest share the build."""
    return Native("native-asan", suite, SANITIZE, env={**ASAN, **env}, sleepy=sleepy,
                  rest_of=rest_of)


# name, lane, budget and limit in seconds, what it proves, how it is run, what must be there
SUITES = [
    Suite("build", "vm", 40, 3000, "everything that the machine needs is built", Build()),
    Suite("runner", "native", 20, 120, "the programs that run tests read results rightly, .ci/run "
          "ends as it must, and make bench computes figures rightly",
          Several(Pytest("selftests/runner/tests"), Pytest("selftests/bench/tests"),
                  Pytest("selftests/long/tests"))),
    Suite("asan", "native", 90, 1800,
          "native tests of the chip, number formats, NEFF reader, assembler and digits under "
          "AddressSanitizer and UBSan", asan("native"), whole=420),
    # A fixed address layout: with a random one some kernels leave TSan no room.
    Suite("tsan", "native", 60, 1500,
          "clang has no warning for any source; the tests of chip and libnrt under "
          "ThreadSanitizer",
          Native("native-tsan", "threads", "-Db_sanitize=thread", "-Dwerror=true",
                 compiler="clang", env=TSAN, wrapper="setarch -R"), needs=("build",), whole=420),
    Suite("qtest", "native", 40, 600, "the device in QEMU without a guest, each generation",
          asan("qtest", **QTEST), needs=("build",), whole=100),
    Suite("embedded", "native", 60, 1500,
          "the tests of libnrt on chips in the process, under "
          "AddressSanitizer and UBSan", asan("embedded", sleepy=True), needs=("build",), whole=420),
    Suite("nki", "native", 60, 1500,
          "kernels in Python: traced, built, run on chips in the process",
          Pytest("selftests/nki", "not slow"), needs=("build",), whole=420),
    Suite("kselftest", "vm", 120, 1800, "the tests of the driver and of libnrt on two chips",
          Kselftests("kselftest", "--chips", "2"), needs=("build",), whole=400),
    Suite("job", "vm", 20, 300, "the main job, compared bit for bit",
          Task("job", "--chips", "2"), needs=("build",)),
    Suite("iommu", "vm", 20, 300, "the main job behind an IOMMU in strict mode",
          Task("iommu", "--chips", "2", "--iommu"), needs=("build",)),
    Suite("swiotlb", "vm", 20, 300, "the main job with bounce buffers everywhere",
          Task("swiotlb", "--chips", "2", "--append", "swiotlb=force"), needs=("build",)),
    Suite("vm", "vm", 60, 1200, "faults on demand, snapshots, shapes and the tools, the quick "
          "tests of each", Pytest("selftests/vm", "not slow", VM_FILES), needs=("build",),
          whole=200),
    Suite("tutorials", EITHER, 60, 1800, "the commands of the tutorials; tools/report-host",
          Pytest("selftests/docs", only=("test_tutorial", "test_tutorials", "test_container",
                                         "test_report_host")),
          needs=("build",), whole=200),
    Suite("style", EITHER, 60, 900, "the checks of style", Script("style", "tools/build/style"),
          needs=("build",)),
    Suite("neuron-vm", EITHER, 60, 1500, "neuron-vm: streams, exit statuses, shared folders, "
          "kept machines, mistakes; nrtpy and NKI on the driver",
          Pytest("selftests/vm", "not slow", ("test_neuron_vm", "test_nrtpy", "test_nki")),
          needs=("build",), whole=200),
    Suite("docs", EITHER, 40, 900,
          "the manual builds without a warning and has what the tools have",
          Several(Command("manual", "tools/build/docs"),
                  Pytest("selftests/docs", only=("test_manual", "test_sequence"))),
          needs=("build",)),
]
