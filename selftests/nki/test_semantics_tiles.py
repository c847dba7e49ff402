# SPDX-License-Identifier: MIT
"""What instructions make of whole tiles: reductions, bits, predicates, places and patterns; a table
of cases, many in one run of the chip.

Each expectation is written down here by the rule of the manual (Documentation/hardware/isa.rst),
in NumPy or plain Python, and not taken from the chip.
"""

import functools
import itertools

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

TARGETS = ("trn1", "trn2", "trn3")
NAN, INF = np.nan, np.inf
EACH_TARGET = pytest.mark.parametrize("target", TARGETS)


def run(target, cases, arrays):
    """{name: result}. A case is a function of the loaded tiles that makes a tile; all are one
    kernel, because a start of the chip costs more than hundreds of instructions.
    """
    @nki.jit(platform_target=target, check=True)
    def kernel(*inputs):
        tiles = [nl.load(x) for x in inputs]
        outs = []
        for case in cases.values():
            y = case(*tiles)
            outs.append(nl.ndarray(y.shape, y.dtype, buffer=nl.shared_hbm))
            nl.store(outs[-1], y)
        return tuple(outs)

    return dict(zip(cases, kernel(*arrays)))


# --- Reductions: of whole numbers, so that each order of additions is exact ---

CUBE = (np.arange(5 * 4 * 3 * 6).reshape(5, 4, 3, 6) * 37 % 23 - 11).astype(np.float32)
REDUCTIONS = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}
# The part of the cube, as the kernel and NumPy both write it; axes; negated.
PARTS = {
    "last axis": (lambda x: x, (3,), False),
    "last axis, negated": (lambda x: x, (3,), True),
    "two axes": (lambda x: x, (2, 3), False),
    "all axes": (lambda x: x, (1, 2, 3), True),
    "one column": (lambda x: x[:, :, :, 2:3], (3,), False),
    "three partitions": (lambda x: x[:3], (2, 3), False),
    "every second": (lambda x: x[:, :, :, ::2], (3,), False),
    "a middle": (lambda x: x[:, 1:3, :, 1:5], (2, 3), True),
}


def reduce_of(op, part):
    def case(x, _y):
        take, axes, negate = PARTS[part]
        data = take(x)
        y = nl.ndarray(data.shape[:4 - len(axes)] + (1,) * len(axes), np.float32)
        nisa.tensor_reduce(y, getattr(nl, op), data, axes, negate=negate, keepdims=True)
        return y
    return case


@functools.lru_cache(maxsize=None)
def reductions(target):
    cases = {key: reduce_of(*key) for key in itertools.product(REDUCTIONS, PARTS)}
    return run(target, cases, (CUBE, CUBE))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("op", REDUCTIONS)
@EACH_TARGET
def test_reductions(target, op, part):
    take, axes, negate = PARTS[part]
    want = REDUCTIONS[op].reduce(take(CUBE).astype(np.float64), axis=axes, keepdims=True)
    np.testing.assert_array_equal(reductions(target)[op, part], -want if negate else want)


# --- Bits: shifts are logical; a count of the width or more gives 0 ---

BITS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
WORDS = np.array([0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 127, 128, 255, 0x5a5a, 0x7fff, 0x8000,
                  0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678], np.uint32)


def shift(a, count, bits, left):
    if count >= bits:
        return 0
    return a << count if left else a >> count


BITWISE = {
    "bitwise_and": lambda a, b, bits: a & b,
    "bitwise_or": lambda a, b, bits: a | b,
    "bitwise_xor": lambda a, b, bits: a ^ b,
    "left_shift": lambda a, b, bits: shift(a, b, bits, True),
    "right_shift": lambda a, b, bits: shift(a, b, bits, False),
}


def bits_of(op):
    def case(x, y):
        z = nl.ndarray(x.shape, x.dtype)
        nisa.tensor_tensor(z, x, y, getattr(nl, op))
        return z
    return case


@functools.lru_cache(maxsize=None)
def bitwise(target, dtype):
    words = WORDS.astype(dtype)
    n = len(words)
    return run(target, {op: bits_of(op) for op in BITWISE},
               (np.repeat(words[:, None], n, axis=1), np.tile(words, (n, 1))))


@pytest.mark.parametrize("op", BITWISE)
@pytest.mark.parametrize("dtype", BITS)
@EACH_TARGET
def test_bitwise(target, dtype, op):
    bits = np.dtype(dtype).itemsize * 8
    words = [int(w) % (1 << bits) for w in WORDS]
    want = [[BITWISE[op](a, b, bits) % (1 << bits) for b in words] for a in words]
    found = bitwise(target, dtype)[op].view(f"uint{bits}")
    np.testing.assert_array_equal(found, np.array(want, np.uint64).astype(f"uint{bits}"))


# --- Predicates: where one does not hold, the destination keeps what it has ---

