# SPDX-License-Identifier: MIT
"""The exceptions of the package."""


class MachineError(Exception):
    """A machine, its QEMU or its guest does not do what it was asked for."""


class UsageError(MachineError):
    """An option or its value is wrong; one line says what to do."""


class EndedError(MachineError):
    """The machine has ended although it was still needed.

    Attributes:
        status: exit status of neuron-vm, 124 for the time limit, else 125.
    """

    def __init__(self, text, status=125):
        super().__init__(text)
        self.status = status
