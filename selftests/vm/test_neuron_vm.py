# SPDX-License-Identifier: MIT
"""neuron-vm itself: what a command in the guest sees, and what becomes of its streams, its
exit status, interrupts, mistakes and machines that end too early.
"""

import hashlib
import http.server
import json
import lzma
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import threading
import time

import pytest

from conftest import ROOT
from gdb_rig import stop_in_the_driver
from neuron_vm import Machine, options
from neuron_vm.host import find_files
from neuron_vm.qmp import Qmp

VM = str(ROOT / "tools/neuron-vm")
TIME_S = 300        # that any one machine may take on a busy host
SMALL = ("--small", "--chips", "0")
WARM = ("--load", "small", "--small")       # goes on in a second or two instead of booting


def neuron_vm(*words, **how):
    """Run neuron-vm to its end; what it prints is bytes."""
    how = {"stdin": None if "input" in how else subprocess.DEVNULL, "timeout": TIME_S, **how}
    return subprocess.run([VM, *map(str, words)], capture_output=True, check=False, **how)


def said(done):
    """What neuron-vm itself said, line by line."""
    return [line for line in done.stderr.decode().splitlines() if line.startswith("neuron-vm: ")]


# --- Mistakes: one clear line, and no machine ---

@pytest.mark.parametrize("words, text", (
    (["--wrong"], "--wrong"),
    (["--chips"], "--chips"),
    (["--chips", "two"], "'two'"),
    (["--chips", "201"], "200"),
    (["--chips", "2", "--fault", "2:dma-lost", "--dry-run"], "no chip 2"),
    (["--fault", "dma-lost"], "'dma-lost'"),
    (["--chip-prop", "check"], "'check'"),
    (["--type", "trn9"], "trn9"),
    (["trn9:2"], "trn9:2"),
    (["--instance", "trn2.unknown"], "trn2.unknown"),
    (["trn2", "--instance", "trn2.3xlarge"], "twice"),
    (["--share", "/nonexistent", "--", "true"], "/nonexistent"),
    (["--env", "NO_SUCH_VARIABLE", "--", "true"], "NO_SUCH_VARIABLE"),
    (["--module", "/nonexistent.ko", "--", "true"], "/nonexistent.ko"),
    (["--disk", "/nonexistent.img", "--", "true"], "/nonexistent.img"),
    (["--nvme", "/nonexistent.img", "--", "true"], "/nonexistent.img"),
    (["--kernel", "/nonexistent", "--", "true"], "/nonexistent"),
    (["--load", "nobody-kept-this", "--", "true"], "nobody-kept-this"),
    (["--save", "a name", "--", "true"], "'a name'"),
    (["--save", "x", "--disk", "/etc/passwd", "--", "true"], "--disk"),
    (["--save", "x", "--nvme", "/etc/passwd", "--", "true"], "--nvme"),
    (["--save", "x", "--snapshot-disk", "/nonexistent.img", "--", "true"], "--snapshot-disk"),
    (["--remove-saved", "nobody-kept-this"], "nobody-kept-this"),
    (["--remove-saved", "../x"], "'../x'"),
    (["--task", "run", "--", "true"], "--task"),
    (["--task", "../run"], "'../run'"),
    (["--timeout", "soon"], "'soon'"),
    (["--"], "'--'"),
    (["neuron-ls"], "did you mean: neuron-vm -- neuron-ls?"),
    (["ls", "-l", "/"], "did you mean: neuron-vm -- ls -l /?"),
), ids=lambda value: None if isinstance(value, str) else " ".join(value))
def test_mistake(words, text):
    done = neuron_vm(*words)
    assert (done.returncode, done.stdout) == (2, b""), done
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("neuron-vm: ") and text in lines[0], lines


# --- Properties of the chips ---

# The public documents have no operator "divide".
DIVIDE = """
.program divide
.input x fp32 128*4
.output y fp32 128*4
.queue to_sbuf in sync
.queue from_sbuf out sync
.sem loaded
.sem done

.engine sync
    .dma to_sbuf, sbuf[0:128, 0 : 4 fp32], x, loaded
    .dma from_sbuf, y, sbuf[0:128, 16 : 4 fp32] wait done >= 1
    halt

.engine vector
    nop wait loaded >= 1
    tensor_tensor.divide sbuf[0:128, 16 : 4 fp32], sbuf[0:128, 0 : 4 fp32], sbuf[0:128, 0 : 4 fp32]
    nop post done += 1
    halt
"""
ONES = "y:" + 4 * " 00 00 80 3f"


