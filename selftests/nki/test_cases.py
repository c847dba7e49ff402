# SPDX-License-Identifier: MIT
"""The tables of cases, on three generations, and the census of what they call."""

import importlib
import pathlib

import pytest

import cases

for _path in sorted((pathlib.Path(__file__).parent / "cases").glob("[a-z]*.py")):
    importlib.import_module(f"cases.{_path.stem}")

EACH = [pytest.param(case, target, id=f"{case.key} {target}")
        for table in cases.TABLES.values() for case in table.cases.values()
        for target in cases.TARGETS if case.on(target)]


@pytest.mark.parametrize("case, target", EACH)
def test_case(case, target):
    case.check(cases.results(case.table, target)[case])
