# SPDX-License-Identifier: MIT
"""nki.language: types, tensors, loops, operators and the functions made of instructions.

core.py has what needs no instruction of its own kind; elementwise.py connects each operator, such
as nl.add, with the function that computes it, and functions.py has those of many elements.
"""

from .. import dtypes as _dtypes
from ..ops import ALL as _ALL
from ..objects import ds, NKIObject, VirtualRegister
from ..tensor import MemoryRegion, NkiTensor
from . import core as _core
from . import functions as _functions

__neuron_emu__ = True

_names = {_name if _name != "bool" else "bool_": _name for _name in _dtypes.TYPES}
_names.update(_ALL)
_names.update((_name, getattr(_core, _name)) for _name in _core.__all__)
_names.update(MemoryRegion=MemoryRegion, NKIObject=NKIObject, NkiTensor=NkiTensor,
              VirtualRegister=VirtualRegister, ds=ds)
_names.update((_name, getattr(_functions, _name)) for _name in _functions.__all__)
globals().update(_names)
__all__ = list(_names)
