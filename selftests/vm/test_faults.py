# SPDX-License-Identifier: MIT
"""Faults on demand against the driver: jobs and copies run in a machine, faults are injected
meanwhile, and after each of them everything must work again.
Documentation/hardware/faults.rst describes the faults.
"""

import os
import time

import pytest

from answers import Judge
from fault_job import CAUSE, CROWD, DRIVER, JOB, LIMIT, REGS, STATUS, Chip, judged
from neuron_vm.host import vm_folder


# --- DMA, engines, doorbells and resets ---

@judged("hangs")
def test_dma_lost(rig):
    rig.vm.fault("dma-lost,count=1")
    rig.job_hangs(0)
    rig.struck()
    rig.job_ok(1)


@judged()
def test_dma_late(rig):
    rig.vm.fault("dma-late,delay=300ms,count=1")
    answer = rig.job_ok(0)
    assert answer["ms"] >= 300, f"not late: {answer}"
    rig.struck()
    rig.vm.fault("clear;dma-late,delay=200ms")
    rig.copy_ok()


@judged()
def test_late_and_paused(rig):
    """A machine that is paused waits for nothing that is late."""
    rig.vm.fault("dma-late,delay=1000s,count=1")
    rig.send("job 0 60000")
    time.sleep(1)
    rig.struck()
    rig.vm.qmp.run("stop")
    rig.vm.qmp.run("cont")
    answer = rig.answer(30)
    assert (answer["ret"], answer["status"]) == (0, STATUS["OK"]), f"the job: {answer}"


@judged("DMA engine aborted")
def test_dma_abort(rig):
    rig.vm.fault("dma-abort,count=1")
    rig.job_fails(0, "ABORT")
    rig.job_ok(0)
    rig.vm.fault("clear;dma-abort,count=1")
    answer = rig.ask("copy")
    assert answer["ret"] != 0, f"the copy did not fail: {answer}"


@judged("impossible completion head")
def test_dma_dup(rig):
    rig.vm.fault("dma-dup,count=1")
    rig.job_ok(0)
    rig.struck()
    rig.vm.fault("clear;dma-dup")
    Judge(rig).ask("copy")
    rig.struck()


@pytest.mark.slow
@judged("no progress")
def test_dma_lost_copy(rig):
    rig.vm.fault("dma-lost,count=1")
    answer = rig.ask("copy")
    assert answer["ret"] != 0, f"the copy did not fail: {answer}"
    rig.struck()


@pytest.mark.slow
@judged()
def test_copies_wait_for_room(rig):
    """A ring is full, and its copies go on slowly: who waits for room has no limit of its own."""
    rig.vm.fault("dma-late,delay=1s")
    crowd = rig.vm.spawn([CROWD, "0", "8"])
    time.sleep(40)      # the limit of a copy without progress is 30 s
    rig.vm.fault("clear")
    crowd.expect(r"^@ret=0\r?$", timeout=120)
    assert crowd.wait(60) == 0, "the program with the copies"


# --- Transfers ---

PIECE = 4096
PIECES = 64


def transfers(rig, fault, words=""):
    """Two transfers with a fault in the first; the second never notices. The answer."""
    rig.vm.fault(fault)
    return transfers_ended(rig, rig.ask(f"transfer{words}"))


def transfers_ended(rig, answer):
    """The second transfer has not noticed what happened to the first. The answer."""
    assert answer["ret"] == 0, f"the transfers: {answer}"
    assert (answer["next"], answer["next_right"]) == (STATUS["OK"], PIECE * PIECES), \
        f"the second transfer: {answer}"
    assert answer["bytes"] <= answer["right"], f"not so many bytes were moved: {answer}"
    rig.struck()
    return answer


@judged("DMA engine aborted")
def test_transfer_abort(rig):
    """A transfer that fails tells how far it is."""
    answer = transfers(rig, "dma-abort,skip=20,count=1")
    assert (answer["status"], answer["cause"]) == (STATUS["ERROR"], CAUSE["ABORT"]), \
        f"the transfer did not fail: {answer}"
    assert (answer["bytes"], answer["piece"]) == (20 * PIECE, 20), f"not 20 pieces: {answer}"


