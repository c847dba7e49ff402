# SPDX-License-Identifier: MIT
"""The rig of the tests of faults: a machine whose chips fail on demand, and the program
fault_job in it, which does jobs and copies on demand. selftests/drivers/neuron/fault_job.c
says what its commands do.
"""

import functools
import os
import re
import time

from neuron_vm import MachineError, klog, registers

JOB = "/usr/libexec/neuron/fault_job"
CROWD = "/usr/libexec/neuron/copy_crowd"
SETTLE = "/usr/libexec/neuron/settle_job"
LIMIT = 1000        # ms that a job may make no progress
STRIKES_S = 60      # that a fault may take on a busy host
STATUS = registers.enum("job.h", "NEURON_JOB_")
CAUSE = registers.enum("job.h", "NEURON_CAUSE_")
EVENT = registers.enum("neuron_accel.h", "DRM_NEURON_EVENT_", "drm")
REGS = registers.numbers("regs.h")
CORE_BLOCK = 0x1000         # of core 0, from the start of the control registers
CORE_STRIDE = 0x100
DMA_BLOCK = 0x4000          # of DMA engine 0, as well
DMA_STRIDE = 0x40
BLOCK_SIZE = 0x10000
QUEUE_STATUS = 0x24         # of a queue's side, within its page
DRIVER = "/sys/bus/pci/drivers/neuron"


