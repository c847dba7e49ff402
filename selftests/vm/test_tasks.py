# SPDX-License-Identifier: MIT
"""The task that runs the driver's tests in the guest: what a program finds when it starts, and
what becomes of what it leaves behind.
"""

import re
import subprocess

from conftest import ROOT

# These programs take the place of the driver's tests. The first one leaves a process that only
# SIGKILL ends, and whose name has a blank. The second one looks for it, and at its own signals.
PROGRAMS = r"""
mkdir /programs
cat >"/programs/stays here" <<'END'
#!/bin/sh
trap '' TERM HUP INT
while :; do sleep 1; done
END
cat >/programs/first <<'END'
#!/bin/sh
"/programs/stays here" &
echo $! >/programs/left
END
cat >/programs/second <<'END'
#!/bin/sh
read -r left </programs/left
echo "left: $(cat "/proc/$left/comm" 2>/dev/null || echo nothing)"
grep '^SigIgn' /proc/self/status
END
chmod +x /programs/*
SELFTESTS=/programs NEURON_TESTS="first second" /tasks/check && cat /out/tap/second.tap
"""


def test_each_program_starts_alone():
    """Nothing of the program before it runs any more, and it can be interrupted."""
    done = subprocess.run([ROOT / "tools/neuron-vm", "--small", "--chips", "1", "--timeout", "280",
                           "--", "sh", "-c", PROGRAMS], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done
    assert "left: nothing" in done.stdout, done
    ignored = re.search(r"^SigIgn:\s*([0-9a-f]+)", done.stdout, re.M)
    assert ignored and not int(ignored[1], 16) & 0b110, "SIGINT or SIGQUIT is ignored"
