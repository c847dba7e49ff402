# SPDX-License-Identifier: MIT
"""Kernels that PyTorch calls: with tensors, and inside of autograd."""

import importlib
import pathlib
import re
import runpy
import warnings

import numpy as np
import pytest

import neuron_emu
import neuron_kernels as kernels
import nki
import nki.isa as nisa
import nki.language as nl

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def numbers(*shape, seed=0):
    """Random FP32 numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@nki.jit
def double(a):
    """2 a."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(a), 2))
    return out


@nki.jit
def changes(a):
    """a becomes 2 a."""
    nl.store(a, nl.multiply(nl.load(a), 2))
    return a


@nki.jit
def converted(a, dtype):
    """a in another type."""
    out = nl.ndarray(a.shape, dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(nl.load(a), dtype=dtype))
    return out


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32", "int16", "int8",
                                  "uint8"])
def test_types(name):
    dtype = getattr(torch, name)
    a = torch.arange(-20, 44).remainder(60).reshape(4, 16).to(dtype)
    result = double(a)
    assert isinstance(result, torch.Tensor) and result.dtype is dtype
    assert torch.equal(result, a * 2)


@pytest.mark.parametrize("older", [False, True])
def test_the_device_of_torch_xla(older):
    """A program that moves its tensors there runs as it is."""
    xla = importlib.import_module("torch_xla")
    model = importlib.import_module("torch_xla.core.xla_model")
    a = numbers(4, 16)
    result = double(a.to(device=model.xla_device() if older else xla.device()))
    (model.mark_step if older else xla.sync)()
    assert torch.equal(result.cpu(), a * 2)


def test_other_names_of_torch_xla():
    with pytest.raises(AttributeError, match="torch_xla.launch is not here"):
        importlib.import_module("torch_xla").launch()


def test_bool():
    a = numbers(4, 16) > 0
    result = converted(a, "bool")
    assert result.dtype is torch.bool and torch.equal(result, a)


def test_the_bits_of_bfloat16():
    bits = torch.arange(-2 ** 15, 2 ** 15, dtype=torch.int32).to(torch.int16).reshape(128, 512)
    a = bits.view(torch.bfloat16)

    @nki.jit
    def moved(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, a)
        return out

    assert torch.equal(moved(a).view(torch.int16), bits)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8(name):
    if not hasattr(torch, name):
        with pytest.raises(nki.NkiError, match=f"converted returns {name}, .*nl.uint8"):
            nki.jit(converted.func, platform_target="trn3")(numbers(4, 8), name)
        pytest.skip(f"this PyTorch has no {name}")
    a = numbers(8, 16, seed=1).to(getattr(torch, name))
    result = nki.jit(converted.func, platform_target="trn3")(a, "float32")
    assert torch.equal(result, a.to(torch.float32))
    back = nki.jit(converted.func, platform_target="trn3")(result, name)
    assert back.dtype is a.dtype and torch.equal(back.view(torch.uint8), a.view(torch.uint8))


def test_float8_e4m3_is_no_type_of_pytorch():
    with pytest.raises(nki.NkiError, match="converted returns float8_e4m3, .*nl.uint8"):
        converted(numbers(4, 8), "float8_e4m3")


@pytest.mark.parametrize("name, wider", [("uint16", "int32"), ("uint32", "int64")])
def test_unsigned_results(name, wider):
    a = torch.tensor([[0.0, 3.0, 40000.0]])
    result = converted(a, name)
    assert result.dtype is getattr(torch, name, getattr(torch, wider))
    assert result.tolist() == [[0, 3, 40000]]


