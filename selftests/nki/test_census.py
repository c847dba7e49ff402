# SPDX-License-Identifier: MIT
"""The census of the tables of cases: how many there are, and which options they pass.

The functions and options are those of the public pages of NKI 0.6.0, written down here. What a case
calls is recorded while its kernel is traced, so that an option counts only where a call that ran
has passed it, and a value only where that value was passed.
"""

import ast
import collections
import inspect
import pathlib

import pytest

import cases
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
from neuron_emu.ops import Op
import test_cases  # which loads the tables

LEAST = 400
BOTH = "False True"
# Options of nki.isa. After a colon: the values that all have to be passed.
ISA = {
    "activate2": ["relu_param", "reverse0", "reverse1", "reduce_res",
                  "reduce_op: add maximum minimum abs_max abs_min",
                  "reduce_cmd: idle reset reduce reset_reduce"],
    "activation": ["bias", "scale", "reduce_op", "reduce_res",
                   "reduce_cmd: idle reset reduce reset_reduce"],
    "activation_reduce": ["bias", "scale"],
    "affine_select": ["cmp_op", "offset"],
    "bn_aggr": [], "bn_stats": [],
    "core_barrier": ["data: tile None", "cores",
                     "engine: tensor vector scalar gpsimd sync unknown"],
    "dma_compute": ["scales", "unique_indices", "oob_mode"],
    "dma_copy": ["priority", "oob_mode: error skip", "dge_mode: unknown swdge hwdge none",
                 "engine: sync scalar"],
    "dma_transpose": ["axes", "priority", "dge_mode", "oob_mode"],
    "dropout": [],
    "exponential": ["max_value", "reduce_res", "reduce_init",
                    "reduce_cmd: idle reduce reset_reduce load_reduce"],
    "iota": ["offset", "channel_multiplier"],
    "local_gather": ["num_elem_per_idx", "num_valid_indices"],
    "max8": [], "memset": ["engine: vector gpsimd"], "nc_find_index8": [],
    "nc_match_replace8": ["dst_idx"],
    "nc_matmul": ["is_stationary_onezero", "is_moving_onezero", "is_transpose",
                  "accumulate: None False True", "tile_position", "tile_size",
                  "perf_mode: none double_row"],
    "nc_matmul_mx": ["tile_position", "tile_size", "accumulate: None False True"],
    "nc_n_gather": [], "nc_stream_shuffle": [], "nc_transpose": ["engine: vector tensor"],
    "nonzero_with_count": ["index_offset", "padding_val"],
    "quantize_mx": [], "rand2": [],
    "rand_get_state": ["engine: vector gpsimd"], "rand_set_state": ["engine: vector gpsimd"],
    "range_select": ["reduce_cmd: reduce reset_reduce", "reduce_res", "reduce_op", "range_start",
                     "on_false_value"],
    "reciprocal": [], "register_alloc": ["x"], "register_load": [], "register_move": [],
    "register_store": [], "rng": ["engine: vector gpsimd"],
    "scalar_tensor_tensor": [f"reverse0: {BOTH}", f"reverse1: {BOTH}"],
    "select_reduce": ["reduce_res", "reduce_cmd: idle reduce reset_reduce", "reduce_op",
                      "reverse_pred"],
    "sendrecv": ["pipe_id: 0 1", "dma_engine: dma gpsimd_dma"],
    "sequence_bounds": [], "set_rng_seed": [],
    "tensor_copy": ["engine: vector scalar gpsimd unknown"],
    "tensor_copy_predicated": ["reverse_pred"],
    "tensor_partition_reduce": ["op: add average max bitwise_or bitwise_and"],
    "tensor_reduce": ["negate", "keepdims",
                      "op: add multiply maximum minimum bitwise_and bitwise_or bitwise_xor "
                      "logical_and logical_or logical_xor"],
    "tensor_scalar": ["reverse0", "op1", "operand1", "reverse1", "engine: vector scalar gpsimd"],
    "tensor_scalar_cumulative": ["imm1", "reduce_cmd: reduce reset_reduce load_reduce",
                                 "op1: add subtract multiply maximum minimum"],
    "tensor_scalar_reduce": ["reduce_res", "reverse0", "reduce_cmd: reduce load_reduce",
                             "reduce_init", "reduce_res_negate",
                             "reduce_op: add multiply maximum minimum"],
    "tensor_tensor": ["engine: vector gpsimd",
                      "op: add subtract multiply maximum minimum equal not_equal less less_equal "
                      "greater greater_equal logical_and logical_or logical_xor abs_max abs_min "
                      "power"],
    "tensor_tensor_scan": ["reverse0", "reverse1"],
    "topk": [],
}
# Functions of nki.language of many elements, and those that make tensors or loops.
OPTIONS = {
    **{name: ["axis", "dtype", "keepdims"] for name in ("sum", "max", "min", "prod", "mean",
                                                        "var")},
    "all": ["axis", "dtype"], "broadcast_to": ["dtype"], "dropout": ["dtype"], "expand_dims": [],
    "empty_like": ["dtype", "buffer"], "full": ["buffer"], "gather_flattened": ["axis", "dtype"],
    "load": ["dtype"], "load_transpose2d": ["dtype"], "matmul": ["transpose_x"],
    "ndarray": ["buffer", "name", "address"], "ones": ["buffer"], "rand": ["buffer"],
    "rms_norm": ["epsilon", "dtype", "compute_dtype"], "shared_constant": [],
    "shared_identity_matrix": ["dtype", "dst"], "softmax": ["axis", "dtype"], "store": [],
    "transpose": ["dtype"], "where": ["dtype"], "zeros": ["buffer"],
    "zeros_like": ["dtype", "buffer"], "fori_loop": ["step"], "while_loop": [],
    "dynamic_range": ["step"], "affine_range": ["step"], "num_programs": ["axes"],
    "program_id": ["axis"], "program_ndim": [], "ds": [], "random_seed": [],
}
# Functions of nki.language that change no numbers have tests of their own, in test_core.py,
# test_language.py, test_semantics.py and test_beta1_assign.py.
WITHOUT_NUMBERS = {"assign", "device_print", "is_hbm", "is_on_chip", "is_psum", "is_sbuf"}
# Methods of tensors.
METHODS = {
    "slice": ["step"], "select": [], "vector_select": [], "permute": [], "broadcast": [],
    "expand_dim": [], "squeeze_dim": [], "reshape_dim": [], "flatten_dims": [], "reshape": [],
    "rearrange": ["fixed_sizes"], "view": [], "indirect": ["num_elem"], "is_contiguous": [],
    "get_pattern": [], "is_indirect": [],
    "ap": ["offset", "scalar_offset", "vector_offset", "indirect_dim", "dtype"],
}
# Methods that the public pages do not have.
OWN = {"numpy", "reinterpret_cast", "astype", "place", "dims", "encode"}
# Functions of nki.collectives, whose calls run on several ranks (test_collectives.py and
# test_collectives_v.py).
COLLECTIVES = {
    "all_reduce": ["op", "priority"], "all_gather": ["collective_dim", "priority"],
    "reduce_scatter": ["collective_dim", "op", "priority"],
    "all_to_all": ["collective_dim", "priority"], "collective_permute": ["priority"],
    "collective_permute_implicit": ["channel_ids", "priority"],
    "collective_permute_implicit_reduce": ["op", "channel_ids", "priority"],
    "collective_permute_implicit_current_processing_rank_id": ["channel_id"], "rank_id": [],
    "all_gather_v": ["recv_counts_known", "has_rdispls"],
    "all_to_all_v": ["recv_counts_known", "has_rdispls"],
}
# Those of one and of two tiles, each with its type.
OF_TILES = sorted(
    "add subtract multiply divide maximum minimum abs_max abs_min power equal not_equal less "
    "less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift "
    "logical_and logical_or logical_xor fmod mod abs square negative sign copy relu floor ceil "
    "trunc logical_not reciprocal exp log sqrt rsqrt tanh sigmoid gelu gelu_dx gelu_apprx_tanh "
    "gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx sin cos tan "
    "arctan invert".split())