def divide(tmp_path, *chip):
    """Whether x / x was computed, on a chip with these options, and what was printed."""
    source = tmp_path / "divide.s"
    source.write_text(DIVIDE, encoding="utf-8")
    done = neuron_vm(*chip, "--", "sh", "-c",
                     f"neuron-as {source} -o /tmp/divide.neff && nrt-sample /tmp/divide.neff")
    text = (done.stdout + done.stderr).decode()
    assert (done.returncode == 0) == (ONES in text), text
    return ONES in text, text


def test_more_operators(tmp_path):
    """Operators that the public documents do not have are carried out on request."""
    computed, text = divide(tmp_path)
    assert not computed and "vector engine, pc 1" in text and "illegal operand" in text, text
    computed, text = divide(tmp_path, "--chip-prop", "more-operators=on")
    assert computed, text


# --- What it prints without a machine ---

@pytest.mark.parametrize("how", ("--help", "--man", "--completion"))
def test_all_options_are_told(how):
    done = neuron_vm(how)
    assert (done.returncode, done.stderr) == (0, b"")
    # In the manual page a dash is "\-", and "\fB" begins bold text.
    text = re.sub(r"\\f[BIR]", "", done.stdout.decode()).replace("\\-", "-").replace("\\&", "")
    missing = [option.name for option in options.OPTIONS.values()
               if not re.search(rf"(?<![\w-]){option.name}(?![\w-])", text)]
    assert not missing


def complete(*words):
    """What bash offers for the last of these words of a command line."""
    script = neuron_vm("--completion").stdout.decode() + f"""
        COMP_WORDS=({" ".join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}
        _neuron_vm
        printf '%s\\n' "${{COMPREPLY[@]}}"
        """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_completion_of_bash():
    assert set(complete("neuron-vm", "--sh")) == {"--share", "--shell"}
    assert complete("neuron-vm", "--type", "inf") == ["inf2"]
    assert "trn2u.48xlarge" in complete("neuron-vm", "trn2u")
    assert complete("neuron-vm", "--share", "/us") == ["/usr"]


def test_man_page_is_troff():
    """The formatter has nothing to warn of."""
    page = neuron_vm("--man").stdout
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_dry_run():
    done = neuron_vm("--chips", "2", "--ports", "--iommu", "--fault", "1:dma-lost,count=1",
                     "--fault", "1:ecc,sram", "--chip-prop", "check=memory", "--memory", "3G",
                     "--append", "debug", "--qemu-option=-name", "--qemu-option=some name",
                     "--no-kvm", "--dry-run")
    assert (done.returncode, done.stderr) == (0, b"")
    words = shlex.split(done.stdout.decode())
    assert os.path.basename(words[0]) == "qemu-system-x86_64"
    assert words[-2:] == ["-name", "some name"]
    assert words[words.index("-m") + 1] == "3G"
    assert "debug" in words[words.index("-append") + 1].split()
    chips = [word for word in words if ",fabric=fabric0," in word]
    assert len(chips) == 2 and all(",check=memory" in chip for chip in chips)
    assert ",fault=dma-lost,,count=1;ecc,,sram" in chips[1] and "fault" not in chips[0]
    assert sum(word.startswith("pcie-root-port") for word in words) == 2
    assert any(word.startswith("intel-iommu") for word in words)


# --- A command that sees the host ---

