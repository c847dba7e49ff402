# SPDX-License-Identifier: MIT
"""The program neuron-vm."""

import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import tty

from . import debugger, host, machine, options as options_module, qemu, session, shapes, snapshots
from .errors import EndedError, MachineError, UsageError

DEFAULT_TASK = "smoke"
TASK_S = 600
SHELL_S = 86400
CHUNK_BYTES = 32 << 10
# Ctrl-A: the next key is for neuron-vm and not for the guest, as on QEMU's own console.
ESCAPE = b"\x01"


def note(text):
    print(f"{options_module.NAME}: {text}", file=sys.stderr, flush=True)


def print_and_exit(options):
    """What needs no machine. Returns the exit status, or None."""
    if options.help:
        sys.stdout.write(options_module.help_text())
    elif options.man:
        sys.stdout.write(options_module.man_page())
    elif options.completion:
        sys.stdout.write(options_module.completion())
    elif options.instance == "list":
        print("\n".join(shapes.table()))
    elif options.list_saved:
        print("\n".join(snapshots.table() or ["no machine is kept"]))
    elif options.remove_saved:
        for name in options.remove_saved:
            snapshots.remove(name)
    elif "help" in options.chip_prop:
        files = host.find_files(options)
        return subprocess.call([files.qemu, "-device", f"{options.type or 'trn2'},help"])
    else:
        return None
    return 0


def settle(options):
    """Options that follow from others. Raises UsageError."""
    given = [name for name in ("command", "task", "shell") if getattr(options, name)]
    if len(given) > 1:
        raise UsageError("only one of --task, --shell and a command after '--' can run")
    if options.args is not None and not options.task and given:
        raise UsageError("--args are arguments of a task; put those of a command behind it")
    for name in ("share", "with"):
        if getattr(options, name) and (options.small or options.task):
            raise UsageError(f"--{name} is for a command that sees the host's files, which "
                             f"--{'small' if options.small else 'task'} does not")
    if options.ssh and not given:
        options.shell = True
    elif not given and not options.save:
        options.task = DEFAULT_TASK
    if options.save:
        snapshots.check_save(options)
    if options.out:
        try:
            os.makedirs(options.out, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {options.out}: {error.strerror}") from error
        if not os.access(options.out, os.W_OK):
            raise UsageError(f"--out {options.out}: the folder cannot be written")
    if options.timeout is None:
        options.timeout = SHELL_S if options.shell or options.gdb else TASK_S
    for name in ("disk", "nvme"):
        value = getattr(options, name)
        for path in value if isinstance(value, list) else [value] if value else []:
            if not os.path.isfile(path):
                raise UsageError(f"--{name} {path}: there is no such file")


class Terminal:
    """The host's terminal while a command in the guest has it."""

    def __init__(self, process):
        self.process = process
        self.saved = None
        self.escaped = False

    @staticmethod
    def is_there():
        return os.isatty(0) and os.isatty(1)

    @staticmethod
    def size():
        columns, rows = shutil.get_terminal_size()
        return rows, columns

    def __enter__(self):
        self.saved = termios.tcgetattr(0)
        # What was typed while the machine booted is kept.
        tty.setraw(0, termios.TCSANOW)
        signal.signal(signal.SIGWINCH, lambda *_: self.process.resize(*self.size()))
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        try:
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)
        except termios.error:
            pass        # the terminal has gone

    def translate(self, data):
        """Bytes for the guest; Ctrl-A x raises KeyboardInterrupt, Ctrl-A Ctrl-A is one Ctrl-A."""
        kept = bytearray()
        for byte in data:
            char = bytes([byte])
            if self.escaped:
                self.escaped = False
                if char in b"xX":
                    raise KeyboardInterrupt
                kept += char
            elif char == ESCAPE:
                self.escaped = True
            else:
                kept += char
        return bytes(kept)


class Writer:
    """Carries the command's output to one of neuron-vm's streams, in a thread of its own.

    Who reads the stream may be slow, or not read at all: neither holds up what neuron-vm does
    besides. The command waits when too much is under way.
    """

    def __init__(self, stream, broken):
        self.stream = stream
        self.broken = broken
        self.error = None
        self.queue = queue.Queue(maxsize=64)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while True:
            data = self.queue.get()
            if data is None:
                return
            try:
                if not self.error:
                    self.write(memoryview(data))
            except OSError as error:
                # What follows is dropped.
                self.error = error
                self.broken()

    def write(self, view):
        while view:
            try:
                view = view[os.write(self.stream, view):]
            except BlockingIOError:
                select.select([], [self.stream], [])

    def finish(self, wanted):
        """Wait until all is written, as long as wanted() is true."""
        while wanted():
            try:
                self.queue.put(None, timeout=0.2)
                break
            except queue.Full:
                continue
        while wanted() and self.thread.is_alive():
            self.thread.join(0.2)