@judged("copy failed")
def test_transfer_host_write_fail(rig):
    answer = transfers(rig, "host-write-fail,skip=7,count=1")
    assert (answer["status"], answer["cause"]) == (STATUS["ERROR"], CAUSE["HOST"]), \
        f"the transfer did not fail: {answer}"
    assert answer["bytes"] == 7 * PIECE, f"not 7 pieces: {answer}"


@judged("impossible completion head")
def test_transfer_dma_dup(rig):
    """The queue counts one packet more from then on.

    The driver finds that out when the count goes beyond what is in the queue: at the end of the
    first transfer, or, if the second one is in the queue by then, at the end of that.
    """
    rig.vm.fault("dma-dup,skip=30,count=1")
    answer = rig.ask("transfer")
    assert answer["ret"] == 0, f"the transfers: {answer}"
    assert answer["status"] != STATUS["OK"] or answer["right"] == PIECE * PIECES, \
        f"the transfer has succeeded, with wrong data: {answer}"
    assert answer["next"] in (STATUS["OK"], STATUS["ABORTED"]), f"the second transfer: {answer}"
    assert answer["next"] != STATUS["OK"] or answer["next_right"] == PIECE * PIECES, \
        f"the second transfer has succeeded, with wrong data: {answer}"
    assert answer["bytes"] <= answer["right"] and answer["next_bytes"] <= answer["next_right"], \
        f"not so many bytes were moved: {answer}"
    rig.struck()


@pytest.mark.slow
@judged("no progress")
def test_transfer_dma_lost(rig):
    """The queue counts one packet less from then on, so it is the last piece that has no end."""
    rig.vm.fault("dma-lost,skip=5,count=1")
    answer = rig.ask("transfer")
    assert (answer["ret"], answer["status"], answer["right"]) == \
        (0, STATUS["OK"], PIECE * PIECES), f"the first transfer: {answer}"
    assert (answer["next"], answer["next_hang"], answer["next_bytes"]) == \
        (STATUS["ABORTED"], 1, PIECE * (PIECES - 1)), f"the second did not hang: {answer}"
    rig.struck()


@pytest.mark.slow
@judged("reset does not help")
def test_transfer_doorbells_lost(rig):
    """A copy queue that moves nothing after its reset either costs everybody the device: else
    each of the transfers in it would have its 30 s, and their file could not be closed meanwhile.
    """
    for engine, index in rig.copy_queues():
        rig.vm.fault(f"doorbell-lost,queue={engine}:{index}")
    answer = rig.ask("transfer")
    assert answer["ret"] == 0 and answer["hang"] == 1 and answer["next_hang"] == 1, \
        f"the transfers did not hang: {answer}"
    rig.told("NEURON_EVENT=device-reset")
    rig.vm.fault("clear")
    rig.all_is_lost()


def hold_transfer(rig, words, fault="dma-late,delay=1000s,skip=5,count=1"):
    """Let a packet of the first of two transfers be under way, and stay so."""
    rig.vm.fault(fault)
    rig.send(f"transfer{words}")
    wait_until(lambda: rig.vm.rules()[0]["strikes"], "no transfer is under way")


def let_go(rig):
    """A machine that is paused waits for nothing that is late."""
    rig.vm.qmp.run("stop")
    rig.vm.qmp.run("cont")


