# SPDX-License-Identifier: MIT
"""A running machine: its QEMU, the agent in its guest, its faults and its logs."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from . import host, klog, options as options_module, qemu, session, snapshots
from .agent import Agent
from .errors import EndedError, MachineError
from .qmp import Qmp

BOOT_S = 300        # that a guest may take to boot on a busy host
# A guest that is silent for so long is started again, once. Under TCG it was seen, in one of
# several hundred boots, that the second processor's timer never fired and the kernel stood still.
SILENT_S = 90
STOP_S = 30         # that it may take to switch itself off
SAVE_S = 120        # and to send what it leaves behind
PREPARE = "/lib/neuron/prepare"
SMALL_ENV = {"PATH": "/bin:/sbin:/usr/bin:/usr/sbin", "HOME": "/", "TERM": "linux"}
HOST_ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root", "TERM": "linux", "LANG": "C.UTF-8", "USER": "root"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Machine:
    """A virtual machine, from the start to close().

    The words are options of neuron-vm's command line; the driver is loaded unless they say
    otherwise. Commands run in the small system of the initramfs; with --share also where the
    host's files are, see spawn().

    Attributes:
        plan: what the machine is.
        qmp: QEMU's control socket.
        directory: of sockets and logs; it goes with the machine.
    """

    def __init__(self, *words, out=None, options=None, start=True, note=lambda text: None):
        self.options = options or options_module.parse(words)
        self.out = out or self.options.out
        self.directory = tempfile.mkdtemp(prefix="neuron-vm-")
        self.process = self.agent = self.qmp = self.timer = None
        self.timed_out = False
        self.note = note
        self.deadline_s = self.options.timeout
        try:
            self.plan = snapshots.plan_of(self.options, self.directory)
            session.add_shares(self.plan, note)
            if start:
                self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- Start and end ---

    def path(self, name):
        return os.path.join(self.directory, name)

    @property
    def console(self):
        """The guest's kernel messages, a file."""
        return self.path("console.txt")

    @property
    def trace(self):
        """QEMU's trace events and log, a file."""
        return self.path("qemu.log")

    def choose_accel(self):
        options = self.options
        if options.kvm:
            self.plan.accel = "kvm"
        elif not options.no_kvm and host.kvm_boots(self.plan.files, self.probe_kvm):
            self.plan.accel = "kvm"
        if self.plan.accel == "kvm":
            qemu.fit_addresses(self.plan, host.physical_bits())

    def probe_kvm(self):
        files = self.plan.files
        words = ["--chips", "0", "--memory", "1G", "--kvm", "--timeout", str(host.PROBE_S)]
        try:
            with Machine(*words, "--kernel", files.kernel, "--qemu", files.qemu) as probe:
                return probe.run(["true"], timeout=host.PROBE_S).returncode == 0
        except MachineError:
            return False

    def start(self):
        """Start QEMU, wait until the guest has booted, mount and load what was asked for."""
        self.choose_accel()
        for text in self.plan.notes:
            self.note(text)
        if self.options.ssh:
            self.plan.ssh_port = free_port()
        self.start_qemu(*snapshots.load_words(self.options, self.directory))
        if self.options.load:
            snapshots.resume(self)
        else:
            self.wait_boot()
        self.prepare(session.mount_steps(self.plan) + session.device_steps(self.plan))

    def start_qemu(self, *more):
        """Start QEMU, with more words on its command line, and connect to it."""
        words = qemu.WITH_PARENT + qemu.command_line(self.plan) + list(more)
        with open(self.path("qemu-output.txt"), "ab") as output:
            # A session of its own: an interrupt from the terminal is for the command in
            # the guest.
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=None if self.options.verbose else output,
                                            start_new_session=True)
        if self.deadline_s:
            self.timer = threading.Timer(self.deadline_s, self.expire)
            self.timer.daemon = True
            self.timer.start()
        self.qmp = self.connect(Qmp.connect, "qmp")
        self.agent = self.connect(Agent, "agent")
        self.agent.alive = self.alive

    def connect(self, kind, name):
        end = time.monotonic() + BOOT_S
        while True:
            try:
                return kind(self.path(name))
            except OSError:
                if self.process.poll() is not None:
                    raise self.ended() from None
                if time.monotonic() > end:
                    raise EndedError(f"QEMU opens no {name} socket within {BOOT_S} s") from None
                time.sleep(0.01)
            except MachineError:
                # It opens its sockets before it looks at all of its options.
                self.process.wait(STOP_S)
                raise self.ended() from None

    def wait_boot(self):
        if self.agent.greeting_after(0, SILENT_S, self.alive):
            return
        if self.alive():
            self.note(f"the guest has not booted after {SILENT_S} s; it is started again")
            self.restart_qemu()
        if not self.agent.greeting_after(0, BOOT_S, self.alive):
            raise self.ended(f"the guest has not booted after {BOOT_S} s")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def expire(self):
        self.timed_out = True
        self.kill()

    def kill(self):
        """End QEMU without a word to the guest."""
        if self.process:
            try:
                self.process.kill()
            except ProcessLookupError:
                pass

    def restart_qemu(self, *more):
        """The same machine in a new QEMU, with more words on its command line.

        The guest of the old one is not told. Commands of before are not known any more.
        """
        self.kill()
        self.disconnect()
        for name in ("qmp", "agent"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        self.start_qemu(*more)

    def disconnect(self):
        if self.timer:
            self.timer.cancel()
        if self.process:
            self.process.wait()
        for connection in (self.qmp, self.agent):
            if connection:
                connection.close()
        self.qmp = self.agent = None

    def ended(self, otherwise=None):
        """An exception that explains why the machine is not there any more."""
        if self.timed_out:
            return EndedError(f"the time limit of {self.deadline_s} s ended the machine "
                              "(--timeout)", 124)
        status = None
        if self.process:
            try:
                # Its sockets close a moment before it ends.
                status = self.process.wait(0 if otherwise else STOP_S)
            except subprocess.TimeoutExpired:
                pass
        if self.timed_out:
            return self.ended()
        log = self.read_console()
        panic = klog.panic(log)
        if panic:
            return EndedError(f"the guest ended by a kernel panic: {panic}")
        if status:
            why = f"exit status {status}" if status > 0 else f"signal {-status}"
            return EndedError(f"QEMU failed ({why}): {self.complaint()}")
        last = log.strip().splitlines()[-1:] or ["(none)"]
        if otherwise:
            return EndedError(f"{otherwise}; its last message: {last[0]}")
        return EndedError(f"the guest switched itself off; its last message: {last[0]}")

    def complaint(self):
        """What QEMU said; its explanations follow the first line of its own."""
        said = self.read_file("qemu-output.txt").strip().splitlines() or ["it said nothing"]
        name = os.path.basename(self.plan.files.qemu) + ": "
        own = [line.split(name, 1)[1] for line in said if name in line]
        return (own or said[-1:])[0]

    def read_file(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def read_console(self):
        return self.read_file("console.txt").replace("\r", "")

    def wait_exit(self, timeout):
        """Wait until the machine has switched itself off."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the machine is not off after {timeout} s") from None

    def wait_agent(self, timeout, again=True):
        """Wait until commands can run again, after the guest has started another kernel or
        has gone on from its swap. Other commands that run are given up.
        """
        end = time.monotonic() + timeout
        before = self.agent.greetings
        while time.monotonic() < end:
            if self.agent.greeting_after(before, 0.1, self.alive):
                return
            if not again:
                continue
            try:
                self.agent.start(["true"], env=SMALL_ENV).wait(2)
                return
            except MachineError:
                if not self.alive():
                    raise self.ended() from None
        raise MachineError(f"the guest's agent does not answer after {timeout} s")

    def power_off(self):
        """Let the guest switch itself off; end it when it does not."""
        if not self.alive():
            return
        self.agent.finish()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def close(self):
        """End the machine, keep what was asked for, remove the rest."""
        with contextlib.ExitStack() as last:
            last.callback(shutil.rmtree, self.directory, ignore_errors=True)
            last.callback(self.save_logs)
            last.callback(self.disconnect)
            last.callback(self.kill)
            if self.process and self.agent:
                self.save_out()
                self.power_off()

    # --- What it leaves behind ---

    def save_out(self):
        """The guest's /out and its kernel log, into the folder of --out."""
        if not self.out or not self.alive():
            return
        os.makedirs(self.out, exist_ok=True)
        try:
            done = self.sh("dmesg >/out/dmesg.txt; tar -c -C /out .", SAVE_S, text=False)
        except MachineError:
            return      # a guest that does not answer leaves its console only
        done = subprocess.run(["tar", "-x", "-C", self.out, "-f", "-"], input=done.stdout,
                              capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise MachineError(f"what the guest left in /out cannot be unpacked in {self.out}: "
                               f"{said[-1]}")

    def save_logs(self):
        if not self.out:
            return
        os.makedirs(self.out, exist_ok=True)
        for name in ("console.txt", "qemu.log", "qemu-output.txt"):
            if os.path.exists(self.path(name)):
                shutil.copy(self.path(name), self.out)

    def kernel_log(self):
        """The guest's dmesg."""
        return self.output("dmesg")

    @property
    def pid(self):
        return self.process.pid

    def cpu_seconds(self):
        """Seconds of the host's processors that QEMU has used; 0 when it has ended."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        """Bytes of the host's memory that QEMU has."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"^VmRSS:\s+(\d+) kB", file.read(), re.M)[1]) << 10

    # --- Commands ---

    def spawn(self, words, env=None, cwd=None, tty=None, sinks=None, small=True):
        """Start a command beside others.

        It runs in the small system; with small=False where the host's files are, if the
        machine has been given any. tty: (rows, columns) of a terminal of its own.
        """
        defaults = SMALL_ENV if small else HOST_ENV
        return self.agent.start(words, {**defaults, **(env or {})}, cwd,
                                None if small else session.HOST_ROOT, tty, sinks)

    def run(self, words, timeout=600, input=None, text=True, **how):
        """Run a command to its end, as subprocess.run() does. text: its output is no bytes."""
        process = self.spawn(words, **how)
        if input is not None:
            process.write(input if isinstance(input, bytes) else os.fsencode(input))
        process.close_stdin()
        try:
            process.wait(timeout)
        except MachineError:
            if not self.alive() or self.agent.gone:
                raise self.ended() from None
            process.signal("KILL")
            raise
        output = bytes(process.stdout), bytes(process.stderr)
        if text:
            output = [stream.decode(errors="replace") for stream in output]
        return subprocess.CompletedProcess(words, process.returncode, *output)

    def task(self, sinks, timeout, env=None):
        """Run the task of the options, with its output to sinks (see agent.Process), to its end.

        Returns its exit status.
        """
        words, variables = session.task_command(self.options)
        return self.run(words, timeout, env={**variables, **(env or {})}, sinks=sinks).returncode

    def sh(self, command, timeout=600, **how):
        """Run a command of the guest's shell to its end."""
        return self.run(["sh", "-c", command], timeout, **how)

    def output(self, command, timeout=600, **how):
        """What a command of the guest's shell prints; it must succeed."""
        done = self.sh(command, timeout, **how)
        if done.returncode:
            raise MachineError(f"{command}: exit status {done.returncode}: "
                               + (done.stderr or done.stdout).strip()[-300:])
        return done.stdout.strip()

    def prepare(self, steps):
        """Let the guest mount and load things: lines of tools/guest/prepare."""
        if not steps:
            return
        done = self.run([PREPARE], BOOT_S, input="".join(step + "\n" for step in steps))
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise MachineError(said[-1] if said else f"{PREPARE}: exit status {done.returncode}")
        for line in done.stderr.splitlines():
            self.note(line)

    # --- Faults on demand ---

    def fault(self, text, chip=0):
        """Inject a fault; Documentation/hardware/faults.rst describes the text."""
        self.qmp.run("qom-set", path=f"/machine/peripheral/chip{chip}", property="fault",
                     value=text)

    def rules(self, chip=0):
        """The faults that are armed, with how often each has struck."""
        return self.qmp.run("qom-get", path=f"/machine/peripheral/chip{chip}",
                            property="faults")["rules"]
