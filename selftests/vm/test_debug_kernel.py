# SPDX-License-Identifier: MIT
"""neuron-vm with the debug kernel. The stage debug-jobs of make check-nightly builds that first."""

import re
import subprocess

from gdb_rig import VM, stop_in_the_driver

DEBUG = ("--small", "--kernel", "debug", "--chips", "1", "--memory", "3G")
TIME_S = 1500       # that a machine with every checker may take on a busy host


def run(*words):
    """Run a command in the debug kernel; what it prints is text."""
    return subprocess.run([VM, *DEBUG, "--timeout", str(TIME_S), "--", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=TIME_S + 60)


def test_command():
    """The kernel has the checker of memory, the driver works in it, and the status comes back."""
    done = run("sh", "-c", "grep -w kasan_report /proc/kallsyms; neuron-ls; exit 7")
    assert done.returncode == 7, done.stderr
    assert re.search(r"^[0-9a-f]+ [tT] kasan_report$", done.stdout, re.M), done.stdout
    assert re.search(r"^\| 0 +\| 4 ", done.stdout, re.M), done.stdout


def test_gdb():
    """The kernel's program and the driver are known by name."""
    said, table, status = stop_in_the_driver(*DEBUG, limit=TIME_S)
    assert re.search(r"Breakpoint 2, .*do_sys_openat2 \(", said), said
    assert re.search(r"#0 +neuron_ioctl_query \(.*neuron_query\.c:\d+", said), said
    assert status == 0 and "NEURON" in table