class Rig:
    """A machine with two chips, and the program that works with one of them.

    vm: the machine. dialog: a file that gets the commands and their answers. layout: what
    was found out about the registers of a chip, kept from one test to the next.
    """

    def __init__(self, vm, dialog, layout):
        self.vm = vm
        self.dialog = dialog
        self.layout = layout
        self.program = None
        self.open_cores = set()

    # The program.

    def start(self, device=0):
        """Start the program on a device."""
        assert self.program is None, "the program runs already"
        self.program = self.vm.spawn([JOB, str(device)])
        self.open_cores = set()
        answer = self.answer(60)
        assert answer["ret"] == 0, f"fault_job: {os.strerror(answer['ret'])}"

    def end(self):
        """End the program, and with it its claims and buffers."""
        program, self.program = self.program, None
        program.send("exit\n")
        status = program.wait(120)
        assert status == 0, f"fault_job ended with status {status}"

    def close(self):
        """End the program if it runs. The machine may be gone."""
        if self.program is None:
            return
        try:
            self.end()
        except (AssertionError, MachineError, OSError):
            self.program = None

    def send(self, command):
        """Give the program a command."""
        self.note(f"> {command}")
        self.program.send(command + "\n")

    def answer(self, timeout):
        """The answer to the command that was given: name to number, but data= to text."""
        line = self.program.expect(r"^@(ret=.*?)\r?$", timeout=timeout)[1]
        self.note(f"< {line}")
        return {name: value if name == "data" else int(value, 0)
                for name, value in (word.split("=") for word in line.split())}

    def ask(self, command, timeout=120):
        """Give a command, and return its answer."""
        self.send(command)
        answer = self.answer(timeout)
        self.keep_books(command, answer)
        return answer

    def keep_books(self, command, answer):
        """Know which cores the program has open."""
        words = command.split()
        if words[0] == "open" and answer["ret"] == 0:
            self.open_cores.add(int(words[1]))
        elif words[0] == "close" and answer["ret"] == 0:
            self.open_cores.discard(int(words[1]))

    def note(self, text):
        """Write a line into the dialog."""
        self.dialog.write(text + "\n")

    def start_with_cores(self):
        """Start the program and open cores 0 and 1."""
        self.start()
        for core in (0, 1):
            self.open_core(core)

    def open_core(self, core):
        """Open a core; the answer tells where its data is."""
        answer = self.ask(f"open {core}")
        assert answer["ret"] == 0, f"core {core} is out of service: {answer}"
        return answer

    def close_core(self, core):
        """Close a core."""
        answer = self.ask(f"close {core}")
        assert answer["ret"] == 0, f"core {core} does not close: {answer}"

    # What must be.

    def job_ok(self, core, limit=30000):
        """A job that nothing is wrong with."""
        answer = self.ask(f"job {core} {limit}")
        assert (answer["ret"], answer.get("status"), answer.get("data")) == \
            (0, STATUS["OK"], "ok"), f"a job of core {core} that nothing is wrong with: {answer}"
        return answer

    def slow_job_ok(self, core):
        """A job that needs its interrupt, and ends well whatever becomes of that."""
        answer = self.ask(f"slow {core} {LIMIT}")
        assert (answer["ret"], answer.get("status")) == (0, STATUS["OK"]), \
            f"a slow job of core {core} did not end well: {answer}"

    def copy_ok(self):
        """A copy that nothing is wrong with."""
        answer = self.ask("copy")
        assert (answer["ret"], answer["data"]) == (0, "ok"), \
            f"a copy that nothing is wrong with: {answer}"

    def job_hangs(self, core):
        """A job that makes no progress is ended after its limit."""
        answer = self.ask(f"job {core} {LIMIT}")
        assert (answer["hang"], answer["status"]) == (1, STATUS["ABORTED"]), \
            f"the job did not hang: {answer}"

    def job_fails(self, core, cause):
        """A job that ends with this cause."""
        answer = self.ask(f"job {core} 30000")
        assert (answer["status"], answer["cause"]) == (STATUS["ERROR"], CAUSE[cause]), \
            f"the job's cause is not {cause}: {answer}"
        return answer

    def struck(self):
        """Every fault that was asked for has happened, or does: a job is over for who waits for it
        when its record is there, which is before its interrupt.
        """
        end = time.monotonic() + STRIKES_S
        strikes = []
        while not (strikes and all(strikes)):
            assert time.monotonic() < end, f"strikes: {strikes}"
            time.sleep(0.01)
            strikes = [rule["strikes"] for rule in self.vm.rules()]

    def told(self, *variables):
        """The kernel's uevent with all of these comes, or has come."""
        words = " ".join(variables)
        assert self.ask(f"uevent 60 {words}", 200)["ret"] == 0, f"no uevent with {words}"

    def recorded(self, event, **fields):
        """The next record of this event in an event file has these fields."""
        answer = self.ask(f"record 60 {EVENT[event]}", 200)
        assert answer["ret"] == 0, f"no record of {event}"
        for name, value in fields.items():
            assert answer[name] == value, f"a record of {event}: {answer}"

    def is_another(self, chip, register, value):
        """A chip says something else of itself after its reset: out of service, until the next
        reset makes it what it was.
        """
        self.vm.fault(f"reg-stuck,offset={chip.ctl(register):#x},value={value:#x}")
        self.reset_device(chip.address)
        self.told("NEURON_EVENT=device-failed")
        self.vm.fault("clear")
        assert self.reset_device(chip.address) == 0, "the reset says that it failed"
        self.told("NEURON_EVENT=device-reset")

    def all_is_lost(self):
        """The device was reset: claims and buffers of before are of no use, new ones are."""
        for core in (0, 1):
            answer = self.ask(f"job {core} {LIMIT}")
            assert answer["status"] != STATUS["OK"], f"core {core} has lost nothing: {answer}"
            self.close_core(core)
        for core in (0, 1):
            self.open_core(core)
            self.job_ok(core)
        self.copy_ok()

    def log_is_clean(self, words=""):
        """The kernel log has no line that reports an error, and says these words."""
        log = self.vm.kernel_log()
        bad = klog.bad_lines(log)
        assert not bad, "kernel log: " + "; ".join(bad[:3])
        assert words in log, f"the kernel log does not say '{words}'"

    # The driver and the device.

    def sh(self, command, timeout=60):
        """The exit status of a command of the guest's shell."""
        done = self.vm.sh(command, timeout=timeout)
        self.note(f"$ {command}\n{done.stdout}{done.stderr}status {done.returncode}")
        return done.returncode

    def address(self, chip=0):
        """PCI address of a chip: each sits behind a port of its own, in their order."""
        found = self.vm.output('for d in /sys/bus/pci/devices/*; do '
                               '[ "$(cat $d/vendor)" = 0x1d0f ] && echo ${d##*/}; done; true')
        return sorted(found.split())[chip]

    def copy_queues(self):
        """Engine and index of each copy queue of chip 0."""
        rows = self.vm.output(f"cat /sys/kernel/debug/accel/{self.address()}/copy").splitlines()
        return [tuple(int(word) for word in row.split()[1:3]) for row in rows[1:]]

    def bind(self, address, timeout=90):
        """Give the device to the driver; 0: the driver took it."""
        return self.sh(f"echo {address} >{DRIVER}/bind", timeout)

    def unbind(self, address):
        """Take the device from the driver, if it has it."""
        self.sh(f"[ ! -e {DRIVER}/{address} ] || echo {address} >{DRIVER}/unbind", 90)

    def bind_honest(self, address):
        """The driver takes a device that nothing is wrong with."""
        assert self.bind(address) == 0, "the honest device is refused"

    def come_and_go(self, address):
        """The driver probes the device and leaves it."""
        self.unbind(address)
        self.bind(address)
        self.unbind(address)

    def load_again(self):
        """What a lie cost the driver, it has again when it is bound anew."""
        if self.program:
            self.end()
        address = self.address()
        self.unbind(address)
        self.bind_honest(address)
        self.start_with_cores()

    def registers_read(self, work):
        """BAR0 offsets of chip 0 that the driver reads during work(), with a value each."""
        begin = os.path.getsize(self.vm.trace) if os.path.exists(self.vm.trace) else 0
        self.vm.qmp.run("trace-event-set-state", name="neuron_mmio_read", enable=True)
        work()
        self.vm.qmp.run("trace-event-set-state", name="neuron_mmio_read", enable=False)
        with open(self.vm.trace, encoding="utf-8", errors="replace") as file:
            file.seek(begin)
            reads = re.findall(r"chip 0: offset (0x[0-9a-f]+) size \d value (0x[0-9a-f]+)",
                               file.read())
        seen = {}
        for offset, value in reads:
            seen.setdefault(int(offset, 16), int(value, 16))
        return seen

    def reset_device(self, address):
        """Reset the PCI function by sysfs; the exit status of the write."""
        return self.sh(f"echo 1 >/sys/bus/pci/devices/{address}/reset", 200)


