# SPDX-License-Identifier: MIT
"""Machines that are kept under a name and go on later.

A kept machine is a qcow2 image with QEMU's snapshot in it and a JSON file that says what the
machine was made of. It goes on only with the same QEMU and the same options, because devices
must be where they were; the folders that it shares may be others.
"""

import json
import os
import shlex
import shutil
import socket
import subprocess
import time

from . import host, options as options_module, qemu
from .errors import MachineError, UsageError
from .qmp import Qmp

TAG = "neuron-vm"
NODE = "kept"
DISK_BYTES = 64 << 20
# What a run may choose anew; all else is as it was.
FREE = ("share", "env", "shell", "task", "args", "out", "timeout", "save", "load", "verbose",
        "dry_run", "qmp", "trace", "gdb", "command", "small", "fault")


def folder():
    return os.path.join(host.cache_folder(), "machines")


def files_of(name):
    base = os.path.join(folder(), name)
    return base + ".qcow2", base + ".json"


def identity(files):
    """What must be the same when the machine goes on."""
    firmware = sorted(os.path.join(files.firmware, name) for name in os.listdir(files.firmware)
                      if name.endswith(".bin"))
    return [host.stamp(path) for path in (files.qemu, files.kernel, files.initrd, *firmware)]


def names():
    if not os.path.isdir(folder()):
        return []
    return sorted(name[:-5] for name in os.listdir(folder()) if name.endswith(".json"))


def read_description(name):
    with open(existing_files(name, "--load")[1], encoding="utf-8") as file:
        return json.load(file)


def existing_files(name, option):
    """Image and description of a machine that is kept. Raises UsageError."""
    image, description = files_of(name)
    if not os.path.exists(image) or not os.path.exists(description):
        known = ", ".join(names()) or "none"
        raise UsageError(f"{option} {name}: no machine is kept under this name; there are: "
                         f"{known}")
    return image, description


def table():
    """The machines that are kept, one a line: name, size, day, options, whether it can go on."""
    lines = []
    for name in names():
        image, _ = existing_files(name, "--list-saved")
        description = read_description(name)
        status = os.stat(image)
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.st_mtime))
        words = " ".join(shlex.quote(word) for word in description["words"]
                         if not word.startswith("--save="))
        stale = "" if is_current(description) else "  (cannot go on: QEMU, the kernel or the " \
            "initramfs have changed since)"
        lines.append(f"{name:<16} {status.st_blocks >> 11:>5} MiB  {day}  {words}{stale}".rstrip())
    return lines


def is_current(description):
    """Whether what the machine was made of is still there."""
    try:
        files = host.find_files(options_module.parse(description["words"]))
        return identity(files) == description["identity"]
    except (MachineError, OSError):
        return False


def remove(name):
    """Remove a machine that is kept. Raises UsageError."""
    image, description = existing_files(name, "--remove-saved")
    # Without its description an image does not count.
    os.remove(description)
    os.remove(image)


def restore_options(options):
    """The options of --load: those of then, and those that are free."""
    description = read_description(options.load)
    fresh = options_module.parse([])
    then = options_module.parse(description["words"])
    for key, value in vars(options).items():
        if key in FREE:
            setattr(then, key, value)
        elif value != getattr(fresh, key) and value != getattr(then, key):
            raise UsageError(f"--load {options.load}: the machine was kept with other options, and "
                             f"'{key.replace('_', '-')}' cannot be changed any more")
    return then, description


def plan_of(options, directory):
    """The plan of a machine with these options."""
    if not options.load:
        files = host.find_files(options)
        return qemu.make_plan(options, files, directory)
    then, description = restore_options(options)
    for key, value in vars(then).items():
        setattr(options, key, value)
    files = host.find_files(options)
    if identity(files) != description["identity"]:
        raise UsageError(f"--load {options.load}: QEMU, the kernel or the initramfs have changed "
                         f"since; keep the machine again with --save")
    plan = qemu.make_plan(options, files, directory)
    plan.cpus = description["cpus"]
    plan.accel = description["accel"]
    return plan


def blockdev(path):
    return ["-blockdev", f"driver=qcow2,node-name={NODE},file.driver=file,"
            f"file.filename={qemu.quote(path)}"]


def load_words(options, directory):
    """More words of QEMU's command line.

    The image is copied, because two machines may go on from it at the same time.
    """
    if not options.load:
        return []
    copy = os.path.join(directory, "kept.qcow2")
    shutil.copyfile(files_of(options.load)[0], copy)
    return [*blockdev(copy), "-S"]


def resume(vm):
    """Go on with the machine that was kept."""
    vm.qmp.run_job("snapshot-load", job_id="load", tag=TAG, vmstate=NODE, devices=[NODE])
    vm.qmp.run("cont")
    vm.wait_agent(60)
    vm.prepare([f"date {int(time.time())}"])


def make_disk(qemu_program, path, size=DISK_BYTES):
    """An empty qcow2 image, made by a QEMU without a machine."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [*qemu.WITH_PARENT, qemu_program, "-machine", "none", "-nodefaults", "-display", "none",
             "-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        theirs.close()
        try:
            qmp = Qmp(ours)
            qmp.run_job("blockdev-create", job_id="file",
                        options={"driver": "file", "filename": path, "size": 0})
            qmp.run("blockdev-add", driver="file", node_name="raw", filename=path)
            qmp.run_job("blockdev-create", job_id="qcow2",
                        options={"driver": "qcow2", "file": "raw", "size": size})
        except MachineError as error:
            raise MachineError(f"cannot make the disk {path}: {error}") from error
        finally:
            ours.close()
            process.kill()
            process.wait()


def check_save(options):
    """Raises UsageError for options with which a machine cannot be kept."""
    for key in ("disk", "nvme", "snapshot_disk"):
        if getattr(options, key):
            raise UsageError(f"--save keeps no disks: leave --{key.replace('_', '-')} out")
    if options.kernel == "debug" and options.load:
        raise UsageError("--save and --load of the debug kernel cannot be used together")


def save(vm, name, words):
    """Keep the machine, and end it. words: its options on the command line."""
    if vm.options.load:
        # They are those that it was first started with.
        words = read_description(vm.options.load)["words"]
    os.makedirs(folder(), exist_ok=True)
    image, description = files_of(name)
    # Two that keep a machine under one name at the same time do not mix.
    new = f"{image}.{os.getpid()}"
    text = json.dumps({"words": words, "identity": identity(vm.plan.files),
                       "cpus": vm.plan.cpus, "accel": vm.plan.accel}, indent=1)
    try:
        make_disk(vm.plan.files.qemu, new)
        vm.qmp.run("stop")
        node = NODE + "-new"
        vm.qmp.run("blockdev-add", driver="qcow2", node_name=node,
                   file={"driver": "file", "filename": new})
        vm.qmp.run_job("snapshot-save", job_id="save", tag=TAG, vmstate=node, devices=[node])
        vm.qmp.run("quit")
        vm.process.wait(60)
        # The old description goes first and the new one comes last. An image without one is not
        # used, so an image never has the description of another.
        if os.path.exists(description):
            os.remove(description)
        os.replace(new, image)
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, description)
    finally:
        if os.path.exists(new):
            os.remove(new)
