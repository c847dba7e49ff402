# SPDX-License-Identifier: MIT
"""The table of mutants, and what is said of what became of them."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import mutants

INCLUDES = ("uapi", "qemu-device", "qemu-device/chip/include", "qemu-device/chip",
            mutants.MUTATE.parent)
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
    assert sources["a.c"].startswith(b'#include "mutate.h"\n')
    with pytest.raises(mutants.Wrong, match="has no"):
        mutants.apply([row], {"a.c": b"g(x);"})


@pytest.mark.parametrize("text, why", [
    (ROW + ROW, "two rows have this name"),
    (ROW + ROW.replace("[one]", "[two]"), 'the row one puts "one", too'),
    (ROW.replace("[one]", "[two]"), 'no row puts "two"'),
])
def test_names(tmp_path, text, why):
    """A row has a name of its own, and what it wakes is put by one row."""
    path = tmp_path / "table"
    path.write_text(text)
    with pytest.raises(mutants.Wrong, match=why):
        mutants.apply(mutants.read_table(path), {"a.c": b"f(x);"})


def test_the_table_goes_with_the_source(tmp_path):
    """Each text is found, each name of a column and of a test exists, and the copy compiles."""
    rows = mutants.read_table(mutants.HERE / "mutants.table")
    files = sorted({row.file for row in rows if row.put})
    sources = {name: (mutants.ROOT / name).read_bytes() for name in files + mutants.HEADERS}
    values = mutants.enumerators(sources)
    mutants.apply(rows, sources)
    for row in rows:
        assert mutants.cases_of(row, values), row.name
        for test in row.tests:
            assert (mutants.ROOT / f"selftests/native/test_{test.replace('-', '_')}.c").exists()
    for name in files:
        path = tmp_path / name.replace("/", "_")
        path.write_bytes(sources[name])
        done = subprocess.run(
            [os.environ.get("CC", "cc"), "-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE",
             *(f"-I{mutants.ROOT / folder}" for folder in INCLUDES), path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, f"{name}:\n{done.stdout}"


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
