# SPDX-License-Identifier: MIT
"""Where the time of a kernel goes: the report and the timeline of neuron-profile."""

import inspect
import json
import os
import pathlib
import shutil
import subprocess

from .errors import NkiError

__neuron_emu__ = True

PROGRAM = "neuron-profile"
# From PREFIX/LIBDIR/neuron-emu/python/neuron_emu/profile.py; LIBDIR may have a second folder.
_INSTALLED = [folder / "bin" / PROGRAM for folder in pathlib.Path(__file__).resolve().parents[4:6]]


def _program():
    """The path of neuron-profile."""
    found = shutil.which(PROGRAM) or next((str(p) for p in _INSTALLED if p.exists()), None)
    if found is None:
        raise NkiError(f"{PROGRAM} is not in PATH: add the folder in which it is installed")
    return found


def _run(*arguments):
    """What neuron-profile says."""
    done = subprocess.run([_program(), *map(str, arguments)], capture_output=True, check=False,
                          encoding="utf-8")
    if done.returncode:
        raise NkiError(f"{PROGRAM} {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


class Profile:
    """Of one call of a kernel.

    `report` is the text of the tables, `page` the path of the HTML page with the timeline,
    `figures` all numbers of the report.
    """

    def __init__(self, report, page, figures):
        self.report = report
        self.page = page
        self.figures = figures

    def __repr__(self):
        return self.report

    @property
    def device_ns(self):
        """Device time of the call in ns."""
        return self.figures["device_ns"]

    @property
    def utilisation(self):
        """FLOPs of the engine that counts, as a part of what it can do in that time."""
        return self.figures["roofline"]["utilisation"]

    @property
    def busy(self):
        """{engine: part of the device time in which it did something}"""
        return {engine["name"]: engine["busy_ns"] / self.device_ns
                for engine in self.figures["engine"]}


class Files:
    """The files of a kernel's profile in a folder; a later call overwrites them.

    Of several ranks, those of a rank have its number.
    """

    def __init__(self, folder, function, rank=None):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.function = function
        name = function.__name__ if rank is None else f"{function.__name__}.rank{rank}"
        self.trace, self.neff, self.report, self.page = (
            folder / f"{name}.{end}" for end in ("jsonl", "neff", "txt", "html"))

    def begin(self, neff):
        """Before the call: the old files go, and the NEFF is kept beside the new ones."""
        _program()
        for path in (self.trace, self.report, self.page):
            path.unlink(missing_ok=True)
        shutil.copyfile(neff, self.neff)

    def end(self):
        """The Profile, when the trace has been written."""
        report = _run("view", self.trace)
        self.report.write_text(report, encoding="utf-8")
        figures = json.loads(_run("view", "--format=json", self.trace))
        source = pathlib.Path(inspect.getsourcefile(self.function) or "").resolve().parent
        _run("html", "--source", source, "--output", self.page, self.trace)
        return Profile(report, self.page, figures)


def folder_of(told):
    """Where profiles of a kernel go, or None: the kernel's folder, else that of --profile."""
    return told or os.environ.get("NEURON_EMU_NKI_PROFILE") or None
