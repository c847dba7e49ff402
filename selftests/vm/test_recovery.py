# SPDX-License-Identifier: MIT
"""What a driver rarely has to do: a device that does not come back from its reset and does
from the next, a copy queue that does not stop, memory that is lost and found, events for
monitors, hibernation, another kernel started by kexec.
"""

import errno
import pathlib
import re
import time

import pytest

from fault_job import JOB, LIMIT, SETTLE, STATUS, Chip, judged
from neuron_vm.host import vm_folder

IDLE = 0            # enum neuron_core_status
BUSY = 0x80000000   # of a queue's STATUS
BUS_MASTER = 4      # of the PCI function's COMMAND
MIB = 1 << 20
SWAP = "/dev/nvme0n1"
INITRD_AT = 64      # MiB, on the disk that brings the next kernel


def reset_failures(rig, chip):
    """How many resets of the device have failed."""
    return int(rig.vm.output(f"cat /sys/bus/pci/devices/{chip.address}/counters/reset_failures"))


def works_again(rig):
    """Claims of before are lost; new ones work."""
    for core in (0, 1):
        rig.ask(f"close {core}")
        rig.open_core(core)
        rig.job_ok(core)
    rig.copy_ok()


@judged("out of service")
def test_failed_device(rig):
    """It is not what it was after its reset: EIO for all, and the next reset helps."""
    chip = Chip(rig)
    before = reset_failures(rig, chip)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0")
    rig.reset_device(chip.address)
    rig.told("NEURON_EVENT=device-failed", "WEDGED=rebind,bus-reset", "SUBSYSTEM=accel")
    rig.recorded("DEVICE_FAILED")
    answer = rig.ask(f"job 0 {LIMIT}")
    assert answer["status"] != STATUS["OK"], f"a job of a failed device: {answer}"
    answer = rig.ask("copy")
    assert answer["ret"] == errno.EIO, f"a copy of a failed device: {answer}"
    rig.close_core(0)
    answer = rig.ask("open 0")
    assert answer["ret"] == errno.EIO, f"a claim of a failed device: {answer}"
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset", "SUBSYSTEM=accel")
    works_again(rig)
    assert reset_failures(rig, chip) > before, "nobody counted it"


@judged("out of service")
def test_bus_stays_closed(rig):
    """The slot is not reset after an error that is not fatal. Cores of a device that does not
    answer then may run on, so it is no master of the bus.
    """
    chip = Chip(rig)
    assert rig.ask("spin 0")["ret"] == 0, "spin"
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0")
    answer = rig.vm.qmp.human("pcie_aer_inject_error chip0 COMP_TIME")
    assert "OK" in answer, f"pcie_aer_inject_error: {answer}"
    rig.told("NEURON_EVENT=device-failed")
    command = int(rig.vm.output(
        f"od -A n -t x2 -j 4 -N 2 /sys/bus/pci/devices/{chip.address}/config"), 16)
    assert not command & BUS_MASTER, f"COMMAND is {command:#x}"
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset")
    works_again(rig)


@judged("claims and HBM of before are lost")
def test_records_of_before_an_error(rig):
    """The slot is not reset after an error that is not fatal, so the driver resets the chip. No
    settle record of a job of before comes into memory that another job has by then.
    """
    chip = Chip(rig)
    program = rig.vm.spawn([SETTLE])
    program.expect(r"^@ready\r?$", timeout=60)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0,count=1")
    answer = rig.vm.qmp.human("pcie_aer_inject_error chip0 COMP_TIME")
    assert "OK" in answer, f"pcie_aer_inject_error: {answer}"
    rig.told("NEURON_EVENT=device-reset")
    program.send("go on\n")
    program.expect(rf"^@ret=0 early={errno.ETIMEDOUT} cause=0\r?$", timeout=60)
    assert program.wait(60) == 0, "settle_job"
    works_again(rig)


