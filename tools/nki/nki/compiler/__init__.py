# SPDX-License-Identifier: MIT
"""nki.compiler: not here yet."""

__neuron_emu__ = True


def __getattr__(name):
    """So that a kernel learns why the name is not there."""
    raise AttributeError(f"nki.compiler.{name} is not here yet")
