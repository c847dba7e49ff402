# SPDX-License-Identifier: MIT
"""A chip that is not well and says so: memory errors, links that are down or slow, engines
that are throttled; and faults of what the driver does not use.
"""

import errno
import re

import pytest

from conftest import ROOT
from fault_job import CAUSE, JOB, REGS, STATUS, Chip, judged

WARNING = 4         # level of the kernel log
BURST = 10          # lines of one kind in five seconds
PEER_BYTES = 65536  # of the command "peer"
MANY = 60           # commands of a program in the background
PROGRAMS = 3


def of_trn2(field):
    """A number of Trainium2, or of all chips of its generation."""
    text = (ROOT / "uapi/neuron/generation.h").read_text(encoding="utf-8")
    text = text[text.index("#define NEURON_GEN_V3"):]
    return int(re.search(rf"\.{field} = (\w+)", text)[1], 0)


LINK_MBPS = of_trn2("link_mbps")
MISC_BAR0 = of_trn2("misc_bar0")


def attributes(rig, name):
    """The numbers in a file of each chip, in their order."""
    text = rig.vm.output('for d in /sys/bus/pci/devices/*; do '
                         f'[ "$(cat $d/vendor)" = 0x1d0f ] && cat $d/{name}; done; true')
    values = [int(line) for line in text.split("\n") if line.isdigit()]
    assert values or name == "connected_devices", f"no file {name}"
    return values


def attribute(rig, name):
    """The number in a file of chip 0."""
    return attributes(rig, name)[0]


def log_lines(rig, words):
    """Lines of the kernel log with these words, as pairs of level and text."""
    lines = [re.match(r"<(\d+)>(.*)", line) for line in rig.vm.output("dmesg -r").split("\n")
             if words in line]
    return [(int(match[1]) & 7, match[2]) for match in lines if match]


def data_of_core_0(rig):
    """Offset of its data on stack 0, which is where the plain address is too."""
    rig.close_core(0)
    answer = rig.open_core(0)
    assert answer["stack"] == 0, f"open: {answer}"
    return answer["addr"]


# --- Memory errors ---

@judged("uncorrectable error in SRAM")
def test_sram(rig):
    """Counted and told, by kind; nothing else becomes of it."""
    names = ("ecc/sram_corrected", "ecc/sram_uncorrected")
    before = [attribute(rig, name) for name in names]
    rig.vm.fault("ecc,sram,kind=correctable")
    rig.job_ok(0)
    lines = log_lines(rig, "correctable error in SRAM")
    assert len(lines) == 1 and "uncorrectable" not in lines[0][1], f"the log: {lines}"
    rig.vm.fault("ecc,sram")
    rig.told("NEURON_EVENT=ecc-uncorrectable", "NEURON_ADDR=0x0")
    rig.job_ok(0)
    after = [attribute(rig, name) for name in names]
    assert [b - a for a, b in zip(before, after)] == [1, 1], f"counters: {before}, then {after}"
    assert attribute(rig, "hbm_repair") == 0 or attribute(rig, "ecc/hbm0_uncorrected") > 0, \
        "HBM is to be repaired"


@judged("uncorrectable error in HBM")
def test_correctable(rig):
    """One line for one, of level warning; of very many a few, which hide nothing worse."""
    at = data_of_core_0(rig)
    before = attribute(rig, "ecc/hbm0_corrected")
    rig.vm.fault(f"ecc,stack=0,offset={at + 64:#x},kind=correctable,once")
    rig.job_ok(0)
    lines = log_lines(rig, "correctable error in HBM")
    assert len(lines) == 1 and lines[0][0] == WARNING, f"the log: {lines}"
    assert f"stack 0 at {at + 64:#x}" in lines[0][1], f"the log: {lines}"
    assert attribute(rig, "ecc/hbm0_corrected") == before + 1, "not counted"
    assert rig.ask("uevent 1 NEURON_EVENT=ecc-uncorrectable")["ret"] == errno.ETIMEDOUT, \
        "a uevent of a correctable error"

    rig.vm.fault(f"ecc,stack=0,offset={at + 64:#x},kind=correctable")
    for _ in range(4 * BURST):
        rig.job_ok(0)
    assert attribute(rig, "ecc/hbm0_corrected") > before + 4 * BURST, "not all are counted"
    rig.vm.fault(f"clear;ecc,stack=0,offset={at + 128:#x}")
    rig.job_fails(0, "ECC")
    rig.vm.fault("clear")
    lines = [text for _, text in log_lines(rig, "correctable error in HBM")
             if "uncorrectable" not in text]
    assert 1 < len(lines) < 4 * BURST, f"{len(lines)} lines in the log"


