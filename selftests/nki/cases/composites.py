# SPDX-License-Identifier: MIT
"""Functions of nki.language of many elements, loops and registers."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, put, rows, tile

TABLE = Table("composites")
A = rows([0.0, 1.0, -1.25, 2.5], [2.0, -0.5, 0.25, -2.0], [1.5, -1.5, 3.0, -7.0])
CUBE = ((np.arange(2 * 3 * 4) * 7 % 13) - 6).reshape(2, 3, 4).astype(np.float32)
WIDE = CUBE.astype(np.float64)
REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "mean": np.mean,
              "var": np.var}

# --- reductions ---

for _name, _reduce in REDUCTIONS.items():
    _function, _bound = getattr(nl, _name), 1e-6 if _name in ("mean", "var") else 0.0
    TABLE.case(f"nl.{_name} of the last dimension",
               lambda f=_function: call(f, tile(CUBE), 2), _reduce(WIDE, axis=2), bound=_bound)
    TABLE.case(f"nl.{_name} of a dimension counted from the end, which is kept",
               lambda f=_function: call(f, tile(CUBE), -1, keepdims=True),
               _reduce(WIDE, axis=2, keepdims=True), bound=_bound)
    TABLE.case(f"nl.{_name} of two dimensions",
               lambda f=_function: call(f, tile(CUBE), (1, 2)), _reduce(WIDE, axis=(1, 2)),
               bound=_bound)
    TABLE.case(f"nl.{_name} in bfloat16",
               lambda f=_function: call(f, tile(CUBE), [2], dtype=nl.bfloat16),
               _reduce(WIDE, axis=2), bound=2.0**-7)
    TABLE.refused(f"nl.{_name} of partitions", lambda f=_function: call(f, tile(CUBE), 0),
                  "last free dimensions")
TABLE.case("nl.all of the last dimension", lambda: call(nl.all, tile(CUBE), 2),
           (CUBE != 0).all(2))
TABLE.case("nl.all of two dimensions as uint8",
           lambda: call(nl.all, tile(CUBE), (1, 2), dtype=nl.uint8), (CUBE != 0).all((1, 2)))


def softmax(x, axis):
    """In double precision."""
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


TABLE.case("nl.softmax of the last dimension", lambda: call(nl.softmax, tile(A)), softmax(A, 1),
           bound=1e-6)
TABLE.case("nl.softmax of two dimensions",
           lambda: call(nl.softmax, tile(CUBE), axis=(1, 2)), softmax(WIDE, (1, 2)), bound=1e-6)
TABLE.case("nl.softmax of the last of two free dimensions",
           lambda: call(nl.softmax, tile(CUBE), axis=2), softmax(WIDE, 2), bound=1e-6)
TABLE.case("nl.softmax in bfloat16", lambda: call(nl.softmax, tile(A), dtype=nl.bfloat16),
           softmax(A, 1), bound=2.0**-8)
TABLE.case("nl.softmax of large numbers",
           lambda: call(nl.softmax, tile(rows([1e30, 1e30, -1e30]))), rows([0.5, 0.5, 0]),
           bound=1e-6)
WEIGHT = rows([1.0, 2.0, -1.0, 0.5])


def rms(epsilon=1e-6, n=4):
    """x / sqrt(sum of squares / n + epsilon) * w"""
    x = A.astype(np.float64)
    return x / np.sqrt((x * x).sum(1, keepdims=True) / n + epsilon) * WEIGHT


TABLE.case("nl.rms_norm", lambda: call(nl.rms_norm, tile(A), tile(WEIGHT), 1, 4), rms(),
           bound=1e-6)
TABLE.case("nl.rms_norm with an epsilon",
           lambda: call(nl.rms_norm, tile(A), tile(WEIGHT), 1, 4, epsilon=0.5), rms(0.5),
           bound=1e-6)
TABLE.case("nl.rms_norm of another number of values",
           lambda: call(nl.rms_norm, tile(A), tile(WEIGHT), 1, 8), rms(n=8), bound=1e-6)
TABLE.case("nl.rms_norm in bfloat16",
           lambda: call(nl.rms_norm, tile(A), tile(WEIGHT), 1, 4, dtype=nl.bfloat16), rms(),
           bound=2.0**-7)
TABLE.case("nl.rms_norm that computes in bfloat16",
           lambda: call(nl.rms_norm, tile(A), tile(WEIGHT), 1, 4, compute_dtype=nl.bfloat16),
           rms(), bound=2.0**-6)

# --- choices, products, shapes ---

MASK = rows([1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1])
TABLE.case("nl.where of two tiles", lambda: call(nl.where, tile(MASK), tile(A), tile(-A)),
           np.where(MASK, A, -A))
TABLE.case("nl.where of two numbers", lambda: call(nl.where, tile(MASK), 1.5, -2.0),
           np.where(MASK, 1.5, -2))
TABLE.case("nl.where of a tile and a number in FP16",
           lambda: call(nl.where, tile(MASK), tile(A), 9.0, dtype=nl.float16),
           np.where(MASK, A, 9).astype(np.float16))
TABLE.case("nl.where of a row for all partitions",
           lambda: call(nl.where, tile(MASK), tile(WEIGHT), tile(A)), np.where(MASK, WEIGHT, A))
TABLE.case("nl.dropout of nothing in bfloat16",
           lambda: call(nl.dropout, tile(A), 0.0, dtype=nl.bfloat16), A)
TABLE.case("nl.dropout of some partitions",
           lambda: call(nl.dropout, tile(A), tile(rows([0.0], [1.0], [0.0]))),
           A * rows([1], [0], [1]))
TABLE.case("nl.matmul", lambda: call(nl.matmul, tile(A), tile(A.T.copy())), A @ A.T)
TABLE.case("nl.matmul with transpose_x",
           lambda: call(nl.matmul, tile(A), tile(MASK), transpose_x=True), A.T @ MASK)
TABLE.case("nl.transpose", lambda: call(nl.transpose, tile(A)), A.T)
TABLE.case("nl.transpose in bfloat16", lambda: call(nl.transpose, tile(A), dtype=nl.bfloat16),
           A.T)
TABLE.case("nl.load_transpose2d", lambda: call(nl.load_transpose2d, nl.shared_constant(A)), A.T)
TABLE.case("nl.load_transpose2d in bfloat16",
           lambda: call(nl.load_transpose2d, nl.shared_constant(A), dtype=nl.bfloat16), A.T)
PICK = np.array([[3, 0, 3], [0, 0, 1], [2, 1, 2]], np.uint32)
TABLE.case("nl.gather_flattened in bfloat16",
           lambda: call(nl.gather_flattened, tile(A), tile(PICK), axis=0, dtype=nl.bfloat16),
           np.take_along_axis(A, PICK.astype(np.int64), 1))
TABLE.case("nl.gather_flattened of int32 indices",
           lambda: call(nl.gather_flattened, tile(A), tile(PICK.astype(np.int32))),
           np.take_along_axis(A, PICK.astype(np.int64), 1))
TABLE.case("nl.broadcast_to of a row", lambda: call(nl.broadcast_to, tile(WEIGHT), (3, 4)),
           np.broadcast_to(WEIGHT, (3, 4)))
TABLE.case("nl.broadcast_to in bfloat16",
           lambda: call(nl.broadcast_to, tile(A[:, :1]), (3, 4), dtype=nl.bfloat16),
           np.broadcast_to(A[:, :1], (3, 4)))
TABLE.case("nl.expand_dims", lambda: call(nl.expand_dims, tile(A), 1), A)
TABLE.case("nl.rand from 0 to 1, to bfloat16 in PSUM", lambda: _random_range(), [[1, 1]])
for _name, _seed in (("a tile", lambda: tile(np.array([[9]], np.uint32))), ("a number", lambda: 9)):
    TABLE.case(f"nl.random_seed of {_name} begins the numbers anew",
               lambda seed=_seed: _seeded_twice(seed), np.ones((1, 8)))


def _seeded_twice(seed):
    """1 where the first and the second number are equal."""
    made = []
    for _ in range(2):
        call(nl.random_seed, seed())
        made.append(nl.rand((1, 8), F32))
    return nl.equal(made[0], made[1])


def _random_range():
    made = nl.ndarray((1, 64), F32)
    nisa.tensor_copy(made, call(nl.rand, (1, 64), nl.bfloat16, buffer=nl.psum))
    y = nl.ndarray((1, 2), F32)
    nisa.tensor_scalar(y[:, 0:1], nl.min(made, 1), nl.greater_equal, 0.0)
    nisa.tensor_scalar(y[:, 1:2], nl.max(made, 1), nl.less_equal, 1.0)
    return y


# --- loops and registers ---


def counted(loop):
    """1 is added in each round of it."""
    y = nl.zeros((1, 1), F32)
    loop(lambda _: nisa.tensor_scalar(y, y, nl.add, 1.0))
    return y


def until_zero(start):
    """A while loop that counts down."""
    def loop(body):
        count = tile(np.array([[start]], np.int32))
        register = nisa.register_alloc()
        nisa.register_load(register, count)

        def once(r):
            body(r)
            nisa.tensor_scalar(count, count, nl.subtract, 1.0)
            nisa.register_load(r, count)
            return r
        call(nl.while_loop, register, once)
    return loop


TABLE.case("nl.fori_loop", lambda: counted(lambda body: call(nl.fori_loop, 2, 7, body)), [[5]])
TABLE.case("nl.fori_loop with a step",
           lambda: counted(lambda body: call(nl.fori_loop, 0, 7, body, step=3)), [[3]])
TABLE.case("nl.fori_loop of nothing",
           lambda: counted(lambda body: call(nl.fori_loop, 7, 7, body)), [[0]])
TABLE.case("nl.while_loop", lambda: counted(until_zero(4)), [[4]])
TABLE.case("nl.while_loop of nothing", lambda: counted(until_zero(0)), [[0]])
TABLE.case("nl.dynamic_range with a step",
           lambda: counted(lambda body: [body(i) for i in call(nl.dynamic_range, 1, 8, step=2)]),
           [[4]])
for _name in ("affine_range", "sequential_range", "static_range"):
    TABLE.case(f"nl.{_name} from, to and with a step",
               lambda name=_name: counted(lambda body: [body(i) for i in call(
                   getattr(nl, name), 1, 8, step=3)]), [[3]])


def stored(make):
    """A register's number."""
    y = nl.ndarray((1, 1), nl.int32)
    call(nisa.register_store, y, make())
    return y


