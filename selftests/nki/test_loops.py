# SPDX-License-Identifier: MIT
"""Loops on the device whose bounds and conditions are registers. One call of each kernel is checked
by the chip for races: no engine may begin a round before the others have ended the one before."""

import contextlib

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

A = np.random.default_rng(4).standard_normal((16, 32)).astype(np.float32)


def integers(*values):
    """A row of integers."""
    return np.array([values], np.int32)


def register(array, column=0):
    """A register with an element of a row in HBM."""
    result = nisa.register_alloc()
    nisa.register_load(result, array[0:1, column:column + 1])
    return result


@nki.jit
def doubled_columns(a, bounds, step):
    """Some columns of a, doubled; the others as they are."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a))

    def body(i):
        x = nl.load(a[:, nl.ds(i, 1)])
        nisa.tensor_scalar(x, x, nl.multiply, 2.0)
        nl.store(out[:, nl.ds(i, 1)], x)

    nl.fori_loop(register(bounds), register(bounds, 1), body, step=step)
    return out


@pytest.mark.parametrize("lower, upper, step", [
    (0, 32, 1), (3, 9, 1), (0, 32, 5), (31, 32, 1), (2, 31, 30), (7, 7, 1), (9, 3, 1), (5, -6, 3)])
def test_a_range_between_registers(lower, upper, step):
    want = A.copy()
    want[:, lower:max(0, upper):step] *= 2
    np.testing.assert_array_equal(doubled_columns(A, integers(lower, upper), step), want)


def test_the_rounds_of_a_range_come_one_after_the_other():
    want = A.copy()
    want[:, 2:30] *= 2
    kernel = nki.jit(doubled_columns, check=True)
    np.testing.assert_array_equal(kernel(A, integers(2, 30), 1), want)


def test_a_program_serves_all_bounds():
    before = len(doubled_columns._compiled)
    for upper in (0, 1, 17):
        doubled_columns(A, integers(0, upper), 9)
    assert len(doubled_columns._compiled) == before + 1


@pytest.mark.parametrize("form", ["one", "two", "mixed"])
def test_dynamic_range_with_registers(form):
    @nki.jit
    def kernel(a, bounds):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        lower, upper = register(bounds), register(bounds, 1)
        arguments = {"one": (upper,), "two": (lower, upper), "mixed": (lower, 10, 2)}[form]
        for i in nl.dynamic_range(*arguments):
            x = nl.load(a[:, nl.ds(i, 1)])
            nisa.activation(x, nl.square, x)
            nl.store(out[:, nl.ds(i, 1)], x)
        return out

    want = A.copy()
    columns = {"one": slice(0, 13), "two": slice(4, 13), "mixed": slice(4, 10, 2)}[form]
    want[:, columns] **= 2
    np.testing.assert_array_equal(kernel(A, integers(4, 13)), want)


def test_negative_indices_are_numbers():
    @nki.jit
    def kernel(bounds):
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        total = nl.zeros((1, 1), nl.int32)

        def body(i):
            x = nl.ndarray((1, 1), nl.int32)
            nisa.register_store(x, i)
            nisa.tensor_tensor(total, total, x, nl.add, engine=nisa.engine.gpsimd)

        nl.fori_loop(register(bounds), register(bounds, 1), body)
        nl.store(out, total)
        return out

    assert kernel(integers(-5, 3))[0, 0] == sum(range(-5, 3))


@nki.jit
def repeated(a, count):
    """a added up as often as `count` says, by the loop of the public example."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    left = nl.load(count)
    one = nl.ones((1, 1), nl.int32)
    x, total = nl.load(a), nl.zeros(a.shape, a.dtype)

    def body(r):
        nisa.tensor_tensor(total, total, x, nl.add)
        nisa.tensor_tensor(left, left, one, nl.subtract, engine=nisa.engine.gpsimd)
        nisa.register_load(r, left)
        return r

    nl.while_loop(register(count), body)
    nl.store(out, total)
    return out


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_while_loop(count):
    want = np.zeros_like(A)
    for _ in range(count):
        want += A
    np.testing.assert_array_equal(nki.jit(repeated, check=count == 7)(A, integers(count)), want)


