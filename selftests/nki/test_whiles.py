# SPDX-License-Identifier: MIT
"""`while register:` is a loop on the device whose body is traced once."""

import contextlib
import types
import warnings

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

A = np.random.default_rng(7).standard_normal((16, 32)).astype(np.float32)


def integers(*values):
    """A row of integers."""
    return np.array([values], np.int32)


def loaded(tile):
    """A register with the one element of a tile."""
    result = nisa.register_alloc()
    nisa.register_load(result, tile)
    return result


def less(tile):
    """tile -= 1"""
    nisa.tensor_scalar(tile, tile, nl.subtract, 1)


@nki.jit
def repeated(a, count):
    """a added up as often as `count` says, by the loop of the public documents."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    left = nl.load(count)
    x, total = nl.load(a), nl.zeros(a.shape, a.dtype)
    reg = loaded(left)
    while reg:
        nisa.tensor_tensor(total, total, x, nl.add)
        less(left)
        nisa.register_load(reg, left)
    nl.store(out, total)
    return out


def times(count):
    """a added up so often, in the same order."""
    want = np.zeros_like(A)
    for _ in range(count):
        want += A
    return want


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_as_often_as_the_register_says(count):
    kernel = nki.jit(repeated, check=count == 7)
    np.testing.assert_array_equal(kernel(A, integers(count)), times(count))


def test_a_program_serves_all_counts():
    """The loop is one of the device: what is compiled does not depend on the number of rounds."""
    repeated(A, integers(3))
    before = len(repeated._compiled)
    repeated(A, integers(11))
    assert len(repeated._compiled) == before


def test_simulate_has_the_same_loop():
    seen = []

    def kernel(count):
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        left, total = nl.load(count), nl.zeros((1, 1), nl.int32)
        reg = loaded(left)
        while reg:
            seen.append("round")
            nisa.tensor_scalar(total, total, nl.add, 3)
            less(left)
            nisa.register_load(reg, left)
        nl.store(out, total)
        return out

    assert nki.simulate(kernel)(integers(5))[0, 0] == 15
    assert seen == ["round"]


def test_one_in_the_other_and_one_after_the_other():
    @nki.jit(check=True)
    def kernel(counts):
        out = nl.ndarray((1, 2), nl.int32, buffer=nl.shared_hbm)
        total = nl.zeros((1, 2), nl.int32)
        outer = nl.load(counts[0:1, 0:1])
        state = types.SimpleNamespace(left=loaded(outer))
        while state.left:
            inner = nl.load(counts[0:1, 1:2])
            reg = loaded(inner)
            while reg:
                nisa.tensor_scalar(total[0:1, 0:1], total[0:1, 0:1], nl.add, 1)
                less(inner)
                nisa.register_load(reg, inner)
            less(outer)
            nisa.register_load(state.left, outer)
        # Python's own loop is unrolled: each round of it has a loop on the device.
        for rounds in (2, 3):
            left = nl.full((1, 1), rounds, nl.int32)
            reg = loaded(left)
            while reg:
                nisa.tensor_scalar(total[0:1, 1:2], total[0:1, 1:2], nl.add, 10)
                less(left)
                nisa.register_load(reg, left)
                if rounds == 2:
                    continue
                nisa.tensor_scalar(total[0:1, 1:2], total[0:1, 1:2], nl.add, 1)
        nl.store(out, total)
        return out

    np.testing.assert_array_equal(kernel(integers(3, 4)), integers(12, 53))


def test_each_core_of_a_pair_has_its_own_rounds():
    @nki.jit
    def kernel(a, counts):
        out = nl.ndarray((2, 16, 32), a.dtype, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        left = nl.load(counts[0:1, core:core + 1])
        x, total = nl.load(a), nl.zeros(a.shape, a.dtype)
        reg = loaded(left)
        while reg:
            nisa.tensor_tensor(total, total, x, nl.add)
            less(left)
            nisa.register_load(reg, left)
        nl.store(out[core], total)
        return out

    np.testing.assert_array_equal(kernel[2](A, integers(2, 5)), np.stack([times(2), times(5)]))


def test_register_is_read_in_the_body():
    """What the condition holds is an index, too: the list goes on where it says."""
    @nki.jit(check=True)
    def kernel(chain):
        out = nl.ndarray((1, 8), nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((1, 8), nl.int32))
        x = nl.ndarray((1, 1), nl.int32)
        reg = nisa.register_alloc(5)
        while reg:
            nisa.dma_copy(x, chain[:, nl.ds(reg, 1)])
            nisa.dma_copy(out[:, nl.ds(reg, 1)], x)
            nisa.register_load(reg, x)
        return out

    chain = integers(9, 3, 0, 2, 9, 7, 9, 1)
    np.testing.assert_array_equal(kernel(chain), integers(0, 3, 0, 2, 0, 7, 0, 1))


def line_of(function, line):
    return f"test_whiles.py:{function.__code__.co_firstlineno + line}"


def broken(reg):
    while reg:
        if reg is None:
            break


def returned(reg):
    while reg:
        return


def another(reg):
    while reg:
        reg = nisa.register_alloc(0)


def tried(reg):
    try:
        while reg:
            pass
    except ValueError:
        pass


def suppressed_in_a_loop(reg):
    for _ in range(2):
        with contextlib.suppress(ValueError):
            while reg:
                raise ValueError


def caught_in_a_group(reg):
    try:
        while reg:
            raise ValueError
    except* ValueError:
        pass


def continued_in_a_loop(reg):
    for _ in range(2):
        try:
            while reg:
                raise ValueError
        finally:
            continue


def in_order(reg):
    with nl.no_reorder():
        while reg:
            pass


def of_an_index(_):
    for i in nl.dynamic_range(nisa.register_alloc(2)):
        while i:
            pass


def left_by_a_helper(reg):
    other = nisa.register_alloc(2)
    while other:
        returned(reg)


def caught_of_a_helper(reg):
    other = nisa.register_alloc(2)
    while other:
        with contextlib.suppress(ZeroDivisionError):
            failed(reg)


def failed(reg):
    while reg:
        reg.number = 1 // 0


def left_inside(reg):
    while reg:
        for _ in nl.dynamic_range(reg):
            break


@pytest.mark.parametrize("body, line, rule", [
    (broken, 1, "cannot be left by break"), (returned, 1, "cannot be left by break, return"),
    (another, 1, "the same register before each round"), (tried, 2, "not in a try or with"),
    (suppressed_in_a_loop, 3, "not in a try or with"), (caught_in_a_group, 2, "not in a try or"),
    (continued_in_a_loop, 3, "cannot be left by break, return or an exception"),
    (in_order, 2, "not in a block of nl.no_reorder"), (of_an_index, 2, "the body changes"),
    (left_inside, 2, "nl.dynamic_range: a loop on the device runs to its end")])
@pytest.mark.parametrize("run", [nki.jit, nki.simulate])
def test_refused_at_its_line(run, body, line, rule):
    def kernel():
        body(nisa.register_alloc(2))

    with pytest.raises(nki.NkiValidationError, match=f"{line_of(body, line)}: .*{rule}"):
        run(kernel)()


@pytest.mark.parametrize("body, inner", [(left_by_a_helper, returned),
                                         (caught_of_a_helper, failed)])
def test_the_inner_loop_is_named_where_a_helper_leaves_it(body, inner):
    def kernel():
        body(nisa.register_alloc(2))

    with pytest.raises(nki.NkiValidationError, match=f"{line_of(inner, 1)}: while: .*or an exc"):
        nki.jit(kernel)()


def test_statements_that_catch_nothing_of_a_loop():
    @nki.jit
    def kernel(counts):
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        total = nl.zeros((1, 1), nl.int32)

        def rounds(count):
            left = nl.full((1, 1), count, nl.int32)
            return left, loaded(left)

        def add(left, reg):
            nisa.tensor_scalar(total, total, nl.add, 1)
            less(left)
            nisa.register_load(reg, left)

        with contextlib.nullcontext():
            left, reg = rounds(2)
            while reg:
                add(left, reg)
        try:
            raise ValueError
        except ValueError:
            left, reg = rounds(3)
            while reg:
                add(left, reg)
        try:
            pass
        except ValueError:
            pass
        else:
            left, reg = rounds(4)
            while reg:
                add(left, reg)
        finally:
            left, reg = rounds(5)
            while reg:
                add(left, reg)
        nl.store(out, total)
        return out

    assert kernel(integers(0))[0, 0] == 14


def negated(reg):
    while not reg:
        pass


def mixed(reg):
    while reg and reg is not None:
        pass


def converted(reg):
    while bool(reg):
        pass


def asked_once(reg):
    if reg:
        pass


@pytest.mark.parametrize("body", [negated, mixed, converted, asked_once])
def test_other_conditions_are_not_known(body):
    def kernel():
        body(nisa.register_alloc(2))

    with pytest.raises(TypeError, match="not known while a kernel is traced"):
        nki.jit(kernel)()


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_deprecated_loops_are_told_at_their_line():
    def kernel():
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        reg = nisa.register_alloc(0)
        while reg:
            pass
        for _ in nl.dynamic_range(2):
            pass
        nl.store(out, nl.zeros((1, 1), nl.int32))
        return out

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nki.jit(kernel)()
    told = [(w.lineno - kernel.__code__.co_firstlineno, w.category, str(w.message)) for w in found]
    assert [(line, kind) for line, kind, _ in told] == [(3, DeprecationWarning),
                                                        (5, DeprecationWarning)]
    assert "nl.while_loop()" in told[0][2] and "nl.fori_loop()" in told[1][2]
