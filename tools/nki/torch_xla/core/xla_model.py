# SPDX-License-Identifier: MIT
"""torch_xla.core.xla_model: the older names of torch_xla.device() and torch_xla.sync()."""

from .. import device, sync

__neuron_emu__ = True
__all__ = ["mark_step", "xla_device"]


def xla_device(n=None, devkind=None):
    """Where tensors go for a kernel."""
    return device(n)


def mark_step(wait=False):
    """Nothing is put off, so there is nothing to do."""
    sync(wait)