@judged("claims and HBM of before are lost")
def test_no_record_of_a_job_that_an_error_ends(rig):
    """The slot is not reset after an error that is not fatal, and a job of a time group still runs.
    Its record would be lost, so the driver resets the chip, and does not wait when it leaves.
    """
    chip = Chip(rig)
    program = rig.vm.spawn([SETTLE, "running"])
    program.expect(r"^@ready\r?$", timeout=60)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0,count=1")
    answer = rig.vm.qmp.human("pcie_aer_inject_error chip0 COMP_TIME")
    assert "OK" in answer, f"pcie_aer_inject_error: {answer}"
    rig.told("NEURON_EVENT=device-reset")
    program.send("end\n")
    assert program.wait(60) == 0, "settle_job"
    rig.load_again()
    assert "does not settle the times" not in rig.vm.kernel_log(), "the driver has waited"


@judged("was not reset")
def test_reset_that_does_nothing(rig):
    """What a reset clears is as before it: nobody may use the device until a reset helps."""
    chip = Chip(rig)
    rig.vm.fault(f"reg-stuck,offset={chip.core(0, 'GENERATION'):#x},value=7")
    rig.reset_device(chip.address)
    rig.told("NEURON_EVENT=device-failed")
    rig.close_core(0)
    answer = rig.ask("open 0")
    assert answer["ret"] == errno.EIO, f"a claim of a device that was not reset: {answer}"
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset")
    works_again(rig)


@judged("was not reset")
def test_failed_device_that_sleeps(rig):
    """To wake up is no reset: a device that was not reset stays out of service."""
    chip = Chip(rig)
    power = f"/sys/bus/pci/devices/{chip.address}/power"

    def sleeps():
        return rig.vm.output(f"cat {power}/runtime_status").strip() == "suspended"

    # Freed memory would keep a failed device awake: it is zeroed when the chip sleeps.
    rig.end()
    rig.sh(f"echo auto >{power}/control")
    wait_until(sleeps, "the chip does not sleep")
    rig.vm.fault(f"reg-stuck,offset={chip.core(0, 'GENERATION'):#x},value=7")
    rig.reset_device(chip.address)
    wait_until(sleeps, "the failed chip does not sleep")
    rig.start()
    answer = rig.ask("open 0")
    assert answer["ret"] == errno.EIO, f"a claim of a device that was not reset: {answer}"
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset")
    rig.sh(f"echo on >{power}/control")
    for core in (0, 1):
        rig.open_core(core)


@judged("and had")
def test_other_links_than_before(rig):
    """The driver has room for the links that the probe found, so other numbers are refused."""
    rig.is_another(Chip(rig), "NR_LINKS", 16)
    works_again(rig)


@judged("out of service")
def test_failed_device_keeps_memory(rig):
    """HBM that a failed device was to zero is not free before its next reset has zeroed it."""
    chip = Chip(rig)
    for core in (0, 1):
        rig.close_core(core)
    assert rig.ask("alloc 64", 200)["ret"] == 0, "alloc"
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0")
    rig.reset_device(chip.address)
    rig.told("NEURON_EVENT=device-failed")
    assert rig.ask("free")["ret"] == 0, "free"
    assert rig.ask("leak")["ret"] != 0, "memory that nobody zeroed is free"
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    assert rig.ask("leak")["ret"] == 0, "memory that the reset zeroed is not free"
    for core in (0, 1):
        rig.open_core(core)


def copy_that_cannot_be_stopped(rig, chip):
    """Its queue does not stop for as long as the driver looks, and stops in the reset."""
    for offset in chip.copy_status():
        rig.vm.fault(f"reg-stuck,offset={offset:#x},value={BUSY:#x}")
    rig.vm.fault("dma-lost,count=1")
    rig.send("copy")
    end = time.monotonic() + 150
    while not any(rule["strikes"] for rule in rig.vm.rules()
                  if rule["fault"].startswith("reg-stuck")):
        assert time.monotonic() < end, "nobody stops the queue"
        time.sleep(0.05)
    # The driver looks for a second, then the reset takes a tenth, then it looks again.
    time.sleep(1.5)
    rig.vm.fault("clear")
    answer = rig.answer(200)
    assert answer["ret"] != 0, f"the copy did not fail: {answer}"