CHOICES = np.array([[0, 1, 2, 0, 255, 0, 128, 0], [1, 0, 0, 0, 0, 0, 0, 7]], np.uint8)
OLD = np.array([[1, 2, 3, 4, NAN, -0.0, INF, 8], [9, 10, 11, 12, 13, 14, 15, 16]], np.float32)
NEW = np.array([[-1, NAN, -0.0, INF, -5, -6, 7, 1e-40], [-INF, 2, 3, 4, 5, 6, 7, 8]], np.float32)
PREDICATES = list(itertools.product(("uint8", "uint16", "uint32"), (False, True),
                                    ("tile", "number")))


def choose(dtype, reverse, source):
    def case(old, new, predicate):
        y = nl.ndarray(old.shape, old.dtype)
        nisa.tensor_copy(y, old)
        p = nl.ndarray(old.shape, dtype)
        nisa.tensor_copy(p, predicate)
        nisa.tensor_copy_predicated(y, new if source == "tile" else -2.5, p, reverse_pred=reverse)
        return y
    return case


@functools.lru_cache(maxsize=None)
def chosen(target):
    return run(target, {key: choose(*key) for key in PREDICATES}, (OLD, NEW, CHOICES))


@pytest.mark.parametrize("dtype, reverse, source", PREDICATES)
@EACH_TARGET
def test_predicates(target, dtype, reverse, source):
    holds = (CHOICES != 0) != reverse
    want = np.where(holds, NEW if source == "tile" else np.float32(-2.5), OLD)
    found = chosen(target)[dtype, reverse, source]
    # Bits move, so that a NaN, a negative zero and a denormal number stay what they are.
    np.testing.assert_array_equal(found.view(np.uint32), want.view(np.uint32))


# --- The eight largest, and where they are ---

LINES = {
    "different": [3, 1, 4, 1.5, 9, 2, 6, 5, 3.5, 8, 7, -1],
    "all the same": [2.0] * 12,
    "ties": [5, 1, 5, 2, 5, 2, 1, 0, 0, 2, 5, 5],
    "negative": [-3, -1, -4, -1, -5, -9, -2, -6, -5, -3, -5, -8],
    "infinities": [INF, -INF, 1, INF, -INF, 0, 2, -INF, 3, INF, -1, 4],
    "zeros": [0.0, -0.0, 0.0, -0.0, 1, -1, 0.0, -0.0, -2, 2, -0.0, 0.0],
}
LINE_ARRAY = np.array(list(LINES.values()), np.float32)


def largest(x):
    y = nl.ndarray((x.shape[0], 8), np.float32)
    nisa.max8(y, x)
    return y


def places(x):
    y = nl.ndarray((x.shape[0], 8), np.uint32)
    nisa.nc_find_index8(y, x, largest(x))
    return y


def replaced(x):
    y = nl.ndarray(x.shape, x.dtype)
    nisa.nc_match_replace8(y, x, largest(x), -100.0)
    return y


def replaced_places(x):
    y, index = nl.ndarray(x.shape, x.dtype), nl.ndarray((x.shape[0], 8), np.uint32)
    nisa.nc_match_replace8(y, x, largest(x), -100.0, dst_idx=index)
    return index


@functools.lru_cache(maxsize=None)
def eights(target):
    cases = (largest, places, replaced, replaced_places)
    return run(target, {case.__name__: case for case in cases}, (LINE_ARRAY,))


def first_places(line, values):
    """Of each value the first place that no earlier one has taken. Zeros are equal."""
    taken = []
    for value in values:
        taken.append(next(i for i, x in enumerate(line) if x == value and i not in taken))
    return taken


@pytest.mark.parametrize("line", LINES)
@EACH_TARGET
def test_largest(target, line):
    row = list(LINES).index(line)
    want = np.array(sorted(LINES[line], key=lambda v: (v, not np.signbit(v)), reverse=True)[:8],
                    np.float32)
    np.testing.assert_array_equal(eights(target)["largest"][row].view(np.uint32),
                                  want.view(np.uint32))


@pytest.mark.parametrize("line", LINES)
@EACH_TARGET
def test_places(target, line):
    row = list(LINES).index(line)
    values = sorted(LINES[line], reverse=True)[:8]
    assert eights(target)["places"][row].tolist() == first_places(LINES[line], values)


@pytest.mark.parametrize("line", LINES)
@EACH_TARGET
def test_replaced(target, line):
    row = list(LINES).index(line)
    values = sorted(LINES[line], reverse=True)[:8]
    want = list(LINES[line])
    for place in first_places(want, reversed(values)):
        want[place] = -100.0
    np.testing.assert_array_equal(eights(target)["replaced"][row], np.array(want, np.float32))


@pytest.mark.parametrize("line", LINES)
@EACH_TARGET
def test_replaced_places(target, line):
    """As those of find_index8, but of equal values the last gets the first place."""
    row = list(LINES).index(line)
    values = sorted(LINES[line], reverse=True)[:8]
    want = first_places(LINES[line], reversed(values))[::-1]
    assert eights(target)["replaced_places"][row].tolist() == want


# --- Products and transpositions of tiles that fill no array ---

