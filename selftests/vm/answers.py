# SPDX-License-Identifier: MIT
"""What a program may be told while its chip lies.

Jobs, copies, claims and the whole device may be lost. The answers must be right all the same: a
job or copy that is reported as a success has its data, and a failure is reported within time by
an error that the interface documents for the call.
"""

import errno
import os
import time

from fault_job import CAUSE, DRIVER, LIMIT, STATUS

RESET_S = 60        # that a reset of the device may take on a busy host
ANSWER_S = 100      # for any one command on a busy host: no limit of the driver is longer
LEAKS = 1           # answer of "leak": memory that a lie kept from being zeroed is out of use
REFUSED = 1         # exit status of the shell's echo when the kernel refuses the write

# A probe may find no device of its kind, a unit that does not answer, or memory that the chip
# does not zero (the discard is busy, or does not end).
REFUSALS = (errno.ENODEV, errno.EIO, errno.EBUSY, errno.ETIMEDOUT)
# What the log says when mappings of before have ended.
LOST = ("claims and HBM of before are lost", "out of service: it could not be started")

# The errors that a call may have, by command of fault_job, beside 0 (drm/neuron_accel.h and
# "Errors" in Documentation/uapi.rst). EIO is the device's error or a device that was reset,
# ENODEV one that has left. Nothing else may become of a command that is right in itself: no
# EINVAL or EFAULT, as if the program were wrong, and no ETIMEDOUT of a job, whose limit is
# the driver's to enforce.
ERRORS = {
    "job": {errno.EIO, errno.ENODEV},
    "open": {errno.EIO, errno.ENODEV},
    "close": set(),
    "copy": {errno.EIO, errno.ENODEV, errno.ETIMEDOUT},
    "leak": {LEAKS},
}


def name(number):
    """An errno as people know it."""
    return errno.errorcode.get(number, str(number))


def check_job(answer):
    """The result of a job that was submitted and waited for without an error."""
    status, cause, hang = answer["status"], answer["cause"], answer["hang"]
    assert status in (STATUS["OK"], STATUS["ERROR"], STATUS["ABORTED"]), \
        f"a job that was waited for has no result: {answer}"
    assert cause in CAUSE.values(), f"no cause has this number: {answer}"
    assert hang in (0, 1), f"hang is neither 0 nor 1: {answer}"
    if status == STATUS["OK"]:
        assert answer["data"] == "ok", f"the job has succeeded, with wrong data: {answer}"
        assert hang == 0, f"a job that hung has succeeded: {answer}"


class Judge:
    """Gives commands to the program of a rig while its chip lies, and judges the answers."""

    def __init__(self, rig):
        self.rig = rig

    def ask(self, command):
        """Give a command. Its answer must come in time and be one that a lie may cause."""
        verb, *words = command.split()
        core = int(words[0]) if words else None
        was_open = core in self.rig.open_cores
        answer = self.rig.ask(command, ANSWER_S)
        if verb in ("job", "close") and not was_open:
            # The program itself refuses it; the driver is not asked.
            assert answer == {"ret": errno.EINVAL}, f"{command} of a closed core: {answer}"
            return answer
        self.check(verb, answer)
        return answer

    def check(self, verb, answer):
        """Judge the answer to a command that reached the driver."""
        ret = answer["ret"]
        if answer.get("data") == "lost":
            # The mapping of a buffer ended in SIGBUS.
            assert verb == "job", f"{verb} touches no mapping: {answer}"
            self.device_was_reset(answer)
            return
        assert ret == 0 or ret in ERRORS[verb], f"{verb} must not end in {name(ret)}: {answer}"
        if ret:
            return
        if verb == "job":
            check_job(answer)
        elif verb == "copy":
            assert answer["data"] == "ok", f"the copy has succeeded, with wrong data: {answer}"
        elif verb == "open":
            assert answer["addr"], f"a core without memory: {answer}"

    def device_was_reset(self, answer):
        """Mappings end only when the device is reset or fails. The log says so when the reset
        has ended, which is later.
        """
        deadline = time.monotonic() + RESET_S
        while not any(words in self.rig.vm.kernel_log() for words in LOST):
            assert time.monotonic() < deadline, f"a mapping ended for no reason: {answer}"
            time.sleep(0.5)

    def work(self):
        """Jobs, copies and resets of cores."""
        self.ask(f"job 0 {LIMIT}")
        self.ask("copy")
        self.reopen()
        self.ask(f"job 0 {LIMIT}")
        self.ask(f"job 1 {LIMIT}")
        self.ask("copy")

    def reopen(self):
        """Give core 0 back and claim it again, which resets it."""
        if 0 in self.rig.open_cores:
            self.ask("close 0")
        self.ask("open 0")

    def bind(self, address):
        """Offer the device to the driver. True: it was taken; False: it was refused, with a
        line in the kernel log that says what does not fit.
        """
        before = self.lines_about(address)
        done = self.rig.vm.sh(f"echo {address} >{DRIVER}/bind", timeout=ANSWER_S)
        self.rig.note(f"bind: status {done.returncode} {done.stderr.strip()}")
        if done.returncode == 0:
            return True
        assert done.returncode == REFUSED, f"bind: exit status {done.returncode}"
        assert any(os.strerror(error) in done.stderr for error in REFUSALS), \
            f"the device is refused: {done.stderr}"
        assert self.lines_about(address) > before, "it is refused without a line in the kernel log"
        return False

    def lines_about(self, address):
        """How many lines of the kernel log are the driver's own about a device."""
        return int(self.rig.vm.output(f"dmesg | grep 'neuron {address}: ' | "
                                      "grep -vc 'probe with driver' || true"))
