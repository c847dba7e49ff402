# SPDX-License-Identifier: MIT
"""A command in a machine that waits for gdb, and gdb with the line that neuron-vm prints."""

import shlex
import subprocess

from conftest import ROOT

VM = str(ROOT / "tools/neuron-vm")
# The kernel's own functions are there before a module, so the first stop is one of them.
COMMANDS = ("break neuron_ioctl_query", "hbreak do_sys_openat2", "continue", "delete 2", "continue",
            "backtrace 1", "delete", "detach")


def stop_in_the_driver(*words, limit):
    """Run neuron-ls with these options, and stop it in the kernel and in the driver.

    Returns what gdb prints, what the command prints and its exit status.
    """
    with subprocess.Popen([VM, "--gdb", *words, "--", "neuron-ls"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stderr if "attach it with: " in line)
        gdb, *script = shlex.split(line.split("attach it with: ")[1])
        done = subprocess.run([gdb, "-batch", *script,
                               *(word for command in COMMANDS for word in ("-ex", command))],
                              capture_output=True, text=True, check=False, timeout=limit)
        table, _ = process.communicate(timeout=limit)
    return done.stdout, table, process.returncode
