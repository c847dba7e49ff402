# SPDX-License-Identifier: MIT
"""Virtual machines with virtual Trainium chips.

This package starts the machines, talks to QEMU and to the agent in the guest, injects
faults and judges kernel logs. The program neuron-vm and all tests that drive machines
stand on it:

    from neuron_vm import Machine

    with Machine("--chips", "2") as vm:
        print(vm.run(["neuron-ls"]).stdout)
"""

from . import klog, registers
from .errors import MachineError
from .machine import Machine

__all__ = ["Machine", "MachineError", "klog", "registers"]