# Runs in the guest, by the host's python3. It copies its input to its output.
PROBE = r"""
import json, os, sys

def attempt(path):
    try:
        with open(path, "a") as file:
            file.write("guest")
        return "written"
    except OSError as error:
        return error.strerror

base = sys.argv[1]
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data)
sys.stderr.write("this is stderr\n")
facts = {
    "argv": sys.argv[2:], "cwd": os.getcwd(), "version": sys.version, "executable": sys.executable,
    "input": len(data), "GIVEN": os.environ.get("GIVEN"), "PASSED": os.environ.get("PASSED"),
    "HIDDEN": os.environ.get("HIDDEN"), "read": open(base + "/ro/file").read(),
    "rw": attempt(base + "/rw/file"), "ro": attempt(base + "/ro/file"),
    "host": attempt(base + "/other"), "accel": sorted(os.listdir("/dev/accel")),
    "release": os.uname().release, "pid1": open("/proc/1/comm").read(),
}
with open(base + "/rw/facts.json", "w") as file:
    json.dump(facts, file)
sys.exit(7)
"""
ARGUMENTS = ["", "two words", "quote'\"$HOME", "*", "--", "new\nline", "\u00fc"]
INPUT = bytes(range(256)) * 4096 + b"\x04\x03\x1a\r\nno newline at the end"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """One run of a command that looks at all that it sees: the folder, the run, the facts."""
    base = tmp_path_factory.mktemp("session")
    for name in ("rw", "ro"):
        (base / name).mkdir()
        (base / name / "file").write_text(name, encoding="utf-8")
    (base / "other").write_text("other", encoding="utf-8")
    (base / "probe.py").write_text(PROBE, encoding="utf-8")
    done = neuron_vm("--chips", "2", "--share", base / "rw", "--share", f"{base}/ro:ro",
                     "--env", "GIVEN=a value", "--env", "PASSED", "--out", base / "out", "--",
                     "python3", base / "probe.py", base, *ARGUMENTS, input=INPUT, cwd=base / "rw",
                     env={**os.environ, "PASSED": "from the host", "HIDDEN": "not for the guest"})
    facts = base / "rw/facts.json"
    assert facts.exists(), done.stderr.decode()
    return base, done, json.loads(facts.read_text(encoding="utf-8"))


def test_exit_status(session):
    assert session[1].returncode == 7


def test_streams(session):
    """Standard input arrives whole and ends; standard output has nothing else in it."""
    _, done, facts = session
    assert facts["input"] == len(INPUT)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(INPUT).digest()
    assert b"this is stderr\n" in done.stderr
    assert b"this is stderr" not in done.stdout


def test_arguments_and_environment(session):
    base, _, facts = session
    assert facts["argv"] == ARGUMENTS
    assert facts["cwd"] == str(base / "rw")
    assert (facts["GIVEN"], facts["PASSED"], facts["HIDDEN"]) == ("a value", "from the host", None)


def test_host_programs(session):
    """The python3 is the host's, below another kernel."""
    _, _, facts = session
    host = subprocess.run(["python3", "-c", "import sys; print(sys.version)"],
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin"}, capture_output=True,
                          text=True, check=True)
    assert facts["version"] == host.stdout.strip()
    assert facts["release"] == find_files(options.parse([])).release()
    assert facts["pid1"].strip() == "init"


def test_share(session):
    """What is written to a shared folder is the host's; :ro cannot be written; what is written
    anywhere else is lost with the machine.
    """
    base, _, facts = session
    assert facts["rw"] == "written"
    assert (base / "rw/file").read_text(encoding="utf-8") == "rwguest"
    assert facts["read"] == "ro"
    assert facts["ro"] == "Read-only file system"
    assert (base / "ro/file").read_text(encoding="utf-8") == "ro"
    assert facts["host"] == "written"
    assert (base / "other").read_text(encoding="utf-8") == "other"


def test_driver_and_out(session):
    base, _, facts = session
    assert facts["accel"] == ["accel0", "accel1"]
    assert "neuron" in (base / "out/dmesg.txt").read_text(encoding="utf-8")
    assert (base / "out/console.txt").exists()


# --- A machine with more in it ---

DUMMY = "kernel/drivers/net/dummy.ko.xz"
WORDS = b"neuron-vm reads and writes disks"


