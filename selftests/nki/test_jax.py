# SPDX-License-Identifier: MIT
"""Kernels that are called with arrays of JAX, for which a stand-in does: Debian has no JAX.

It is as much of JAX's arrays as kernels look at: their shape and type, and the way to NumPy.
"""

import sys
import types

import numpy as np
import pytest

import nki
import nki.language as nl


class Array:
    """jax.Array"""

    def __init__(self, values):
        self.values = np.array(values)

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


class Tracer(Array):
    """jax.core.Tracer"""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("it has no values")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The modules that a program which has such arrays has imported."""
    jax, core, numpy = (types.ModuleType(f"jax{name}") for name in ("", ".core", ".numpy"))
    jax.Array, jax.core, jax.numpy, core.Tracer, numpy.asarray = Array, core, numpy, Tracer, Array
    for module in (jax, core, numpy):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@nki.jit(mode="jax")
def double(a):
    """2 a."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(a), 2))
    return out


@pytest.mark.parametrize("name", ["float32", "float16", "int32", "uint32"])
def test_types(name):
    a = np.arange(64).reshape(4, 16).astype(name)
    result = double(Array(a))
    assert isinstance(result, Array) and result.dtype == a.dtype
    np.testing.assert_array_equal(result, a * 2)


def test_a_transposed_array_beside_one_of_numpy():
    @nki.jit
    def total(a, b):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(a), nl.load(b)))
        return out

    a = np.arange(32, dtype=np.float32).reshape(8, 4).T
    result = total(np.ones((4, 8), np.float32), Array(a))
    assert isinstance(result, Array)
    np.testing.assert_array_equal(result, a + 1)


def test_an_array_that_the_kernel_writes():
    @nki.jit
    def changes(a, returned):
        nl.store(a, nl.multiply(nl.load(a), 2))
        return a if returned else None

    a = Array(np.ones((4, 8), np.float32))
    np.testing.assert_array_equal(changes(a, True), np.full((4, 8), 2))
    assert (a.values == 1).all()
    with pytest.raises(nki.NkiError, match="writes its argument a.*JAX"):
        changes(a, False)


def test_refused():
    with pytest.raises(nki.NkiError, match="argument a has no dimensions"):
        double(Array(np.float32(2)))
    with pytest.raises(nki.NkiError, match=r"argument a .*outside of jax.jit") as caught:
        double(Tracer(np.ones((4, 8), np.float32)))
    assert "\n" not in str(caught.value)