@judged("uncorrectable error in HBM")
def test_uncorrectable(rig):
    at = data_of_core_0(rig)
    before = attribute(rig, "ecc/hbm0_uncorrected")
    rig.vm.fault(f"ecc,stack=0,offset={at + 64:#x}")
    answer = rig.job_fails(0, "ECC")
    assert answer["addr"] != 0, f"no address: {answer}"
    rig.told("NEURON_EVENT=ecc-uncorrectable", f"NEURON_ADDR={at + 64:#x}")
    assert attribute(rig, "ecc/hbm0_uncorrected") > before, "not counted"
    assert attribute(rig, "hbm_repair") == 1, "no repair is pending"
    rig.vm.fault("clear")
    rig.job_ok(0)


@pytest.mark.slow
def test_repair_fails(new_rig):
    """HBM that cannot be repaired says so."""
    rig = new_rig("--chip-prop", "repair-fails=on")
    rig.start_with_cores()
    assert attribute(rig, "hbm_repair") == 0, "a new chip wants a repair"
    at = data_of_core_0(rig)
    rig.vm.fault(f"ecc,stack=0,offset={at + 64:#x}")
    rig.job_fails(0, "ECC")
    assert attribute(rig, "hbm_repair") == 2, "it was repaired"
    rig.vm.fault("clear")
    rig.job_ok(0)
    rig.end()
    rig.log_is_clean("uncorrectable error in HBM")


# --- Throttle ---

@judged()
def test_throttle(rig):
    """The job is one of engines: its device time is what the clock says."""
    full = rig.job_ok(0)["ns"]
    assert (attribute(rig, "throttle"), attribute(rig, "throttle_reason")) == (100, 0), \
        "throttled at once"
    for percent, reason, number in ((10, "thermal", 1), (50, "power", 2)):
        rig.vm.fault(f"throttle,percent={percent},reason={reason}")
        assert attribute(rig, "throttle") == percent, "the percentage"
        assert attribute(rig, "throttle_reason") == number, "the reason"
        assert attributes(rig, "throttle")[1] == 100, "the other chip is throttled"
        slow = rig.job_ok(0)["ns"]
        assert abs(slow * percent / 100 - full) < full / 10, \
            f"{slow} ns at {percent} %, {full} at all"
        rig.copy_ok()
    rig.vm.fault("throttle,percent=100")
    assert attribute(rig, "throttle_reason") == 0, "not throttled, yet there is a reason"
    again = rig.job_ok(0)["ns"]
    assert abs(again - full) < full / 10, f"{again} ns, {full} before"


# --- Links ---

def link(rig, state):
    """Change the link between the two chips, and wait until they have told."""
    rig.vm.qmp.run("qom-set", path="/objects/fabric0", property="link-fault", value=f"0-1={state}")
    rig.told("NEURON_EVENT=link")


def peer_ok(rig):
    """A copy to the peer and back that nothing is wrong with."""
    answer = rig.ask("peer 0")
    assert (answer["ret"], answer["status"], answer["data"]) == (0, STATUS["OK"], "ok"), \
        f"a copy to the peer and back: {answer}"
    return answer


@judged("fabric link 0 is down")
def test_link_down(rig):
    """The peer cannot be reached, and this chip works; then as before."""
    peer_ok(rig)
    changes = attributes(rig, "counters/link_changes")
    errors = sum(attributes(rig, "links/*/errors"))
    assert attributes(rig, "connected_devices") == [1, 0], "the chips are not connected"
    link(rig, "down")
    assert not attributes(rig, "connected_devices"), "connected without a link"
    for _ in range(2):
        answer = rig.ask("peer 0")
        assert (answer["status"], answer["cause"]) == (STATUS["ERROR"], CAUSE["FABRIC"]), \
            f"the peer without a link: {answer}"
        assert answer["data"] == "bad", "data without a link"
    after = sum(attributes(rig, "links/*/errors"))
    assert after > errors, f"errors of the links: {errors}, then {after}"
    rig.job_ok(0)
    rig.copy_ok()
    link(rig, "up")
    assert attributes(rig, "connected_devices") == [1, 0], "they do not find each other"
    peer_ok(rig)
    after = attributes(rig, "counters/link_changes")
    assert all(b - a >= 2 for a, b in zip(changes, after)), \
        f"link changes: {changes}, then {after}"


