# SPDX-License-Identifier: MIT
"""What a kernel is besides the shapes of its arrays, as a key: equal keys make equal programs.

Values count, not identities: code, numbers, containers, small arrays, attributes of objects, and
the functions and classes that a kernel uses. What has no such key (a generator of random numbers,
an open file) makes Unknown, and the kernel is traced at each call.
"""

import enum
import functools
import sys
import types

import numpy as np

from .ops import Op

__neuron_emu__ = True

SIMPLE = (int, str, bytes, bool, type(None), type(Ellipsis))
# Instances that never change, and those that are what they are called.
FIXED = (types.BuiltinFunctionType, np.ufunc, np.dtype, Op, enum.Enum, range,
         types.MemberDescriptorType, types.GetSetDescriptorType)
MAX_BYTES = 1 << 20
# Packages that do not change while a process runs.
_PACKAGES = (frozenset(sys.stdlib_module_names) - {"__main__"}) | {
    "numpy", "ml_dtypes", "torch", "jax", "jaxlib", "nki", "neuronxcc",
    "neuron_emu"}


class Unknown(Exception):
    """There is no key for a value."""


@functools.lru_cache(maxsize=None)
def _names_of(code):
    """Global names and attributes that a function and those in it use."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names_of(constant)
    return tuple(dict.fromkeys(names))


def _foreign(name):
    """Is that a module of a package that does not change?"""
    return (name or "").partition(".")[0] in _PACKAGES


class Key:
    """Collects the parts of a key."""

    def __init__(self):
        self._seen = set()
        self._waiting = []

    def of(self, values):
        """The key of some values, with that of all functions that they lead to."""
        try:
            found = [self._value(value) for value in values]
            while self._waiting:
                found.append(self._function(self._waiting.pop()))
        except RecursionError:
            raise Unknown("a value contains itself") from None
        return tuple(found)

    def _value(self, value):
        kind = type(value)
        if kind in SIMPLE:
            return kind, value
        if kind in (float, complex):
            # 0.0 and -0.0 are equal, a NaN is not equal to itself.
            return kind, repr(value)
        if isinstance(value, (list, tuple)):
            return (kind, *map(self._value, value))
        if kind is dict:
            return (kind, *((self._value(k), self._value(v)) for k, v in value.items()))
        if kind in (set, frozenset):
            return kind, frozenset(map(self._value, value))
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value)
        return self._object(value)

    @staticmethod
    def _array(value):
        if value.dtype.hasobject or value.nbytes > MAX_BYTES:
            raise Unknown("a large array")
        return type(value), value.shape, value.dtype.str, value.tobytes()

    def _object(self, value):
        """Functions, classes and modules, and instances of classes."""
        if isinstance(value, types.MethodType):
            return "method", self._value(value.__self__), self._value(value.__func__)
        if isinstance(value, functools.partial):
            return "partial", *map(self._value, (value.func, value.args, value.keywords))
        if isinstance(value, slice):
            return "slice", self._value((value.start, value.stop, value.step))
        if type(value).__module__ in ("neuron_emu.kernel", "neuron_emu.beta1.kernel"):
            value = value.func
        if isinstance(value, types.FunctionType):
            self._waiting.append(value)
            return "function", value.__code__
        if isinstance(value, (property, staticmethod, classmethod)):
            functions = [getattr(value, name, None) for name in ("fget", "fset", "__func__")]
            self._waiting += [f for f in functions if isinstance(f, types.FunctionType)]
            return type(value), *(getattr(f, "__code__", f) for f in functions)
        if isinstance(value, FIXED) or isinstance(value, types.ModuleType):
            return type(value), value
        if isinstance(value, type):
            return self._class(value)
        package = type(value).__module__.partition(".")[0]
        if package in ("nki", "neuron_emu") or type(value).__name__ == "dtype":
            return type(value), value
        if not hasattr(value, "__dict__") or _foreign(package):
            raise Unknown(type(value).__name__)
        return self._class(type(value)), self._value(vars(value))

    def _class(self, found):
        if found not in self._seen and not _foreign(found.__module__):
            self._seen.add(found)
            for base in found.__mro__[1:]:
                self._class(base)
            return found, *(self._value(v) for name, v in vars(found).items()
                            if not name.startswith("__") or isinstance(v, types.FunctionType))
        return (found,)

    def _function(self, function):
        """Code, defaults, cells, globals that it names, and attributes of modules among them."""
        known = function.__globals__
        if function in self._seen or "__neuron_emu__" in known or _foreign(known.get("__name__")):
            return (function.__code__,)
        self._seen.add(function)
        names = _names_of(function.__code__)
        found = [function.__code__, self._value(function.__defaults__),
                 self._value(function.__kwdefaults__)]
        found += [self._value(_cell(cell)) for cell in function.__closure__ or ()]
        for name in names:
            if name in known and name != "__builtins__":
                found += [name, self._value(known[name])]
                if isinstance(known[name], types.ModuleType):
                    found.append(self._module(known[name], names))
        return tuple(found)

    def _module(self, module, names):
        if module in self._seen or "__neuron_emu__" in vars(module) or _foreign(module.__name__):
            return ()
        self._seen.add(module)
        found = []
        for name in names:
            if name in vars(module):
                value = vars(module)[name]
                found += [name, self._value(value)]
                if isinstance(value, types.ModuleType):
                    found.append(self._module(value, names))
        return tuple(found)


def _cell(cell):
    """What a function has of the one around it."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
