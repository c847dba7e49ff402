# SPDX-License-Identifier: MIT
"""What kernels handle besides tensors: configuration objects, registers, slices of a size; and what
Python compares with numbers.
"""

import numbers
import operator

__neuron_emu__ = True


class NKIObject:
    """Base of configuration objects: class attributes may be given to the constructor by name."""

    __slots__ = ()

    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            if not hasattr(type(self), name) and name not in getattr(type(self),
                                                                      "__annotations__", {}):
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            setattr(self, name, value)

    def __init_subclass__(cls, **kwargs):
        """Attributes without an annotation are fields of a dataclass, too."""
        super().__init_subclass__(**kwargs)
        annotations = cls.__dict__.get("__annotations__", {})
        for name, value in list(cls.__dict__.items()):
            plain = not name.startswith("_") and name not in annotations
            if plain and not callable(value) and not isinstance(
                    value, (property, staticmethod, classmethod)):
                annotations[name] = "object"
        if annotations:
            cls.__annotations__ = annotations


class Compared:
    """What Python compares with a number by its value, which only nki.simulate() knows; elsewhere
    the comparison is an error, and not false. With anything else it is the same one or not.
    """

    __slots__ = ()

    def _compare(self, other, function):
        if not isinstance(other, numbers.Real):
            return NotImplemented
        from . import eager
        return bool(function(eager.number(self), other))

    def __eq__(self, other):
        return self._compare(other, operator.eq)

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)

    __hash__ = object.__hash__


class VirtualRegister(NKIObject):
    """A register of the engines, whose value only the run knows."""

    def __init__(self, state=None, frozen=False):
        self.state = state
        self.frozen = frozen

    def _unknown(self, *_):
        raise TypeError("the value of a register is not known while a kernel is traced: use "
                        "nl.fori_loop() or nl.while_loop() instead of Python's if and while")

    __bool__ = __int__ = __index__ = __iter__ = _unknown


class DynamicSlice:
    """nl.ds(start, size)."""

    __slots__ = ("start", "size")

    def __init__(self, start, size):
        self.start = start
        self.size = size


def ds(start, size):
    """`size` elements from `start` on, which may be a register."""
    return DynamicSlice(start, size)
