# SPDX-License-Identifier: MIT
"""A chip that does not only fail but lies, against the driver: registers, completion records
and interrupts say what is not true while the driver is bound, works and is unbound. Nothing
may hang, every answer is one that answers.py allows, the kernel log holds no warning of the
kernel, and an honest chip works again.
"""

import errno
import time

import pytest

from answers import Judge
from fault_job import LIMIT, STATUS, Chip, judged

STORMS = 60         # at most, until one has come during a job
RULES = 60          # of the 64 that a chip can have
RECORD = 64         # bytes of a completion record
STORM_S = 20        # a storm
IDENTITY = 8        # the first bytes of a record say whose it is
POLLED_MS = 30000   # a job whose interrupt nobody takes waits longer


def lie(rig, *rules):
    """Let the chip lie in all these ways."""
    for rule in rules:
        rig.vm.fault(rule)


@pytest.mark.slow
@judged()
def test_storm_for_nothing(rig):
    """The kernel itself would disable the vector for good, with a warning."""
    rig.vm.fault("irq-storm,vector=0,times=4000000,count=1")
    rig.slow_job_ok(0)
    rig.struck()
    end = time.monotonic() + STORM_S
    while time.monotonic() < end:
        for core in (0, 1):
            answer = rig.job_ok(core, 60000)
            assert answer["ms"] < POLLED_MS, f"the interrupt is gone: {answer}"
    rig.vm.fault("clear")
    time.sleep(2)
    answer = rig.job_ok(0, 60000)
    assert answer["ms"] < POLLED_MS, f"the interrupt does not come back: {answer}"


@pytest.mark.slow
@judged()
def test_storm_of_all_vectors(rig):
    """While the driver is bound and unbound, too."""
    rig.vm.fault("irq-storm,times=100000")
    Judge(rig).work()
    rig.end()
    address = rig.address()
    rig.unbind(address)
    rig.vm.fault("irq-storm,times=100000")
    assert rig.bind(address) == 0, "a device that storms can be used"
    rig.unbind(address)
    rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()


@judged("bad completion")
def test_cause_that_stays(rig):
    """A core claims that a job is done, again and again, and that it runs none.

    A false interrupt must come while a job runs. On a busy host a whole storm can miss that.
    """
    chip = Chip(rig)
    judge = Judge(rig)
    for _ in range(STORMS):
        lie(rig, f"reg-stuck,offset={chip.core(0, 'CAUSE'):#x},value=1",
            f"reg-stuck,offset={chip.core(0, 'STATUS'):#x},value=0",
            "irq-storm,vector=0,times=200000,count=1")
        for _ in range(8):
            judge.ask(f"job 0 {LIMIT}")
        rig.job_ok(1)
        rig.vm.fault("clear")
        if "bad completion" in rig.vm.kernel_log():
            break
    judge.ask("close 0")
    rig.open_core(0)


@judged()
def test_cause_that_comes_early(rig):
    """A core claims that a job is done while it says that it runs it. The record tells."""
    lie(rig, f"reg-stuck,offset={Chip(rig).core(0, 'CAUSE'):#x},value=1",
        "irq-storm,vector=0,times=200000,count=1")
    for _ in range(8):
        rig.job_ok(0, POLLED_MS)


@judged()
def test_error_without_code(rig):
    """Copy queues claim that they have failed while they go on. A queue that has says why."""
    chip = Chip(rig)
    both = 0x30003      # two queues of an engine: done, error
    lie(rig, *(f"reg-stuck,offset={chip.dma(engine, 'CAUSE'):#x},value={both:#x}"
               for engine in {engine for engine, _ in rig.copy_queues()}),
        "irq-storm,times=200000", "dma-late,delay=50ms")
    for _ in range(4):
        rig.copy_ok()


@pytest.mark.slow
@judged("no answer to a reset")
def test_reset_is_claimed(rig):
    """The reset never ends, and the chip says that it has."""
    chip = Chip(rig)
    lie(rig, "reset-fail,core=0,count=1", f"reg-stuck,offset={chip.core(0, 'CAUSE'):#x},value=2")
    Judge(rig).ask("close 0")
    rig.vm.fault("clear")
    rig.told("NEURON_EVENT=device-reset")
    rig.open_core(0)
    rig.close_core(1)
    rig.open_core(1)


@pytest.mark.slow
@judged("discard of")
def test_discard_is_busy(rig):
    chip = Chip(rig)
    judge = Judge(rig)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('DISCARD_GO'):#x},value=1")
    for _ in range(3):
        judge.ask("copy")
    rig.end()
    address = rig.address()
    rig.unbind(address)
    assert rig.bind(address) != 0, "memory that nobody zeroed is used"
    rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()