@pytest.mark.slow
@judged("does not stop: device cut off from memory")
def test_dead_copy_queue(rig):
    """All programs lose the device until it has been reset."""
    chip = Chip(rig)
    assert len(chip.copy_status()) >= 4, "the driver looks at no queue"
    for _ in range(4):      # the second above may be missed on a busy host
        copy_that_cannot_be_stopped(rig, chip)
        if rig.ask("uevent 30 NEURON_EVENT=device-reset", 100)["ret"] == 0:
            break
        assert rig.reset_device(chip.address) == 0, "the device does not come back"
        rig.told("NEURON_EVENT=device-reset")
        works_again(rig)
    else:
        pytest.fail("no reset of the device helped")
    rig.all_is_lost()


def held(rig):
    """Bytes of HBM of the other chip that somebody holds."""
    answer = rig.ask("held", 100)
    assert answer["ret"] == 0, f"held: {answer}"
    return answer["bytes"]


def leave_a_stuck_core(rig, chip):
    """A core with a window onto the other chip does not stop; and a reset does not help yet."""
    before = held(rig)
    assert rig.ask("hold 0")["ret"] == 0, "hold"
    assert held(rig) > before, "the window holds nothing"
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0;reset-fail,core=0,count=1")
    assert rig.ask("close 0", 100)["ret"] == 0, "close"
    rig.told("NEURON_EVENT=device-failed")
    assert held(rig) > before, "the core may write to memory that has a new owner"
    return before


def is_given_back(rig, before):
    end = time.monotonic() + 60
    while held(rig) > before:
        assert time.monotonic() < end, "memory of the other chip stays allocated"
        time.sleep(0.5)


@pytest.mark.slow
@judged("device cut off from memory")
def test_memory_of_a_peer(rig):
    """It has no new owner before the core that may write there has stopped."""
    chip = Chip(rig)
    before = leave_a_stuck_core(rig, chip)
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset")
    is_given_back(rig, before)
    rig.open_core(0)
    rig.close_core(1)
    rig.open_core(1)


@pytest.mark.slow
@judged("device cut off from memory")
def test_memory_of_a_peer_is_left(rig):
    """The driver leaves such a device, and stops it for good first."""
    chip = Chip(rig)
    before = leave_a_stuck_core(rig, chip)
    rig.unbind(chip.address)
    is_given_back(rig, before)
    rig.vm.fault("clear")
    rig.end()
    rig.bind_honest(chip.address)
    rig.start_with_cores()


@pytest.mark.slow
@judged("has not stopped and may write to memory of this chip")
def test_peer_leaves_while_its_memory_is_kept(rig):
    """No buffer tells any more that the stuck core may write there, and the chip that leaves knows
    all the same.
    """
    chip = Chip(rig)
    leave_a_stuck_core(rig, chip)
    rig.unbind(rig.address(1))
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0, "the reset says that it failed"
    rig.told("NEURON_EVENT=device-reset")
    rig.end()
    rig.bind_honest(rig.address(1))
    rig.start_with_cores()


@pytest.mark.slow
@judged("lost memory is back")
def test_lost_memory(rig):
    """What the chip does not zero is not used, until it does."""
    chip = Chip(rig)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('DISCARD_GO'):#x},value=1")
    assert rig.ask("copy")["ret"] == 0, "the copy itself does not need it"
    for core in (0, 1):
        rig.close_core(core)
    assert rig.ask("leak")["ret"] != 0, "memory that nobody zeroed is free"
    rig.vm.fault("clear")
    # Each looks for five seconds.
    assert any(rig.ask("leak")["ret"] == 0 for _ in range(40)), "the memory stays lost"
    for core in (0, 1):
        rig.open_core(core)


