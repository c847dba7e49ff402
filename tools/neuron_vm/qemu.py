# SPDX-License-Identifier: MIT
"""QEMU's command line of a machine."""

import os
import shlex
from dataclasses import dataclass, field

from . import host, shapes
from .errors import UsageError

# GiB of BAR4, the largest of a chip, by generation.
BAR4 = {"trn1": 32, "inf2": 32, "trn2": 128, "trn3": 256}
PUBLIC_DRIVER_WORDS = ("lsm=capability log_buf_len=16M watchdog_thresh=60 "
                       "rcupdate.rcu_cpu_stall_timeout=120")


# QEMU ends when this process is killed.
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


@dataclass
class Share:
    """A folder of the host that the guest can mount by its tag."""

    tag: str
    path: str
    writable: bool = False


@dataclass
class Plan:
    """All that decides what the machine is; made once from the options.

    Attributes:
        directory: for sockets and logs of this run.
        shape: with the properties of the command line's options.
        shares: folders of the host, in the order of their devices.
    """

    options: object
    files: host.Files
    directory: str
    shape: shapes.Shape
    accel: str = "tcg"
    memory: str = "2G"
    cpus: int = 1
    module: host.Module = None
    chip_props: dict = field(default_factory=dict)
    fabric_props: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)
    shares: list = field(default_factory=list)
    ssh_port: int = None
    notes: list = field(default_factory=list)

    def path(self, name):
        return os.path.join(self.directory, name)


def choose_shape(options):
    given = [word for word in (options.shape, options.instance) if word]
    if len(given) > 1:
        raise UsageError("SHAPE and --instance name the machine twice")
    shape = shapes.find(given[0]) if given else shapes.find("trn2")
    if options.type is None and options.chips is None:
        return shape
    if options.type and options.type not in shapes.TYPES:
        raise UsageError(f"--type {options.type}: there are {', '.join(shapes.TYPES)}")
    chips = shape.chips if options.chips is None else options.chips
    return shapes.Shape(shape.name, options.type or shape.type, 1, chips, shape.memory,
                        shape.chip_props, shape.fabric_props)


def collect_faults(options, chips):
    faults = {}
    for chip, text in options.fault:
        if chip >= chips:
            there = f"there are 0 to {chips - 1}" if chips else "there are none"
            raise UsageError(f"--fault: there is no chip {chip}; {there}")
        faults.setdefault(chip, []).append(text)
    return faults


def default_memory(plan):
    if not (plan.module and plan.module.public):
        return plan.shape.memory
    # The public driver wants about 135 MiB below 4 GiB for each chip.
    return "6G" if plan.shape.chips > 4 else "4G"


def make_plan(options, files, directory):
    """Raises UsageError."""
    shape = choose_shape(options)
    if shape.chips > shapes.MOST_CHIPS:
        raise UsageError(f"--chips {shape.chips}: the root bus of the machine has room for "
                         f"{shapes.MOST_CHIPS}")
    plan = Plan(options, files, directory, shape)
    if options.module:
        plan.module = host.find_module(options.module, files.release())
    plan.memory = options.memory or default_memory(plan)
    plan.cpus = min(os.cpu_count() or 1, 4) if options.cpus is None else options.cpus
    plan.chip_props = {**shape.chip_props, **dict(options.chip_prop)}
    plan.fabric_props = {**shape.fabric_props, **dict(options.fabric_prop)}
    plan.faults = collect_faults(options, shape.chips)
    if shape.chips > shapes.SINGLE_CHIPS:
        # Interrupt vectors are few on a machine with few processors.
        plan.chip_props.setdefault("vectors", "1")
    return plan


def fit_addresses(plan, bits):
    """Shrink the largest BAR until the chips fit below 2^bits, as KVM has it."""
    most = bar4 = BAR4[plan.shape.type]
    chips = plan.shape.chips
    if not chips or "bar4-size" in plan.chip_props:
        return
    # Two GiB more for registers, and room to align the largest.
    while bar4 > 1 and chips * (bar4 + 8) + 2 * bar4 > 1 << (bits - 30):
        bar4 //= 2
    if bar4 < most:
        plan.chip_props["bar4-size"] = f"{bar4}G"
        plan.notes.append(f"the processors of this host address only {bits} bits: each chip gets "
                          f"{bar4} GiB of memory")


def quote(text):
    """A value inside an option of QEMU: commas are doubled."""
    return str(text).replace(",", ",,")


def properties(values):
    return "".join(f",{name}={quote(value)}" for name, value in values.items())


def kernel_words(plan):
    options = plan.options
    # A busy host can hold an emulated timer up for longer than the kernel's check allows, and
    # then the kernel distrusts the processor's clock, which is right. The clock that it takes
    # instead wraps every 4.7 s, so a guest whose timers are late can stand still for ever.
    # Tests of ciphers and a policy that nobody loads cost the boot more than a second.
    words = "console=ttyS0 panic=-1 no_timer_check tsc=reliable cryptomgr.notests apparmor=0"
    if not options.verbose:
        words += " quiet loglevel=4"
    if options.iommu:
        words += " intel_iommu=on iommu.strict=1"
    if options.gdb:
        words += " nokaslr"
    if plan.module and plan.module.public:
        words += " " + PUBLIC_DRIVER_WORDS
    return f"{words} {options.append}" if options.append else words