def wait_until(condition, otherwise):
    """Wait until it is true, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.2)


# A packet is held, and one behind it fails.
ABORT = "dma-late,delay=1000s,skip=5,count=1;dma-abort,skip=20,count=1"


@judged("DMA engine aborted")
def test_transfer_cancelled_late(rig):
    """What has begun is not cancelled, also when the failure of another one interrupts it."""
    hold_transfer(rig, " cancel", ABORT)
    rig.program.expect(r"^@ready", timeout=60)
    let_go(rig)
    answer = transfers_ended(rig, rig.answer(120))
    assert (answer["status"], answer["piece"]) == (STATUS["ERROR"], 20), \
        f"the first transfer did not fail: {answer}"
    rig.struck()


@judged("DMA engine aborted")
def test_transfer_closed(rig):
    """Nor is it left half done when its file is closed."""
    hold_transfer(rig, " close", ABORT)
    assert rig.answer(60)["ret"] == 0, "the transfers have not begun"
    let_go(rig)
    answer = rig.ask("moved")
    assert answer["next_right"] == PIECE * PIECES, f"the second transfer: {answer}"
    rig.struck()


def peer_was_lost(rig, answer):
    """The transfer to a peer has failed, and it is not known to have moved anything."""
    transfers_ended(rig, answer)
    assert (answer["status"], answer["bytes"]) == (STATUS["ABORTED"], 0), \
        f"the transfer to the peer has not failed: {answer}"


@judged("claims and HBM of before are lost")
def test_transfer_reset_of_peer(rig):
    """The peer is reset while a transfer writes to it, and has lost what was written."""
    hold_transfer(rig, " peer")
    assert rig.reset_device(rig.address(1)) == 0, "the peer is not reset"
    let_go(rig)
    peer_was_lost(rig, rig.answer(120))


@pytest.mark.slow
@judged()
def test_transfer_peer_leaves(rig):
    """A transfer under way to a chip that leaves is cut off: most of its pieces never move."""
    peer = rig.address(1)
    hold_transfer(rig, " peer", "dma-late,delay=300ms,skip=5")
    rig.unbind(peer)
    answer = rig.answer(120)
    moved = rig.vm.rules()[0]["opportunities"]
    rig.bind_honest(peer)
    peer_was_lost(rig, answer)
    assert moved < 2 * PIECES, "the transfer went on to its end"


@judged("no sleep: 2 transfers have not ended")
def test_transfer_keeps_machine_awake(rig):
    """No claim, and nothing in HBM: only the transfers keep the machine from its sleep."""
    rig.end()
    rig.start()
    assert rig.sh("echo devices >/sys/power/pm_test") == 0, "this kernel has no pm_test"
    hold_transfer(rig, " host")
    assert rig.sh("echo mem >/sys/power/state") != 0, "it sleeps although a transfer is under way"
    let_go(rig)
    answer = transfers_ended(rig, rig.answer(120))
    assert answer["status"] == STATUS["OK"], f"the transfer was not left alone: {answer}"
    assert rig.sh("echo mem >/sys/power/state") == 0, "it does not sleep without transfers"
    assert rig.sh("echo none >/sys/power/pm_test") == 0, "pm_test stays"
    rig.end()
    rig.start_with_cores()


@judged()
def test_transfer_keeps_device_awake(rig):
    """Transfers go on when their file is closed, so the device stays awake for them."""
    power = f"/sys/bus/pci/devices/{rig.address()}/power"
    rig.end()
    rig.start()
    assert rig.sh(f"cd {power} && echo 100 >autosuspend_delay_ms && echo auto >control") == 0, \
        "the device cannot sleep"
    hold_transfer(rig, " host close")
    assert rig.answer(60)["ret"] == 0, "the transfers have not begun"
    rig.end()
    # Without them it would be asleep after a tenth of a second.
    for _ in range(15):
        time.sleep(0.2)
        assert rig.vm.output(f"cat {power}/runtime_status") == "active", \
            "it sleeps although a transfer is under way"
    let_go(rig)
    wait_until(lambda: rig.vm.output(f"cat {power}/runtime_status") == "suspended",
               "it does not sleep when the transfers have ended")
    assert rig.sh(f"cd {power} && echo 2000 >autosuspend_delay_ms && echo on >control") == 0, \
        "the device does not stay awake"
    rig.start_with_cores()


@judged("hangs")
def test_engine_hang(rig):
    rig.vm.fault("engine-hang,core=0,engine=vector,skip=5,count=1")
    rig.job_hangs(0)
    rig.struck()
    rig.job_ok(1)


@judged("hangs")
def test_doorbell_lost(rig):
    rig.vm.fault("doorbell-lost,core=0,count=1")
    rig.job_hangs(0)
    rig.struck()


@pytest.mark.slow
@judged("claims and HBM of before are lost")
def test_reset_fail(rig):
    """A core that does not answer its reset costs everybody the device."""
    rig.vm.fault("engine-hang,core=0,engine=vector,count=1;reset-fail,core=0,count=1")
    rig.job_hangs(0)
    rig.struck()
    rig.told("NEURON_EVENT=device-reset")
    rig.all_is_lost()


# --- PCI Express: errors, sleep, hot plug ---

def inject(rig, error):
    """Let the link of chip 0 report an error."""
    answer = rig.vm.qmp.human(f"pcie_aer_inject_error chip0 {error}")
    assert "OK" in answer, f"pcie_aer_inject_error: {answer}"


@pytest.mark.slow
@judged("AER: Correctable error message received")
def test_aer_correctable(rig):
    inject(rig, "BAD_TLP")
    time.sleep(3)
    rig.job_ok(0)
    rig.copy_ok()


@pytest.mark.slow
@judged("recovered from a PCI error")
def test_aer_non_fatal(rig):
    """Nothing is lost: buffers and claims of before go on."""
    inject(rig, "COMP_TIME")
    time.sleep(5)
    rig.job_ok(0)
    rig.job_ok(1)
    rig.copy_ok()


@pytest.mark.slow
@judged("recovered from a PCI error")
def test_aer_fatal(rig):
    rig.send("job 0 60000")
    inject(rig, "MALF_TLP 0x4a000001 0x1 0x2 0x3")
    rig.answer(90)
    rig.told("NEURON_EVENT=device-reset")
    rig.all_is_lost()


def load(rig, device):
    """Jobs and copies of a device, by a program of its own beside the rig's."""
    program = rig.vm.spawn([
        "sh", "-c", f"(echo open 0; for i in $(seq 2000); do echo job 0 {LIMIT}; echo copy; done)"
        f" | timeout 60 {JOB} {device} >/tmp/load.txt 2>&1"])
    time.sleep(2)
    return program


