# SPDX-License-Identifier: MIT
"""`while register:` of Python is a loop on the device.

Python asks the register before each round whether there is one. The first answer is yes, and the
loop begins; the second one is no, and it ends. So the body is traced once. Whether a `while` asks,
and not an `if`, is read from the source of the kernel.
"""

import ast
import dis
import functools
import linecache
import sys

from .. import errors
from ..builder import value
from ..errors import refuse
from ..trace import EVERY_ENGINE
from .core import Loop

__neuron_emu__ = True

_NAME = "while"
_IS_NE = value("alu", "is_ne")
# Their jumps ask for a part of the condition.
_MIXED = (ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Compare)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = (ast.Try, ast.TryStar)
_WITHS = (ast.With, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _span(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _breaks(statements):
    """Has a loop with this body a `break`?"""
    for node in statements:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, _LOOPS):
            below = node.orelse
        elif isinstance(node, _SCOPES):
            continue
        else:
            below = ast.iter_child_nodes(node)
        if _breaks(below):
            return True
    return False


class _While:
    """A `while` statement of a source file."""

    def __init__(self, node, is_tried):
        self.breaks = _breaks(node.body)
        self.is_tried = is_tried
        self.spans = _span(node), _span(node.test)


def _caught(node, in_loop):
    """The statements right below a node that an exception may leave while the function goes on.

    A manager of contexts, and a `continue` in `finally:`, may end an exception, too. That matters
    where a loop comes by again: the same `while` would ask as if its body had ended.
    """
    if isinstance(node, _TRIES) and in_loop and node.finalbody:
        return node.body + node.handlers + node.orelse
    if isinstance(node, _TRIES) and node.handlers or isinstance(node, _WITHS) and in_loop:
        return node.body
    return []


def _statements(node, found, in_loop=False, is_tried=False):
    """All `while` statements below a node whose condition is one value."""
    if isinstance(node, _SCOPES):
        in_loop = is_tried = False
    caught = _caught(node, in_loop)
    for child in ast.iter_child_nodes(node):
        tried = is_tried or child in caught
        if isinstance(child, ast.While) and not isinstance(child.test, _MIXED):
            found.append(_While(child, tried))
        _statements(child, found, in_loop or isinstance(node, _LOOPS), tried)
    return found


@functools.lru_cache(maxsize=64)
def _of_source(source):
    """{span: statement}; where the compiler says that a condition is, differs with its version."""
    try:
        found = _statements(ast.parse(source), [])
    except SyntaxError:
        return {}
    return {span: statement for statement in found for span in statement.spans}


def _asking(frame):
    """The `while` whose condition a frame evaluates, or None."""
    code = frame.f_code
    if not dis.opname[code.co_code[frame.f_lasti]].startswith(("POP_JUMP", "TO_BOOL")):
        return None
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    span = list(code.co_positions())[frame.f_lasti // 2]
    return _of_source("".join(lines)).get(span)


class _Open(Loop):
    """A loop that has begun."""

    def __init__(self, frame, statement, register):
        super().__init__(_NAME)
        if statement.breaks:
            refuse(_NAME, "a loop on the device runs to its end and cannot be left by break",
                   fix="let the register become 0, or unroll the loop with range()")
        if statement.is_tried:
            # If this exception is caught as well, the kernel ends with an open loop.
            self.enter()
            refuse(_NAME, "a loop on the device is not in a try or with statement that may catch "
                   "what leaves it", fix="put it into a function of its own")
        if register.frozen:
            refuse(_NAME, "the condition is a register that the body changes",
                   "the index of a loop")
        self.frame = frame
        self.statement = statement
        self.register = register
        register.use.engines = EVERY_ENGINE
        errors.deprecated("`while register:`: NKI 0.6.0 asks for nl.while_loop()")
        self.begin_while(_IS_NE, register)

    def is_of(self, frame, statement):
        """Does the same `while` ask again?"""
        return self.frame is frame and self.statement is statement

    def close(self, register):
        """The body has been traced."""
        if register is not self.register:
            refuse(_NAME, "the condition is the same register before each round", "another one",
                   "change it with nisa.register_load or nisa.register_move")
        self.end()


def asks(register):
    """The answer to the `while` that asks for the truth of a register, or None: it is not one that
    does."""
    frame = sys._getframe(2)
    statement = _asking(frame)
    if statement is None:
        return None
    whiles = register.trace.whiles
    if whiles and whiles[-1].is_of(frame, statement):
        whiles.pop().close(register)
        return False
    if any(loop.is_of(frame, statement) for loop in whiles):
        # It asks again, but a loop of its body has not ended.
        register.trace.refuse_open_loop()
    whiles.append(_Open(frame, statement, register))
    return True
