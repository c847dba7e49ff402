# SPDX-License-Identifier: MIT
"""Every command of the tutorials, in a copy of the checkout that "make vm" has built."""

import os
import pathlib
import shutil
import subprocess

import pytest

import tutorial

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build"))
PAGES = sorted(page for page in (ROOT / "Documentation/tutorials").glob("*.rst")
               if page.stem != "index")
# Seconds for one command.
LIMIT = 600
# What the test cannot run is itself.
LEFT_OUT = r"make check\b"


def copy_sources(copy):
    """The project's files as they are now, committed or not, in a git checkout of their own."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                           capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            # With its time stamp: what was built from it is not older.
            shutil.copy2(source, copy / name)
    for command in (["init", "-q"], ["add", "-A"],
                    ["-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-qm",
                     "the tree"]):
        subprocess.run(["git", *command], cwd=copy, check=True)


def copy_module(copy):
    """The built module, so that only what a tutorial changes is compiled again."""
    folder = copy / "build/module"
    shutil.copytree(BUILD / "module", folder, symlinks=True)
    for path in folder.rglob("*"):
        if path.is_symlink():
            target = os.readlink(path).replace(str(ROOT), str(copy), 1)
            path.unlink()
            path.symlink_to(target)
        elif path.name.endswith(".cmd") or path.suffix in (".mod", ".order"):
            # Kbuild compares the command with that of the last time; it has the folder in it.
            stamp = path.stat()
            path.write_text(path.read_text().replace(str(BUILD / "module"), str(folder)))
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


@pytest.fixture
def checkout(tmp_path):
    """A copy of the checkout in which a tutorial may change what it likes."""
    copy = tmp_path / "neuron-emu"
    copy.mkdir()
    copy_sources(copy)
    copy_module(copy)
    for name in ("vm", "stage"):
        shutil.copytree(BUILD / name, copy / "build" / name, symlinks=True)
    return copy


def test_there_are_tutorials():
    """A folder that moved must not look like success."""
    assert [page.stem for page in PAGES] == ["attention", "ci", "collective-kernel",
                                             "driver-change", "first-kernel", "first-program",
                                             "gemm", "lesson"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tutorial(page, checkout, tmp_path):
    """A reader who does what the page says sees what the page shows."""
    steps = tutorial.read_steps(page)
    assert steps
    complaint = None
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in = ROOT / "selftests/docs/container.py"
    (programs / "podman").write_text(f'#!/bin/sh\nexec {stand_in} {checkout} "$@"\n')
    (programs / "podman").chmod(0o755)
    with tutorial.Shell(checkout, tmp_path, LIMIT, programs) as shell:
        try:
            tutorial.take(steps, shell, LEFT_OUT)
        except tutorial.StepError as error:
            complaint = f"{page.relative_to(ROOT)}, {error}"
    if complaint:
        pytest.fail(complaint, pytrace=False)
