# SPDX-License-Identifier: MIT
"""The tables of the manual: python3 -m neuron_emu.table isa|language|collectives FOLDER

FOLDER has the tests. Functions and options are those of the code. A function's test is the first
one that calls it, or that has its name among its cases. From when on there is a function, and what
is missing of it, is written down here.
"""

import ast
import inspect
import pathlib
import sys
from dataclasses import dataclass, field

from . import collectives, isa, language
from .ops import Op

__neuron_emu__ = True


@dataclass(frozen=True)
class Page:
    """A module of NKI and its table.

    alias: what tests call the module
    files: of the tests, the first ones first
    since: functions that older NeuronCores lack, or options of them
    missing: what a function lacks; the others are whole
    """

    module: object
    alias: str
    files: tuple
    since: dict = field(default_factory=dict)
    missing: dict = field(default_factory=dict)


PAGES = {
    "isa": Page(
        isa, "nisa", ("test_isa.py", "test_core.py"),
        {"activate2": 4, "exponential": 4, "rand2": 4, "quantize_mx": 4, "nc_matmul_mx": 4,
         "range_select": 3, "rand_set_state": 3, "rand_get_state": 3, "nonzero_with_count": 3,
         "core_barrier": 3, "sendrecv": 3},
        {"dma_copy": "oob_mode.skip with scalar_offset moves 128 rows at most",
         "dma_compute": "scales are 1.0; with lists of indices 2 sources, unique_indices=True",
         "dma_transpose": "dge_mode has no effect",
         "sendrecv": "goes by way of HBM; pipe_id has no effect",
         "tensor_scalar_reduce": "reverse0 is refused, as the public pages say"}),
    "language": Page(
        language, "nl", ("test_language.py", "test_core.py", "test_loops.py", "test_calls.py",
                         "test_semantics.py", "test_semantics_tiles.py",
                         "test_semantics_moves.py", "test_isa.py", "test_beta1.py"),
        {"abs_max": 4, "abs_min": 4}),
    "collectives": Page(
        collectives, "ncc", ("test_collectives.py", "test_collectives_v.py"),
        {"all_gather_v": 3, "all_to_all_v": 3},
        {name: "a tensor in SBUF goes by way of HBM"
         for name in ("all_reduce", "reduce_scatter", "all_gather", "collective_permute_implicit",
                      "collective_permute_implicit_reduce")}),
}
NO_OPTIONS = ("name",)


def functions(page):
    """Their names. Of an operator without a function there is nothing to call."""
    found = []
    for name in page.module.__all__:
        what = getattr(page.module, name)
        if inspect.isfunction(what) and not name.startswith("get_nc") or \
                isinstance(what, Op) and what.function:
            found.append(name)
    return sorted(found)


def options(page, name):
    """What may be left out of a call."""
    function = getattr(page.module, name)
    if isinstance(function, Op):
        function = function.function
    parameters = inspect.signature(function).parameters.values()
    return ", ".join(parameter.name for parameter in parameters
                     if parameter.default is not parameter.empty
                     and parameter.name not in NO_OPTIONS)


def tests(page, folder):
    """The first test of each function: one that calls it, or else one that uses a function of its
    file which does, or else one with cases of its name. What is only refused is not tested.
    """
    called, through, named = {}, {}, {}
    for file in page.files:
        text = (pathlib.Path(folder) / file).read_text(encoding="utf-8")
        body = ast.parse(text).body
        tables = {node.targets[0].id: node.value for node in body
                  if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        helpers = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        for name, node in helpers.items():
            if name.startswith("test_") and "refused" not in name:
                used = _used(node, tables)
                _note(page, name, (node, *used), (called, named))
                _note(page, name, _used(node, helpers), (through, {}))
    return {**named, **through, **called}


def _used(test, known):
    """What a test uses of what its file has."""
    return [known[part.id] for part in ast.walk(test)
            if isinstance(part, ast.Name) and part.id in known]


def _note(page, name, trees, found):
    """What these parts of a test call, and which names they have."""
    for part in (part for tree in trees for part in ast.walk(tree)):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and \
                part.value.id == page.alias:
            found[0].setdefault(part.attr, name)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found[1].setdefault(part.value, name)


def rows(name, folder):
    """Function, from, options, state, test."""
    page = PAGES[name]
    known = tests(page, folder)
    for function in functions(page):
        yield (function, f"v{page.since.get(function, 2)}", options(page, function),
               page.missing.get(function, "whole"), known.get(function, ""))


def table(name, folder):
    """The table as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [("function", "from", "options", "state", "test"), *rows(name, folder)]:
        for i, cell in enumerate(row):
            lines += _cell(cell, "   * - " if i == 0 else "     - ")
    return "\n".join(lines) + "\n"


def _cell(text, indent):
    """A cell, in lines of at most 100 columns."""
    line, result = indent + "", []
    for word in text.split():
        if len(line) + len(word) + 1 > 99:
            result.append(line.rstrip())
            line = " " * len(indent)
        line += word + " "
    return result + [line.rstrip()]


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1], sys.argv[2]))