def there_was_load(rig, program):
    """The program worked before its device went away."""
    program.wait(120)
    begin = rig.vm.output("head -n 3 /tmp/load.txt")
    assert "@ret=0 status" in begin, f"there was no load: {begin}"


def nodes_become(rig, number):
    """There are so many device nodes within a minute, and five seconds later."""
    deadline = time.monotonic() + 120
    while rig.vm.output("ls /dev/accel | wc -l") != str(number):
        assert time.monotonic() < deadline, f"there are not {number} nodes"
        time.sleep(0.5)
    time.sleep(5)
    assert rig.vm.output("ls /dev/accel | wc -l") == str(number), f"there are not {number} nodes"


@judged("no sleep: core 0 is claimed")
def sleep_and_wake(rig):
    """The machine takes the chips' power away, with all that they know."""
    rig.end()
    rig.start()
    rig.open_core(0)
    assert rig.sh("echo mem >/sys/power/state") != 0, "it sleeps although a core is claimed"
    rig.end()
    sleep = rig.vm.spawn(["sh", "-c", "echo mem >/sys/power/state"])
    deadline = time.monotonic() + 60
    while rig.vm.qmp.run("query-status")["status"] != "suspended":
        assert time.monotonic() < deadline, "the machine does not sleep"
        time.sleep(0.5)
    rig.vm.qmp.run("system_wakeup")
    assert sleep.wait(120) == 0, "the machine says that it has not slept"
    rig.start_with_cores()


@pytest.mark.slow
def test_suspend_to_memory(new_rig):
    """QEMU copies an unpacked kernel into memory again at each reset, and waking up is one. So
    a machine that is to sleep boots the packed kernel, which the firmware loads.
    """
    sleep_and_wake(new_rig("--kernel", os.path.join(vm_folder(), "vmlinuz")))


