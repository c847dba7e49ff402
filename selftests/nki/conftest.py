# SPDX-License-Identifier: MIT
"""The front end of this tree, with the libraries of build/user."""

import ctypes
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NKI_BUILD", ROOT / "build/user"))

# What is loaded already is what the loader finds under that name.
ctypes.CDLL(str(BUILD / "libnrt/libnrt.so.1"), ctypes.RTLD_GLOBAL)
os.environ["NEURON_EMU_BUILDER"] = str(BUILD / "tools/builder/libneuron-builder.so.0")
for _name in ("NEURON_PLATFORM_TARGET_OVERRIDE", "NEURON_EMU_INSTANCE", "NEURON_EMU_CHECK",
              "NEURON_EMU_NKI_PROFILE", "NKI_SIMULATOR", "NEURON_EMU_NKI_SCHEDULE",
              "NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE"):
    os.environ.pop(_name, None)
os.environ["NEURON_RT_BACKEND"] = "embedded"
os.environ["PATH"] = f"{BUILD / 'tools/neuron-profile'}:{os.environ['PATH']}"
for _folder in ("libnrt/python", "tools/nki"):
    sys.path.insert(0, str(ROOT / _folder))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """A cache of the test run, so that it builds what it runs."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def exact_times(monkeypatch):
    """No kernel has a device time that depends on the host."""
    from neuron_emu import run
    last = run.Loaded.last

    def exact_last(self):
        execution = last(self)
        assert execution.is_exact, "the device time depends on the host"
        return execution

    monkeypatch.setattr(run.Loaded, "last", exact_last)


def pytest_configure(config):
    """The marker of what check-long runs."""
    config.addinivalue_line("markers", "slow: for make check-long")


def _comes_back(neff):
    """What neuron-objdump says of a NEFF: it compares what its text assembles to."""
    done = subprocess.run([BUILD / "tools/neuron-objdump/neuron-objdump", neff],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    if done.returncode and not done.stderr:
        return f"neuron-objdump {neff}: exit status {done.returncode}\n"
    return done.stderr


@pytest.fixture(scope="session", autouse=True)
def programs_come_back(tmp_path_factory):
    """Each program that the tests have built comes back from its text as the same bytes."""
    yield
    # Entries of the cache have the names of their digests; tests of the cache make others.
    neffs = [neff for neff in sorted((tmp_path_factory.getbasetemp() / "cache").rglob("*.neff"))
             if len(neff.stem) == 64]
    said = "".join(_comes_back(neff) for neff in neffs)
    assert not said, said