@pytest.fixture(scope="module")
def passed():
    """{function: {option: values}} of what has run on some generation."""
    for table in cases.TABLES:
        for target in cases.TARGETS:
            cases.results(table, target)
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for calls in cases.CALLS.values():
        for function, option, value in calls:
            found[function][option].add(value)
    return found


def lacking(passed, name, options):
    """What no case passes."""
    if not passed[name]:
        yield f"{name}: no case calls it"
        return
    for text in options:
        option, _, values = text.partition(":")
        if not passed[name][option]:
            yield f"{name}: no case passes {option}"
        for value in values.split():
            if value not in passed[name][option]:
                yield f"{name}: no case passes {option}={value}"


def of_collectives():
    """{function: {parameter}} of the calls in the tests of collectives, as they are written."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    here = pathlib.Path(__file__).parent
    source = "".join((here / name).read_text()
                     for name in ("test_collectives.py", "test_collectives_v.py"))
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or \
                getattr(node.func.value, "id", "") != "ncc" or node.func.attr == "ReplicaGroup":
            continue
        taken = list(inspect.signature(getattr(ncc, node.func.attr)).parameters)
        for name in taken[:len(node.args)] + [keyword.arg for keyword in node.keywords] + [""]:
            found[node.func.attr][name].add("")
    return found


def test_each_option_has_a_case(passed):
    found = [text for name, options in ISA.items()
             for text in lacking(passed, f"nisa.{name}", options)]
    wanted = {**{name: ["dtype"] for name in OF_TILES}, **OPTIONS}
    found += [text for name, options in wanted.items()
              for text in lacking(passed, f"nl.{name}", options)]
    found += [text for name, options in METHODS.items()
              for text in lacking(passed, f"tensor.{name}", options)]
    collectives = of_collectives()
    found += [text for name, options in COLLECTIVES.items()
              for text in lacking(collectives, name, options)]
    assert not found, "\n".join(found)


def test_the_list_has_all_functions_and_options():
    """Of nki.isa: what its functions take is in the list above."""
    functions = {name: value for name, value in vars(nisa).items()
                 if inspect.isfunction(value) and not name.startswith("get_nc")}
    assert set(functions) == set(ISA)
    for name, options in ISA.items():
        told = {text.partition(":")[0] for text in options}
        # "dtype" of tensor_copy is of the time before NKI 0.6.0.
        taken = {p.name for p in inspect.signature(functions[name]).parameters.values()
                 if p.default is not p.empty} - {"name", "dtype"}
        assert taken <= told, f"{name}: {taken - told}"


def test_the_list_has_the_language_too():
    """Functions of nki.language and nki.collectives, and methods of tensors."""
    # By their own names: sequential_range and static_range are affine_range.
    functions = {getattr(value, "__name__", name) for name, value in vars(nl).items()
                 if inspect.isfunction(value) or isinstance(value, Op) and value.function}
    assert functions - set(OPTIONS) - set(OF_TILES) - WITHOUT_NUMBERS == set()
    assert set(METHODS) == {name for name, value in vars(nl.NkiTensor).items()
                            if inspect.isfunction(value) and not name.startswith("_")} - OWN
    assert set(COLLECTIVES) == {name for name, value in vars(ncc).items()
                                if inspect.isfunction(value)}


def test_there_are_enough_cases(passed, capsys):
    """Distinct ones, each by its name; a case that runs on three generations counts once."""
    # Only cases that have noted what they are about.
    counts = {name: sum(case.key in cases.CALLS for case in table.cases.values())
              for name, table in cases.TABLES.items()}
    total = sum(counts.values())
    called = sum(1 for name in passed if passed[name])
    with capsys.disabled():
        print(f"\n{total} cases call {called} functions: " +
              ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    assert total >= LEAST
    assert len(test_cases.EACH) >= total