class Runner:
    """One command, with neuron-vm's own streams."""

    def __init__(self, vm, words, env, cwd, small):
        self.vm = vm
        self.interrupts = []
        self.terminal = Terminal.is_there()
        self.writers = [Writer(stream, self.break_pipe) for stream in (1, 2)]
        self.process = None
        self.process = vm.spawn(words, env=env, cwd=cwd, small=small,
                                tty=Terminal.size() if self.terminal else None,
                                sinks=[writer.queue.put for writer in self.writers])

    def break_pipe(self):
        """Nobody reads the output any more."""
        self.process.signal("PIPE")

    def interrupt(self, number, _frame):
        """The first one goes to the command, the second one ends the machine."""
        self.interrupts.append(number)
        if len(self.interrupts) > 1 or number != signal.SIGINT:
            self.vm.kill()
        else:
            self.process.signal(number)

    def feed(self, terminal):
        """Carry standard input to the command, in a thread of its own."""
        try:
            while True:
                data = os.read(0, CHUNK_BYTES)
                if not data:
                    break
                self.process.write(terminal.translate(data) if terminal else data)
            if not terminal:
                self.process.close_stdin()
        except KeyboardInterrupt:
            self.interrupts += [signal.SIGINT] * 2
            self.vm.kill()
        except (MachineError, OSError):
            pass        # the command's end is told by wait()

    def wait(self):
        """Its exit status."""
        before = {number: signal.signal(number, self.interrupt)
                  for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            if not self.terminal:
                return self.wait_with(None)
            with Terminal(self.process) as terminal:
                return self.wait_with(terminal)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait_with(self, terminal):
        threading.Thread(target=self.feed, args=(terminal,), daemon=True).start()
        try:
            status = self.process.wait()
        except MachineError:
            if self.interrupts:
                raise EndedError("interrupted", 128 + self.interrupts[-1]) from None
            raise self.vm.ended() from None
        for writer in self.writers:
            writer.finish(self.vm.alive)
            if writer.error and not isinstance(writer.error, BrokenPipeError):
                raise MachineError(f"the command's output cannot be written: "
                                   f"{writer.error.strerror}")
        return status


def run_command(vm, options):
    """Run what the options name and return its exit status."""
    env, small = session.environment(options), not session.wants_host(options)
    if options.task:
        words, variables = session.task_command(options)
        env = {**variables, **env}
    else:
        words = options.command or ["/bin/bash", "-l"]
        if options.shell and not small:
            note("'exit' leaves the guest; Ctrl-A x ends it at once")
    if options.shell and small:
        words = ["/bin/sh", "-l"]
    if Terminal.is_there():
        env = {"TERM": os.environ.get("TERM", "vt100"), **env}
    status = Runner(vm, words, env, session.working_folder(vm.plan), small).wait()
    if options.task and status == 127:
        note("the tasks are: " + " ".join(vm.output("ls /tasks").split()))
    return status


def run_machine(options, words):
    session.environment(options)
    with machine.Machine(options=options, start=False, note=note) as vm:
        if options.dry_run:
            vm.choose_accel()
            print(qemu.printable(qemu.command_line(vm.plan)))
            return 0
        if options.snapshot_disk and not os.path.exists(options.snapshot_disk):
            snapshots.make_disk(vm.plan.files.qemu, options.snapshot_disk)
        try:
            status = use_machine(vm, options, words)
            # What the chips report on request, among others.
            sys.stderr.write(vm.read_file("qemu-output.txt"))
            return status
        except EndedError:
            raise
        except MachineError:
            if vm.timed_out:
                raise vm.ended() from None
            raise


def use_machine(vm, options, words):
    """Start the machine and do what the options say. Returns the exit status."""
    vm.start()
    if options.ssh:
        note(session.start_ssh(vm))
    if options.gdb:
        debugger.wait_for_debugger(vm, note)
    status = 0
    if options.command or options.task or options.shell:
        status = run_command(vm, options)
    if options.save and status:
        note(f"not kept: the command failed with status {status}")
    elif options.save:
        vm.prepare(["unmount"])
        snapshots.save(vm, options.save, words)
        note(f"kept; '{options_module.NAME} --load {options.save} -- COMMAND' goes on")
    return status


def saved_words(words):
    """The words of a command line that decide what a kept machine is."""
    words = words[:words.index("--")] if "--" in words else words
    return options_module.absolute_words(words)


def end(number, _frame):
    """A request to end, while no command runs: what is there is cleaned up."""
    raise SystemExit(128 + number)


def main(words=None):
    """Run neuron-vm and return its exit status."""
    words = sys.argv[1:] if words is None else words
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        options = options_module.parse(words)
        status = print_and_exit(options)
        if status is None:
            settle(options)
            status = run_machine(options, saved_words(words))
        return status
    except UsageError as error:
        note(error)
        return 2
    except EndedError as error:
        note(error)
        return error.status
    except MachineError as error:
        note(error)
        return 125
    except KeyboardInterrupt:
        note("interrupted")
        return 130
    except BrokenPipeError:
        return 141
