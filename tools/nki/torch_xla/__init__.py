# SPDX-License-Identifier: MIT
"""torch_xla, as far as programs that call kernels use it: its device is the host, where tensors
stay. A kernel gets them there (neuron_emu.arrays), and its results are there when it returns.
"""

import torch

__neuron_emu__ = True
__all__ = ["device", "sync"]


def device(index=None):
    """Where tensors go for a kernel."""
    return torch.device("cpu")


def sync(wait=False):
    """Nothing is put off, so there is nothing to do."""


def __getattr__(name):
    """So that a program learns why the name is not there."""
    raise AttributeError(f"torch_xla.{name} is not here: only device() and sync() are, and "
                         "core.xla_model; PyTorch's own operators run on the host")
