# SPDX-License-Identifier: MIT
"""The table of mutants, and what is said of what became of them."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import mutants

VALUES = {"ALU_ADD": 4, "ALU_MAX": 5, "ACT_EXP": 1}
ROW = """[one]
file    a.c
find    f(x);
put     $ mutate("one", 0, 0, 0, &x, 4, 1, 0);
first   ALU_*
tests   num
"""


def run(cases, verdicts, monkeypatch, capsys):
    """Whether the report counts these verdicts as passed, and its lines."""
    monkeypatch.setattr(mutants, "run_case", lambda case, *_: verdicts[case.first])
    passed = mutants.report(cases, VALUES, None, 1, False)
    return passed, capsys.readouterr().out.splitlines()


@pytest.fixture(name="cases")
def fixture_cases(tmp_path):
    """Two cases of one mutant."""
    path = tmp_path / "table"
    path.write_text(ROW)
    (mutant,) = mutants.read_table(path)
    return mutants.cases_of(mutant, VALUES)


def test_wildcards():
    """They stand for names, and "!" takes some away."""
    assert mutants.expand(["ALU_*", "!ALU_MAX", "7"], VALUES) == ["ALU_ADD", "7"]
    with pytest.raises(mutants.Wrong):
        mutants.expand(["NO_*"], VALUES)


def test_a_text_that_is_gone(cases):
    """The table must keep up with the source."""
    row = cases[0].mutant
    sources = {"a.c": b"f(x); f(x);"}
    mutants.apply([row], sources)
    assert sources["a.c"].count(b"mutate(") == 2
    with pytest.raises(mutants.Wrong, match="has no"):
        mutants.apply([row], {"a.c": b"g(x);"})


@pytest.mark.parametrize("verdict, passed, line", [
    (("killed", "num"), True, "ok 1 - one"),
    (("skipped", mutants.NO_PATH), True, "ok 1 - one"),
    (("SURVIVED", ""), False, "not ok 1 - one"),
])
def test_verdicts(cases, monkeypatch, capsys, verdict, passed, line):
    """One case that survives is a failure, whatever becomes of the others."""
    done, lines = run(cases, {"ALU_ADD": ("killed", "num"), "ALU_MAX": verdict}, monkeypatch,
                      capsys)
    assert done == passed
    assert lines[-1] == line
    assert any("ALU_MAX" in text for text in lines) != passed


def test_nothing_could_be_run(cases, monkeypatch, capsys):
    """That is a skip with its reason."""
    skipped = ("skipped", mutants.NO_PATH)
    _, lines = run(cases, {"ALU_ADD": skipped, "ALU_MAX": skipped}, monkeypatch, capsys)
    assert lines == [f"ok 1 - one # SKIP {mutants.NO_PATH}"]
