# SPDX-License-Identifier: MIT
"""The table of nki.isa for the manual: python3 -m neuron_emu.isa.table [FILE OF THE TESTS]

Functions and options are those of the code. A function's tests are those that call it. From when on
there is a function, and what is missing of it, is written down here.
"""

import ast
import inspect
import sys

from .. import isa

__neuron_emu__ = True

# Functions that older NeuronCores lack, or options of them.
FROM = {"activate2": 4, "exponential": 4, "rand2": 4, "quantize_mx": 4, "nc_matmul_mx": 4,
        "range_select": 3, "rand_set_state": 3, "rand_get_state": 3, "nonzero_with_count": 3,
        "core_barrier": 3, "sendrecv": 3}
# What is missing of a function; the others are whole.
MISSING = {
    "dma_copy": "oob_mode.skip with scalar_offset moves 128 rows at most",
    "dma_compute": "scales are 1.0; with lists of indices 2 sources, unique_indices=True",
    "dma_transpose": "dge_mode has no effect",
    "sendrecv": "goes by way of HBM; pipe_id has no effect",
    "tensor_scalar_reduce": "reverse0 is refused, as the public pages say",
}
NO_OPTIONS = ("name",)


def functions():
    """Their names."""
    return sorted(name for name in isa.__all__ if inspect.isfunction(getattr(isa, name)) and
                  not name.startswith("get_nc"))


def options(name):
    """What may be left out of a call."""
    parameters = inspect.signature(getattr(isa, name)).parameters.values()
    found = [parameter.name for parameter in parameters
             if parameter.default is not parameter.empty and parameter.name not in NO_OPTIONS]
    return ", ".join(found)


def tests(source):
    """The first test that calls each function."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and \
                    part.value.id == "nisa":
                found.setdefault(part.attr, node.name)
    return found


def rows(source):
    """Function, from, options, state, test."""
    known = tests(source)
    for name in functions():
        yield (name, f"v{FROM.get(name, 2)}", options(name), MISSING.get(name, "whole"),
               known.get(name, ""))


def table(source):
    """The table as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [("function", "from", "options", "state", "test"), *rows(source)]:
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
    with open(sys.argv[1], encoding="utf-8") as _file:
        sys.stdout.write(table(_file.read()))
