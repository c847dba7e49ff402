# SPDX-License-Identifier: MIT
"""A layer of PyTorch whose forward and backward passes are NKI kernels, and which learns."""

import torch

import nki
import nki.language as nl


@nki.jit
def square_relu(x):
    """y = max(x, 0)^2"""
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    positive = nl.relu(nl.load(x))
    nl.store(y, nl.multiply(positive, positive))
    return y


@nki.jit
def square_relu_grad(x, dy):
    """dx = 2 max(x, 0) dy"""
    dx = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    slope = nl.multiply(nl.relu(nl.load(x)), 2.0)
    nl.store(dx, nl.multiply(slope, nl.load(dy)))
    return dx


class SquareRelu(torch.autograd.Function):
    """What PyTorch differentiates."""

    @staticmethod
    def forward(ctx, x):
        """The forward pass."""
        ctx.save_for_backward(x)
        return square_relu(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        """The backward pass."""
        x, = ctx.saved_tensors
        return square_relu_grad(x, dy)


torch.manual_seed(1)
x = torch.randn(128, 8)
target = x.square().sum(1, keepdim=True)
first, second = torch.nn.Linear(8, 32), torch.nn.Linear(32, 1)
optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.02)
for step in range(201):
    loss = (second(SquareRelu.apply(first(x))) - target).square().mean()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print("device time:", square_relu.device_ns, "+", square_relu_grad.device_ns, "ns")