def test_the_condition_may_come_from_hbm():
    @nki.jit(check=True)
    def kernel(chain):
        out = nl.ndarray((1, 8), nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((1, 8), nl.int32))
        x = nl.ndarray((1, 1), nl.int32)

        def body(r):
            # The next place of a list: out[here] = chain[here].
            nisa.dma_copy(x, chain[:, nl.ds(r, 1)])
            nisa.dma_copy(out[:, nl.ds(r, 1)], x)
            following = nisa.register_alloc()
            nisa.register_load(following, x)
            return following

        nl.while_loop(nisa.register_alloc(5), body)
        return out

    chain = integers(9, 0, 7, 1, 3, 2, 6, 4)
    np.testing.assert_array_equal(kernel(chain), integers(0, 0, 7, 1, 3, 2, 0, 4))


def test_what_the_body_returns_counts_not_what_it_writes():
    @nki.jit
    def kernel():
        out = nl.ndarray((1, 4), nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((1, 4), nl.int32))

        def inner(i):
            nisa.register_move(i, 9)

        def body(r):
            nl.fori_loop(0, 2, inner)
            following = nisa.register_alloc(0)
            nisa.register_move(r, 7)
            nisa.register_store(out[0:1, 0:1], r)
            return following

        start = nisa.register_alloc(3)
        nl.while_loop(start, body)
        nisa.register_store(out[0:1, 1:2], start)
        return out

    np.testing.assert_array_equal(kernel(), integers(7, 3, 0, 0))


