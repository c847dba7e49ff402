# SPDX-License-Identifier: MIT
"""Packages that neuron-vm unpacks for the guest, over the host's files.

A program of this test takes the place of apt-get and hands out a package made here.
"""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from neuron_vm import host

CONTROL = """Package: tiny
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@localhost>
Description: made for a test
"""
# Says what it is asked for, plans one package, and hands it out.
APT_GET = """#!/bin/sh
echo "$*" >>"$TINY_FOLDER/asked"
case $1 in
--simulate) echo "Inst tiny (1.0 Debian:12/stable [all])" ;;
download) cp "$TINY_FOLDER/tiny.deb" . ;;
esac
"""
FILES = {"bin/tiny": "usr/bin/tiny", "sbin/tinyd": "usr/sbin/tinyd",
         "lib/some/libtiny.so.1": "usr/lib/some/libtiny.so.1", "usr/bin/other": "usr/bin/other",
         "etc/tiny.conf": "etc/tiny.conf"}


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """The folder in which the false apt-get works; it has the file "asked"."""
    tree = tmp_path / "tiny"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(CONTROL)
    for name in FILES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    (tree / "lib/some/libtiny.so").symlink_to("libtiny.so.1")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree], check=True,
                   stdout=subprocess.DEVNULL)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apt-get").write_text(APT_GET)
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("TINY_FOLDER", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def unpacked(names):
    """The folder with the packages, and what was said of them."""
    said = []
    return pathlib.Path(host.unpack_packages(names, said.append)), said


def test_what_belongs_into_linked_folders_is_below_usr(apt):
    """Since Debian 12 these are links: a folder in their place would hide the host's programs."""
    folder, said = unpacked(["tiny"])
    assert said == ["downloading 1 packages for the guest"]
    assert sorted(path.name for path in folder.iterdir()) == ["etc", "usr"]
    for name, place in FILES.items():
        assert (folder / place).read_text() == name
    assert (folder / "usr/lib/some/libtiny.so").read_text() == "lib/some/libtiny.so.1"


def test_a_package_is_downloaded_once(apt):
    """The cache keeps it."""
    assert unpacked(["tiny"])[0] == unpacked(["tiny"])[0]
    asked = (apt / "asked").read_text().splitlines()
    assert [line.split()[0] for line in asked] == ["--simulate", "download", "--simulate"]


def test_perf_is_in_a_package_of_another_name(apt):
    """It is asked for by the name that people know."""
    unpacked(["perf", "strace"])
    assert (apt / "asked").read_text().splitlines()[0].endswith(" install linux-perf strace")