class Web(http.server.BaseHTTPRequestHandler):
    """A server of the host, for the guest."""

    def do_GET(self):
        """Answer with the path."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"you asked for {self.path}".encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def equipped(tmp_path_factory):
    """One run with a disk, a network, another module, another word for the kernel."""
    base = tmp_path_factory.mktemp("equipped")
    disk = base / "disk.img"
    disk.write_bytes(WORDS.ljust(1 << 20, b"\0"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = f"""
        head -c {len(WORDS)} /dev/vda >disk
        printf written | dd of=/dev/vda bs=512 seek=1 conv=fsync 2>/dev/null
        cat /proc/modules >modules; cat /proc/cmdline >cmdline
        wget -q -O web http://10.0.2.2:{server.server_port}/something
        """
    module = base / "dummy.ko"
    packed = os.path.join(find_files(options.parse([])).modules, DUMMY)
    module.write_bytes(lzma.decompress(pathlib.Path(packed).read_bytes()))
    done = neuron_vm("--disk", disk, "--net", "--module", module, "--append", "some.word=1",
                     "--trace", "neuron_mmio_read", "--out", base / "out", "--", "sh", "-c", script,
                     cwd=base)
    server.shutdown()
    assert done.returncode == 0, done.stderr.decode()
    return base


def test_disk(equipped):
    assert (equipped / "disk").read_bytes() == WORDS
    assert (equipped / "disk.img").read_bytes()[512:519] == b"written"


def test_disk_without_ext4(tmp_path):
    """One line says that a file system cannot be used; a disk without one can."""
    disk, notes = tmp_path / "disk.img", []
    disk.write_bytes(bytes(1 << 20))

    def about_ext4():
        # A guest of a busy host may be started again, which is a note as well.
        return [note for note in notes if "ext4" in note]

    with Machine(*SMALL, "--disk", str(disk), note=notes.append) as vm:
        assert not about_ext4()
        # An empty file in its place.
        vm.output("rmmod ext4 && file=$(find /run/modules -name 'ext4.ko*') && "
                  "mount --bind /dev/null $file")
        vm.prepare(["disk"])
    [said] = about_ext4()
    assert "ext4 cannot be mounted: modprobe ext4: " in said


def test_net(equipped):
    assert (equipped / "web").read_text(encoding="utf-8") == "you asked for /something"


def test_module(equipped):
    """Another module, and not the driver."""
    modules = [line.split()[0] for line in
               (equipped / "modules").read_text(encoding="utf-8").splitlines()]
    assert "dummy" in modules
    assert "neuron" not in modules


def test_append(equipped):
    assert "some.word=1" in (equipped / "cmdline").read_text(encoding="utf-8").split()


def test_trace_file(equipped):
    assert (equipped / "out/qemu.log").exists()


# --- A machine that is kept ---

@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The environment in which a machine is kept under the name "small"."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    done = neuron_vm("--save", "small", "--", "sh", "-c", "cat /proc/sys/kernel/random/boot_id",
                     env=env)
    assert done.returncode == 0, done.stderr.decode()
    return env, done.stdout


def test_load(kept, tmp_path):
    """It goes on, and sees folders of now."""
    env, boot = kept
    (tmp_path / "file").write_text("of the host", encoding="utf-8")
    done = neuron_vm("--load", "small", "--", "sh", "-c",
                     "cat /proc/sys/kernel/random/boot_id; cat file >copy; ls /dev/accel",
                     env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == boot + b"accel0\n"
    assert (tmp_path / "copy").read_text(encoding="utf-8") == "of the host"


@pytest.mark.parametrize("status, command", (
    (0, ["true"]), (1, ["false"]), (255, ["sh", "-c", "exit 255"]),
    (127, ["no-such-command"]), (126, ["/etc/passwd"]), (137, ["sh", "-c", "kill -9 $$"]),
), ids=lambda value: value[-1] if isinstance(value, list) else str(value))
def test_statuses(kept, status, command):
    done = neuron_vm("--load", "small", "--", *command, env=kept[0])
    assert done.returncode == status, done.stderr.decode()


def test_input_that_nobody_reads(kept):
    with open("/dev/zero", "rb") as zero:
        assert neuron_vm("--load", "small", "--", "true", env=kept[0], stdin=zero).returncode == 0


def test_reader_that_goes(kept):
    """As in a pipe on the host, the writer ends when nobody reads."""
    with subprocess.Popen([VM, "--load", "small", "--", "yes"], env=kept[0],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"y\n"
        process.stdout.close()
        assert process.wait(TIME_S) == 128 + signal.SIGPIPE


def test_load_with_other_options(kept):
    done = neuron_vm("--load", "small", "--chips", "2", "--", "true", env=kept[0])
    assert (done.returncode, len(said(done))) == (2, 1), done
    assert "chips" in said(done)[0]


def saved(env):
    """What --list-saved prints, by the first word."""
    done = neuron_vm("--list-saved", env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    return {line.split()[0]: line for line in done.stdout.decode().splitlines()}


def test_list_and_remove(kept, tmp_path):
    """The list tells the options and which machines are of no use; a machine that was removed
    is not there any more.
    """
    env = {**kept[0], "XDG_CACHE_HOME": str(tmp_path)}
    assert set(saved(env)) == {"no"}
    here = tmp_path / "neuron-emu/machines"
    here.mkdir(parents=True)
    there = pathlib.Path(kept[0]["XDG_CACHE_HOME"], "neuron-emu/machines")
    for name in ("one", "old"):
        (here / f"{name}.qcow2").write_bytes(b"")
        text = json.loads((there / "small.json").read_text(encoding="utf-8"))
        text["words"] = ["--chips=2"]
        if name == "old":
            text["identity"][0] += " changed"
        (here / f"{name}.json").write_text(json.dumps(text), encoding="utf-8")
    lines = saved(env)
    assert set(lines) == {"one", "old"}
    assert lines["one"].endswith("  --chips=2") and "cannot go on" in lines["old"]
    assert neuron_vm("--remove-saved", "old", "--remove-saved", "one", env=env).returncode == 0
    assert set(saved(env)) == {"no"}
    assert not list(here.iterdir())


def test_snapshot_disk(tmp_path):
    """It is made when it does not exist, QEMU keeps a snapshot in it, and a dry run makes none."""
    disk = tmp_path / "disk.qcow2"
    assert neuron_vm(*SMALL, "--snapshot-disk", disk, "--dry-run").returncode == 0
    assert not disk.exists()
    socket = tmp_path / "qmp"
    running = Running(*SMALL, "--snapshot-disk", disk, "--qmp", socket, "--", "sh", "-c",
                      "echo ready; exec sleep 1000")
    answer = Qmp.connect(str(socket)).human("savevm one")
    running.process.send_signal(signal.SIGINT)
    assert running.end()[0] == 130
    assert answer == ""
    assert b"one" in disk.read_bytes()


# --- Faults, QMP ---

def test_fault():
    """A fault from the start on strikes the first job."""
    done = neuron_vm("--small", "--fault", "0:engine-hang,core=0,engine=vector,count=1", "--",
                     "/usr/libexec/neuron/fault_job", "0",
                     input=b"open 0\njob 0 1000\njob 0 30000\n")
    assert done.returncode == 0, done.stderr.decode()
    answers = [dict(word.split("=") for word in line[1:].split())
               for line in done.stdout.decode().splitlines() if line.startswith("@")]
    assert [answer.get("hang") for answer in answers] == [None, None, "1", "0"]
    assert answers[3]["data"] == "ok"


# --- Machines that end too early ---

class Running:
    """neuron-vm with a command that has begun."""

    def __init__(self, *words, env=None):
        self.process = subprocess.Popen([VM, *map(str, words)], env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n", self.process.communicate(timeout=60)
        self.machine = self.find_machine()

    def find_machine(self):
        """The process id of its QEMU."""
        pid = self.process.pid
        children = subprocess.run(["pgrep", "--parent", str(pid), "qemu"], capture_output=True,
                                  text=True, check=True)
        return int(children.stdout)

    def end(self):
        """Its exit status and what it said on stderr; the machine must be gone."""
        _, errors = self.process.communicate(timeout=TIME_S)
        assert not os.path.exists(f"/proc/{self.machine}"), "QEMU still runs"
        return self.process.returncode, errors.decode()


def test_interrupt():
    """Ctrl-C reaches the command and ends the machine."""
    running = Running(*SMALL, "--", "sh", "-c", "echo ready; exec sleep 1000")
    running.process.send_signal(signal.SIGINT)
    assert running.end()[0] == 128 + signal.SIGINT


def test_interrupt_that_is_caught(kept):
    """The command decides what becomes of it."""
    running = Running(*WARM, "--", "sh", "-c",
                      "trap 'exit 42' INT; echo ready; while :; do sleep 0.1; done",
                      env=kept[0])
    running.process.send_signal(signal.SIGINT)
    assert running.end()[0] == 42


def test_second_interrupt(kept):
    """A command that does not care for the first one is ended by the second one."""
    running = Running(*WARM, "--", "sh", "-c",
                      "trap '' INT; echo ready; while :; do sleep 0.1; done", env=kept[0])
    running.process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert running.process.poll() is None
    running.process.send_signal(signal.SIGINT)
    assert running.end() == (130, "neuron-vm: interrupted\n")


def test_killed(kept):
    """No QEMU stays behind when neuron-vm is killed."""
    running = Running(*WARM, "--", "sh", "-c", "echo ready; exec sleep 1000", env=kept[0])
    running.process.kill()
    running.process.wait()
    deadline = time.monotonic() + 60
    while os.path.exists(f"/proc/{running.machine}"):
        assert time.monotonic() < deadline, "QEMU still runs"
        time.sleep(0.1)


def test_timeout(kept):
    done = neuron_vm(*WARM, "--timeout", "5", "--", "sleep", "1000", env=kept[0])
    assert (done.returncode, len(said(done))) == (124, 1), done
    assert "5 s" in said(done)[0] and "--timeout" in said(done)[0]


def test_panic(kept):
    done = neuron_vm(*WARM, "--", "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 1000",
                     env=kept[0])
    assert (done.returncode, len(said(done))) == (125, 1), done
    assert "kernel panic: sysrq triggered crash" in said(done)[0]


def test_power_off(kept):
    done = neuron_vm(*WARM, "--", "sh", "-c", "poweroff -f; sleep 1000", env=kept[0])
    assert (done.returncode, len(said(done))) == (125, 1), done
    assert "switched itself off" in said(done)[0]


def test_qemu_fails():
    done = neuron_vm(*SMALL, "--qemu-option=-nonsense", "--", "true")
    assert (done.returncode, len(said(done))) == (125, 1), done
    assert "-nonsense" in said(done)[0]


def test_unknown_task(kept):
    done = neuron_vm("--load", "small", "--task", "nonsense", env=kept[0])
    assert done.returncode == 127
    assert "smoke" in said(done)[-1]


# --- A terminal ---

class Terminal:
    """neuron-vm in a terminal of its own."""

    def __init__(self, *words, env):
        self.text = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve("/bin/sh", ["sh", "-c", "stty rows 31 cols 97; exec "
                                  + shlex.join([VM, *words])], env)

    def expect(self, pattern):
        """Wait for a text."""
        deadline = time.monotonic() + TIME_S
        while True:
            match = re.search(pattern, self.text)
            if match:
                self.text = self.text[match.end():]
                return match
            assert time.monotonic() < deadline, f"no {pattern} but {self.text[-500:]}"
            if not select.select([self.terminal], [], [], 1)[0]:
                continue
            try:
                self.text += os.read(self.terminal, 4096)
            except OSError:
                pytest.fail(f"the terminal is closed without {pattern}: {self.text[-500:]}")

    def send(self, data):
        """Press keys."""
        os.write(self.terminal, data)

    def end(self):
        """Its exit status."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.terminal)
        return status