def base_words(plan, accel):
    """The machine without its chips."""
    options = plan.options
    machine = "q35,hpet=off" + (",kernel-irqchip=split" if options.iommu else "")
    if plan.module and plan.module.public:
        machine += ",max-ram-below-4g=3G"
    # Addresses that the guest can reach decide where large BARs may be. SeaBIOS places them
    # below 2^46 rounded up to the largest one, so 46 bits are not enough to be sure.
    # Told that byte-wise string instructions are fast, the kernel copies and clears with them,
    # and TCG emulates them a byte at a time.
    emulated = "max,phys-bits=48,la57=off,erms=off,fsrm=off"
    processor = "host" if accel == "kvm" else emulated
    words = [plan.files.qemu, "-machine", machine,
             "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi",
             "-cpu", processor, "-smp", str(plan.cpus), "-m", plan.memory,
             # Tools in the guest read the name of the instance from the DMI table.
             "-smbios", f"type=1,manufacturer=neuron-emu,product={plan.shape.name}",
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-L", plan.files.firmware,
             "-kernel", plan.files.kernel, "-initrd", plan.files.initrd,
             "-append", kernel_words(plan),
             "-chardev", f"file,id=kmsg,path={quote(plan.path('console.txt'))}",
             "-serial", "chardev:kmsg",
             "-chardev", f"socket,id=agent,path={quote(plan.path('agent'))},server=on,wait=off",
             "-qmp", f"unix:{quote(plan.path('qmp'))},server=on,wait=off",
             "-D", plan.path("qemu.log")]
    if options.iommu:
        words += ["-device", "intel-iommu,intremap=on,device-iotlb=on"]
    if options.ports:
        words += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
    return words + ["-device", "virtio-serial-pci,id=ports",
                    "-device", "virtserialport,chardev=agent,name=neuron.agent"]


def chip_place(plan, chip):
    """Where a chip is: words before its device, and properties of it.

    Eight functions of a device need neither bridges nor the time in which firmware and
    kernel look behind them.
    """
    if plan.options.ports:
        port = f"pcie-root-port,id=port{chip},chassis={chip},slot={chip},io-reserve=0"
        return ["-device", port], f",bus=port{chip}"
    if plan.shape.chips <= shapes.SINGLE_CHIPS:
        return [], ""
    more = ",multifunction=on" if chip % 8 == 0 else ""
    return [], f",addr={6 + chip // 8:x}.{chip % 8:x}{more}"


def chip_words(plan):
    shape = plan.shape
    if not shape.chips:
        return []
    words = ["-object", "neuron-fabric,id=fabric0" + properties(plan.fabric_props)]
    for chip in range(shape.chips):
        before, place = chip_place(plan, chip)
        fault = f",fault={quote(';'.join(plan.faults[chip]))}" if chip in plan.faults else ""
        words += before + ["-device", f"{shape.type},id=chip{chip},fabric=fabric0,"
                           f"server={chip // shape.each},chip-id={chip % shape.each}"
                           f"{place}{properties(plan.chip_props)}{fault}"]
    return words


def disk_format(path):
    try:
        with open(path, "rb") as file:
            return "qcow2" if file.read(4) == b"QFI\xfb" else "raw"
    except OSError as error:
        raise UsageError(f"--disk {path}: {error.strerror}") from error


def device_words(plan):
    options, words = plan.options, []
    for i, path in enumerate(options.disk):
        words += ["-drive", f"file={quote(path)},if=none,id=disk{i},format={disk_format(path)}",
                  "-device", f"virtio-blk-pci,drive=disk{i}"]
    if options.nvme:
        words += ["-drive", f"file={quote(options.nvme)},if=none,id=nvme0,format=raw,cache=unsafe",
                  "-device", "nvme,drive=nvme0,serial=neuron-emu"]
    if options.snapshot_disk:
        words += ["-blockdev", "driver=qcow2,node-name=snapshots,file.driver=file,"
                  f"file.filename={quote(options.snapshot_disk)}"]
    if options.net or options.ssh:
        forward = f",hostfwd=tcp:127.0.0.1:{plan.ssh_port}-:22" if plan.ssh_port else ""
        words += ["-netdev", f"user,id=net0{forward}",
                  "-device", "virtio-net-pci,netdev=net0,romfile="]
    for share in plan.shares:
        words += ["-fsdev", f"local,id={share.tag},path={quote(share.path)},security_model=none,"
                  f"multidevs=remap{'' if share.writable else ',readonly=on'}",
                  "-device", f"virtio-9p-pci,fsdev={share.tag},mount_tag={share.tag}"]
    return words


def debug_words(plan):
    options, words = plan.options, []
    if options.gdb:
        words += ["-gdb", f"unix:path={quote(plan.path('gdb'))},server=on,wait=off"]
    if options.qmp:
        words += ["-qmp", f"unix:{quote(options.qmp)},server=on,wait=off"]
    for pattern in options.trace:
        words += ["-trace", pattern]
    if options.verbose:
        words += ["-chardev", "file,id=verbose,path=/dev/stderr", "-serial", "chardev:verbose"]
    return words


def command_line(plan):
    return (base_words(plan, plan.accel) + chip_words(plan) + device_words(plan)
            + debug_words(plan) + plan.options.qemu_option)


def printable(words):
    return " ".join(shlex.quote(word) for word in words)
