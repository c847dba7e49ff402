# SPDX-License-Identifier: MIT
"""How the programs that are measured end."""

import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import trees


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    """A checkout that is only a folder for logs."""
    return trees.Tree("now", tmp_path, tmp_path, tmp_path / "logs")


GONE_S = 30


def runs(pid):
    """Does the process run? One that has ended may wait for init to notice."""
    try:
        stat = pathlib.Path("/proc", pid, "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_what_a_program_prints(tree):
    """Its output comes back, its errors are in the log."""
    assert tree.run(["sh", "-c", "echo a; echo b >&2"], "x") == "a\n"
    assert tree.log("x").read_text() == "b\n"


def test_a_program_that_fails(tree):
    """The message has the status and the last words."""
    with pytest.raises(trees.NotMeasured, match="exit status 3: no"):
        tree.run(["sh", "-c", "echo no >&2; exit 3"], "x")


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_the_limit_ends_the_children_too(tree, trap, monkeypatch):
    """A child that holds the output open is ended with its parent, even against its will."""
    monkeypatch.setattr(trees, "GRACE_S", 1)
    with pytest.raises(trees.NotMeasured, match="has not ended"):
        tree.run(["sh", "-c", f"{trap}sleep 1000 & echo $! >&2; wait"], "x", limit=1)
    pid = tree.log("x").read_text().split()[0]
    # A signal takes a moment on a busy host.
    end = time.monotonic() + GONE_S
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not runs(pid)
