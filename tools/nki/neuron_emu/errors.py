# SPDX-License-Identifier: MIT
"""Exceptions, and where in the kernel something happens."""

import inspect
import re
import sys
import warnings

__neuron_emu__ = True


class NkiError(Exception):
    """What is wrong with a kernel, or with how it is called."""


class NkiValidationError(NkiError):
    """The kernel breaks a rule of the hardware."""


class NkiCapacityError(NkiValidationError):
    """The tiles that are alive do not fit."""


class NkiCheckError(NkiError):
    """The chip's check has found an error in what the kernel does: a race, bytes never written.

    `file` and `line` are those of the first one.
    """

    def __init__(self, text, file=None, line=None):
        super().__init__(text)
        self.file = file
        self.line = line


class NkiNanWarning(UserWarning):
    """With the check: a kernel whose inputs have no NaN has made one. It is warned of at the line
    of the kernel.
    """


class NkiRankError(NkiError):
    """A kernel that several ranks run together has failed.

    `rank` is the one that failed first, `errors` what each of them that failed has raised.
    """

    def __init__(self, text, rank, errors):
        super().__init__(text)
        self.rank = rank
        self.errors = errors


def kernel_frame():
    """The innermost frame that is not of these packages."""
    frame = sys._getframe(1)
    while frame is not None and "__neuron_emu__" in frame.f_globals:
        frame = frame.f_back
    return frame


def place():
    """FILE:LINE of the kernel, for messages."""
    frame = kernel_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"


def deprecated(text):
    """Warn of something that the kernel does, once for each line of it."""
    frame = kernel_frame()
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, DeprecationWarning, frame.f_code.co_filename, frame.f_lineno,
                           frame.f_globals.get("__name__"), registry)


def raised_at(error):
    """FILE:LINE of the kernel that has raised an exception: the innermost one."""
    found = "?"
    entry = error.__traceback__
    while entry is not None:
        if "__neuron_emu__" not in entry.tb_frame.f_globals:
            found = f"{entry.tb_frame.f_code.co_filename}:{entry.tb_lineno}"
        entry = entry.tb_next
    return found


# What libnrt writes before and after the place of an instruction or a transfer.
_PLACE = re.compile(r"(?:pc|descriptor|packet) \d+, (.+?):(\d+)[,:]")
_CUT = "..."


def told_place(text, function):
    """(file, line) that a line of libnrt names first; those of the kernel where it names none."""
    code = inspect.unwrap(function).__code__
    found = _PLACE.search(text)
    if found is None:
        return code.co_filename, code.co_firstlineno
    file, line = found[1], int(found[2])
    # Of a long path libnrt shows the end.
    if file.startswith(_CUT) and code.co_filename.endswith(file[len(_CUT):]):
        file = code.co_filename
    return file, line


def refuse(function, rule, value=None, fix=None):
    """Raise NkiValidationError: `rule` of `function` is broken by `value`; `fix` mends it."""
    text = f"{place()}: {function}: {rule}"
    if value is not None:
        text += f", not {value}"
    if fix:
        text += f"; {fix}"
    raise NkiValidationError(text)
