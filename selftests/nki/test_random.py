# SPDX-License-Identifier: MIT
"""Kernels by chance, against an interpreter that does the same with NumPy, step by step.

A program is a list of steps on a few tiles and a matrix in HBM, so that they get in each other's
way: results tell whether tiles, views, registers, loops and waits are right. A step whose numbers
would not be exact in both is left out. A seed makes the same program everywhere.
"""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

ROWS, COLUMNS = 64, 40
TILES = ("float32", "float32", "float16", "int32")
FLOATS = (0, 1, 2)
STEPS = 24
SEEDS = {"trn1": 12, "trn2": 12, "trn3": 12}
MANY = 1000

BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


def as_float(values):
    """How an engine sees a tile."""
    return values.astype(np.float32)


def compute(op, a, b):
    """A step of an engine in FP32."""
    return BINARY[op](a, b).astype(np.float32)


class Box:
    """A part of a tile: rows from a quadrant on, columns by a slice that may run backwards."""

    def __init__(self, tile, row, rows, first, step, columns):
        self.tile = tile
        self.row = row
        self.rows = rows
        self.first = first
        self.step = step
        self.columns = columns

    def key(self):
        """As an index, of NumPy or of a tile."""
        stop = self.first + (self.columns - 1) * self.step + (1 if self.step > 0 else -1)
        return (slice(self.row, self.row + self.rows),
                slice(self.first, None if stop < 0 else stop, self.step))

    def of(self, tiles):
        """The view."""
        return tiles[self.tile][self.key()]

    def other(self, tile):
        """The same place of another tile."""
        return Box(tile, self.row, self.rows, self.first, self.step, self.columns)


class Chooser:
    """Makes steps by chance."""

    def __init__(self, random):
        self.random = random

    def one_of(self, things):
        """Any of them."""
        return things[int(self.random.integers(len(things)))]

    def box(self, tile, rows, columns):
        """A part of a tile."""
        row = 32 if rows <= 32 and self.random.random() < 0.4 else 0
        step = self.one_of((1, 1, 1, 2, 3, -1, -2))
        step = step if (columns - 1) * abs(step) < COLUMNS else 1
        extent = (columns - 1) * abs(step) + 1
        low = int(self.random.integers(COLUMNS - extent + 1))
        return Box(tile, row, rows, low if step > 0 else low + extent - 1, step, columns)

    def shape(self):
        """Rows and columns."""
        return self.one_of((1, 5, 16, 32, 64)), int(self.random.integers(1, COLUMNS + 1))

    def boxes(self, dst, *sources):
        """Of one size. Who reads the tile that it writes reads the very same elements."""
        rows, columns = self.shape()
        into = self.box(dst, rows, columns)
        return [into] + [into.other(tile) if tile == dst else self.box(tile, rows, columns)
                         for tile in sources]

    def number(self):
        """A scalar operand."""
        return self.one_of((0.5, 2.0, -1.0, 0.0, 1.5, -3.0, 0.25))


class TensorTensor:
    """dst = a op b"""

    def __init__(self, choose):
        self.op = choose.one_of(list(BINARY))
        self.views = choose.boxes(*(choose.one_of(FLOATS) for _ in range(3)))
        self.engine = choose.one_of((nisa.engine.unknown, nisa.engine.vector,
                                     nisa.engine.gpsimd))

    def emit(self, tiles, _):
        """The instruction."""
        dst, a, b = (view.of(tiles) for view in self.views)
        nisa.tensor_tensor(dst, a, b, getattr(nl, self.op), engine=self.engine)

    def interpret(self, tiles, _):
        """The same with NumPy."""
        dst, a, b = (view.of(tiles) for view in self.views)
        dst[...] = compute(self.op, as_float(a), as_float(b))


class TensorBits:
    """dst = a op b, of integers as bits"""

    def __init__(self, choose):
        self.op = choose.one_of(list(BITS))
        self.views = choose.boxes(3, 3)
        self.mask = int(choose.random.integers(-2**31, 2**31))

    def emit(self, tiles, _):
        """The instruction."""
        dst, a = (view.of(tiles) for view in self.views)
        nisa.tensor_scalar(dst, a, getattr(nl, self.op), self.mask)

    def interpret(self, tiles, _):
        """The same with NumPy."""
        dst, a = (view.of(tiles) for view in self.views)
        dst[...] = BITS[self.op](a, np.int32(self.mask))


