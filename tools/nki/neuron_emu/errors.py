# SPDX-License-Identifier: MIT
"""Exceptions, and where in the kernel something happens."""

import sys

__neuron_emu__ = True


class NkiError(Exception):
    """What is wrong with a kernel, or with how it is called."""


class NkiValidationError(NkiError):
    """The kernel breaks a rule of the hardware."""


class NkiCapacityError(NkiValidationError):
    """The tiles that are alive do not fit."""


class NkiCheckError(NkiError):
    """The chip's check has found an error in what the kernel does: a race, bytes never written."""


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


def raised_at(error):
    """FILE:LINE of the kernel that has raised an exception: the innermost one."""
    found = "?"
    entry = error.__traceback__
    while entry is not None:
        if "__neuron_emu__" not in entry.tb_frame.f_globals:
            found = f"{entry.tb_frame.f_code.co_filename}:{entry.tb_lineno}"
        entry = entry.tb_next
    return found


def refuse(function, rule, value=None, fix=None):
    """Raise NkiValidationError: `rule` of `function` is broken by `value`; `fix` mends it."""
    text = f"{place()}: {function}: {rule}"
    if value is not None:
        text += f", not {value}"
    if fix:
        text += f"; {fix}"
    raise NkiValidationError(text)
