# SPDX-License-Identifier: MIT
"""What neuron-ls, neuron-top and neuron-monitor show, against what the machine was built with;
nccom-test.
"""

import json
import re
import time

import pyte
import pytest

from fault_job import JOB, Chip

CORES = 8                   # of a Trainium2
MEMORY = 96 << 30
LOGICAL = 2                 # NeuronCores of a logical one, unless the environment says otherwise
USAGE = 2                   # exit status of a wrong command line
WIDTHS = (80, 200)
ROWS = 40                   # enough for two chips
BAR = 20
JSON_KEYS = {"neuron_device", "bdf", "cpu_affinity", "numa_node", "connected_to", "nc_count",
             "logical_neuroncore_config", "memory_size", "neuroncore_ids", "neuron_processes"}
TABLE = ["NEURON DEVICE", "NEURON CORES", "NEURON CORE IDS", "NEURON MEMORY", "CONNECTED DEVICES",
         "PCI BDF", "CPU AFFINITY", "NUMA NODE"]
WIDE = ["NEURON DEVICE", "NEURON CORES", "NEURON MEMORY", "CONNECTED DEVICES", "PCI BDF", "PID",
        "COMMAND", "RUNTIME VERSION"]
TOPOLOGY = WIDE[:5]


def neuron_ls(vm, *options):
    """The output of neuron-ls, which succeeds and has nothing to say on stderr."""
    done = vm.run(["neuron-ls", *options], timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), f"neuron-ls {options}: {done}"
    return done.stdout


def parse_table(text):
    """The heading and the rows of a table, whose lines are all of one length."""
    lines = [line for line in text.splitlines() if line.startswith(("+", "|"))]
    assert len({len(line) for line in lines}) == 1, f"a table with a ragged edge:\n{text}"
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in lines if line.startswith("|")]
    head = [" ".join(words).strip() for words in zip(*cells[:2])]
    return head, cells[2:]


def check_header(vm, text):
    """The lines before a table."""
    product = vm.output("cat /sys/class/dmi/id/product_name")
    lines = text.splitlines()
    assert lines[0] == f"instance-type: {product}"
    assert re.fullmatch(r"instance-id: \S.*", lines[1])
    assert lines[2] == f"logical-neuroncore-config: {LOGICAL}"


def places(rig):
    """The PCI addresses of the chips."""
    return [rig.address(chip) for chip in (0, 1)]


def sysfs(vm, address, name):
    """A file of a PCI device."""
    return vm.output(f"cat /sys/bus/pci/devices/{address}/{name}")


# --- neuron-ls ---

def test_ls_table(rig):
    text = neuron_ls(rig.vm)
    check_header(rig.vm, text)
    head, rows = parse_table(text)
    assert head == TABLE
    expected = []
    for chip, address in enumerate(places(rig)):
        count = CORES // LOGICAL
        first = chip * count
        expected.append([str(chip), str(count), f"{first}-{first + count - 1}", "96 GB",
                         str(1 - chip), address, sysfs(rig.vm, address, "local_cpulist"),
                         sysfs(rig.vm, address, "numa_node")])
    assert rows == expected