class TensorScalar:
    """dst = (a op0 s0) op1 s1, where a scalar is a number or a column"""

    def __init__(self, choose):
        self.ops = [choose.one_of(list(BINARY)) for _ in range(choose.one_of((1, 2)))]
        self.reverse = [bool(choose.random.random() < 0.3) for _ in self.ops]
        self.views = choose.boxes(choose.one_of(FLOATS), choose.one_of(FLOATS))
        rows = self.views[0].rows
        dst = self.views[0].tile
        self.scalars = [choose.number() if dst == 0 or choose.random.random() < 0.6 else
                        choose.box(0, rows, 1) for _ in self.ops]

    def operands(self, tiles):
        """The scalars."""
        return [s.of(tiles) if isinstance(s, Box) else s for s in self.scalars]

    def emit(self, tiles, _):
        """The instruction."""
        dst, a = (view.of(tiles) for view in self.views)
        scalars = self.operands(tiles)
        more = {}
        if len(self.ops) == 2:
            more = {"op1": getattr(nl, self.ops[1]), "operand1": scalars[1],
                    "reverse1": self.reverse[1]}
        nisa.tensor_scalar(dst, a, getattr(nl, self.ops[0]), scalars[0], self.reverse[0], **more)

    def interpret(self, tiles, _):
        """The same with NumPy."""
        dst, a = (view.of(tiles) for view in self.views)
        value = as_float(a)
        for op, scalar, reverse in zip(self.ops, self.operands(tiles), self.reverse):
            scalar = np.float32(scalar)
            value = compute(op, scalar, value) if reverse else compute(op, value, scalar)
        dst[...] = value


class Copy:
    """dst = src, perhaps with a cast"""

    def __init__(self, choose):
        self.views = choose.boxes(choose.one_of(range(4)), choose.one_of(range(4)))
        self.engine = choose.one_of((nisa.engine.vector, nisa.engine.gpsimd))

    def emit(self, tiles, _):
        """The instruction."""
        dst, src = (view.of(tiles) for view in self.views)
        nisa.tensor_copy(dst, src, engine=self.engine)

    def interpret(self, tiles, _):
        """The same with NumPy; numbers that an integer cannot hold are not exact."""
        dst, src = (view.of(tiles) for view in self.views)
        if dst.dtype == src.dtype:
            dst[...] = src.copy()
            return
        value = as_float(src)
        if dst.dtype == np.int32:
            if not (np.abs(value) < 2**24).all() or (value != np.rint(value)).any():
                raise Inexact
        dst[...] = value


class Inexact(Exception):
    """The numbers of a step would not be the same."""


class Reduce:
    """A column = the greatest or least of each row"""

    def __init__(self, choose):
        self.op = choose.one_of(("maximum", "minimum"))
        self.src = choose.box(choose.one_of((1, 2)), *choose.shape())
        self.dst = choose.box(0, self.src.rows, 1)
        self.negate = bool(choose.random.random() < 0.3)

    def emit(self, tiles, _):
        """The instruction."""
        nisa.tensor_reduce(self.dst.of(tiles), getattr(nl, self.op), self.src.of(tiles), 1,
                           negate=self.negate)

    def interpret(self, tiles, _):
        """The same with NumPy."""
        found = BINARY[self.op].reduce(as_float(self.src.of(tiles)), axis=1, keepdims=True)
        self.dst.of(tiles)[...] = -found if self.negate else found


class Scan:
    """dst[i] = (a[i] op0 dst[i - 1]) op1 b[i]"""

    def __init__(self, choose):
        self.ops = choose.one_of((("add", "maximum"), ("maximum", "add"), ("minimum", "subtract"),
                                  ("multiply", "maximum")))
        self.views = choose.boxes(0, 1, 2)
        self.initial = choose.number()

    def emit(self, tiles, _):
        """The instruction."""
        dst, a, b = (view.of(tiles) for view in self.views)
        nisa.tensor_tensor_scan(dst, a, b, self.initial, *(getattr(nl, op) for op in self.ops))

    def interpret(self, tiles, _):
        """The same with NumPy."""
        dst, a, b = (view.of(tiles) for view in self.views)
        state = np.full(a.shape[0], self.initial, np.float32)
        for i in range(a.shape[1]):
            state = compute(self.ops[0], as_float(a[:, i]), state)
            state = compute(self.ops[1], state, as_float(b[:, i]))
            dst[:, i] = state


class Memset:
    """dst = a number"""

    def __init__(self, choose):
        self.view = choose.box(choose.one_of(range(4)), *choose.shape())
        self.value = choose.one_of((0, 1, -2, 3))

    def emit(self, tiles, _):
        """The instruction."""
        nisa.memset(self.view.of(tiles), self.value)

    def interpret(self, tiles, _):
        """The same with NumPy."""
        self.view.of(tiles)[...] = self.value


