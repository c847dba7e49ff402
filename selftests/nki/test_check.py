# SPDX-License-Identifier: MIT
"""What the check of the chip tells Python: lines of errors, and of the first NaN."""

import warnings

import numpy as np
import pytest

import neuron_emu
import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import errors, run
from nrtpy.libnrt import NrtError


def numbers(*shape):
    """Random FP32 numbers above 1."""
    return np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32)


def like(a):
    """A tensor for the result."""
    return nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)


@nki.jit
def logarithm(a):
    """log(a) - log(a), in which -inf becomes NaN."""
    out = like(a)
    x = nl.load(a)
    nisa.activation(x, nl.log, x)
    nisa.tensor_tensor(x, x, x, nl.subtract)  # the first NaN
    nisa.tensor_scalar(x, x, nl.multiply, 2.0)
    nl.store(out, x)
    return out


def line_of(kernel, comment):
    """The number of the line of a kernel that ends with a comment."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    first = kernel.func.__code__.co_firstlineno
    return next(i for i, line in enumerate(lines[first - 1:], first)
                if line.endswith("# " + comment))


def with_zero():
    """An input that has no NaN, but makes one."""
    a = numbers(4, 8)
    a[2, 3] = 0
    return a


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_the_first_nan_is_warned_of_at_its_line(monkeypatch, target):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    a = with_zero()
    with pytest.warns(nki.NkiNanWarning,
                      match=r"made the first NaN, at \d+ ns; output .* element 19") as seen:
        result = nki.simulate(logarithm)(a)
    assert [(w.filename, w.lineno) for w in seen] == [(__file__, line_of(logarithm,
                                                                         "the first NaN"))]
    assert str(seen[0].message).startswith(f"{__file__}:{seen[0].lineno}: ")
    # The results are there.
    assert np.isnan(result[2, 3]) and np.isnan(result).sum() == 1


@pytest.fixture(name="strict")
def no_warnings():
    """Warnings are exceptions."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_kernels_without_a_warning(strict, monkeypatch):
    """No NaN; one that the input has; a call without the check."""
    assert (nki.simulate(logarithm)(numbers(4, 8)) == 0).all()
    a = with_zero()
    a[0, 0] = np.nan
    assert np.isnan(nki.simulate(logarithm)(a)).sum() == 2
    a[0, 0] = 1
    assert np.isnan(logarithm(a)).sum() == 1
    monkeypatch.setenv("NEURON_FAIL_ON_NAN", "FALSE")
    assert np.isnan(nki.simulate(logarithm)(a)).sum() == 1


def test_a_warning_that_is_an_exception(strict):
    with pytest.raises(nki.NkiNanWarning, match="made the first NaN"):
        nki.simulate(logarithm)(with_zero())


@pytest.mark.parametrize("dtype", ["float32", "float16", "float8_e5m2"])
def test_nans_of_constants_are_no_news(strict, dtype):
    nans = neuron_emu.from_float32(np.full((4, 8), np.nan, np.float32), dtype)

    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(nl.shared_constant(nans))
        y = nl.ndarray(a.shape, np.float32)
        nisa.tensor_copy(y, x)
        nl.store(out, y)
        return out

    assert np.isnan(nki.simulate(kernel)(numbers(4, 8))).all()


def test_integers_that_pass_as_floats(strict):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape[::-1], a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.transpose(nl.load(a)))
        return out

    a = np.arange(-2048, 2048, dtype=np.int32).reshape(64, 64)
    np.testing.assert_array_equal(nki.simulate(kernel)(a), a.T)


@pytest.fixture(name="failing")
def fail_on_nan(monkeypatch):
    """The runtime reads the variable when it is opened."""
    monkeypatch.setenv("NEURON_FAIL_ON_NAN", "1")
    run.close()
    yield
    run.close()


@pytest.mark.parametrize("simulated", [False, True])
def test_a_nan_that_is_an_error(failing, simulated, capfd):
    """The exception has a note with the line; nothing is said that is not so."""
    kernel = nki.jit(logarithm.func)
    with pytest.raises(NrtError) as raised:
        (nki.simulate(kernel) if simulated else kernel)(with_zero())
    assert raised.value.status == 1003
    note, = raised.value.__notes__
    assert f":{line_of(logarithm, 'the first NaN')}, made the first NaN" in note
    assert "has not failed" not in capfd.readouterr().err


@nki.jit
def half_written(a):
    """The second half of a tile is read, but nobody has written it."""
    out = like(a)
    x = nl.ndarray(a.shape, a.dtype)
    nisa.dma_copy(x[:, 0:4], a[:, 0:4])
    nisa.tensor_scalar(x, x, nl.add, 1.0)  # unwritten
    nl.store(out, x)
    return out


def test_an_error_of_the_check_has_its_line():
    line = line_of(half_written, "unwritten")
    with pytest.raises(nki.NkiCheckError) as raised:
        nki.simulate(half_written)(numbers(4, 8))
    assert (raised.value.file, raised.value.line) == (__file__, line)
    assert str(raised.value).startswith(f"{__file__}:{line}: half_written: the check of the chip "
                                        "has found ")
    assert "check unwritten: " in str(raised.value)


def test_an_error_without_a_line_is_the_kernels():
    @nki.jit
    def kernel(a):
        out = like(a)
        nl.store(out[0:2, :], nl.load(a[0:2, :]))
        return out

    with pytest.raises(nki.NkiCheckError, match="check output: ") as raised:
        nki.simulate(kernel)(numbers(4, 8))
    assert (raised.value.file, raised.value.line) == (__file__,
                                                      kernel.func.__code__.co_firstlineno)


def test_an_error_and_a_nan():
    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(a)
        nisa.activation(x, nl.log, x)
        nisa.tensor_tensor(x, x, x, nl.subtract)
        nl.store(out[0:3, :], x[0:3, :])
        return out

    with pytest.warns(nki.NkiNanWarning, match="made the first NaN"), \
            pytest.raises(nki.NkiCheckError, match="check output: "):
        nki.simulate(kernel)(with_zero())


@pytest.mark.parametrize("text, place", [
    ("x, check race: sg00 vector engine, pc 12, /a, b/k.py:34, writes, in no order with the read "
     "of the scalar engine, pc 5, /a/k.py:9: SBUF", ("/a, b/k.py", 34)),
    ('x, check unwritten: queue "q", generated packet 3, k.py:7, reads', ("k.py", 7)),
    ("x: vector engine, pc 1, ...nki/test_check.py:9, made the first NaN", (__file__, 9)),
    ("x, check output: y", (__file__, logarithm.func.__code__.co_firstlineno))])
def test_places_in_lines_of_libnrt(text, place):
    assert errors.told_place(text, logarithm.func) == place
