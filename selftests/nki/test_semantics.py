# SPDX-License-Identifier: MIT
"""What instructions make of special numbers: a table of cases, many in one run of the chip.

Each expectation is written down here by its rule (Documentation/hardware/numerics.rst), with
NumPy's integers and floats, and not taken from the chip.
"""

import functools

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

TARGETS = ("trn1", "trn2", "trn3")
NAN, INF = np.nan, np.inf
SPECIAL = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 3.49999, 126.5, 127.5, -128.5, 128, 255.5,
                    256, 32767.5, -32769, 65535.5, 65536, 2**24 + 1, 2**31, -2**31, 2**32, 1e30,
                    -1e30, INF, -INF, NAN, 1e-30, 65519.9, 65520, 6e-8, 2.98e-8], np.float32)
PAIRS = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.0, INF, -INF, NAN, 1e30], np.float32)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")


def to_integer(values, dtype):
    """To nearest, ties to even; what is beyond the range is its end; NaN is 0."""
    limits = np.iinfo(dtype)
    whole = [0 if np.isnan(v) else limits.max if v == INF else limits.min if v == -INF else
             int(np.rint(np.float64(v))) for v in values]
    return np.array([min(max(n, limits.min), limits.max) for n in whole], dtype)


def to_half(values):
    """To nearest, ties to even; beyond the range: infinity."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


CASTS = {dtype: functools.partial(to_integer, dtype=dtype) for dtype in INTEGERS}
CASTS["float16"] = to_half


@functools.lru_cache(maxsize=None)
def casts(target):
    """{(engine, type): numbers}, all by one kernel."""
    names = [(engine, dtype) for engine in ("vector", "gpsimd") for dtype in CASTS]

    @nki.jit(platform_target=target, check=True)
    def kernel(a):
        outs = []
        x = nl.load(a)
        for engine, dtype in names:
            outs.append(nl.ndarray(a.shape, dtype, buffer=nl.shared_hbm))
            y = nl.ndarray(a.shape, dtype)
            nisa.tensor_copy(y, x, engine=getattr(nisa.engine, engine))
            nl.store(outs[-1], y)
        return tuple(outs)

    return dict(zip(names, kernel(SPECIAL[None])))


@pytest.mark.parametrize("dtype", CASTS)
@pytest.mark.parametrize("engine", ["vector", "gpsimd"])
@pytest.mark.parametrize("target", TARGETS)
def test_casts(target, engine, dtype):
    np.testing.assert_array_equal(casts(target)[engine, dtype][0], CASTS[dtype](SPECIAL))


def larger(a, b):
    """NaN if either is NaN."""
    return np.maximum(a, b)


OPERATORS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": larger,
    "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "logical_and": lambda a, b: (a != 0) & (b != 0), "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0)}
FORMS = ("tensor", "gpsimd", "column", "reverse")


@functools.lru_cache(maxsize=None)
def products(target):
    """{(form, operator): numbers}; a has its numbers by rows, b by columns."""
    names = [(form, op) for form in FORMS for op in OPERATORS]
    n = len(PAIRS)

    @nki.jit(platform_target=target, check=True)
    def kernel(a, b):
        out = nl.ndarray((n, len(names), n), a.dtype, buffer=nl.shared_hbm)
        x, y = nl.load(a), nl.load(b)
        whole = nl.ndarray((n, n), a.dtype)
        nisa.tensor_copy(whole, x.broadcast(1, n))
        results = nl.ndarray((n, len(names), n), a.dtype)
        for i, (form, name) in enumerate(names):
            op = getattr(nl, name)
            if form in ("tensor", "gpsimd"):
                engine = nisa.engine.vector if form == "tensor" else nisa.engine.gpsimd
                nisa.tensor_tensor(results[:, i], whole, y, op, engine=engine)
            else:
                nisa.tensor_scalar(results[:, i], y, op, x, reverse0=form == "reverse")
        nl.store(out, results)
        return out

    found = kernel(PAIRS[:, None], np.tile(PAIRS, (n, 1)))
    return {name: found[:, i] for i, name in enumerate(names)}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", TARGETS)
def test_operators(target, form, op):
    a, b = PAIRS[:, None], PAIRS[None]
    with np.errstate(all="ignore"):
        # A column is the second operand, unless the operands are reversed.
        want = OPERATORS[op](b, a) if form == "column" else OPERATORS[op](a, b)
    np.testing.assert_array_equal(products(target)[form, op], want.astype(np.float32))
