# SPDX-License-Identifier: MIT
"""What a command in the guest sees: the host's files, shared folders, modules, the network.

The folders come by 9p (virtio-9p). Against virtiofs it needs no second process, no memory
that QEMU shares with it and no privileges, and Debian's kernel has it as a module; QEMU needs
one more option. Shared folders are few and small here, so virtiofs' speed would not be seen.
"""

import os

from . import host
from .errors import UsageError
from .qemu import Share

# Where a guest that sees the host's files has them.
HOST_ROOT = "/host-root"
# A kept machine always has the same devices, whatever it shares when it goes on.
KEPT_SHARES = 2


def wants_host(options):
    """The command sees the host's files."""
    if options.small or options.task:
        return False
    return bool(options.command or options.shell or options.share or options.save or options.load
                or getattr(options, "with"))


def plain_path(path):
    """The path of a folder, which the guest reads in a line of words. Raises UsageError."""
    path = os.path.realpath(path)
    if path != path.strip() or "\n" in path:
        raise UsageError(f"the folder {path!r} cannot be shared: its name begins or ends with a "
                         "blank, or has a newline")
    return path


def current_folder():
    """Raises UsageError."""
    try:
        return plain_path(os.getcwd())
    except FileNotFoundError:
        raise UsageError("the current folder does not exist any more") from None


def parse_share(text):
    path, _, mode = text.rpartition(":")
    if not path or mode not in ("ro", "rw"):
        path, mode = text, "rw"
    if not os.path.isdir(path):
        raise UsageError(f"--share {text}: there is no folder {path}")
    path = plain_path(path)
    if path == "/":
        raise UsageError("--share /: the guest sees the host's files already; share a folder of it")
    return path, mode == "rw"


def folders_of(options):
    """(path, writable) of the shared folders, a folder after those that it is in."""
    if not options.share:
        return [(current_folder(), True)]
    return sorted(parse_share(text) for text in options.share)


def add_shares(plan, note):
    """Plan the devices through which the guest gets folders of the host.

    note() tells the user what takes time. Raises UsageError.
    """
    options = plan.options
    needs_modules = bool(plan.module or options.disk or options.net or options.ssh)
    if needs_modules and plan.files.modules:
        plan.shares.append(Share("modules", os.path.realpath(plan.files.modules)))
    kept = bool(options.save or options.load)
    if not wants_host(options) and not kept:
        if plan.module:
            plan.shares.append(Share("root", "/"))
        return
    names = [name for names in getattr(options, "with") for name in names]
    if options.ssh:
        names.append("dropbear-bin")
    empty = plan.path("empty")
    os.makedirs(empty, exist_ok=True)
    packages = host.unpack_packages(names, note, options.dry_run) if names else empty
    plan.shares.append(Share("root", "/"))
    if names or kept:
        plan.shares.append(Share("packages", packages))
    folders = [(path, writable) for path, writable in folders_of(options) if path != "/"]
    if kept and len(folders) > KEPT_SHARES:
        raise UsageError(f"--save and --load share at most {KEPT_SHARES} folders")
    if kept:
        folders += [(empty, False)] * (KEPT_SHARES - len(folders))
    plan.shares += [Share(f"share{i}", path, writable)
                    for i, (path, writable) in enumerate(folders)]


def mount_steps(plan):
    """Lines for the guest that mount what is planned."""
    tags = {share.tag for share in plan.shares}
    steps = []
    if "modules" in tags:
        steps.append("modules")
    if not wants_host(plan.options):
        return steps + (["lower"] if plan.module and not plan.options.load else [])
    steps.append("root packages" if "packages" in tags else "root")
    for share in plan.shares:
        if share.tag.startswith("share") and share.path != plan.path("empty"):
            steps.append(f"share {share.tag} {'rw' if share.writable else 'ro'} {share.path}")
    return steps


def device_steps(plan):
    """Lines for the guest that load drivers and set the network up.

    A task loads the driver itself, and a kept machine has loaded it.
    """
    options, steps = plan.options, []
    if options.load:
        return steps
    if options.disk:
        steps.append("disk")
    if options.net or options.ssh:
        steps.append("net")
    if options.no_driver:
        return steps
    if plan.module:
        steps += [f"depend {name}" for name in plan.module.depends]
        steps.append(f"module {plan.module.path}")
    elif plan.shape.chips and not options.task:
        steps.append("driver")
    return steps


def working_folder(plan):
    """Where a command begins: the folder that neuron-vm was called in."""
    return current_folder() if wants_host(plan.options) else "/"


def environment(options):
    """The variables of --env."""
    variables = {}
    for text in options.env:
        name, given, value = text.partition("=")
        if not given and name not in os.environ:
            raise UsageError(f"--env {name}: the host has no variable of this name")
        variables[name] = value if given else os.environ[name]
    return variables


def task_command(options):
    """The words of the task of --task, and its variables."""
    arguments = options.args or ""
    return [f"/tasks/{options.task}", *arguments.split()], {"NEURON_TASK_ARGS": arguments}


SSH_SETUP = """
umask 077
mkdir -p ~/.ssh /run/ssh && cd /run/ssh
for key in host client; do dropbearkey -t ed25519 -f $key; done
dropbearkey -y -f client | grep '^ssh-' >~/.ssh/authorized_keys
dropbear -R -s -r host -p 22
dropbearconvert dropbear openssh client key
"""


def start_ssh(vm):
    """Start an SSH server in the guest. Returns a line that tells how to log in."""
    vm.output(SSH_SETUP, 120, small=False)
    path = vm.path("ssh-key")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
        file.write(vm.output("cat /run/ssh/key", small=False) + "\n")
    return (f"log in with: ssh -p {vm.plan.ssh_port} -i {path} -o StrictHostKeyChecking=no "
            "-o UserKnownHostsFile=/dev/null root@127.0.0.1")