SIZES = ((1, 1, 1), (3, 5, 7), (1, 128, 2), (128, 1, 3), (32, 33, 64), (65, 31, 96),
         (127, 128, 511), (128, 127, 512))
TURNS = (("vector", 1, 1), ("vector", 3, 32), ("vector", 31, 2), ("vector", 32, 32),
         ("tensor", 1, 1), ("tensor", 2, 127), ("tensor", 33, 65), ("tensor", 128, 128))
LEFT = ((np.arange(128 * 128) * 29 % 17) - 8).reshape(128, 128).astype(np.float32)
RIGHT = ((np.arange(128 * 512) * 31 % 15) - 7).reshape(128, 512).astype(np.float32)


def product_of(k, m, n, twice):
    def case(a, b):
        psum = nl.ndarray((m, n), np.float32, buffer=nl.psum)
        nisa.nc_matmul(psum, a[:k, :m], b[:k, :n])
        if twice:
            nisa.nc_matmul(psum, a[:k, :m], b[:k, :n], accumulate=True)
        y = nl.ndarray((m, n), np.float32)
        nisa.tensor_copy(y, psum)
        return y
    return case


def turn_of(engine, rows, columns):
    def case(a, _b):
        y = nl.ndarray((columns, rows), np.float32,
                       buffer=nl.sbuf if engine == "vector" else nl.psum)
        nisa.nc_transpose(y, a[:rows, :columns], engine=getattr(nisa.engine, engine))
        z = nl.ndarray((columns, rows), np.float32)
        nisa.tensor_copy(z, y)
        return z
    return case


@functools.lru_cache(maxsize=None)
def arrays_in_part(target):
    cases = {(*size, twice): product_of(*size, twice) for size in SIZES for twice in (False, True)}
    cases |= {turn: turn_of(*turn) for turn in TURNS}
    return run(target, cases, (LEFT, RIGHT))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@EACH_TARGET
def test_products_of_parts(target, size, twice):
    """Whole numbers, whose sums are exact."""
    k, m, n = size
    want = LEFT[:k, :m].astype(np.int64).T @ RIGHT[:k, :n].astype(np.int64)
    np.testing.assert_array_equal(arrays_in_part(target)[k, m, n, twice], want * (1 + twice))


@pytest.mark.parametrize("turn", TURNS, ids=str)
@EACH_TARGET
def test_transpositions_of_parts(target, turn):
    _, rows, columns = turn
    np.testing.assert_array_equal(arrays_in_part(target)[turn], LEFT[:rows, :columns].T)


# --- Patterns: value = offset + partition * multiplier + the sum of index * step ---

# Steps and counts, offset, multiplier.
PATTERNS = {
    "ascending": (([1, 12],), 0, 0),
    "descending": (([-1, 12],), 11, 0),
    "by partitions": (([1, 12],), 0, 12),
    "against the partitions": (([2, 12],), 100, -30),
    "two dimensions": (([10, 3], [1, 4]), -7, 100),
    "back and forth": (([-10, 3], [3, 4]), 5, -1),
    "a step of zero": (([0, 4], [1, 3]), 0, 1),
    "three dimensions": (([100, 2], [-10, 2], [1, 3]), 1000, 7),
}
SELECTIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
MASKED = np.arange(4 * 12, dtype=np.float32).reshape(4, 12)


def pattern_values(pattern, offset, multiplier):
    counts = [count for _, count in pattern]
    return np.array([[offset + p * multiplier + sum(i * step for i, (step, _) in zip(at, pattern))
                      for at in itertools.product(*map(range, counts))] for p in range(4)])


def pattern_of(name):
    def case(x):
        pattern, offset, multiplier = PATTERNS[name]
        y = nl.ndarray(x.shape, np.int32)
        nisa.iota(y, [list(pair) for pair in pattern], offset, multiplier)
        return y
    return case


def selection_of(name, op):
    def case(x):
        pattern, offset, multiplier = PATTERNS[name]
        y = nl.ndarray(x.shape, x.dtype)
        nisa.affine_select(y, [list(pair) for pair in pattern], multiplier, x, -9.5,
                           getattr(nl, op), offset=offset)
        return y
    return case


@functools.lru_cache(maxsize=None)
def patterns(target):
    cases = {name: pattern_of(name) for name in PATTERNS}
    cases |= {key: selection_of(*key) for key in itertools.product(SELECTED, SELECTIONS)}
    return run(target, cases, (MASKED,))


SELECTED = ("descending", "back and forth")


@pytest.mark.parametrize("name", PATTERNS)
@EACH_TARGET
def test_patterns(target, name):
    np.testing.assert_array_equal(patterns(target)[name], pattern_values(*PATTERNS[name]))


@pytest.mark.parametrize("op", SELECTIONS)
@pytest.mark.parametrize("name", SELECTED)
@EACH_TARGET
def test_selections(target, name, op):
    holds = getattr(np, op)(pattern_values(*PATTERNS[name]), 0)
    np.testing.assert_array_equal(patterns(target)[name, op], np.where(holds, MASKED, -9.5))
