# SPDX-License-Identifier: MIT
"""What kernels handle besides tensors: configuration objects, registers, slices of a size; and what
Python compares with numbers.
"""

import dataclasses
import numbers
import operator

__neuron_emu__ = True


class NKIObject:
    """Base of configuration objects: what the class declares are fields, which the constructor
    takes by place or by name. A field that has no default and is not given is None, also if the
    class is a dataclass: that keeps the constructor that it finds.
    """

    __slots__ = ()

    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            setattr(self, name, value)

    def __post_init__(self):
        """For classes that complete themselves."""

    def __init_subclass__(cls, **kwargs):
        """Attributes without an annotation are fields of a dataclass, too."""
        super().__init_subclass__(**kwargs)
        annotations = cls.__dict__.get("__annotations__", {})
        for name, value in list(cls.__dict__.items()):
            plain = not name.startswith("_") and name not in annotations
            if plain and not callable(value) and not isinstance(
                    value, (property, staticmethod, classmethod)):
                annotations[name] = "object"
        if not annotations:
            return
        cls.__annotations__ = annotations
        inherited = cls.__init__
        if inherited is NKIObject.__init__ or hasattr(inherited, "fields"):
            cls.__init__ = _initializer(cls, getattr(inherited, "fields", {}))


def _initializer(cls, inherited):
    """The constructor of a class that has none; `inherited` are the fields of its base."""
    fields = {**inherited, **_fields_of(cls)}

    def initialize(self, *args, **kwargs):
        if len(args) > len(fields):
            raise TypeError(f"{cls.__name__} has {len(fields)} fields, not {len(args)}")
        given = dict(zip(fields, args))
        for name, value in kwargs.items():
            if name not in fields:
                raise TypeError(f"{cls.__name__} has no field {name!r}")
            if name in given:
                raise TypeError(f"{cls.__name__} got field {name!r} twice")
            given[name] = value
        for name, default in fields.items():
            # A frozen dataclass refuses to be assigned to.
            object.__setattr__(self, name, given[name] if name in given else default())
        self.__post_init__()

    initialize.fields = fields
    initialize.__name__, initialize.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return initialize


def _fields_of(cls):
    """What a class declares itself, and what makes the default of each."""
    fields = {}
    for name, kind in cls.__annotations__.items():
        if "ClassVar" in str(kind):
            continue
        value = cls.__dict__.get(name)
        if isinstance(value, dataclasses.Field):
            factory = value.default_factory
            if factory is not dataclasses.MISSING:
                fields[name] = factory
                continue
            value = None if value.default is dataclasses.MISSING else value.default
        fields[name] = lambda value=value: value
    return fields


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
