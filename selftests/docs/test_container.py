# SPDX-License-Identifier: MIT
"""The container file, and what the test of the tutorials has in place of a container engine."""

import pathlib
import shutil
import subprocess

import pytest

from container import DEFAULT, FILE, Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(__file__).with_name("container.py")


def call(*words, cwd=None):
    """Run it for this checkout."""
    return subprocess.run([PROGRAM, ROOT, *words], cwd=cwd, capture_output=True, text=True,
                          check=False, timeout=60)


def test_the_command_of_the_image():
    """It is the one that is left out."""
    assert Image(ROOT / FILE).default == DEFAULT


def test_packages_need_no_more_than_was_copied(tmp_path):
    """The first layer has only the files that install packages, and these are enough."""
    image = Image(ROOT / FILE)
    sources, target = image.copies[0]
    (tmp_path / target).mkdir(parents=True)
    for source in sources:
        shutil.copy(ROOT / source, tmp_path / target)
    script = next(word for word in image.commands[0].split() if word.startswith("tools/"))
    done = subprocess.run([tmp_path / script, "check"], capture_output=True, text=True,
                          cwd=tmp_path, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_command_in_the_image():
    """It runs in the built tree, with the image's variables and none of the caller's."""
    done = call("run", "--rm", "neuron-emu", "sh", "-c", "pwd; command -v neuron-vm; env")
    lines = done.stdout.splitlines()
    assert lines[:2] == [str(ROOT), str(ROOT / "tools/neuron-vm")]
    assert {line.partition("=")[0] for line in lines[2:]} <= {"PATH", "HOME", "LC_ALL", "PWD"}


def test_a_folder_that_is_mounted(tmp_path):
    """The command begins there."""
    done = call("run", "-v", f"{tmp_path}:/work", "-w", "/work", "neuron-emu", "pwd", cwd="/")
    assert done.stdout == f"{tmp_path}\n"


@pytest.mark.parametrize("words", [
    ["build", "-t", "neuron-emu", "."],
    ["run", "-v", "/nonexistent:/work", "neuron-emu"],
    ["run", "-w", "/work", "neuron-emu", "true"],
    ["run", "neuron-emu", "no-such-command"],
], ids=lambda words: " ".join(words))
def test_what_an_engine_refuses(words, tmp_path):
    """A page with such a command must not pass."""
    done = call(*words, cwd=tmp_path)
    assert done.returncode == 125
    assert len(done.stderr.splitlines()) == 1