class Chip:
    """Where chip 0 has its registers, by what the driver reads when it is bound.

    They are looked up once; the program is ended and started for that.
    """

    def __init__(self, rig):
        if rig.program:
            rig.end()
        self.address = rig.address()
        if "reads" not in rig.layout:
            rig.layout["reads"] = rig.registers_read(lambda: rig.come_and_go(self.address))
            rig.bind_honest(self.address)
        self.reads = rig.layout["reads"]
        self.base = next(offset for offset, value in self.reads.items()
                         if value & 0xffffffff == REGS["CTL_MAGIC_VALUE"])
        rig.start_with_cores()

    def ctl(self, name):
        """Offset of a control register of the device."""
        return self.base + REGS["CTL_" + name]

    def core(self, core, name):
        """Offset of a register of a core."""
        return self.base + CORE_BLOCK + core * CORE_STRIDE + REGS["CORE_" + name]

    def dma(self, engine, name):
        """Offset of a register of a DMA engine."""
        return self.base + DMA_BLOCK + engine * DMA_STRIDE + REGS["DMA_" + name]

    def copy_status(self):
        """STATUS of the kernel's own queues, both sides."""
        return [offset for offset in self.reads if offset & 0xfff == QUEUE_STATUS
                and not self.base <= offset < self.base + BLOCK_SIZE]


def judged(words=""):
    """A test that begins with cores 0 and 1 open and one job done. When it has ended, and all
    faults with it, both cores and copies work, the device holds what it held before, and the
    kernel log is clean and says these words.
    """
    def wrap(function):
        @functools.wraps(function)
        def test(rig, **values):
            rig.start_with_cores()
            rig.job_ok(0)
            function(rig, **values)
            for chip in (0, 1):
                rig.vm.fault("clear", chip=chip)
            for core in (0, 1):
                rig.job_ok(core)
            rig.copy_ok()
            for core in (0, 1):
                rig.close_core(core)
            assert rig.ask("leak")["ret"] == 0, "the device holds more than before"
            rig.end()
            rig.log_is_clean(words)
        return test
    return wrap