@pytest.mark.slow
@judged()
def test_hot_plug(rig):
    rig.end()
    program = load(rig, 1)
    rig.vm.qmp.run("device_del", id="chip1")
    nodes_become(rig, 1)
    there_was_load(rig, program)
    deadline = time.monotonic() + 60
    while any(child["name"] == "chip1"
              for child in rig.vm.qmp.run("qom-list", path="/machine/peripheral")):
        assert time.monotonic() < deadline, "chip 1 is still there"
        time.sleep(1)
    rig.vm.qmp.run("device_add", driver="trn2", id="chip1", bus="port1", fabric="fabric0",
                   chip_id=1)
    nodes_become(rig, 2)
    rig.start(1)
    rig.open_core(0)
    rig.job_ok(0)
    rig.end()
    rig.start_with_cores()


# --- Interrupts and host memory ---

@judged("interrupt lost")
def test_irq_lost(rig):
    rig.vm.fault("irq-lost,vector=0,count=1")
    rig.slow_job_ok(0)
    rig.struck()
    # That of a reset.
    rig.vm.fault("clear;irq-lost,vector=0,count=1")
    rig.close_core(0)
    rig.struck()
    rig.vm.fault("clear;irq-lost,vector=0,count=1")
    rig.open_core(0)
    rig.struck()


@judged()
def test_irq_storm(rig):
    rig.vm.fault("irq-storm,vector=0,times=20000,count=1")
    rig.slow_job_ok(0)
    rig.struck()
    for _ in range(20):
        rig.job_ok(0)
        rig.job_ok(1)


@judged("bad completion or refused doorbell")
def test_host_read_fail(rig):
    rig.vm.fault("host-read-fail,count=1")
    answer = rig.ask(f"job 0 {LIMIT}")
    assert (answer["status"], answer["cause"]) == (STATUS["ABORTED"], CAUSE["HOST"]), \
        f"the job was not refused: {answer}"
    rig.struck()


@judged("bad completion or refused doorbell")
def test_host_write_fail(rig):
    rig.vm.fault("host-write-fail,count=1")
    answer = rig.ask(f"job 0 {LIMIT}")
    assert answer["status"] != STATUS["OK"], f"the job has a record: {answer}"
    rig.struck()


GANG_LIMIT = 120000     # ms of no progress, which no member of a gang waits for


def gang_is_broken(rig, fault):
    """A gang with one of whose members the device breaks its contract: it ends at once, and the
    other one names it. Answer of the broken member, and its index.
    """
    rig.vm.fault(fault)
    answer = rig.ask(f"gang 0 {GANG_LIMIT}", 300)
    rig.struck()
    assert answer["ret"] == 0, f"the gang: {answer}"
    assert answer["ms"] < GANG_LIMIT / 4, f"a member waits for its limit: {answer}"
    members = [{word: answer[prefix + word] for word in ("status", "cause", "pc")}
               for prefix in ("", "next_")]
    broken = next(i for i in (0, 1) if members[i]["status"] == STATUS["ABORTED"])
    assert members[1 - broken] == {"status": STATUS["ERROR"], "cause": CAUSE["GANG"],
                                   "pc": broken}, f"the other member: {answer}"
    return members[broken], broken


@judged("ends with its gang")
def test_gang_host_read_fail(rig):
    """The device does not know whose member the job was whose block it cannot read."""
    member, _ = gang_is_broken(rig, "host-read-fail,count=1")
    assert member["cause"] == CAUSE["HOST"], f"the job was not refused: {member}"


@judged("ends with its gang")
def test_gang_record_flip(rig):
    """A member that has ended by a record of another job: to the device it has succeeded."""
    _, broken = gang_is_broken(rig, "record-flip,offset=0,mask=0xffffffff,count=1")
    assert broken == 1, "the job that never ends has a record"


@pytest.mark.slow
@judged()
def test_host_fail_by_chance(rig):
    judge = Judge(rig)
    rig.vm.fault("host-read-fail,chance=20000;host-write-fail,chance=20000")
    for _ in range(30):
        judge.ask(f"job 0 {LIMIT}")
        judge.ask("copy")
    rig.struck()


