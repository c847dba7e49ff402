# SPDX-License-Identifier: MIT
"""torch_neuronx: trace() for kernels alone. PyTorch's own operators are not compiled here."""

from neuron_emu.traced import trace

__neuron_emu__ = True
__all__ = ["trace"]


def __getattr__(name):
    """So that a program learns why the name is not there."""
    raise AttributeError(f"torch_neuronx.{name} is not here: only torch_neuronx.trace() is, for "
                         "kernels of nki.jit")