VIEWS = {
    "transposed": lambda a: a.t(),
    "a part": lambda a: a[3:11, 5:25],
    "every other": lambda a: a[::2, ::3],
    "expanded": lambda a: a[:1].expand(7, -1),
    "a column": lambda a: a[:, 4:5],
    "permuted": lambda a: a.reshape(16, 4, 8).permute(2, 0, 1),
    "negative": lambda a: torch.complex(a, a).conj().imag,
    "a parameter": lambda a: torch.nn.Parameter(a, requires_grad=False),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_views(name, dtype):
    a = VIEWS[name](numbers(16, 32)).to(dtype)
    assert torch.equal(double(a), a * 2)


def test_a_result_is_not_the_memory_of_another():
    a = numbers(4, 8)
    first = double(a)
    kept = first.clone()
    double(a + 1)
    assert torch.equal(first, kept)


def test_an_argument_that_the_kernel_writes():
    whole = numbers(8, 16).to(torch.bfloat16)
    before = whole.clone()
    part = whole[2:6, ::2]
    result = changes(part)
    before[2:6, ::2] *= 2
    assert torch.equal(whole, before) and torch.equal(result, part)


def test_tensors_in_lists_beside_arrays_of_numpy():
    @nki.jit
    def total(parts, more):
        out = nl.ndarray(more.shape, more.dtype, buffer=nl.shared_hbm)
        tile = nl.load(more)
        for part in parts:
            tile = nl.add(tile, nl.load(part))
        nl.store(out, tile)
        return {"sum": out}

    a, b = numbers(4, 8), numbers(4, 8, seed=1)
    result = total([a, b], np.ones((4, 8), np.float32))["sum"]
    torch.testing.assert_close(result, a + b + 1)


def test_a_grid_and_the_check_and_ranks():
    a = numbers(8, 16)
    assert torch.equal(double[2](a), a * 2)
    assert torch.equal(nki.simulate(double)(a), a * 2)
    found = neuron_emu.run_ranks(double, [a, a + 1])
    assert torch.equal(found[1], (a + 1) * 2)


def test_the_program_is_remembered():
    kernel, a = nki.jit(double.func), numbers(4, 8)
    kernel(a)
    kernel(a + 1)
    assert len(kernel._compiled) == 1
    # Its results are other objects.
    kernel(a.numpy())
    assert len(kernel._compiled) == 2


REFUSED = {
    "a number": (lambda: torch.tensor(2.0), "argument a has no dimensions.*a.reshape.1..*a.item"),
    "int64": (lambda: torch.ones(4, 8, dtype=torch.int64), "argument a: .*no element type .*int64"),
    "complex": (lambda: torch.ones(4, 8, dtype=torch.complex64), "argument a: .*complex64"),
    "sparse": (lambda: torch.eye(4).to_sparse(), "argument a is a sparse.*to_dense"),
    "meta": (lambda: torch.ones(4, 8, device="meta"), "argument a .*without contents"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, text = REFUSED[name]
    with pytest.raises(nki.NkiError, match=text) as caught:
        double(make())
    assert "\n" not in str(caught.value)


def test_a_number_of_numpy_is_refused_too():
    with pytest.raises(nki.NkiError, match="argument a has no dimensions"):
        double(np.array(2.0, np.float32))


def test_a_gradient_that_would_be_lost():
    a = numbers(4, 8).requires_grad_()
    with pytest.warns(UserWarning, match="argument a requires a gradient.*autograd") as caught:
        assert not double(a).requires_grad
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.no_grad():
            double(a)


class RmsNorm(torch.autograd.Function):
    """Forward and backward are kernels."""

    @staticmethod
    def forward(ctx, x, gamma):
        """y"""
        ctx.save_for_backward(x, gamma)
        return kernels.rmsnorm(x, gamma)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        """dx and dgamma"""
        return kernels.rmsnorm_grad(*ctx.saved_tensors, dy)


class Matmul(torch.autograd.Function):
    """a @ b"""

    @staticmethod
    def forward(ctx, a, b):
        """The product."""
        ctx.save_for_backward(a, b)
        return kernels.matmul(a, b)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        """dy b^T and a^T dy"""
        a, b = ctx.saved_tensors
        return kernels.matmul(dy, b.t()), kernels.matmul(a, dy, transpose_a=True)


class Silu(torch.autograd.Function):
    """silu(x)"""

    @staticmethod
    def forward(ctx, x):
        """Of each element."""
        ctx.save_for_backward(x)
        return kernels.silu(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        """dx"""
        return kernels.silu_grad(*ctx.saved_tensors, dy)


def rmsnorm(x, gamma):
    """As PyTorch computes it."""
    return x * (x.square().mean(1, keepdim=True) + 1e-6).rsqrt() * gamma


FUNCTIONS = {
    "rmsnorm": (RmsNorm.apply, rmsnorm, ((24, 40), (40,))),
    "matmul": (Matmul.apply, torch.matmul, ((24, 40), (40, 16))),
    "silu": (Silu.apply, torch.nn.functional.silu, ((24, 40),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_double_precision(name):
    ours, theirs, shapes = FUNCTIONS[name]
    arguments = [numbers(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    wide = [a.detach().double().requires_grad_() for a in arguments]
    y, expected = ours(*arguments), theirs(*wide)
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)
    dy = numbers(*y.shape, seed=9)
    y.backward(dy)
    expected.backward(dy.double())
    for a, b in zip(arguments, wide):
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_slopes_of_the_kernel_itself(name):
    ours, _, shapes = FUNCTIONS[name]
    arguments = [numbers(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    dy = numbers(*ours(*arguments).shape, seed=9)
    found = torch.autograd.grad(ours(*arguments), arguments, dy)
    for i, slope in enumerate(found):
        way = numbers(*shapes[i], seed=20 + i)
        ends = []
        for step in (-1e-2, 1e-2):
            moved = [a.detach() for a in arguments]
            moved[i] = moved[i] + step * way
            ends.append((ours(*moved).double() * dy.double()).sum())
        measured, told = (ends[1] - ends[0]) / 2e-2, (slope.double() * way.double()).sum()
        assert abs(measured - told) < 1e-3 * slope.norm() * way.norm(), (measured, told)


def test_a_layer_learns():
    torch.manual_seed(1)
    x = torch.randn(64, 16)
    target = x @ torch.randn(16, 4)
    weight = torch.nn.Parameter(torch.zeros(16, 4))
    optimiser = torch.optim.SGD([weight], lr=1.0)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = (Matmul.apply(x, weight) - target).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
    assert losses[-1] < 0.01 * losses[0]


def test_the_example(capsys):
    examples = pathlib.Path(__file__).resolve().parents[2] / "Documentation/examples"
    runpy.run_path(str(examples / "torch_layer.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    losses = [float(line.split()[-1]) for line in lines[:-1]]
    assert len(losses) == 5 and losses[-1] < 0.01 * losses[0]
    assert lines[-1].startswith("device time: ")


def test_the_attention_of_a_diffusion_model(capsys):
    examples = pathlib.Path(__file__).resolve().parents[2] / "Documentation/examples"
    runpy.run_path(str(examples / "diffusion_attention.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    found = [re.fullmatch(r"torch\.(\w+): error (\S+), device time of the last attention (\d+) ns",
                          line).groups() for line in lines]
    assert [name for name, _, _ in found] == ["float32", "bfloat16"]
    assert 0 < float(found[0][1]) < 5e-6 and 1e-6 < float(found[1][1]) < 5e-3
    # Half of the bytes, and the tensor engine takes FP32 in several passes.
    assert int(found[1][2]) < int(found[0][2])


def test_a_traced_kernel(tmp_path):
    import torch_neuronx
    a = numbers(4, 8)
    traced = torch_neuronx.trace(double, a, compiler_workdir=tmp_path / "work")
    assert (tmp_path / "work/double.neff").stat().st_size > 0
    assert torch.equal(torch.nn.Sequential(traced, traced)(a), a * 4)
    assert traced.device_ns > 0
    with pytest.raises(nki.NkiError, match=r"double was traced with .*\(4, 8\).*\(8, 8\)"):
        traced(numbers(8, 8))


@pytest.mark.parametrize("what", [torch.nn.Linear(4, 4), torch.sin, lambda a: double(a)])
def test_what_is_no_kernel_is_not_traced(what):
    import torch_neuronx
    with pytest.raises(nki.NkiError, match="is no kernel of nki.jit") as caught:
        torch_neuronx.trace(what, numbers(4, 4))
    assert "\n" not in str(caught.value)


def test_other_names_of_torch_neuronx():
    module = importlib.import_module("torch_neuronx")
    with pytest.raises(AttributeError, match="torch_neuronx.DataParallel is not here"):
        module.DataParallel
    with pytest.raises(nki.NkiError, match="input_output_aliases"):
        module.trace(double, numbers(4, 4), input_output_aliases={})