def of_each_kind(offsets, most=16):
    """`offsets`, but not more than `most` of each 64 KiB, spread over them.

    A chip has thousands of queues and counters, each with registers like its neighbour's.
    """
    blocks = {}
    for offset in sorted(offsets):
        blocks.setdefault(offset >> 16, []).append(offset)
    few = []
    for block in blocks.values():
        step = max(1, -(-len(block) // most))
        few += block[::step] + block[-1:]
    return sorted(set(few))


# --- Registers: the driver comes and goes with each lie ---

@pytest.mark.slow
@judged()
def test_lying_registers(rig):
    rig.end()
    address = rig.address()
    offsets = of_each_kind(rig.registers_read(lambda: rig.come_and_go(address)))
    assert len(offsets) > 10, f"the driver reads {len(offsets)} registers only"
    judge = Judge(rig)
    bound = refused = 0
    for offset in offsets:
        for lie in (0, 0xffffffff, 0x5a5a5a5a):
            rig.vm.fault(f"reg-stuck,offset={offset:#x},value={lie:#x}")
            if judge.bind(address):
                bound += 1
            else:
                refused += 1
            rig.unbind(address)
            rig.vm.fault("clear")
    rig.note(f"lying registers: {len(offsets)}, bound {bound}, refused {refused}")
    rig.bind_honest(address)
    rig.start_with_cores()


@pytest.mark.slow
@judged()
def test_lying_at_work(rig):
    judge = Judge(rig)
    offsets = of_each_kind(rig.registers_read(judge.work))
    assert len(offsets) > 5, f"the driver reads {len(offsets)} registers only"
    for offset in offsets:
        for mask in (0xffffffff, 0x3):
            rig.vm.fault(f"reg-flip,offset={offset:#x},mask={mask:#x},count=2")
            judge.work()
            rig.vm.fault("clear")
            judge.reopen()
    rig.note(f"lying at work: {len(offsets)} registers")
    # Memory that a lie kept from being scrubbed stays out of use until the driver goes.
    rig.load_again()


@judged("not a virtual Trainium")
def test_stuck_at_probe(rig):
    rig.end()
    address = rig.address()
    rig.unbind(address)
    rig.vm.fault("reg-stuck,offset=0,value=0")      # none that the driver reads
    assert rig.bind(address) == 0, "a register that it does not read keeps the driver out"
    rig.unbind(address)
    reads = rig.registers_read(lambda: rig.come_and_go(address))
    base = next(offset for offset, value in reads.items()
                if value & 0xffffffff == REGS["CTL_MAGIC_VALUE"])
    rig.vm.fault(f"clear;reg-stuck,offset={base:#x},value=0xffffffff")
    assert rig.bind(address) != 0, "a device without magic was taken"
    rig.vm.fault("clear")
    rig.bind_honest(address)
    rig.start_with_cores()


@pytest.mark.ends_machine
@judged()
def test_surprise_removal(rig):
    """Chip 1 does not come back."""
    rig.end()
    program = load(rig, 1)
    rig.vm.qmp.run("qom-set", path="/machine/peripheral/chip1", property="surprise-removal",
                   value=True)
    nodes_become(rig, 1)
    there_was_load(rig, program)
    rig.start_with_cores()


@pytest.mark.ends_machine
@judged()
def test_surprise_removal_during_a_probe(rig):
    """Chip 1 is pulled out while it zeroes its memory: nobody waits for the end of that."""
    go = Chip(rig).ctl("DISCARD_GO")
    address = rig.address(1)
    rig.unbind(address)
    rig.vm.fault(f"reg-stuck,offset={go:#x},value=1,skip=1", chip=1)
    bind = rig.vm.spawn(["sh", "-c", f"echo {address} >{DRIVER}/bind"])
    deadline = time.monotonic() + 60
    while not any(rule["strikes"] for rule in rig.vm.rules(chip=1)):
        assert time.monotonic() < deadline, "the driver does not look whether it is zero"
        time.sleep(0.1)
    begin = time.monotonic()
    rig.vm.qmp.run("qom-set", path="/machine/peripheral/chip1", property="surprise-removal",
                   value=True)
    assert bind.wait(60) != 0, "a chip that is gone was taken"
    took = time.monotonic() - begin
    assert took < 15, f"it took {took:.0f} s, as long as a discard may"
    rig.end()
    rig.start_with_cores()
