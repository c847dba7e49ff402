# SPDX-License-Identifier: MIT
"""Configuration objects of kernels: classes derived from NKIObject."""

import dataclasses

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl


class Plain(nl.NKIObject):
    """Without the decorator."""

    x: int
    y: bool = False
    label = "none"

    def toggle(self):
        """Change a field."""
        self.y = not self.y


@dataclasses.dataclass
class Decorated(nl.NKIObject):
    """With the decorator, and with a field that nobody gives."""

    width: int
    unused: int
    height: int
    parts: list = dataclasses.field(default_factory=list)
    scale: float = 1.0

    def __post_init__(self):
        self.area = self.width * self.height


@dataclasses.dataclass(frozen=True)
class Frozen(nl.NKIObject):
    """One that does not change."""

    width: int
    height: int = 7


class Derived(Plain):
    """The fields of the base come first."""

    z: int = 3


class Own(nl.NKIObject):
    """A constructor of its own."""

    x: int = 1

    def __init__(self, twice):
        super().__init__()
        self.x = 2 * twice


@pytest.mark.parametrize("made, fields", [
    (lambda: Plain(1), {"x": 1, "y": False, "label": "none"}),
    (Plain, {"x": None, "y": False, "label": "none"}),
    (lambda: Plain(1, y=True), {"x": 1, "y": True}),
    (lambda: Decorated(width=2, height=3),
     {"width": 2, "unused": None, "height": 3, "parts": [], "scale": 1.0, "area": 6}),
    (lambda: Frozen(2), {"width": 2, "height": 7}),
    (lambda: Derived(1, True, z=5), {"x": 1, "y": True, "label": "none", "z": 5}),
    (lambda: Own(4), {"x": 8}),
], ids=("by place", "nothing", "by name", "dataclass", "frozen", "derived", "own"))
def test_fields(made, fields):
    """Each field has what was given, its default, or None."""
    made = made()
    assert {name: getattr(made, name) for name in fields} == fields


def test_defaults_are_not_shared():
    """Each object has a list of its own."""
    first, second = Decorated(width=1, height=1), Decorated(width=1, height=1)
    first.parts.append(1)
    assert second.parts == []


@pytest.mark.parametrize("args, kwargs", [((1, True, "a", 4), {}), ((), {"other": 1}),
                                          ((1,), {"x": 2})], ids=("many", "unknown", "twice"))
def test_refused(args, kwargs):
    """What fits no field."""
    with pytest.raises(TypeError):
        Plain(*args, **kwargs)


def test_in_a_kernel():
    """A kernel takes such an object, and makes one."""
    @nki.jit
    def scaled(a, config):
        made = Plain(3)
        made.toggle()
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        nisa.tensor_scalar(dst=x, data=x, op0=nl.multiply, operand0=config.area * made.x,
                           op1=nl.add, operand1=1.0 if made.y else 0.0)
        nl.store(out, x)
        return out

    a = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    assert np.array_equal(scaled(a, Decorated(width=2, height=3)), a * 18 + 1)
