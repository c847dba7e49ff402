# SPDX-License-Identifier: MIT
"""Kernels with the names of NKI Beta 1 (neuronxcc.nki): functions return tiles, masks, blocks."""

import functools

import numpy as np
import pytest

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuron_emu.beta1.dtypes import of_scalar, promoted
from neuron_emu.errors import NkiError, NkiValidationError

P, F = 128, 96


def numbers(*shape, seed=1):
    """Numbers that FP32 holds, and sums and products of two of which it holds, too."""
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(np.float32)


def run(function, *arrays):
    """The kernel with the check of the chip."""
    return nki.simulate_kernel(nki.jit(function), *arrays)


def output(like, shape=None, dtype=None):
    """A tensor for the result."""
    return nl.ndarray(shape or like.shape, dtype=dtype or like.dtype, buffer=nl.shared_hbm)


# --- what is computed ---

BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply,
          "maximum": np.maximum, "minimum": np.minimum, "equal": np.equal, "less": np.less,
          "not_equal": np.not_equal, "less_equal": np.less_equal, "greater": np.greater,
          "greater_equal": np.greater_equal}


@pytest.mark.parametrize("other", ["tile", "column", "row", "element", "number", "left"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, other):
    a = numbers(P, F)
    shape = {"column": (P, 1), "row": (1, F), "element": (1, 1)}.get(other, (P, F))
    b = numbers(*shape, seed=2)

    def kernel(a, b):
        out, op = output(a), getattr(nl, name)
        x = nl.load(a)
        y = 3.0 if other in ("number", "left") else nl.load(b)
        nl.store(out, op(y, x, dtype=np.float32) if other == "left" else
                 op(x, y, dtype=np.float32))
        return out

    value = np.float32(3) if other in ("number", "left") else b
    want = BINARY[name](value, a) if other == "left" else BINARY[name](a, value)
    np.testing.assert_array_equal(run(kernel, a, b), want.astype(np.float32))


def test_operators_of_tiles():
    a, b = numbers(P, F), numbers(P, F, seed=2)

    def kernel(a, b):
        out = output(a)
        x, y = nl.load(a), nl.load(b)
        z = (x + y) * 2 - 1.0
        z = 5 - z + (-x) + (x < y) * 3.0
        z += y
        z *= 2
        z[...] = z - y
        nl.store(out, z)
        return out

    want = ((5 - ((a + b) * 2 - 1) - a + (a < b) * 3) + b) * 2 - b
    np.testing.assert_array_equal(run(kernel, a, b), want)


@pytest.mark.parametrize("op,function", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("axis", [1, (1, 2), (2,), [1, 3], [-1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(op, function, axis, keepdims):
    a = numbers(32, 3, 4, 5)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    want = function(a, axis=axes, keepdims=keepdims)

    def kernel(a):
        out = output(a, want.shape)
        nl.store(out, getattr(nl, op)(nl.load(a), axis=axis, keepdims=keepdims))
        return out

    np.testing.assert_array_equal(run(kernel, a), want)


@pytest.mark.parametrize("a,b,want", [
    ("int32", "float16", "float16"), ("uint16", "tfloat32", "tfloat32"),
    ("float32", "tfloat32", "float32"), ("float32", "bfloat16", "float32"),
    ("float16", "bfloat16", "float32"), ("float8_e4m3", "float16", "float16"),
    ("float8_e4m3", "bfloat16", "bfloat16"), ("float8_e4m3", "float8_e5m2", "bfloat16"),
    ("int16", "int32", "int32"), ("uint8", "uint16", "uint16"), ("uint16", "int32", "int32"),
    ("int8", "uint8", "int16"), ("int8", "uint16", "int32"), ("int32", "uint32", "float32")])
def test_types_of_results(a, b, want):
    assert promoted(a, b) == promoted(b, a) == want


@pytest.mark.parametrize("number,want", [(True, "uint8"), (2, "int32"), (1.2, "float32"),
                                         (np.int8(2), "int8"), (np.float16(2), "float16")])
def test_types_of_numbers(number, want):
    assert of_scalar(number) == want


# --- index expressions ---

def _places(shape):
    return np.meshgrid(*map(np.arange, shape), indexing="ij")


INDICES = {
    "whole": (lambda p, f: (p, f), (P, F)),
    "part": (lambda p, f: (p + 32, f + 5), (64, 40)),
    "every second": (lambda p, f: (2 * p, 2 * f + 1), (64, 40)),
    "backwards": (lambda p, f: (p, 90 - f), (P, 60)),
    "diagonals": (lambda p, f: (p, p * 0 + f * 3), (P, 20)),
    "rows and columns": (lambda p, f: (p, f // 1), (16, 8)),
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("grid", ["mgrid", "arange"])
def test_index_of_hbm(name, grid):
    make, shape = INDICES[name]
    a = numbers(P, F)

    def kernel(a):
        out = output(a, shape)
        p, f = nl.mgrid[0:shape[0], 0:shape[1]] if grid == "mgrid" else (
            nl.arange(shape[0])[:, None], nl.arange(shape[1])[None, :])
        nl.store(out, nl.load(a[make(p, f)]))
        return out

    np.testing.assert_array_equal(run(kernel, a), a[make(*_places(shape))])


@pytest.mark.parametrize("name", ["whole", "half", "backwards"])
def test_index_of_a_tile(name):
    make, shape = {**INDICES, "half": (lambda p, f: (p + 64, f + 5), (64, 40))}[name]
    a = numbers(P, F)

    def kernel(a):
        out = output(a, shape)
        p, f = nl.mgrid[0:shape[0], 0:shape[1]]
        x = nl.load(a)
        nl.store(out, nl.copy(x[make(p, f)]))
        return out

    np.testing.assert_array_equal(run(kernel, a), a[make(*_places(shape))])


def test_windows():
    a = numbers(32, 6, 8)

    def kernel(a):
        out = output(a, (32, 3, 4))
        x = nl.load(a)
        g = nl.mgrid[0:32, 0:3, 0:2, 0:4, 0:2]
        i0, i1, i2, i3, i4 = g
        nl.store(out, nl.sum(x[i0, 2 * i1 + i2, 2 * i3 + i4], axis=[2, 4]))
        return out

    want = a.reshape(32, 3, 2, 4, 2).sum(axis=(2, 4))
    np.testing.assert_array_equal(run(kernel, a), want)


@pytest.mark.parametrize("expression", [
    lambda p, f: f, lambda p, f: p, lambda p, f: f * -1, lambda p, f: 5 + p * 2,
    lambda p, f: p + f, lambda p, f: 7 * p - 3 * f + 11, lambda p, f: (4 * p + 8 * f) // 4,
    lambda p, f: (4 * p + 8 * f + 3) % 4])
def test_iota(expression):
    def kernel():
        p, f = nl.mgrid[0:64, 0:32]
        out = nl.ndarray((64, 32), dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nisa.iota(expression(p, f) + 0 * (p + f), dtype=nl.int32))
        return out

    np.testing.assert_array_equal(run(kernel), expression(*_places((64, 32))))


# --- masks ---

MASKS = {
    "rows": lambda p, f: p < 64, "columns": lambda p, f: f >= 10,
    "box": lambda p, f: (p < 64) & (f < 50) & (f > 3), "row": lambda p, f: (p >= 32) & (p <= 32),
    "equal": lambda p, f: f == 7, "scaled": lambda p, f: 3 * f < 100,
    "turned": lambda p, f: 100 - f > 40, "all": lambda p, f: p + f >= 0,
    "none": lambda p, f: p < 0,
}


@pytest.mark.parametrize("name", MASKS)
def test_mask_of_a_function(name):
    """What a mask leaves out stays as it was."""
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        p, f = nl.mgrid[0:P, 0:F]
        x, y = nl.load(a), nl.full((P, F), 1000, a.dtype)
        y[p, f] = nl.multiply(x, 3.0, mask=MASKS[name](p, f))
        nl.store(out, y)
        return out

    np.testing.assert_array_equal(run(kernel, a), np.where(MASKS[name](*_places((P, F))), a * 3,
                                                           1000))


@pytest.mark.parametrize("name", list(MASKS) + ["triangle", "band"])
def test_mask_of_transfers(name):
    mask = {**MASKS, "triangle": lambda p, f: p >= f,
            "band": lambda p, f: (p - f < 3) & (f - p < 5)}[name]
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        p, f = nl.mgrid[0:P, 0:F]
        nl.store(out, nl.full((P, F), 7, a.dtype))
        x = nl.load(a[p, f], mask=mask(p, f))
        nl.store(out[p, f], x, mask=mask(p, f))
        return out

    np.testing.assert_array_equal(run(kernel, a), np.where(mask(*_places((P, F))), a, 7))


@pytest.mark.parametrize("rows", [1, 100, 128, 129, 200, 256])
def test_mask_at_the_end(rows):
    """Tiles of 128 rows, of which the last one reaches beyond the tensor."""
    a = numbers(rows, F)

    def kernel(a):
        out = output(a)
        for i in nl.affine_range(2):
            p = i * 128 + nl.arange(128)[:, None]
            f = nl.arange(F)[None, :]
            x = nl.load(a[p, f], mask=p < rows)
            y = nl.multiply(x, 2.0, mask=p < rows)
            nl.store(out[p, f], y, mask=p < rows)
        return out

    np.testing.assert_array_equal(run(kernel, a), a * 2)


SELECTIONS = {**MASKS, "triangle": lambda p, f: p >= f, "above": lambda p, f: f > p,
              "band": lambda p, f: (p - f < 3) & (f - p < 5), "diagonal": lambda p, f: p == f}


@pytest.mark.parametrize("name", SELECTIONS)
def test_affine_select(name):
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        p, f = nl.mgrid[0:P, 0:F]
        nl.store(out, nisa.affine_select(SELECTIONS[name](p, f), nl.load(a), -5.0))
        return out

    np.testing.assert_array_equal(run(kernel, a), np.where(SELECTIONS[name](*_places((P, F))), a,
                                                           -5))


@pytest.mark.parametrize("name", SELECTIONS)
def test_where_with_a_mask(name):
    a, b = numbers(P, F), numbers(P, F, seed=2)

    def kernel(a, b):
        out = output(a)
        p, f = nl.mgrid[0:P, 0:F]
        nl.store(out, nl.where(SELECTIONS[name](p, f), nl.load(a), nl.load(b)))
        return out

    np.testing.assert_array_equal(run(kernel, a, b), np.where(SELECTIONS[name](*_places((P, F))),
                                                              a, b))


@pytest.mark.parametrize("chosen", [True, False])
def test_mask_is_a_condition(chosen):
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        x = nl.load(a)
        x[...] = nl.add(x, 1.0, mask=chosen)
        nl.store(out, x)
        return out

    np.testing.assert_array_equal(run(kernel, a), a + chosen)


# --- products ---

@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(transposed):
    a, b = numbers(64, 96), numbers(96, 200, seed=2)

    def kernel(a, b):
        out = output(a, (64, 200))
        nl.store(out, nl.matmul(nl.load(a), nl.load(b), transpose_x=transposed))
        return out

    left = np.ascontiguousarray(a.T) if transposed else a
    np.testing.assert_array_equal(run(kernel, left, b), a @ b)


@pytest.mark.parametrize("start", ["nothing", "zeros", "a number", "a tile"])
def test_what_a_product_is_added_to(start):
    """A tile that nothing has written begins with the first product."""
    a, b = numbers(256, 64), numbers(256, 64, seed=2)
    first = {"a number": 5, "a tile": a[:64]}.get(start, 0)

    def kernel(a, b):
        out = output(a, (64, 64))
        total = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
        if start == "a tile":
            total[...] = nl.copy(nl.load(a[0:64]))
        elif start != "nothing":
            total[...] = first
        for i in nl.affine_range(2):
            total[...] += nisa.nc_matmul(nl.load(a[nl.ds(i * 128, 128)]),
                                         nl.load(b[nl.ds(i * 128, 128)]))
        nl.store(out, total)
        return out

    np.testing.assert_array_equal(run(kernel, a, b), a.T @ b + first)


@pytest.mark.parametrize("form", ["name", "index", "first"])
def test_products_accumulate(form):
    a, b = numbers(256, 64), numbers(256, 200, seed=2)

    def kernel(a, b):
        out = output(a, (64, 200))
        total = nl.zeros((nl.par_dim(64), 200), dtype=nl.float32, buffer=nl.psum)
        for i in nl.affine_range(2):
            x, y = nl.load(a[i * 128:(i + 1) * 128]), nl.load(b[nl.ds(i * 128, 128), :])
            if form == "name":
                total += nl.matmul(x, y, transpose_x=True)
            elif form == "index":
                total[:, :] += nisa.nc_matmul(x, y)
            elif i == 0:
                total[...] = nisa.nc_matmul(x, y)
            else:
                total[...] += nisa.nc_matmul(x, y)
        nl.store(out, total)
        return out

    np.testing.assert_array_equal(run(kernel, a, b), a.T @ b)


def test_a_product_is_not_taken_back_when_it_is_used():
    a, b = numbers(128, 64), numbers(128, 64, seed=2)

    def kernel(a, b):
        out, twice = output(a, (64, 64)), output(a, (64, 64))
        x, y = nl.load(a), nl.load(b)
        product = nisa.nc_matmul(x, y)
        doubled = nl.multiply(product, 2.0)
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        total += product
        nl.store(out, total)
        nl.store(twice, doubled)
        return out, twice

    out, twice = run(kernel, a, b)
    np.testing.assert_array_equal(out, a.T @ b)
    np.testing.assert_array_equal(twice, 2 * (a.T @ b))


def test_a_product_of_a_transposed_tile():
    """What lies in PSUM is copied for the tensor engine."""
    a, b = numbers(96, 128), numbers(96, 64, seed=2)

    def kernel(a, b):
        out = output(a, (128, 64))
        turned = nisa.nc_transpose(nisa.nc_transpose(nl.load(a)))
        nl.store(out, nisa.nc_matmul(turned, nl.load(b)))
        return out

    np.testing.assert_array_equal(run(kernel, a, b), a.T @ b)


def test_a_quotient_of_integers():
    """It is a float32."""
    a = np.arange(64, dtype=np.int32)[None]

    def kernel(a):
        out = output(a, dtype=np.float32)
        nl.store(out, nl.load(a) / 8)
        return out

    np.testing.assert_array_equal(run(kernel, a), a / np.float32(8))


EACH_TARGET = pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16", "int32", "int8"])
@pytest.mark.parametrize("shape", [(128, 128), (96, 64), (32, 32), (16, 8)])
@EACH_TARGET
def test_transpose(target, shape, kind, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    a = numbers(*shape)

    def kernel(a):
        out = output(a, shape[::-1])
        x = nl.copy(nl.load(a), dtype=getattr(nl, kind))
        nl.store(out, nl.copy(nisa.nc_transpose(x), dtype=nl.float32))
        return out

    np.testing.assert_array_equal(run(kernel, a), a.T)


@pytest.mark.parametrize("kind", [nl.float8_e4m3, nl.float8_e5m2])
@pytest.mark.parametrize("assigned", [False, True])
@EACH_TARGET
def test_transpose_of_bytes(target, kind, assigned, monkeypatch):
    """The tensor engine makes 16 bits of 8; the result has 8 again."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    a = (np.arange(96 * 64).reshape(96, 64) * 5 % 9).astype(np.float32)

    def kernel(a):
        out = output(a, (64, 96))
        x = nl.copy(nl.load(a), dtype=kind)
        if assigned:
            y = nl.ndarray((nl.par_dim(64), 96), dtype=kind)
            y[...] = nisa.nc_transpose(x)
        else:
            y = nisa.nc_transpose(x, dtype=nl.bfloat16)
        nl.store(out, nl.copy(y, dtype=nl.float32))
        return out

    np.testing.assert_array_equal(run(kernel, a), a.T)


@pytest.mark.parametrize("function", [nl.load_transpose2d, nisa.dma_transpose])
def test_transposed_load(function):
    a = numbers(200, 64)

    def kernel(a):
        out = output(a, (64, 200))
        nl.store(out, function(a))
        return out

    np.testing.assert_array_equal(run(kernel, a), a.T)


# --- memory ---

def test_blocks():
    a = numbers(4, P, F)

    def kernel(a):
        out = output(a)
        x = nl.ndarray((2, 2, nl.par_dim(P), F), dtype=a.dtype)
        for i in nl.affine_range(2):
            for j in nl.affine_range(2):
                x[i, j] = nl.load(a[2 * i + j])
        for i in nl.affine_range(2):
            for j in nl.affine_range(2):
                nl.store(out[2 * i + j], x[1 - i, j, :, :] + x[i][j])
        return out

    want = np.stack([a[2 * i + j] + a[2 * (1 - i) + j] for i in range(2) for j in range(2)])
    np.testing.assert_array_equal(run(kernel, a), want)


@pytest.mark.parametrize("told", [
    ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)),
    ncc.sbuf.alloc(lambda idx, pdim_size, fdim_size: (0, 4096 + idx[0] * fdim_size)),
    ncc.sbuf.auto_alloc()])
def test_told_places(told):
    a = numbers(4, P, F)

    def kernel(a):
        out = output(a)
        x = nl.ndarray((4, nl.par_dim(P), F), dtype=a.dtype, buffer=told)
        for i in nl.affine_range(4):
            x[i, :, :] = nl.load(a[i])
            nl.store(out[i], nl.add(x[i], 1.0))
        return out

    np.testing.assert_array_equal(run(kernel, a), a + 1)


def bank_of(banks, idx, pdim_size, fdim_size):
    """A function of a place that has an argument of its own before the documented ones."""
    assert (pdim_size, fdim_size) == (64, 800)
    return banks[idx], 0, 0


@pytest.mark.parametrize("told", [
    ncc.psum.mod_alloc(base_bank=2, num_bank_tiles=(2,)),
    ncc.psum.alloc(functools.partial(bank_of, banks={(0,): 6, (1,): 1, (2,): 5, (3,): 1}))])
def test_places_of_banks(told):
    a, b = numbers(4, 64, 64), numbers(64, 200, seed=2)

    def kernel(a, b):
        out = output(a, (4, 64, 200))
        y = nl.load(b)
        z = nl.ndarray((4, nl.par_dim(64), 200), dtype=nl.float32, buffer=told)
        for i in nl.affine_range(4):
            z[i] = nisa.nc_matmul(nl.load(a[i]), y)
            nl.store(out[i], z[i])
        return out

    np.testing.assert_array_equal(run(kernel, a, b), a.transpose(0, 2, 1) @ b)


def test_single_partitions_are_written():
    def kernel():
        out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        x = nl.zeros((8, 4), dtype=nl.float32)
        for i in nl.static_range(8):
            x[i, 1] = i * 10
        nl.store(out, x)
        return out

    want = np.zeros((8, 4), np.float32)
    want[:, 1] = np.arange(8) * 10
    np.testing.assert_array_equal(run(kernel), want)


def test_rows_chosen_by_a_tile():
    a, rows = numbers(P, F), np.random.default_rng(3).permutation(P)[:64].astype(np.int32)

    def kernel(a, rows):
        out, back = output(a, (64, F)), output(a)
        p, f = nl.arange(64)[:, None], nl.arange(F)[None, :]
        index = nl.load(rows[p])
        x = nl.load(a[index[p, 0], f])
        nl.store(out, x)
        nl.store(back, nl.zeros((P, F), a.dtype))
        nl.store(back[index, f], x)
        nl.atomic_rmw(back[index, f], value=x, op=np.add)
        return out, back

    out, back = run(kernel, a, rows)
    want = np.zeros_like(a)
    want[rows] = 2 * a[rows]
    np.testing.assert_array_equal(out, a[rows])
    np.testing.assert_array_equal(back, want)


def test_a_place_chosen_by_a_number():
    a, offsets = numbers(P, 16, 4), np.array([[3, 0, 15, 8]], np.int32)

    def kernel(a, offsets):
        out = output(a, (P, 4, 4))
        x, at = nl.load(a), nl.load(offsets)
        y = nl.ndarray((P, 4, 4), dtype=a.dtype)
        p, _, f = nl.mgrid[0:P, 0:1, 0:4]
        for i in nl.affine_range(4):
            y[p, i, f] = nisa.tensor_copy_dynamic_src(x[p, at[0, i], f])
        nl.store(out, y)
        return out

    np.testing.assert_array_equal(run(kernel, a, offsets), a[:, offsets[0]])


def test_loop_reduce():
    a = numbers(3, P, F)

    def kernel(a):
        out = output(a, (P, F))
        total = nl.zeros((P, F), dtype=a.dtype)
        for i in nl.affine_range(3):
            total[...] = nl.loop_reduce(nl.load(a[i]), op=np.add, loop_indices=[i])
        nl.store(out, total)
        return out

    np.testing.assert_array_equal(run(kernel, a), a.sum(axis=0))


@pytest.mark.parametrize("start", [None, 5.0, "column"])
def test_running_sums(start):
    a, column = numbers(P, 9), numbers(P, 1)

    def kernel(a, column):
        out, sums = output(a), nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        first = nl.load(column) if start == "column" else start
        nisa.tensor_scalar_cumulative(
            src=nl.load(a), dst=sums, op0=np.multiply, op1=np.add, imm0=2.0, imm1=first,
            reduce_cmd=nisa.reduce_cmd.load_reduce if start else nisa.reduce_cmd.reset_reduce)
        nl.store(out, sums)
        return out

    first = column if start == "column" else start or 0
    np.testing.assert_array_equal(run(kernel, a, column), (2 * a).cumsum(axis=1) + first)


def test_an_argument_is_written():
    a, out = numbers(P, F), np.zeros((P, F), np.float32)

    @nki.jit
    def kernel(a: nt.tensor[P, F], out: nt.mutable_tensor):
        nl.store(out, nl.load(a) + 1.0)

    kernel(a, out)
    np.testing.assert_array_equal(out, a + 1)


@pytest.mark.parametrize("grid", [(4, 2), (nl.nc(2) * 2, 2), (nl.spmd_dim(2, nl.nc(2)), 2)])
def test_programs(grid):
    a = numbers(4, 2, 16, 8)

    @nki.jit
    def kernel(a):
        out = output(a)
        i, j = nl.program_id(0), nl.program_id(1)
        nl.store(out[i, j], nl.load(a[i, j]) * (1.0 + nl.num_programs(0)))
        return out

    np.testing.assert_array_equal(kernel[grid](a), a * 5)


# --- running and measuring ---

def test_benchmark(tmp_path):
    @nki.benchmark(warmup=2, iters=3, save_neff_name=str(tmp_path / "file.neff"))
    def kernel(a):
        out = output(a)
        nl.store(out, nl.load(a))
        return out

    kernel(numbers(P, F))
    latency = kernel.benchmark_result.nc_latency
    assert latency.get_latency_percentile(50) == latency.get_latency_percentile(99) > 0
    assert (tmp_path / "file.neff").stat().st_size > 0
    with pytest.raises(NkiError, match="get_latency_percentile"):
        latency.get_latency_percentile(42)


def test_modes():
    def kernel(a):
        out = output(a)
        nl.store(out, helper(nl.load(a)))
        return out

    @nki.jit(mode="trace")
    def helper(x):
        return x * 2.0

    a = numbers(P, F)
    for mode in ("auto", "baremetal", "simulation"):
        np.testing.assert_array_equal(nki.jit(kernel, mode=mode)(a), a * 2)
    np.testing.assert_array_equal(nki.baremetal(kernel)(a), a * 2)
    with pytest.raises(NkiError, match="mode is one of"):
        nki.jit(kernel, mode="fast")


def test_print_in_simulation(capsys):
    def kernel(a):
        out = output(a)
        x = nl.load(a)
        nl.device_print("x is", x)
        nl.store(out, x)
        return out

    run(kernel, np.full((2, 2), 42, np.float32))
    assert "x is" in (text := capsys.readouterr().out) and "42." in text


# --- what is refused, at the kernel's line ---

def _refuse_all_reduce(x, p, f):
    nl.all_reduce(x, np.add, 0)


def _refuse_other_name(x, p, f):
    nl.no_such_function(x)


def _refuse_triangle(x, p, f):
    nl.exp(x, mask=p >= f)


def _refuse_beyond(x, p, f):
    nl.copy(x[p, f + 1])


def _refuse_mixed(x, p, f):
    nl.copy(x[p, 0:5])


def _refuse_or(x, p, f):
    nl.exp(x, mask=(p < 3) | (f < 3))


def _refuse_if(x, p, f):
    if p < 3:
        nl.exp(x)


def _refuse_product(x, p, f):
    nl.copy(x[p * f, f])


def _refuse_hbm(x, p, f):
    nl.exp(nl.ndarray((P, F), dtype=nl.float32, buffer=nl.shared_hbm))


def _refuse_block(x, p, f):
    nl.exp(nl.zeros((2, nl.par_dim(P), F), dtype=nl.float32))


def _refuse_places(x, p, f):
    nl.ndarray((2, nl.par_dim(P), F), dtype=nl.float32,
               buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, 2)))[0]


@pytest.mark.parametrize("body,text", [
    (_refuse_all_reduce, "nl.all_reduce"), (_refuse_other_name, "no_such_function is not here"),
    (_refuse_triangle, "leaves a box"), (_refuse_beyond, "lies in the tensor"),
    (_refuse_mixed, "not mixed"), (_refuse_or, "with & only"), (_refuse_if, "mask="),
    (_refuse_product, "multiplied by integers"), (_refuse_hbm, "lies in SBUF or PSUM"),
    (_refuse_block, "one block"), (_refuse_places, "one number of tiles")])
def test_refused(body, text):
    def kernel(a):
        out = output(a)
        p, f = nl.mgrid[0:P, 0:F]
        body(nl.load(a), p, f)
        return out

    with pytest.raises((NkiValidationError, AttributeError), match=text) as found:
        run(kernel, numbers(P, F))
    line = body.__code__.co_firstlineno
    assert any(f"test_beta1.py:{line + i}: " in str(found.value) for i in (1, 2))