@pytest.mark.slow
@judged("discard of")
def test_discard_never_ends(rig):
    """It is announced without end, and goes on: only time ends the wait."""
    chip = Chip(rig)
    judge = Judge(rig)
    rig.copy_ok()
    lie(rig, f"reg-stuck,offset={chip.ctl('DISCARD_GO'):#x},value=1,skip=1",
        f"reg-stuck,offset={chip.ctl('CAUSE'):#x},value=1", "irq-storm,times=4000000")
    judge.ask("copy")
    judge.ask("leak")
    rig.vm.fault("clear")
    rig.load_again()


@judged("impossible layout")
def test_two_stacks_at_one_place(rig):
    chip = Chip(rig)
    bar = chip.base + 0x40
    rig.end()
    address = rig.address()
    rig.unbind(address)
    lie(rig, f"reg-stuck,offset={bar + 8:#x},value=0", f"reg-stuck,offset={bar + 12:#x},value=0")
    assert rig.bind(address) != 0, "two stacks share their memory"
    rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()


@judged("which")
def test_two_chips_with_one_name(rig):
    """Routed addresses of the second one would be memory of the first."""
    chip = Chip(rig)
    rig.end()
    address = rig.address(1)
    rig.unbind(address)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('FABRIC_ID'):#x},value=0", chip=1)
    assert rig.bind(address) != 0, "two chips have one name"
    log = rig.vm.kernel_log()
    assert f"which {chip.address} has: refused" in log, "it is refused without a word"
    # Without the other one it is believed: nobody can tell.
    rig.unbind(chip.address)
    assert rig.bind(address) == 0, "the only chip of this name is refused"
    rig.unbind(address)
    rig.vm.fault("clear", chip=1)
    rig.bind_honest(chip.address)
    rig.bind_honest(address)
    rig.start_with_cores()


@pytest.mark.parametrize("register, value", [("FABRIC_ID", 1), ("FABRIC_KEY", 0x77)])
@judged("and had")
def test_name_that_changes(rig, register, value):
    """Others know a chip by its place on the fabric, so a new one is refused."""
    rig.is_another(Chip(rig), register, value)
    rig.all_is_lost()


@judged()
def test_records(rig):
    """Each word of a completion record, wrong in several ways."""
    judge = Judge(rig)
    for offset in range(0, RECORD, 4):
        for mask in (0xffffffff, 0x00010001):
            rig.vm.fault(f"record-flip,offset={offset},mask={mask:#x},count=1")
            answer = judge.ask(f"job 0 {LIMIT}")
            if offset < IDENTITY:
                assert answer["status"] != STATUS["OK"], \
                    f"another job's record is taken: {answer}"
            rig.struck()
            rig.vm.fault("clear")
            rig.job_ok(0)


@judged("bad completion")
def test_abort_that_nobody_asked_for(rig):
    """The job may still run, so its core is reset, and it does not end as if it was cancelled."""
    rig.vm.fault("record-flip,offset=8,mask=0x2,count=1")   # OK becomes ABORTED
    answer = Judge(rig).ask(f"job 0 {LIMIT}")
    assert answer["status"] == STATUS["ABORTED"], f"the job is not aborted: {answer}"
    assert answer["error"] == errno.EIO, f"the job has the wrong error: {answer}"
    rig.struck()
    rig.vm.fault("clear")
    rig.job_ok(0)


def registers_at_work(rig, judge):
    """Registers that the driver reads while it works, as many as can lie at once."""
    return list(rig.registers_read(judge.work))[:RULES]


@pytest.mark.slow
@judged()
def test_all_ones(rig):
    """Every register at once, as a chip that has fallen off its bus."""
    judge = Judge(rig)
    offsets = registers_at_work(rig, judge)
    lie(rig, *(f"reg-stuck,offset={offset:#x},value=0xffffffff" for offset in offsets))
    judge.work()
    rig.vm.fault("clear")
    rig.load_again()


@pytest.mark.slow
@judged()
def test_values_that_change(rig):
    """Every register is another one at each second look, binding included."""
    judge = Judge(rig)
    offsets = registers_at_work(rig, judge)
    for mask in (0x1, 0xff000, 0x80000000):
        lie(rig, *(f"reg-flip,offset={offset:#x},mask={mask:#x},chance=300000"
                   for offset in offsets))
        judge.work()
        rig.vm.fault("clear")
        rig.load_again()
    rig.end()
    address = rig.address()
    rig.unbind(address)
    offsets = list(rig.registers_read(lambda: rig.come_and_go(address)))[:RULES]
    for mask in (0x1, 0xffffffff):
        lie(rig, *(f"reg-flip,offset={offset:#x},mask={mask:#x},chance=50000"
                   for offset in offsets))
        for _ in range(3):
            judge.bind(address)
            rig.unbind(address)
        rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()
