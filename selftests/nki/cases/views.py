# SPDX-License-Identifier: MIT
"""Views: what each method of a tensor shows, on the chip and in HBM, read and written."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, method, put, rows, tile

TABLE = Table("views")
CUBE = ((np.arange(3 * 4 * 6) * 31) % 73).reshape(3, 4, 6).astype(np.float32)
WORDS = np.array([[0x01020304, 0x7f800000, 0], [0xff, 0x3f800000, 0x80000000]], np.uint32)


def hbm(array=CUBE):
    """A tensor in HBM."""
    made = nl.ndarray(array.shape, F32, buffer=nl.shared_hbm)
    nisa.dma_copy(made, tile(array))
    return made


def shown(view):
    """The elements of a view in a tile of its shape."""
    shape = view.shape if len(view.shape) > 1 else view.shape + (1,)
    return put(shape, view.dtype, nisa.dma_copy, view)


def both(name, make, want):
    """Of a tile by an instruction, and of a tensor in HBM by a transfer."""
    TABLE.case(f"{name} of a tile", lambda: put_copy(make(tile(CUBE))), want)
    TABLE.case(f"{name} of a tensor in HBM", lambda: shown(make(hbm())), want)


def put_copy(view):
    """A tile with the elements of a view of a tile."""
    return put(view.shape, view.dtype, nisa.tensor_copy, view, engine=nisa.engine.vector)


both("slice", lambda t: method(t, "slice", 2, 1, 5), CUBE[:, :, 1:5])
both("slice with a step", lambda t: method(t, "slice", 2, 1, 6, step=2), CUBE[:, :, 1:6:2])
both("slice of partitions", lambda t: method(t, "slice", 0, 0, 2), CUBE[0:2])
both("slice of a dimension from the end", lambda t: method(t, "slice", -1, 5, 6), CUBE[:, :, 5:6])
both("slice of a slice", lambda t: method(method(t, "slice", 2, 1, 6, step=2), "slice", 2, 1, 3),
     CUBE[:, :, 1:6:2][:, :, 1:3])
both("select", lambda t: method(t, "select", 1, 2), CUBE[:, 2])
both("select of the last dimension", lambda t: method(t, "select", 2, 5), CUBE[:, :, 5])
both("permute", lambda t: method(t, "permute", (0, 2, 1)), CUBE.transpose(0, 2, 1))
both("permute of a slice", lambda t: method(t[:, 1:3], "permute", (0, 2, 1)),
     CUBE[:, 1:3].transpose(0, 2, 1))
both("broadcast", lambda t: method(t[:, 1:2], "broadcast", 1, 3), np.repeat(CUBE[:, 1:2], 3, 1))
both("broadcast of the innermost dimension", lambda t: method(t[:, :, 3:4], "broadcast", 2, 5),
     np.repeat(CUBE[:, :, 3:4], 5, 2))
both("expand_dim", lambda t: method(t, "expand_dim", 1), CUBE[:, None])
both("expand_dim at the end", lambda t: method(t, "expand_dim", 3), CUBE[..., None])
both("squeeze_dim", lambda t: method(t[:, 2:3], "squeeze_dim", 1), CUBE[:, 2])
both("reshape_dim", lambda t: method(t, "reshape_dim", 2, (2, 3)), CUBE.reshape(3, 4, 2, 3))
both("reshape_dim with a size left open", lambda t: method(t, "reshape_dim", 2, (3, -1)),
     CUBE.reshape(3, 4, 3, 2))
both("flatten_dims", lambda t: method(t, "flatten_dims", 1, 2), CUBE.reshape(3, 24))
both("reshape", lambda t: method(t, "reshape", (3, 2, 12)), CUBE.reshape(3, 2, 12))
both("reshape of half of the rows", lambda t: method(t[:, :2], "reshape", (3, 12)),
     CUBE[:, :2].reshape(3, 12))
both("rearrange splits and reorders",
     lambda t: method(t, "rearrange", ("p", "a", ("b", "c")), ("p", "c", "a", "b"), {"b": 2}),
     CUBE.reshape(3, 4, 2, 3).transpose(0, 3, 1, 2))
both("rearrange merges", lambda t: method(t, "rearrange", ("p", "a", "b"), ("p", ("a", "b")),
                                          fixed_sizes={}), CUBE.reshape(3, 24))
both("ap", lambda t: method(t, "ap", [[24, 3], [6, 2], [2, 3]]), CUBE[:, :2, ::2])
both("ap with an offset", lambda t: method(t, "ap", [[24, 2], [-1, 4]], offset=11),
     CUBE.reshape(3, 24)[:2, 11:7:-1])
both("ap that repeats an element", lambda t: method(t, "ap", [[24, 3], [0, 4]], offset=5),
     np.repeat(CUBE.reshape(3, 24)[:, 5:6], 4, 1))
both("ap of a view keeps its begin", lambda t: method(t[:, 1:], "ap", [[24, 3], [1, 2]]),
     CUBE[:, 1, 0:2])
both("indexing with a step backwards", lambda t: t[:, ::-2, ::-1], CUBE[:, ::-2, ::-1])
both("indexing with an integer from the end", lambda t: t[:, -1], CUBE[:, -1])
both("indexing with an ellipsis", lambda t: t[..., 2], CUBE[..., 2])
both("indexing with nl.ds", lambda t: t[:, call(nl.ds, 1, 2), call(nl.ds, 3, 3)],
     CUBE[:, 1:3, 3:6])
TABLE.case("indexing of a tile with an integer keeps the partitions",
           lambda: shown(tile(CUBE)[1]), CUBE[1:2])
TABLE.case("indexing of a tensor in HBM with an integer takes the dimension away",
           lambda: shown(hbm()[1]), CUBE[1])
TABLE.case("permute of dimension 0 of a tensor in HBM",
           lambda: shown(method(hbm(), "permute", (2, 0, 1))), CUBE.transpose(2, 0, 1))
TABLE.case("reshape of dimension 0 of a tensor in HBM",
           lambda: shown(method(hbm(), "reshape", (12, 6))), CUBE.reshape(12, 6))
TABLE.case("expand_dim before a tensor in HBM", lambda: shown(method(hbm(), "expand_dim", 0)),
           CUBE[None])
TABLE.case("broadcast of dimension 0 of a tensor in HBM",
           lambda: shown(method(hbm()[1:2], "broadcast", 0, 3)), np.repeat(CUBE[1:2], 3, 0))

# --- the same bytes as another type ---

for _name, _want in (
        ("uint8", WORDS.view(np.uint8)), ("uint16", WORDS.view(np.uint16)),
        ("int32", WORDS.view(np.int32)), ("float32", WORDS.view(np.float32))):
    TABLE.case(f"view of uint32 as {_name}",
               lambda n=_name: method(tile(WORDS), "view", getattr(nl, n)), _want)
TABLE.case("view of bytes as uint32",
           lambda: method(tile(WORDS.view(np.uint8)), "view", nl.uint32), WORDS)
TABLE.case("reinterpret_cast of FP32 as uint16 of a part",
           lambda: tile(CUBE[:, 0])[:, 2:4].reinterpret_cast(nl.uint16),
           np.ascontiguousarray(CUBE[:, 0, 2:4]).view(np.uint16))
TABLE.case("ap with another type",
           lambda: put_copy(method(tile(WORDS), "ap", [[6, 2], [2, 3]], dtype=nl.uint16)),
           WORDS.view(np.uint16)[:, ::2])
TABLE.case("astype makes a copy", lambda: tile(rows([1.5, 2.5])).astype(nl.int8), rows([2, 2]))

# --- writing through a view ---


def written(make, value):
    """Nines where the view is."""
    y = tile(CUBE)
    call(nisa.memset, make(y), value)
    return y


def with_nines(change):
    """The same in NumPy."""
    want = CUBE.copy()
    change(want)[...] = 9
    return want


for _name, _make in (
        ("a slice with a step", lambda t: t[:, ::2, 1:6:2]),
        ("a slice backwards", lambda t: t[:, 3:0:-1, ::-3]),
        ("a row", lambda t: t[:, 1]),
        ("two partitions", lambda t: t[0:2, 2:3])):
    TABLE.case(f"memset of {_name}", lambda m=_make: written(m, 9.0), with_nines(_make))
TABLE.case("memset of a permuted view",
           lambda: written(lambda t: t.permute((0, 2, 1))[:, 1:3], 9.0),
           with_nines(lambda t: t.transpose(0, 2, 1)[:, 1:3]))
TABLE.case("assignment of a number to a part", lambda: _assigned(9.0),
           with_nines(lambda t: t[:, 1, 2:4]))
TABLE.case("assignment of a tile to a part", lambda: _assigned(None),
           with_nines(lambda t: t[:, 1, 2:4]))


def _assigned(value):
    y = tile(CUBE)
    y[:, 1, 2:4] = tile(np.full((3, 2), 9, np.float32)) if value is None else value
    return y


# --- places that the run decides ---


def register(number):
    """A register with it."""
    return nisa.register_alloc(number)


def element(number):
    """A tile of one element."""
    return tile(np.array([[number]], np.int32))


TABLE.case("select by a register in HBM",
           lambda: shown(method(hbm(), "select", 0, register(2))), CUBE[2])
TABLE.case("select by a tile of one element in HBM",
           lambda: shown(method(hbm(), "select", 1, element(3))), CUBE[:, 3])
TABLE.case("select by a register in a tile",
           lambda: put_copy(method(tile(CUBE), "select", 1, register(1))), CUBE[:, 1])
TABLE.case("ap with scalar_offset and indirect_dim",
           lambda: shown(method(hbm(), "ap", [[24, 3], [1, 6]], scalar_offset=register(2),
                                indirect_dim=1)), CUBE[:, 2])
TABLE.case("ap with scalar_offset in a tile",
           lambda: put_copy(method(tile(CUBE), "ap", [[24, 3], [1, 6]], scalar_offset=register(3),
                                   indirect_dim=1)), CUBE[:, 3])
TABLE.case("vector_select",
           lambda: shown(method(hbm(), "vector_select", 0,
                                tile(np.array([[2], [0], [2], [1]], np.uint32)))),
           CUBE[[2, 0, 2, 1]])
TABLE.case("ap with vector_offset",
           lambda: shown(method(hbm(), "ap", [[24, 2], [1, 24]], vector_offset=tile(
               np.array([[2], [1]], np.uint32)), indirect_dim=0)), CUBE[[2, 1]].reshape(2, 24))
TABLE.case("nl.ds with a register",
           lambda: shown(hbm()[:, call(nl.ds, register(1), 2)]), CUBE[:, 1:3])
TABLE.case("nl.ds with registers in two dimensions",
           lambda: shown(hbm()[:, nl.ds(register(2), 2), nl.ds(register(3), 2)]),
           CUBE[:, 2:4, 3:5])

# --- indirect: an index of 16 partitions runs down them first ---

LINE = ((np.arange(16 * 8) * 7) % 61).reshape(16, 8).astype(np.float32)
PICK = np.arange(16, dtype=np.uint16)[:, None] % 8


TABLE.case("indirect", lambda: put((16, 16), F32, nisa.tensor_copy,
                                   method(tile(LINE), "indirect", tile(PICK)),
                                   engine=nisa.engine.vector), LINE[:, np.arange(16) % 8], 4)
TABLE.case("indirect of the first elements of the index",
           lambda: put((16, 5), F32, nisa.tensor_copy,
                       method(tile(LINE), "indirect", tile(PICK), num_elem=5),
                       engine=nisa.engine.vector), LINE[:, :5], 4)
TABLE.refused("indirect before NeuronCore-v4",
              lambda: put((16, 16), F32, nisa.tensor_copy,
                          method(tile(LINE), "indirect", tile(PICK)),
                          engine=nisa.engine.vector), "NeuronCore-v4", until=3)

# --- what a view tells, as one number in a tile ---


def told(value):
    """A tile with it."""
    return nl.full((1, 1), float(value), F32)


TABLE.case("is_contiguous of a tile", lambda: told(method(tile(CUBE), "is_contiguous")), [[1]])
TABLE.case("is_contiguous of some partitions",
           lambda: told(method(tile(CUBE)[0:3:2], "is_contiguous")), [[1]])
TABLE.case("is_contiguous of some columns",
           lambda: told(method(tile(CUBE)[:, :, :2], "is_contiguous")), [[0]])
TABLE.case("is_contiguous of some rows in HBM",
           lambda: told(method(hbm()[0:3:2], "is_contiguous")), [[0]])
TABLE.case("is_contiguous of a dimension of one element that is far away",
           lambda: told(method(hbm()[0:1, 0:1], "is_contiguous")), [[1]])
TABLE.case("get_pattern",
           lambda: tile(np.array(method(hbm()[:, ::2, 1:3], "get_pattern"), np.int32)),
           np.array([[24, 3], [12, 2], [1, 2]]))
TABLE.case("is_indirect of a slice", lambda: told(method(hbm()[1:], "is_indirect")), [[0]])
TABLE.case("is_indirect of select by a register",
           lambda: told(method(method(hbm(), "select", 0, register(1)), "is_indirect")), [[1]])

# --- refused ---

for _name, _make, _message in (
        ("permute of the partitions", lambda t: method(t, "permute", (1, 0, 2)), "partition"),
        ("permute with a dimension twice", lambda t: method(t, "permute", (0, 1, 1)),
         "permutation"),
        ("broadcast of more than one element", lambda t: method(t, "broadcast", 1, 8),
         "has the size 1"),
        ("squeeze_dim of more than one element", lambda t: method(t, "squeeze_dim", 1),
         "has the size 1"),
        ("expand_dim before the partitions", lambda t: method(t, "expand_dim", 0), "partition"),
        ("flatten_dims over a gap", lambda t: method(t[:, :, :3], "flatten_dims", 1, 2),
         "side by side"),
        ("reshape that changes the partitions", lambda t: method(t, "reshape", (6, 12)),
         "keeps its 3 partitions"),
        ("reshape of a permuted view",
         lambda t: method(t.permute((0, 2, 1)), "reshape", (3, 24)), "without a copy"),
        ("reshape_dim to another size", lambda t: method(t, "reshape_dim", 2, (4, 2)),
         "hold 6 elements"),
        ("slice beyond the end", lambda t: method(t, "slice", 2, 1, 7), "elements 0 to 5"),
        ("slice with a step of 0", lambda t: method(t, "slice", 2, 0, 6, step=0), "step is 1"),
        ("select beyond the end", lambda t: method(t, "select", 1, 4), "elements 0 to 3"),
        ("select of a partition", lambda t: method(t, "select", 0, 1), "partition"),
        ("vector_select of a tile", lambda t: method(t, "vector_select", 0, t), "HBM"),
        ("ap with both offsets", lambda t: method(t, "ap", [[24, 3], [1, 1]], scalar_offset=t,
                                                  vector_offset=t), "exclude each other"),
        ("view of FP32 as a wider type of part of an element",
         lambda t: method(t.view(nl.uint8)[:, :, 0:6], "view", nl.float32), "whole elements"),
        ("view of every second element as bytes",
         lambda t: method(t[:, :, ::2], "view", nl.uint8), "side by side"),
        ("rearrange with another name",
         lambda t: method(t, "rearrange", ("a", "b", "c"), ("a", "b", "d")), "names")):
    TABLE.refused(_name, lambda m=_make: put_copy(m(tile(CUBE))), _message)