@pytest.mark.slow
@judged("fabric link 0 is down")
def test_events(rig):
    """What a monitor is told of memory errors, links and resets."""
    rig.close_core(0)
    at = rig.open_core(0)["addr"] + 64
    rig.vm.fault("ecc,sram")
    rig.told("NEURON_EVENT=ecc-uncorrectable", "ACTION=change", "SUBSYSTEM=accel")
    rig.recorded("ECC", addr=0)
    rig.vm.fault(f"ecc,stack=0,offset={at:#x},kind=uncorrectable")
    rig.job_fails(0, "ECC")
    rig.told("NEURON_EVENT=ecc-uncorrectable", f"NEURON_ADDR={at:#x}")
    rig.recorded("ECC", addr=at)
    rig.vm.fault("clear")
    for up, state in enumerate(("down", "up")):
        rig.vm.qmp.run("qom-set", path="/objects/fabric0", property="link-fault",
                       value=f"0-1={state}")
        rig.told("NEURON_EVENT=link")
        rig.recorded("LINK", link=0, up=up)
    rig.vm.fault("engine-hang,core=0,engine=vector,count=1;reset-fail,core=0,count=1")
    rig.job_hangs(0)
    rig.told("NEURON_EVENT=reset-failed", "NEURON_CORE=0")
    rig.recorded("CORE_FAILED", core=0)
    rig.told("NEURON_EVENT=device-reset")
    rig.recorded("DEVICE_RESET")
    rig.all_is_lost()


def set_link(rig, state):
    """The link between the two chips goes up or down."""
    rig.vm.qmp.run("qom-set", path="/objects/fabric0", property="link-fault",
                   value=f"0-1={state}")


