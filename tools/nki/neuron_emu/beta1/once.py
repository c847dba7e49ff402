# SPDX-License-Identifier: MIT
"""Loops whose body Beta 1 runs once, whatever the number of iterations.

Here all loops are unrolled. A kernel can tell the difference by a number that the body counts up,
such as an address: where the body runs once, each iteration begins with the number that was there
before the loop. So numbers get these values back at the begin of each iteration.
"""

import ctypes
import sys

import numpy as np

__neuron_emu__ = True

_NUMBERS = (int, float)
# Up to Python 3.12 f_locals is a copy, which this writes back; later it does nothing.
_to_fast = ctypes.pythonapi.PyFrame_LocalsToFast
_to_fast.argtypes = [ctypes.py_object, ctypes.c_int]
_to_fast.restype = None


def _numbers(frame):
    """The variables of a function that are numbers."""
    known = frame.f_locals
    found = {name: value for name, value in known.items() if type(value) in _NUMBERS}
    _let_go(frame, known)
    return found


def _let_go(frame, known):
    """Tiles and registers must not live on in a copy of the variables."""
    if known is not frame.f_globals and isinstance(known, dict):
        known.clear()


def _restore(frame, before):
    known = frame.f_locals
    changed = {}
    for name, value in before.items():
        now = known.get(name)
        if isinstance(now, (*_NUMBERS, np.number)) and (type(now), now) != (type(value), value):
            changed[name] = value
    if changed:
        known.update(changed)
        _to_fast(frame, 0)
    _let_go(frame, known)


class _Iterations:
    """Goes through the iterations of a loop."""

    __slots__ = ("indices", "before")

    def __init__(self, indices):
        self.indices = iter(indices)
        self.before = None

    def __iter__(self):
        return self

    def __next__(self):
        index = next(self.indices)
        frame = sys._getframe(1)
        if self.before is None:
            self.before = _numbers(frame)
        else:
            _restore(frame, self.before)
        return index


class Once:
    """A range whose loop runs its body once, as far as numbers of Python can tell."""

    __slots__ = ("indices",)

    def __init__(self, *bounds):
        self.indices = range(*bounds)

    def __iter__(self):
        return _Iterations(self.indices)

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, place):
        return self.indices[place]

    def __contains__(self, number):
        return number in self.indices

    def __reversed__(self):
        return _Iterations(reversed(self.indices))

    def __repr__(self):
        return repr(self.indices)
