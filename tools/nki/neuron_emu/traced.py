# SPDX-License-Identifier: MIT
"""torch_neuronx.trace(): a kernel that is compiled before its first call, as a module of PyTorch.
"""

import os
import pathlib
import shutil

import torch

from .arrays import is_torch
from .errors import NkiError
from .kernel import Kernel

__neuron_emu__ = True


def _shape_of(value):
    """What of an argument the program depends on."""
    if is_torch(value):
        return tuple(value.shape), str(value.dtype)
    return value


class TracedKernel(torch.nn.Module):
    """A kernel for tensors of the shapes and types that it was traced with.

    `neff` is the path of its program.
    """

    def __init__(self, kernel, inputs, neff):
        super().__init__()
        self.kernel = kernel
        self.neff = neff
        self._expected = tuple(map(_shape_of, inputs))

    @property
    def device_ns(self):
        """Device time of the last call in ns."""
        return self.kernel.device_ns

    def forward(self, *inputs):
        """Call the kernel."""
        found = tuple(map(_shape_of, inputs))
        if found != self._expected:
            raise NkiError(f"{self.kernel.__name__} was traced with {self._expected}, not {found}: "
                           "trace it again for other shapes or types")
        return self.kernel(*inputs)


def trace(func, example_inputs, *more, compiler_workdir=None, compiler_args=None, **options):
    """Compile a kernel of nki.jit for these tensors, and return what calls it.

    `compiler_workdir` is a folder in which its program is left as NAME.neff. `compiler_args` are
    for another compiler and are not looked at.
    """
    if not isinstance(func, Kernel):
        name = getattr(func, "__name__", type(func).__name__)
        raise NkiError(f"torch_neuronx.trace: {name} is no kernel of nki.jit, and operators of "
                       "PyTorch are not compiled here: trace the kernels alone, and call them from "
                       "PyTorch")
    if more or options:
        told = ", ".join(options) or "a third argument"
        raise NkiError(f"torch_neuronx.trace: {told} is not here: only compiler_workdir and "
                       "compiler_args are")
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    compiled, _ = func.compile(inputs, {})
    neff = compiled.path
    if compiler_workdir is not None:
        folder = pathlib.Path(compiler_workdir)
        folder.mkdir(parents=True, exist_ok=True)
        neff = str(folder / f"{func.__name__}.neff")
        shutil.copyfile(compiled.path, neff)
    return TracedKernel(func, inputs, os.fspath(neff))
