# SPDX-License-Identifier: MIT
"""Operators and functions, which are both operands of instructions and functions of nki.language.

nl.add as `op` names the operator of the ALU; nl.add(x, y) computes.
"""

from .errors import refuse

__neuron_emu__ = True

UNARY, BINARY = 1, 2
ALL = {}


class Op:
    """One of them: `alu` and `act` are the chip's names, or None."""

    __slots__ = ("name", "alu", "act", "arity", "function", "__name__")

    def __init__(self, name, arity, alu=None, act=None):
        self.name = self.__name__ = name
        self.alu = alu
        self.act = act
        self.arity = arity
        self.function = None
        ALL[name] = self

    def __repr__(self):
        return f"nki.language.{self.name}"

    def __call__(self, *args, **kwargs):
        if self.function is None:
            refuse(f"nl.{self.name}", "it is an operand of instructions only")
        return self.function(*args, **kwargs)

    def __reduce__(self):
        return find, (self.name,)


def find(name):
    """The operator of that name."""
    return ALL[name]


for _name, _alu, _act in (
        ("add", "add", None), ("subtract", "subtract", None), ("multiply", "multiply", None),
        ("maximum", "max", None), ("minimum", "min", None), ("divide", None, None),
        ("abs_max", "abs_max", None), ("abs_min", "abs_min", None), ("power", "power", None),
        ("equal", "is_eq", None), ("not_equal", "is_ne", None), ("less", "is_lt", None),
        ("less_equal", "is_le", None), ("greater", "is_gt", None),
        ("greater_equal", "is_ge", None), ("bitwise_and", "bitwise_and", None),
        ("bitwise_or", "bitwise_or", None), ("bitwise_xor", "bitwise_xor", None),
        ("left_shift", "shift_left", None), ("right_shift", "shift_right", None),
        ("logical_and", "logical_and", None), ("logical_or", "logical_or", None),
        ("logical_xor", "logical_xor", None), ("fmod", None, None), ("mod", None, None)):
    Op(_name, BINARY, _alu, _act)

for _name, _alu, _act in (
        ("abs", "abs", "abs"), ("square", "square", "square"), ("relu", "relu", "relu"),
        ("rsqrt", "rsqrt", "rsqrt"), ("reciprocal", "reciprocal", "reciprocal"),
        ("invert", "invert", None), ("logical_not", None, None), ("exp", None, "exp"),
        ("log", None, "log"), ("sqrt", None, "sqrt"), ("tanh", None, "tanh"),
        ("sigmoid", None, "sigmoid"), ("gelu", None, "gelu"),
        ("gelu_apprx_sigmoid", None, "gelu_apprx_sigmoid"),
        ("gelu_apprx_tanh", None, "gelu_apprx_tanh"), ("gelu_dx", None, "gelu_dx"),
        ("gelu_apprx_sigmoid_dx", None, "gelu_apprx_sigmoid_dx"), ("silu", None, "silu"),
        ("silu_dx", None, "silu_dx"), ("softplus", None, "softplus"), ("mish", None, "mish"),
        ("erf", None, "erf"), ("erf_dx", None, "erf_dx"), ("copy", None, "identity"),
        ("sin", None, "sin"), ("cos", None, None), ("tan", None, None),
        ("arctan", None, "arctan"), ("ceil", None, None), ("floor", None, None),
        ("trunc", None, None), ("negative", None, None), ("sign", None, "sign"),
        ("prelu", None, "prelu"), ("bypass", "bypass", None), ("average", "average", None),
        ("max", "max", None), ("min", "min", None), ("sum", "add", None),
        ("prod", "multiply", None)):
    Op(_name, UNARY, _alu, _act)

# What older kernels pass: functions of NumPy and of Python.
OTHERS = {"true_divide": "divide", "bitwise_left_shift": "left_shift", "left_shift": "left_shift",
          "right_shift": "right_shift", "absolute": "abs", "amax": "max", "amin": "min",
          "mul": "multiply", "sub": "subtract", "max": "max", "min": "min", "add": "add"}


def operator(op, function):
    """The Op that `op` names; `function` for the message."""
    if isinstance(op, Op):
        return op
    name = getattr(op, "__name__", None) or (op if isinstance(op, str) else None)
    found = ALL.get(OTHERS.get(name, name)) if name else None
    if found is None:
        refuse(function, "op is an operator such as nl.add", repr(op))
    return found