class Transfer:
    """A box from or to HBM; registers may say where it lies there"""

    def __init__(self, choose):
        self.store = choose.random.random() < 0.5
        self.moved = choose.random.random() < 0.4
        self.rows, self.columns = choose.shape()
        self.here = choose.box(choose.one_of((0, 1)), self.rows, self.columns)
        self.row = int(choose.random.integers(ROWS - self.rows + 1))
        self.column = int(choose.random.integers(COLUMNS - self.columns + 1))

    def emit(self, tiles, matrix):
        """The transfer."""
        row, column = self.row, self.column
        if self.moved:
            row, column = nisa.register_alloc(row), nisa.register_alloc(column)
        there = matrix[nl.ds(row, self.rows), nl.ds(column, self.columns)]
        here = self.here.of(tiles)
        nisa.dma_copy(*((there, here) if self.store else (here, there)))

    def interpret(self, tiles, matrix):
        """The same with NumPy."""
        there = matrix[self.row:self.row + self.rows, self.column:self.column + self.columns]
        here = self.here.of(tiles)
        if self.store:
            there[...] = here
        else:
            here[...] = there


class Loop:
    """Some steps again and again, as often as a constant or a register says"""

    def __init__(self, choose):
        self.count = int(choose.random.integers(0, 4))
        self.known = choose.random.random() < 0.5
        self.steps = [choose.one_of(KINDS)(choose) for _ in range(choose.one_of((1, 2, 4)))]

    def emit(self, tiles, matrix):
        """The loop."""
        def body(_):
            for step in self.steps:
                step.emit(tiles, matrix)

        count = self.count if self.known else nisa.register_alloc(self.count)
        nl.fori_loop(0, count, body)

    def interpret(self, tiles, matrix):
        """The same with Python."""
        for _ in range(self.count):
            for step in self.steps:
                step.interpret(tiles, matrix)


KINDS = [TensorTensor, TensorTensor, TensorScalar, TensorScalar, TensorBits, Copy, Copy, Reduce,
         Scan, Memset, Transfer, Transfer, Transfer]


def is_exact(tiles):
    """Are all numbers those of which both sides think the same?"""
    return all(np.isfinite(tile).all() and (np.abs(tile) < 1e4).all() and
               ((np.abs(tile) > 1e-4) | (tile == 0)).all()
               for tile in tiles if tile.dtype != np.int32)


def program(seed):
    """(steps, tiles before, matrix before, tiles after, matrix after)"""
    choose = Chooser(np.random.default_rng(seed))
    before = [choose.random.integers(-8, 9, (ROWS, COLUMNS)).astype(dtype) for dtype in TILES]
    matrix = choose.random.standard_normal((ROWS, COLUMNS)).round(1).astype(np.float32) * 4
    tiles, there, steps = [tile.copy() for tile in before], matrix.copy(), []
    while len(steps) < STEPS:
        step = choose.one_of(KINDS + [Loop])(choose)
        after, there_after = [tile.copy() for tile in tiles], there.copy()
        try:
            with np.errstate(all="ignore"):
                step.interpret(after, there_after)
        except Inexact:
            continue
        if not is_exact(after + [there_after]):
            continue
        tiles, there = after, there_after
        steps.append(step)
    return steps, before, matrix, tiles, there


def run(seed, target, check):
    """The kernel and the interpreter have the same numbers, in order and scheduled."""
    steps, before, matrix, want, want_there = program(seed)

    def kernel(a, b, c, d, matrix):
        outs = [nl.ndarray((ROWS, COLUMNS), dtype, buffer=nl.shared_hbm) for dtype in TILES]
        there = nl.ndarray(matrix.shape, matrix.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(there, matrix)
        tiles = [nl.load(x) for x in (a, b, c, d)]
        for step in steps:
            step.emit(tiles, there)
        for out, tile in zip(outs, tiles):
            nl.store(out, tile)
        return (*outs, there)

    for schedule in (False, True):
        made = nki.jit(kernel, platform_target=target, check=check, schedule=schedule)
        for number, (got, expected) in enumerate(zip(made(*before, matrix), [*want, want_there])):
            np.testing.assert_array_equal(
                got, expected, err_msg=f"seed {seed}, tile {number}, schedule {schedule}")


@pytest.mark.parametrize("target, seed", [(target, seed) for target, count in SEEDS.items()
                                          for seed in range(count)])
def test_random_kernels(target, seed):
    run(seed + 100 * len(target) + ord(target[-1]), target, True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, 50))
def test_many_random_kernels(first):
    for seed in range(first, first + 50):
        run(10000 + seed, list(SEEDS)[seed % 3], seed % 10 == 0)