def wait_until(condition, what):
    """It becomes true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.5)


@judged()
def test_link_that_changes_in_sleep(rig):
    """A chip that sleeps raises no interrupt for it. It is told of when the chip wakes up."""
    rig.end()
    address = rig.address()
    power = f"/sys/bus/pci/devices/{address}/power"
    down = f"{address}: fabric link 0 is down"
    before = rig.vm.kernel_log().count(down)
    rig.sh(f"echo auto >{power}/control")
    wait_until(lambda: rig.vm.output(f"cat {power}/runtime_status").strip() == "suspended",
               "the chip does not sleep")
    set_link(rig, "down")
    time.sleep(1)
    assert rig.vm.kernel_log().count(down) == before, "the chip does not sleep, or talks in it"
    rig.sh(f"echo on >{power}/control")
    wait_until(lambda: rig.vm.kernel_log().count(down) == before + 1,
               "nobody says that the link is down")
    set_link(rig, "up")
    rig.start_with_cores()


def lose_discards(rig):
    """No end of a discard is announced any more: each waits until the driver looks for it."""
    rig.vm.fault("irq-lost,vector=8")       # trn2: that of management, behind the eight cores


def unbind_when_lost(rig, address):
    """A program that unbinds the driver when it finds that its mapping of HBM is lost."""
    program = rig.vm.spawn([JOB, "0"])
    program.send(f"leave {address}\n")
    program.expect(r"^@ready\r?$", timeout=60)
    return program


def fatal_error(rig):
    """Let the link of chip 0 report one."""
    answer = rig.vm.qmp.human("pcie_aer_inject_error chip0 MALF_TLP 0x4a000001 0x1 0x2 0x3")
    assert "OK" in answer, f"pcie_aer_inject_error: {answer}"


def find_again(rig, address):
    """Nobody gave the device its addresses back after the reset of the slot: find it anew."""
    time.sleep(5)       # the end of the recovery
    rig.sh(f"echo 1 >/sys/bus/pci/devices/{address}/remove && echo 1 >/sys/bus/pci/rescan")
    deadline = time.monotonic() + 120
    while rig.vm.output("ls /dev/accel | wc -l") != "2":
        assert time.monotonic() < deadline, "the device does not come back"
        time.sleep(0.5)


def resets_logged(rig):
    """How many resets of the device have come to their end."""
    return rig.vm.kernel_log().count("claims and HBM of before are lost")


def leave_once(rig, address, wait):
    """Let the driver be unbound after a fatal error of the link, and somebody wait meanwhile for
    freed memory; whether that was before the slot had been reset.
    """
    unbind = unbind_when_lost(rig, address)
    lose_discards(rig)
    waits = wait(rig, address)
    time.sleep(1)
    rig.struck()
    resets = resets_logged(rig)
    fatal_error(rig)
    unbind.expect(r"^@ret=0\r?$", timeout=60)
    unbind.send("exit\n")
    assert unbind.wait(60) == 0, "the program that unbinds"
    waits(60)
    return resets_logged(rig) == resets


def leave_in_recovery(rig, wait):
    """The same, until it was. There is a tenth of a second for it."""
    for core in (0, 1):
        rig.close_core(core)
    address = rig.address()
    for _ in range(8):
        in_time = leave_once(rig, address, wait)
        rig.end()
        rig.vm.fault("clear")
        find_again(rig, address)
        rig.start()
        if in_time:
            break
    else:
        pytest.fail("the driver was always unbound too late")
    for core in (0, 1):
        rig.open_core(core)


@pytest.mark.slow
@judged()
def test_leave_while_memory_is_waited_for(rig):
    """BO_CREATE, in a stack that is full of freed memory, does not keep the driver."""
    def wait(rig, _):
        def told(timeout):
            assert rig.answer(timeout)["ret"] == errno.ENODEV, "who waited was not told"

        rig.send("churn")
        return told

    leave_in_recovery(rig, wait)


@pytest.mark.slow
@judged()
def test_leave_while_memory_is_counted(rig):
    """Who reads hbm in debugfs, and waits until freed memory is scrubbed, does not either."""
    def wait(rig, address):
        assert rig.ask("dirty 40")["ret"] == 0, "dirty"
        return rig.vm.spawn(["cat", f"/sys/kernel/debug/accel/{address}/hbm"]).wait

    leave_in_recovery(rig, wait)


@judged("claims and HBM of before are lost")
def test_leave_while_an_importer_is_reset(rig):
    """Its units may still write to memory of the chip that leaves, which waits for the reset."""
    chip = Chip(rig)
    peer = rig.address(1)
    assert rig.ask("hold 0")["ret"] == 0, "hold"
    unbind = unbind_when_lost(rig, peer)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('DISCARD_GO'):#x},value=1,count=50")
    resets = resets_logged(rig)
    reset = rig.vm.spawn(["sh", "-c", f"echo 1 >/sys/bus/pci/devices/{chip.address}/reset"])
    unbind.expect(r"^@ret=0\r?$", timeout=100)
    assert resets_logged(rig) > resets, "the driver has left before the end of the reset"
    assert reset.wait(60) == 0, "the reset says that it failed"
    rig.struck()
    unbind.send("exit\n")
    assert unbind.wait(60) == 0, "the program that unbinds"
    rig.vm.fault("clear")
    rig.bind_honest(peer)
    works_again(rig)


@judged()
def test_unbind_without_interrupt(rig):
    """The driver leaves at once though the end of a discard is never announced."""
    for core in (0, 1):
        rig.close_core(core)
    address = rig.address()
    lose_discards(rig)
    rig.send("churn")
    time.sleep(3)
    rig.struck()
    begin = time.monotonic()
    rig.unbind(address)
    took = time.monotonic() - begin
    assert rig.answer(60)["ret"] == errno.ENODEV, "who waited for memory was not told"
    rig.end()
    rig.vm.fault("clear")
    rig.bind_honest(address)
    begin = time.monotonic()
    rig.unbind(address)
    plain = time.monotonic() - begin
    assert took < 3 * plain + 2, f"it took {took:.1f} s, without the fault {plain:.1f} s"
    rig.bind_honest(address)
    rig.start_with_cores()


@judged("no answer to a reset")
def test_unbind_with_cores_that_hang(rig):
    """All cores have the time of one, so six of them do not keep the driver a minute."""
    cores = range(6)
    for core in cores[2:]:
        rig.open_core(core)
    for core in cores:
        assert rig.ask(f"spin {core}")["ret"] == 0, "spin"
    address = rig.address()
    rig.vm.fault(";".join(f"reset-fail,core={core}" for core in cores))
    begin = time.monotonic()
    rig.unbind(address)
    took = time.monotonic() - begin
    assert took < 40, f"it took {took:.1f} s"
    rig.end()
    rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()


@judged()
def test_bind_while_memory_is_scrubbed(rig):
    """The driver that left did not wait for that. The next one does."""
    chip = Chip(rig)
    rig.end()
    rig.unbind(chip.address)
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('DISCARD_GO'):#x},value=1,count=20")
    rig.bind_honest(chip.address)
    assert rig.vm.rules()[0]["strikes"] == 20, "the driver did not wait for the end"
    rig.vm.fault("clear")
    rig.start_with_cores()


@judged("claims and HBM of before are lost")
def test_reset_while_memory_is_scrubbed(rig):
    """A reset cuts a discard short; what was to be scrubbed is usable after it."""
    for core in (0, 1):
        rig.close_core(core)
    address = rig.address()
    lose_discards(rig)
    churns = rig.vm.spawn([JOB, "0"])
    churns.send("churn\n")
    time.sleep(3)
    rig.struck()
    rig.vm.fault("clear")
    assert rig.reset_device(address) == 0, "the reset says that it failed"
    churns.signal("KILL")
    churns.wait(60)
    assert rig.ask("alloc 128", 200)["ret"] == 0, "memory is missing"
    assert rig.ask("free")["ret"] == 0, "free"
    for core in (0, 1):
        rig.open_core(core)
        rig.job_ok(core)
    rig.copy_ok()


@judged()
def test_counters_of_a_device_that_is_gone(rig):
    """It reads as all ones, which nobody has counted."""
    chip = Chip(rig)
    path = f"/sys/bus/pci/devices/{chip.address}/counters/violations"
    before = rig.vm.output(f"cat {path}")
    rig.vm.fault(f"reg-stuck,offset={chip.core(0, 'VIOLATIONS'):#x},value=0xffffffff;"
                 f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0xffffffff")
    assert rig.vm.output(f"cat {path}") == before, "what a device that is gone says is counted"
    rig.struck()
    rig.vm.fault("clear")
    assert rig.vm.output(f"cat {path}") == before, "it is counted later"


@judged()
def test_host_memory(rig):
    """The host gets back what is freed."""
    before = rig.vm.resident()
    assert rig.ask("alloc 128", 200)["ret"] == 0, "alloc"
    full = rig.vm.resident()
    assert full - before > 100 * MIB, f"the chip holds 128 MiB in {full - before} bytes"
    assert rig.ask("free")["ret"] == 0, "free"
    deadline = time.monotonic() + 60
    while full - rig.vm.resident() <= 100 * MIB:
        assert time.monotonic() < deadline, \
            f"of 128 MiB the host got back {full - rig.vm.resident()} bytes"
        time.sleep(0.5)


def work_in(rig):
    """The machine as it is now does jobs and copies, and its kernel has nothing to say."""
    rig.start_with_cores()
    for core in (0, 1):
        rig.job_ok(core)
    rig.copy_ok()
    rig.end()
    rig.log_is_clean()


def nvme_disk(rig):
    """The NVMe disk of the machine is there."""
    assert rig.sh("modprobe nvme && for i in $(seq 60); do "
                  f"[ -b {SWAP} ] && exit; sleep 0.5; done; false") == 0, "no disk"


def start_by_files(rig):
    """Start fault_job so that it outlives the machine that started it: it reads a FIFO."""
    program = f"exec 3<>/tmp/in; exec {JOB} 0 </tmp/in >/tmp/out"
    rig.vm.output(f"mkfifo /tmp/in && (setsid sh -c '{program}' </dev/null >/dev/null 2>&1 &)")


def ask_by_files(rig, command):
    """Give it a command; the errno of its answer."""
    count = "cat /tmp/out 2>/dev/null | grep -c ^@ || true"   # it may not be there yet
    before = int(rig.vm.output(count))
    rig.vm.output(f"echo {command} >/tmp/in")
    deadline = time.monotonic() + 120
    while int(rig.vm.output(count)) == before:
        assert time.monotonic() < deadline, f"no answer to {command}"
        time.sleep(0.2)
    answer = rig.vm.output("grep ^@ /tmp/out | tail -n 1")
    rig.note(f"{command}: {answer}")
    return int(re.match(r"@ret=(\d+)", answer)[1])


def swap_disk(new_rig, folder):
    """A file, and a machine that swaps to it."""
    path = folder / "swap"
    with open(path, "wb") as file:
        file.truncate(1024 * MIB)
    rig = new_rig("--nvme", str(path))
    nvme_disk(rig)
    assert rig.sh(f"mkswap {SWAP} && swapon {SWAP}") == 0, "no swap"
    return path, rig


@pytest.mark.slow
def test_hibernation(new_rig, folder):
    """Another machine goes on with what this one saved. A program has the node open."""
    path, rig = swap_disk(new_rig, folder)
    rig.sh("echo shutdown >/sys/power/disk")
    device = rig.vm.output("cat /sys/block/nvme0n1/dev")
    start_by_files(rig)
    assert ask_by_files(rig, "open 0") == 0, "open"
    assert rig.sh("echo disk >/sys/power/state") != 0, "it hibernates although a core is claimed"
    assert ask_by_files(rig, "close 0") == 0, "close"
    rig.vm.spawn(["sh", "-c", "echo disk >/sys/power/state"])
    rig.vm.wait_exit(400)

    rig = new_rig("--nvme", str(path))
    nvme_disk(rig)
    rig.vm.spawn(["sh", "-c", f"echo {device} >/sys/power/resume"])
    rig.vm.wait_agent(400)
    assert ask_by_files(rig, "leak") == 0, "it woke up with less memory"
    assert "no sleep: core 0 is claimed" in rig.vm.kernel_log(), \
        "this is not the machine of before"
    rig.sh("killall fault_job")
    work_in(rig)
    path.unlink()


@pytest.mark.slow
def test_hibernation_that_is_given_up(new_rig, folder):
    """The kernel goes on with what it has just saved, and nobody has reset the device."""
    path, rig = swap_disk(new_rig, folder)
    rig.sh("echo test_resume >/sys/power/disk")
    assert rig.sh("echo disk >/sys/power/state", 400) == 0, "it does not hibernate"
    work_in(rig)
    path.unlink()


def next_kernel(path):
    """A disk with the kernel and the initramfs of the machine; their sizes."""
    sizes = []
    with open(path, "wb") as out:
        for name, at in (("vmlinuz", 0), ("initramfs.cpio", INITRD_AT)):
            data = pathlib.Path(vm_folder(), name).read_bytes()
            out.seek(at * MIB)
            out.write(data)
            sizes.append(len(data))
        out.truncate((INITRD_AT + 1) * MIB + sizes[1])
    return sizes


def boot_next(rig):
    """The next kernel boots, and the driver takes the chips."""
    rig.vm.spawn(["/usr/libexec/neuron/next_kernel", "/tmp/kernel", "/tmp/initrd"])
    rig.vm.wait_agent(300, again=False)
    rig.vm.prepare(["driver"])


@pytest.mark.slow
def test_kexec(new_rig, folder):
    """The next kernel finds cores that are idle, though programs ran to the last moment."""
    path = folder / "kernel"
    sizes = next_kernel(path)
    rig = new_rig("--nvme", str(path))
    chip = Chip(rig)
    rig.end()
    nvme_disk(rig)
    assert rig.sh(f"cd /tmp && head -c {sizes[0]} {SWAP} >kernel && "
                  f"dd if={SWAP} bs=1M skip={INITRD_AT} | head -c {sizes[1]} >initrd",
                  200) == 0, "no kernel"
    rig.start_with_cores()
    for core in (0, 1):
        assert rig.ask(f"spin {core}")["ret"] == 0, "spin"
    reads = rig.registers_read(lambda: boot_next(rig))
    rig.program = None
    for core in (0, 1):
        assert reads.get(chip.core(core, "STATUS")) == IDLE, \
            f"core {core} ran when the next kernel came"
    work_in(rig)
    path.unlink()