@judged()
def test_link_slow(rig):
    """Device time is at least what the link takes."""
    full = peer_ok(rig)["ns"]
    for percent in (10, 1):
        link(rig, f"slow:{percent}")
        assert attributes(rig, "connected_devices") == [1, 0], "a slow link counts as no connection"
        least = PEER_BYTES * 1000 * 100 // (LINK_MBPS * percent)
        slow = peer_ok(rig)["ns"]
        assert least <= slow <= least + full, \
            f"{slow} ns at {percent} %, {full} at all, {least} expected"
    link(rig, "mbps:100")
    least = PEER_BYTES * 1000 // 100
    slow = peer_ok(rig)["ns"]
    assert least <= slow <= least + full, f"{slow} ns with 100 MB/s, {least} expected"
    link(rig, "up")
    assert peer_ok(rig)["ns"] == full, "not as fast as before"


# --- Doorbells of copies ---

@pytest.mark.slow
@judged("no progress")
def test_doorbell_lost_copy(rig):
    """Of either ring: the copy fails after its limit, the next one is right."""
    for ring in (0, 1):
        rig.vm.fault(f"clear;doorbell-lost,skip={ring},count=1")
        answer = rig.ask("copy")
        assert answer["ret"] == errno.ETIMEDOUT, f"the copy: {answer}"
        rig.struck()
        rig.copy_ok()


@pytest.mark.slow
@judged("no progress")
def test_doorbell_lost_among_many(rig):
    """Programs share the queues: one copy fails, what the others copy is right."""
    rig.end()
    rig.vm.fault(f"doorbell-lost,skip={PROGRAMS * MANY},count=1")
    rig.sh(f"for i in $(seq {PROGRAMS}); do (for n in $(seq {MANY}); do echo copy; done) | "
           f"{JOB} 0 >/tmp/copies.$i & done; wait", 200)
    rig.struck()
    answers = re.findall(r"@ret=(\d+) data=(\w+)", rig.vm.output("cat /tmp/copies.*"))
    assert len(answers) == PROGRAMS * MANY, f"{len(answers)} copies of {PROGRAMS * MANY}"
    failed = [answer for answer in answers if answer != ("0", "ok")]
    assert [ret for ret, _ in failed] == [str(errno.ETIMEDOUT)], f"copies that failed: {failed}"
    rig.start_with_cores()


# --- What the driver does not use ---

@judged()
def test_mailbox_dead(rig):
    """The driver loads and works; nobody asks the mailbox."""
    chip = Chip(rig)
    rig.vm.fault("mailbox-dead")
    rig.end()
    rig.unbind(chip.address)
    assert rig.bind(chip.address) == 0, "the driver needs the mailbox"
    rig.start_with_cores()
    rig.job_ok(0)
    rig.copy_ok()
    assert [rule["opportunities"] for rule in rig.vm.rules()] == [0], \
        f"somebody asked: {rig.vm.rules()}"


@judged("claims and HBM of before are lost")
def test_reset_fail_device(rig):
    """Its resets are those of the PCI function, which always end."""
    chip = Chip(rig)
    rig.vm.fault("reset-fail,device")
    assert rig.reset_device(chip.address) == 0, "the reset failed"
    rig.told("NEURON_EVENT=device-reset")
    assert [rule["opportunities"] for rule in rig.vm.rules()] == [0], \
        f"another reset: {rig.vm.rules()}"
    rig.all_is_lost()


@pytest.mark.slow
@judged("a reset of the device does not end")
def test_reset_of_another(rig):
    """Another driver's reset has not ended when this one comes."""
    chip = Chip(rig)
    rig.end()
    rig.unbind(chip.address)
    resource = rig.vm.output(f"head -n 1 /sys/bus/pci/devices/{chip.address}/resource")
    misc = int(resource.split()[0], 16) + MISC_BAR0
    rig.vm.fault("reset-fail,device,count=1")
    for name, value in (("RESET_REQUEST", REGS["MISC_RESET_DEVICE"]), ("TRIGGER", 1)):
        assert rig.sh(f"devmem {misc + REGS['MISC_' + name]:#x} 32 {value}") == 0, "devmem"
    rig.struck()
    assert rig.bind(chip.address) != 0, "a device in reset was taken"
    assert rig.reset_device(chip.address) == 0, "the reset of the function failed"
    assert rig.bind(chip.address) == 0, "the device does not come back"
    rig.start_with_cores()
