# SPDX-License-Identifier: MIT
"""The tables of functions in the manual are those of the code, and each function has a test."""

import pathlib

import pytest

from neuron_emu import table

HERE = pathlib.Path(__file__).parent
PAGES = HERE.parents[1] / "Documentation/nki"


@pytest.mark.parametrize("name,functions", [("isa", 50), ("language", 103), ("collectives", 11)])
def test_the_manual_has_the_table_of_the_code(name, functions):
    page = (PAGES / f"{name}.rst").read_text(encoding="utf-8")
    assert table.table(name, HERE) in page
    assert len(table.functions(table.PAGES[name])) == functions
    assert [row[0] for row in table.rows(name, HERE) if not row[4] or "refused" in row[4]] == []


def test_what_is_written_by_hand_is_about_functions():
    for page in table.PAGES.values():
        assert set(page.since) | set(page.missing) <= set(table.functions(page))
