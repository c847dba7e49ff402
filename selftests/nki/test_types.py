# SPDX-License-Identifier: MIT
"""Types that NumPy lacks: as arguments and results of kernels, with and without ml_dtypes."""

import numpy as np
import pytest

import neuron_emu
import neuronxcc.nki as old_nki
import neuronxcc.nki.language as old_nl
import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import NkiError, dtypes

# 0, -0, 1, -1.5, the smallest number of e4m3 and that of e5m2, and what both have as large ones.
VALUES = np.array([[0.0, -0.0, 1.0, -1.5, 2.0**-9, 2.0**-16, 224.0, -240.0]], np.float32)
WITHIN = {"float8_e4m3": [0, -0.0, 1, -1.5, 2.0**-9, 0, 224, -240],
          "float8_e4m3fn": [0, -0.0, 1, -1.5, 2.0**-9, 0, 224, -240],
          "float8_e5m2": [0, -0.0, 1, -1.5, 2.0**-9, 2.0**-16, 224, -256],
          "bfloat16": VALUES[0].tolist()}
EACH = pytest.mark.parametrize("name", WITHIN)


@nki.jit(platform_target="trn3")
def widened(a):
    """(a, a as float32): the chip says what a's bits are."""
    same = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(a.shape, nl.float32, buffer=nl.shared_hbm)
    x = nl.load(a)
    nl.store(same, x)
    nl.store(out, nl.copy(x, dtype=nl.float32))
    return same, out


@EACH
def test_an_argument_is_what_it_was_made_as(name):
    a = neuron_emu.from_float32(VALUES, name)
    same, out = widened(a)
    want = np.array([WITHIN[name]], np.float32)
    np.testing.assert_array_equal(out, want)
    assert not (np.signbit(out) ^ np.signbit(want)).any()
    np.testing.assert_array_equal(neuron_emu.to_float32(same), want)


@EACH
def test_parts_and_copies_are_of_the_type(name):
    a = np.concatenate([neuron_emu.from_float32(VALUES, name)] * 2)[:1, ::2]
    np.testing.assert_array_equal(widened(np.ascontiguousarray(a))[1], [WITHIN[name][::2]])
    np.testing.assert_array_equal(neuron_emu.to_float32(a.T.copy())[:, 0], WITHIN[name][::2])


@EACH
def test_bytes_become_the_type(name):
    a = neuron_emu.from_float32(VALUES, name)
    plain = a.view(np.uint8).view(neuron_emu.numpy_dtype(name))
    np.testing.assert_array_equal(widened(plain)[1], [WITHIN[name]])


@pytest.mark.parametrize("name", sorted(dtypes.TYPES))
def test_every_type_goes_in_and_out(name):
    """Their bits stay what they are."""
    bits = np.arange(1, 61, dtype=dtypes.bits_dtype(name)).reshape(2, 30)

    @nki.jit(platform_target="trn3")
    def kernel(a):
        assert name in ("tfloat32", *dtypes.PACKED) or a.dtype == name
        out = nl.ndarray(a.shape, name, buffer=nl.shared_hbm)
        nisa.dma_copy(out, a.view(name))
        return out

    found = kernel((bits % 2).astype(bool) if name == "bool" else
                   bits.view(neuron_emu.numpy_dtype(name)))
    want = bits % 2 if name == "bool" else bits
    np.testing.assert_array_equal(found.view(bits.dtype), want)


def test_bytes_without_a_type_are_refused():
    with pytest.raises(NkiError, match="argument a: .*any 8-bit float.*from_float32"):
        widened(np.zeros((1, 8), "V1"))
    with pytest.raises(NkiError, match="any 8-bit float"):
        neuron_emu.to_float32(np.zeros((1, 8), "V1"))


def test_a_result_is_what_the_kernel_calls_it():
    """The same bits by another name: 1.0 of one type is 0.5 or so of the other."""
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        return out.view(nl.float8_e5m2), out

    a = neuron_emu.from_float32(VALUES, "float8_e4m3")
    other, same = kernel(a)
    bits = a.view(np.uint8)
    np.testing.assert_array_equal(neuron_emu.to_float32(same)[0], WITHIN["float8_e4m3"])
    np.testing.assert_array_equal(neuron_emu.to_float32(other),
                                  dtypes.to_float32(bits, "float8_e5m2"))


@pytest.mark.parametrize("name", ["float8_e4m3", "float8_e5m2", "bfloat16"])
def test_kernels_of_beta1_have_them(name):
    @old_nki.jit(mode="simulation")
    def kernel(a):
        assert a.dtype == getattr(old_nl, name)
        out = old_nl.ndarray(a.shape, dtype=old_nl.float32, buffer=old_nl.shared_hbm)
        old_nl.store(out, old_nl.copy(old_nl.load(a), dtype=old_nl.float32))
        return out

    a = old_nl.static_cast(VALUES, getattr(old_nl, name))
    np.testing.assert_array_equal(kernel(a), [WITHIN[name]])
    np.testing.assert_array_equal(old_nl.static_cast(a, np.float32), [WITHIN[name]])


def test_exponents():
    powers = np.exp2(np.arange(-127, 128)).astype(np.float32)
    bits = neuron_emu.from_float32(powers, "float8_e8m0fnu")
    np.testing.assert_array_equal(bits.view(np.uint8), np.arange(255))
    np.testing.assert_array_equal(neuron_emu.to_float32(bits), powers)
    nan = neuron_emu.from_float32(np.array([np.nan]), "float8_e8m0fnu")
    assert nan.view(np.uint8)[0] == 255 and np.isnan(neuron_emu.to_float32(nan))[0]


@pytest.mark.skipif(dtypes.ml_dtypes is not None, reason="ml_dtypes rounds to a power of two")
@pytest.mark.parametrize("value", [0.0, -1.0, 3.0, np.inf, 2.0**-128])
def test_what_is_no_power_of_two_is_refused(value):
    with pytest.raises(NkiError, match="powers of two"):
        neuron_emu.from_float32(np.array([value], np.float32), "float8_e8m0fnu")


@pytest.mark.parametrize("convert", [neuron_emu.to_float32, neuron_emu.from_float32])
@pytest.mark.parametrize("name", sorted(dtypes.PACKED))
def test_packed_numbers_are_refused(convert, name):
    with pytest.raises(NkiError, match="four numbers"):
        convert(np.zeros(4, np.float32), name)