def test_terminal(kept):
    """The shell has the size of the host's terminal; Ctrl-C is for what it runs."""
    terminal = Terminal("--shell", *WARM, env=kept[0])
    terminal.send(b"stty size; tty\n")
    terminal.expect(rb"31 97\r?\n/dev/pts/\d+")
    terminal.send(b"echo re''ady; sleep 1000\n")
    terminal.expect(rb"ready")
    time.sleep(1)
    terminal.send(b"\x03")
    terminal.send(b"echo still' 'here\n")
    terminal.expect(rb"still here")
    terminal.send(b"exit 5\n")
    assert terminal.end() == 5


def test_terminal_escape(kept):
    """Ctrl-A x ends the machine."""
    terminal = Terminal("--shell", *WARM, env=kept[0])
    terminal.send(b"echo re''ady\n")
    terminal.expect(rb"ready")
    terminal.send(b"\x01x")
    assert terminal.end() == 130


# --- Streams and requests that are odd ---

def test_full_disk(kept):
    """An output that cannot be written is an error with a reason."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([VM, *WARM, "--", "echo", "hi"], stdin=subprocess.DEVNULL,
                              stdout=full, stderr=subprocess.PIPE, env=kept[0], check=False,
                              timeout=TIME_S)
    assert done.returncode == 125
    assert b"cannot be written: No space left on device" in done.stderr


def test_closed_streams(kept):
    """A stream that was closed is an empty one."""
    for command, redirection in (("cat", "<&-"), ("echo hi", ">&-")):
        line = f"exec {VM} {' '.join(WARM)} --timeout 60 -- {command} {redirection}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, env=kept[0], check=False,
                              timeout=TIME_S)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()


def test_output_that_nobody_reads(kept):
    """It does not hold up the time limit."""
    with subprocess.Popen([VM, *WARM, "--timeout", "8", "--", "yes"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=kept[0]) as process:
        assert process.wait(TIME_S) == 124
        process.stdout.close()


def test_request_to_end(tmp_path):
    """While the machine boots, too, it leaves nothing behind."""
    with subprocess.Popen([VM, *SMALL, "--", "true"], stdin=subprocess.DEVNULL,
                          env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/console.txt")):
            assert time.monotonic() < deadline, "QEMU was not started"
            time.sleep(0.01)
        process.terminate()
        assert process.wait(TIME_S) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_command_that_is_too_long(kept):
    """More than the agent takes is refused, and not sent."""
    done = neuron_vm(*WARM, "--", "echo", *["x" * 100000] * 12, env=kept[0])
    assert done.returncode == 125 and "the guest's agent takes" in said(done)[0]


# --- What needs a network, or takes long ---

def test_with_in_a_dry_run(tmp_path):
    """It says what would be downloaded, and downloads nothing."""
    done = neuron_vm("--chips", "0", "--with", "hello", "--dry-run", "--", "hello",
                     env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr.decode()
    assert re.fullmatch(r"neuron-vm: would download for the guest: hello=\S+", said(done)[0])
    assert not list(tmp_path.rglob("hello*"))


@pytest.mark.slow
def test_with():
    """A package is there for the command and not on the host."""
    done = neuron_vm("--chips", "0", "--with", "hello", "--", "hello")
    assert (done.returncode, done.stdout) == (0, b"Hello, world!\n"), done.stderr.decode()


@pytest.mark.slow
def test_with_what_looks_into_programs(tmp_path):
    """strace, gdb and perf do their work in the guest, below a kernel that is not the host's."""
    script = """
        set -e
        strace -o strace cat /proc/version >version
        gdb -batch -ex 'catch syscall openat' -ex run -ex 'print $pc' --args true >gdb 2>&1
        perf stat -o stat -e task-clock,page-faults true
        perf record -q -o data -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
        perf report -i data --stdio >report 2>report-errors
        """
    done = neuron_vm("--chips", "0", "--with", "strace,gdb,perf", "--", "sh", "-c", script,
                     cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    read = {path.name: path.read_text(errors="replace") for path in tmp_path.iterdir()}
    assert re.search(r'^openat\(.*"/proc/version"', read["strace"], re.M)
    assert "Catchpoint 1 (call to syscall openat)" in read["gdb"], read["gdb"]
    assert re.search(r"^ +\d+ +page-faults", read["stat"], re.M), read["stat"]
    assert re.search(r"^ +[\d.]+% +sh ", read["report"], re.M), read["report"]


@pytest.mark.slow
def test_ssh(tmp_path):
    """The line that it prints logs in."""
    with subprocess.Popen([VM, "--chips", "0", "--ssh", "--", "sleep", "1000"], cwd=tmp_path,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stderr if "log in with: " in line)
        words = shlex.split(line.split("log in with: ")[1])
        done = subprocess.run([*words, "cat", "/proc/1/comm"], capture_output=True, text=True,
                              check=False, timeout=TIME_S)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIME_S)
    assert done.stdout == "init\n", done.stderr


@pytest.mark.slow
def test_qmp_socket(tmp_path):
    """A program of one's own speaks to QEMU."""
    path = tmp_path / "qmp"
    running = Running(*SMALL, "--qmp", path, "--", "sh", "-c", "echo ready; exec sleep 1000")
    assert Qmp.connect(str(path)).run("query-status")["status"] == "running"
    running.process.send_signal(signal.SIGINT)
    assert running.end()[0] == 130


@pytest.mark.slow
def test_gdb():
    """The line that it prints attaches gdb, which knows the kernel and the driver by name."""
    printed, table, status = stop_in_the_driver("--small", limit=TIME_S)
    assert re.search(r"Breakpoint 2, .*do_sys_openat2 \(\)", printed), printed
    assert re.search(r"#0 +neuron_ioctl_query \(drm=0x\w+, .*neuron_query\.c:\d+", printed), \
        printed
    assert status == 0 and "NEURON" in table