def test_ls_json(rig):
    chips = json.loads(neuron_ls(rig.vm, "--json-output"))
    assert chips == json.loads(neuron_ls(rig.vm, "-j"))
    assert len(chips) == 2
    for chip, (seen, address) in enumerate(zip(chips, places(rig))):
        assert seen == {
            "neuron_device": chip,
            "bdf": address.removeprefix("0000:"),
            "cpu_affinity": sysfs(rig.vm, address, "local_cpulist"),
            "numa_node": sysfs(rig.vm, address, "numa_node"),
            "connected_to": [1 - chip],
            "nc_count": CORES // LOGICAL,
            "logical_neuroncore_config": LOGICAL,
            "memory_size": MEMORY,
            "neuroncore_ids": list(range(chip * CORES // LOGICAL, (chip + 1) * CORES // LOGICAL)),
            "neuron_processes": [],
        }
        assert set(seen) == JSON_KEYS


@pytest.mark.parametrize("name", ("NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE"))
def test_ls_logical_cores(rig, name):
    """The variables of libnrt count here, too."""
    text = rig.vm.output(f"{name}=1 neuron-ls")
    assert "logical-neuroncore-config: 1\n" in text
    _, rows = parse_table(text)
    assert [row[1:3] for row in rows] == [[str(CORES), f"0-{CORES - 1}"],
                                          [str(CORES), f"{CORES}-{2 * CORES - 1}"]]
    chip = json.loads(rig.vm.output(f"{name}=1 neuron-ls -j"))[1]
    assert (chip["nc_count"], chip["logical_neuroncore_config"]) == (CORES, 1)
    assert chip["neuroncore_ids"] == list(range(CORES, 2 * CORES))
    done = rig.vm.run(["env", f"{name}=3", "neuron-ls"], timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'neuron-ls: {name}="3": use 1 or 2\n'


def test_ls_processes(rig):
    """Who owns cores: once for each chip, however many cores it has."""
    rig.start_with_cores()
    pid = int(rig.vm.output("pidof fault_job"))
    mine = {"pid": pid, "command": f"{JOB} 0", "neuron_runtime_version": "NA"}
    chips = json.loads(neuron_ls(rig.vm, "--json-output"))
    assert [chip["neuron_processes"] for chip in chips] == [[mine], []]
    for option in ("--wide", "-w", "--show-all-procs", "-a"):
        head, rows = parse_table(neuron_ls(rig.vm, option))
        assert head == WIDE
        assert [row[5:] for row in rows] == [[str(pid), mine["command"], "NA"], ["", "", ""]]
    rig.end()
    _, rows = parse_table(neuron_ls(rig.vm, "--wide"))
    assert [row[5:] for row in rows] == [["", "", ""]] * 2


def test_ls_long_command(rig):
    """A command line of any length does not make the table wider than 80 characters of it."""
    program = rig.vm.spawn([JOB, "0" * 100])
    program.expect(r"^@ret=0", 30)
    program.send("open 0")
    program.expect(r"^@ret=0", 60)
    _, rows = parse_table(neuron_ls(rig.vm, "--wide"))
    command = f"{JOB} {'0' * 100}"
    assert rows[0][6] == command[:77] + "..."
    chips = json.loads(neuron_ls(rig.vm, "--json-output"))
    assert chips[0]["neuron_processes"][0]["command"] == command
    program.send("exit")
    assert program.wait(60) == 0


def test_ls_topology(rig):
    """The table, and each link once, as it is."""
    for option in ("--topology", "-t"):
        text = neuron_ls(rig.vm, option)
        head, rows = parse_table(text)
        assert head == TOPOLOGY
        assert rows == [[str(chip), str(CORES // LOGICAL), "96 GB", str(1 - chip),
                         address.removeprefix("0000:")]
                        for chip, address in enumerate(places(rig))]
    drawn = text[text.index("Neuron Device Topology"):].splitlines()[1:]
    assert len(drawn) == 1, f"one link is drawn as {drawn}"
    assert re.fullmatch(r"  \[  0 \] <== x\d+, \d+ MB/s, up ==> \[  1 \]", drawn[0])
    rig.start()
    for state in ("down", "up"):
        rig.vm.qmp.run("qom-set", path="/objects/fabric0", property="link-fault",
                       value=f"0-1={state}")
        rig.told("NEURON_EVENT=link")
        text = neuron_ls(rig.vm, "--topology")
        assert f", {state} ==> [  1 ]" in text
        _, rows = parse_table(text)
        assert [row[3] for row in rows] == (["1", "0"] if state == "up" else ["", ""])


@pytest.mark.parametrize("tool", ("neuron-ls", "neuron-top"))
@pytest.mark.parametrize("words", (["--wrong"], ["-x"], ["word"]))
def test_wrong_words(guest, tool, words):
    done = guest.run([tool, *words], timeout=60)
    assert done.returncode == USAGE, done
    assert done.stdout == ""
    line = done.stderr.splitlines()[0]
    assert line.startswith(f"{tool}: ") and words[0].lstrip("-") in line


@pytest.mark.parametrize("tool", ("neuron-ls", "neuron-top"))
def test_help(guest, tool):
    done = guest.run([tool, "--help"], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {tool} ")


@pytest.mark.parametrize("tool", (["neuron-ls"], ["neuron-ls", "-j"], ["neuron-top", "--batch"]))
def test_no_device(rig, tool):
    """The driver has lost all its devices; then the driver is not there itself."""
    def refused(words):
        done = rig.vm.run(tool, timeout=60)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr == f"{tool[0]}: {words}\n"

    for address in places(rig):
        rig.unbind(address)
    refused("the neuron module is loaded but drives no device; see dmesg")
    assert rig.sh("modprobe -r neuron") == 0
    refused("the neuron module is not loaded; try: modprobe neuron")
    assert rig.sh("modprobe neuron") == 0
    assert len(json.loads(neuron_ls(rig.vm, "-j"))) == 2


def test_ls_unbound_chip(rig):
    """A chip that the driver does not have is no device."""
    address = rig.address(1)
    rig.unbind(address)
    chips = json.loads(neuron_ls(rig.vm, "-j"))
    assert [(chip["neuron_device"], chip["connected_to"]) for chip in chips] == [(0, [])]
    assert rig.bind(address) == 0
    assert len(json.loads(neuron_ls(rig.vm, "-j"))) == 2


@pytest.mark.parametrize("words", (["neuron-ls", "-j"], ["neuron-top", "--batch", "-n", "1"]))
def test_failed_chip(rig, words):
    """A chip that has failed is left out, and a line says so."""
    chip = Chip(rig)
    rig.end()
    node = rig.vm.output(f"ls /sys/bus/pci/devices/{chip.address}/accel")
    rig.vm.fault(f"reg-stuck,offset={chip.ctl('MAGIC'):#x},value=0")
    rig.reset_device(chip.address)
    done = rig.vm.run(words, timeout=60)
    rig.vm.fault("clear")
    assert rig.reset_device(chip.address) == 0
    assert done.returncode == 0
    assert done.stderr == (f"{words[0]}: /dev/accel/{node}: Input/output error; "
                           "that chip is left out\n")
    assert done.stdout.count("Trainium2" if words[0] == "neuron-top" else "neuron_device") == 1


# --- nccom-test ---

@pytest.mark.parametrize("operation", ("all_reduce", "all_gather", "reduce_scatter"))
def test_collectives(rig, operation):
    """Ranks on both chips; nccom-test compares all results, also how sums are rounded."""
    done = rig.vm.run(["nccom-test", "-r", "8", "-b", "1kb", "-e", "100kb", "-f", "97", "-d",
                       "bf16", "-n", "2", "-w", "1", "--check", operation], timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), f"{operation}: {done}"
    assert re.findall(r"^ *(\d+) +\d+ +bf16 ", done.stdout, re.MULTILINE) == ["1024", "99328"]


# --- neuron-top ---

class Terminal:
    """neuron-top in a terminal of the guest, and what is on its screen."""

    def __init__(self, vm, columns, *options):
        self.screen = pyte.Screen(columns, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.process = vm.spawn(["neuron-top", "--delay", "0.2", *options], tty=(ROWS, columns),
                                env={"TERM": "linux"}, sinks=(self.stream.feed, self.stream.feed))

    def lines(self):
        """The screen's lines without the blanks at their ends."""
        with self.process.agent.lock:
            return [line.rstrip() for line in self.screen.display]

    def wait_for(self, check, timeout=60):
        """Wait until a function of the lines has nothing to object to; what it returns.

        What a program draws comes in pieces, so a screen that is not right yet is looked at
        again. One that stays wrong is a failure.
        """
        deadline = time.monotonic() + timeout
        while True:
            lines = self.lines()
            try:
                return check(lines)
            except AssertionError as error:
                if time.monotonic() > deadline:
                    raise AssertionError(f"{error}; the screen is\n" + "\n".join(lines)) from None
            time.sleep(0.1)

    def quit(self):
        """Press q."""
        self.process.write(b"q")
        assert self.process.wait(60) == 0


def core_line(core):
    """The line of a core: its bar, its share and its jobs, and who owns it."""
    return re.compile(rf"  NC{core:<3} \[(?P<bar>\|* *)\] +(?P<percent>\d+\.\d) %"
                      r"  PE +(?P<tensor>\d+\.\d) %"
                      r" +(?P<rate>\d+\.\d) jobs/s(?P<owner>.*)")


def check_screen(lines, columns):
    """The screen as a whole; the matches of the core lines, by core."""
    assert lines[0] == "neuron-top: 2 devices, q quits"
    assert re.fullmatch(r"NeuronCore utilisation: share of the last \d+\.\d s with a job running",
                        lines[1])
    assert all(len(line) <= columns for line in lines)
    rest, cores = lines[2:], []
    for chip in (0, 1):
        assert rest.pop(0) == "", "no empty line before a chip"
        assert re.fullmatch(rf"nd{chip}  Trainium2 \(NCv3\)", rest.pop(0))
        for core in range(chip * CORES, (chip + 1) * CORES):
            line = rest.pop(0)
            match = core_line(core).fullmatch(line)
            assert match and len(match["bar"]) == BAR, f"the line of core {core}: {line}"
            cores.append(match)
        memory = rest.pop(0)
        while rest and rest[0].startswith("    "):
            memory += rest.pop(0)
        assert re.fullmatch(r"  device memory \S+ [KMG]?B of 96 GB:( +HBM\d \S+ [KMG]?B){4}",
                            memory)
        assert [int(n) for n in re.findall(r"HBM(\d)", memory)] == [0, 1, 2, 3]
        assert re.fullmatch(r"  links: \S+ [KMG]?B/s sent, \S+ [KMG]?B/s received", rest.pop(0))
    assert not any(rest), f"lines that do not belong there: {rest}"
    return cores


def shown_owner(core, columns):
    """The place of a core's owner, and how many characters the terminal has there."""
    return core["owner"], columns - core.start("owner")


@pytest.mark.parametrize("columns", WIDTHS)
def test_top_screen(rig, columns):
    """Nothing runs, then a job of one core does, then nothing does."""
    rig.start_with_cores()
    owner = f"  {rig.vm.output('pidof fault_job')} {JOB} 0"
    top = Terminal(rig.vm, columns)

    def idle(lines):
        cores = check_screen(lines, columns)
        assert all(float(core["percent"]) == 0 and not core["bar"].strip() for core in cores)
        return cores

    def busy(lines):
        cores = check_screen(lines, columns)
        assert float(cores[0]["percent"]) > 50 and cores[0]["bar"].startswith("|" * (BAR // 2))
        assert all(float(core["percent"]) == 0 for core in cores[1:])
        return cores

    def released(lines):
        cores = idle(lines)
        assert not cores[0]["owner"] and cores[1]["owner"]

    top.wait_for(idle)
    assert rig.ask("spin 0")["ret"] == 0
    cores = top.wait_for(busy)
    for core in cores[:2]:
        text, room = shown_owner(core, columns)
        assert text == (owner if len(owner) <= room else owner[:room - 3] + "...")
    assert not any(core["owner"] for core in cores[2:])
    rig.close_core(0)
    top.wait_for(released)
    top.quit()
    rig.end()


def test_top_tensor_engine(rig):
    """A program that multiplies shows at the cores that it runs on, and nowhere else."""
    top = Terminal(rig.vm, WIDTHS[0])
    program = rig.vm.spawn(["neuron-digits"])

    def multiplies(lines):
        shares = [float(core["tensor"]) for core in check_screen(lines, WIDTHS[0])]
        assert max(shares) > 0, f"no tensor engine multiplies: {shares}"
        assert all(share <= 100 for share in shares)
        return shares

    shares = top.wait_for(multiplies)
    # neuron-digits has the first core of each chip, and does not begin on both at once.
    others = shares[1:CORES] + shares[CORES + 1:]
    assert not any(others), f"another core multiplies, too: {shares}"
    assert program.wait(120) == 0
    top.quit()


def test_top_links(rig):
    """What two chips exchange goes over the links of both."""
    top = Terminal(rig.vm, WIDTHS[0])
    program = rig.vm.spawn(["nccom-test", "-r", "8", "-b", "1mb", "-e", "1mb", "-n", "20",
                            "all_reduce"])

    def exchange(lines):
        check_screen(lines, WIDTHS[0])
        rates = re.findall(r"  links: (\S+) \S+ sent, (\S+) \S+ received", "\n".join(lines))
        assert len(rates) == 2
        assert all(rate != "0" for pair in rates for rate in pair), f"a link is idle: {rates}"

    top.wait_for(exchange)
    assert program.wait(120) == 0
    top.quit()


def test_top_resize(rig):
    """The screen is drawn anew for a terminal of another width."""
    wide, narrow = WIDTHS[1], WIDTHS[0]
    top = Terminal(rig.vm, wide)
    top.wait_for(lambda lines: check_screen(lines, wide))
    with top.process.agent.lock:
        top.screen.reset()
        top.screen.resize(ROWS, narrow)
    top.process.resize(ROWS, narrow)
    top.wait_for(lambda lines: check_screen(lines, narrow))
    top.quit()


def test_top_batch(rig):
    """A line for each chip and look; the numbers are those of the cores."""
    done = rig.vm.run(["neuron-top", "--batch", "--delay", "0.1", "--iterations", "3"], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * 2
    for i, line in enumerate(lines):
        assert re.fullmatch(rf"nd{i % 2}  Trainium2 +NC %( +0\.0){{{CORES}}}   mem 0 B / 96 GB",
                            line), line


def test_top_batch_busy(rig):
    rig.start_with_cores()
    assert rig.ask("spin 1")["ret"] == 0
    done = rig.vm.run(["neuron-top", "--batch", "--delay", "0.5", "--iterations", "2"], timeout=60)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * 2
    for line in lines[::2]:
        shares = [float(number) for number in re.findall(r" (\d+\.\d)", line)[:CORES]]
        assert shares[1] > 50, line
        assert shares[0] == 0 and not any(shares[2:]), line
        assert not line.endswith("mem 0 B / 96 GB"), "two cores with buffers use no memory"
    rig.close_core(1)
    rig.end()


def test_top_no_terminal(guest):
    done = guest.run(["neuron-top"], timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "neuron-top: the output is not a terminal; use --batch\n"


@pytest.mark.parametrize("words", (["--delay", "0"], ["--delay", "x"], ["--delay", "nan"],
                                   ["--iterations", "0"], ["--iterations", "-1"],
                                   ["--iterations", "1x"], ["--delay"]))
def test_top_wrong_values(guest, words):
    done = guest.run(["neuron-top", "--batch", *words], timeout=60)
    assert (done.returncode, done.stdout) == (USAGE, ""), done
    assert done.stderr.startswith("neuron-top: ")


def test_top_device_goes(rig):
    """The device leaves while it is looked at."""
    top = rig.vm.spawn(["neuron-top", "--batch", "--delay", "0.1"])
    top.expect(r"^nd1 ", 60)
    address = rig.address(1)
    rig.unbind(address)
    assert top.wait(60) == 1
    assert bytes(top.stderr).decode() == "neuron-top: a device went away\n"
    assert rig.bind(address) == 0


# --- neuron-monitor ---

def documents(monitor):
    """The complete lines of a monitor so far."""
    with monitor.agent.lock:
        text = bytes(monitor.stdout)
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith(b"\n")]


def test_monitor(rig):
    """The chips, their errors, and a program that multiplies on them, with its tag."""
    config = {"period": "200ms", "system_metrics": [{"type": "neuron_hw_counters"}],
              "neuron_runtimes": [{"metrics": [{"type": name} for name in (
                  "neuroncore_counters", "memory_used", "execution_stats")]}]}
    rig.vm.output(f"echo '{json.dumps(config)}' >/tmp/monitor.json")
    monitor = rig.vm.spawn(["neuron-monitor", "--config-file", "/tmp/monitor.json"])
    # On a quiet host a run is shorter than a period, which then has only a part of it.
    for _ in range(3):
        program = rig.vm.spawn(["neuron-digits"], env={"NEURON_PROCESS_TAG": "digits"})
        assert program.wait(120) == 0
    seen = documents(monitor)
    monitor.signal(15)
    assert monitor.wait(60) == 0
    assert bytes(monitor.stderr) == b""
    info = seen[-1]["neuron_hardware_info"]
    assert info["error"] == ""
    assert (info["neuron_device_type"], info["neuron_device_count"]) == ("trainium2", 2)
    assert info["neuron_device_memory_size"] == MEMORY
    assert info["neuroncore_per_device_count"] * info["logical_neuroncore_config"] == CORES
    counters = seen[-1]["system_data"]["neuron_hw_counters"]
    assert [device["neuron_device_index"] for device in counters["neuron_devices"]] == [0, 1]
    reports = [data["report"] for document in seen for data in document["neuron_runtime_data"]
               if data["neuron_runtime_tag"] == "digits"]
    completed = sum(report["execution_stats"]["execution_summary"]["completed"]
                    for report in reports)
    assert completed > 0, seen
    used = [report["memory_used"]["neuron_runtime_used_bytes"]["neuron_device"]
            for report in reports]
    assert max(used) > 0
    cores = [core for report in reports
             for core in report["neuroncore_counters"]["neuroncores_in_use"].values()]
    assert max(core["neuroncore_utilization"] for core in cores) > 0
    assert max(core["flops"] for core in cores) > 0
