# SPDX-License-Identifier: MIT
"""What neuron-vm takes a kernel module for, by what the module's file says of itself."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from neuron_vm import errors, host

RELEASE = "6.12.0-test"
OF_PUBLIC = "pci:v00001d0fd00007064sv*sd*bc*sc*i*"
OF_TRN2 = "pci:v00001D0Fd00007364sv*sd*bc*sc*i*"
OF_NETWORK_CARD = "pci:v00001D0Fd0000EC20sv*sd*bc*sc*i*"


@pytest.fixture
def module(tmp_path):
    """A function that makes the file of a module with these lines of modinfo."""
    def make(*lines, release=RELEASE):
        lines += (f"vermagic={release} SMP mod_unload",)
        text = "".join(f'"{line}\\0" ' for line in lines)
        path = tmp_path / "some.ko"
        subprocess.run(["gcc", "-c", "-x", "c", "-", "-o", path], check=True, text=True,
                       input='const char info[] __attribute__((section(".modinfo"))) = '
                             f"{text};\n")
        return str(path)
    return make


@pytest.mark.parametrize("public, lines", (
    (True, ["name=neuron", f"alias={OF_PUBLIC}", "depends="]),
    # This project's, for a kernel with DRM as modules and inside.
    (False, ["name=neuron", f"alias={OF_TRN2}", "depends=drm,gpu-sched,drm_buddy"]),
    (False, ["name=neuron", f"alias={OF_TRN2}", "depends="]),
    # Others of the same vendor.
    (False, ["name=ena", f"alias={OF_NETWORK_CARD}", "depends="]),
    (False, ["name=mine", f"alias={OF_PUBLIC}", "depends="]),
    (False, ["name=neuron", "depends="]),
), ids=("public", "ours", "ours-drm-inside", "network", "same-chips", "no-alias"))
def test_the_public_driver_is_recognized(module, public, lines):
    """Its name and its alias, both."""
    assert host.find_module(module(*lines), RELEASE).public == public


def test_what_it_needs(module):
    """Names of modules, as the file has them."""
    found = host.find_module(module("name=mine", "depends=drm,gpu-sched"), RELEASE)
    assert (found.name, found.depends) == ("mine", ["drm", "gpu-sched"])


def test_a_module_for_another_kernel(module):
    """One line says for which."""
    with pytest.raises(errors.UsageError, match="built for the kernel 6.1.0-other, the guest's"):
        host.find_module(module("name=mine", release="6.1.0-other"), RELEASE)


def test_a_file_that_is_no_module(tmp_path):
    """modinfo says why."""
    (tmp_path / "some.ko").write_text("no module")
    with pytest.raises(errors.UsageError, match="--module .*some.ko"):
        host.find_module(str(tmp_path / "some.ko"), RELEASE)