def test_loops_in_loops():
    @nki.jit(check=True)
    def kernel(rows):
        out = nl.ndarray((8, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((8, 8), nl.float32))
        x = nl.ndarray((1, 1), nl.float32)

        def row(i):
            length = nisa.register_alloc()
            nisa.register_load(length, nl.load(rows[:, nl.ds(i, 1)]))

            def column(j):
                nisa.memset(x, 1.0)

                def more(_):
                    nisa.tensor_tensor(x, x, x, nl.add)

                nl.fori_loop(0, 3, more)
                nl.store(out[nl.ds(i, 1), nl.ds(j, 1)], x)

            nl.fori_loop(0, length, column)

        nl.fori_loop(0, 8, row)
        return out

    lengths = integers(3, 0, 8, 1, 2, 0, 5, 7)
    want = np.where(np.arange(8) < lengths.T, 8.0, 0.0)
    np.testing.assert_array_equal(kernel(lengths), want)


def test_matrix_products_in_a_while():
    @nki.jit
    def kernel(a, count):
        out = nl.ndarray((32, 32), nl.float32, buffer=nl.shared_hbm)
        x, power = nl.load(a), nl.load(a)

        def body(i):
            product = nl.ndarray((32, 32), nl.float32, buffer=nl.psum)
            nisa.nc_matmul(product, power, x)
            nisa.tensor_copy(power, product)

        nl.fori_loop(0, register(count), body)
        nl.store(out, power)
        return out

    # Symmetric, and of small integers: exact.
    a = np.random.default_rng(1).integers(-1, 2, (32, 32)).astype(np.float32)
    a = np.triu(a) + np.triu(a, 1).T
    want = a
    for _ in range(3):
        want = want.T @ a
    np.testing.assert_array_equal(kernel(a, integers(3)), want)


def test_both_cores_loop_as_long_as_their_own_registers_say():
    @nki.jit(check=True)
    def kernel(a, counts):
        out = nl.ndarray((2, 4, 4), nl.float32, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        x, total = nl.load(a), nl.zeros((4, 4), nl.float32)
        nl.fori_loop(0, register(counts, core),
                     lambda i: nisa.tensor_tensor(total, total, x, nl.add))
        nl.store(out[core], total)
        return out

    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(kernel[2](a, integers(2, 5)), np.stack([2 * a, 5 * a]))


def test_a_transfer_beyond_its_tensor_names_its_line(capfd):
    line = doubled_columns.func.__code__.co_firstlineno + 7
    with pytest.raises(Exception, match="NRT_EXEC_OOB") as caught:
        doubled_columns(A, integers(0, 40), 1)
    assert f"test_loops.py:{line}: access outside of a variable" in capfd.readouterr().err
    assert f"test_loops.py:{line}: access outside of a variable" in caught.value.__notes__[0]


REFUSED = {
    "init is a register": lambda r: nl.while_loop(3, lambda i: i),
    "body_fun returns the register": lambda r: nl.while_loop(r, lambda i: None),
    "step is a positive integer.*": lambda r: nl.fori_loop(0, 4, lambda i: None, step=r),
    "a bound is an integer or a register": lambda r: nl.fori_loop(0, 2.5, lambda i: None),
    "nisa.register_load": lambda r: nl.fori_loop(0, nl.zeros((1, 1), nl.int32), lambda i: None),
    "a bound has 32 bits": lambda r: nl.fori_loop(0, 2**31, lambda i: None),
    "is only read": lambda r: [nisa.register_move(i, 1) for i in nl.dynamic_range(r)],
    "block of nl.no_reorder": lambda r: in_order(r),
}


def in_order(bound):
    """A loop in a block where the public rules have none."""
    with nl.no_reorder():
        nl.fori_loop(0, bound, lambda i: None)


@pytest.mark.parametrize("rule", REFUSED)
def test_refused(rule):
    def kernel():
        REFUSED[rule](nisa.register_alloc(2))

    with pytest.raises(nki.NkiValidationError, match=rule):
        nki.jit(kernel)()


@pytest.mark.parametrize("lower,upper,step", [
    (0, 4, 2**40),              # more than a register has
    (-2**31, 2**31 - 1, 1),     # 4294967295 rounds
    (0, 2**31 - 1, 2**30),      # the index after the last round
    ("r", 2**31 - 1, 2),        # the same, from wherever it begins
    (0, "r", 2**31),
])
def test_index_has_32_bits(lower, upper, step):
    def kernel():
        bound = {"r": nisa.register_alloc(2)}
        nl.fori_loop(bound.get(lower, lower), bound.get(upper, upper), lambda i: None, step=step)

    with pytest.raises(nki.NkiValidationError, match="the index has 32 bits"):
        nki.jit(kernel)()


def line_of(function, line=1):
    """FILE:LINE of a line of a function's body."""
    return f"test_loops.py:{function.__code__.co_firstlineno + line}"


def in_fori_loop(register, body):
    nl.fori_loop(0, register, body)


def in_while_loop(register, body):
    nl.while_loop(register, body)


def in_dynamic_range(register, body):
    for i in nl.dynamic_range(register):
        body(i)


LOOPS = pytest.mark.parametrize("loop", [in_fori_loop, in_while_loop, in_dynamic_range])


@LOOPS
@pytest.mark.parametrize("run", [nki.jit, nki.simulate])
def test_an_exception_in_a_loop_names_its_line_and_that_of_the_loop(loop, run):
    def body(_):
        raise ValueError("of the kernel itself")

    def kernel():
        loop(nisa.register_alloc(2), body)

    with pytest.raises(ValueError, match="of the kernel itself") as caught:
        run(kernel)()
    note, = caught.value.__notes__
    assert line_of(body) in note.split(": in the nl.")[0], note
    assert f"{loop.__name__[3:]} of" in note and note.endswith(line_of(loop)), note


def break_out(register, _):
    for _ in nl.dynamic_range(register):
        break


def return_from(register, _):
    for _ in nl.dynamic_range(register):
        return


def caught_in_fori_loop(register, body):
    with contextlib.suppress(ZeroDivisionError):
        nl.fori_loop(0, register, body)


def inside_a_range(register, _):
    for _ in nl.dynamic_range(2):
        return_from(register, _)


def inside_fori_loop(register, _):
    nl.fori_loop(0, 2, lambda i: return_from(register, i))


def inside_while_loop(register, _):
    def body(condition):
        return_from(register, _)
        return condition

    nl.while_loop(register, body)


@pytest.mark.parametrize("leave,line", [(break_out, 1), (return_from, 1), (caught_in_fori_loop, 2)])
def test_a_loop_that_is_left_names_its_line(leave, line):
    def kernel():
        leave(nisa.register_alloc(2), lambda _: 1 // 0)

    words = "nl.*cannot be left by break, return or an exc"
    with pytest.raises(nki.NkiValidationError, match=f"{line_of(leave, line)}: {words}"):
        nki.jit(kernel)()


@pytest.mark.parametrize("around", [inside_a_range, inside_fori_loop, inside_while_loop])
def test_a_loop_around_the_one_that_is_left_is_not_named(around):
    def kernel():
        around(nisa.register_alloc(2), None)

    with pytest.raises(nki.NkiValidationError, match=f"{line_of(return_from, 1)}: nl.dynamic_r"):
        nki.jit(kernel)()