def loaded(array):
    """A register with the number of an array."""
    register = nisa.register_alloc()
    call(nisa.register_load, register, tile(array))
    return register


def moved(number):
    """A register that is moved from another one."""
    register = call(nisa.register_alloc)
    call(nisa.register_move, register, call(nisa.register_alloc, number))
    return register


TABLE.case("register_alloc with a number", lambda: stored(lambda: call(nisa.register_alloc, -7)),
           [[-7]])
TABLE.case("register_move of a register", lambda: stored(lambda: moved(2**31 - 1)), [[2**31 - 1]])
TABLE.case("register_load of int8 keeps the sign",
           lambda: stored(lambda: loaded(np.array([[-3]], np.int8))), [[-3]])
TABLE.case("register_load of uint16 has no sign",
           lambda: stored(lambda: loaded(np.array([[65535]], np.uint16))), [[65535]])
TABLE.refused("register_move of more than 32 bits",
              lambda: call(nisa.register_move, nisa.register_alloc(), 2**32), "src has 32 bits")
TABLE.case("program_id, num_programs and program_ndim without a grid",
           lambda: put((1, 1), F32, nisa.memset, call(nl.program_id, 0) * 100 +
                       call(nl.num_programs, 0) * 10 + call(nl.program_ndim)), [[10]])
