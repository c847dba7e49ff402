# SPDX-License-Identifier: MIT
"""nki.collectives: not here yet."""

__neuron_emu__ = True


def __getattr__(name):
    """So that a kernel learns why the name is not there."""
    raise AttributeError(f"nki.collectives.{name} is not here yet")
