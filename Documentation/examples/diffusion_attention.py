# SPDX-License-Identifier: MIT
"""The attention of a U-Net, that of Stable Diffusion 2: an NKI kernel between layers of PyTorch.

An image of 256 x 256 pixels is 16 x 16 positions of 640 numbers in the second level of the U-Net.
Positions attend to each other, and to the 77 words of a prompt.
"""

import torch

from neuron_kernels import flash_attention

POSITIONS, WIDTH, HEADS = 16 * 16, 640, 10
WORDS, WORD_WIDTH = 77, 1024


def on_device(q, k, v):
    """softmax(q k^T / sqrt(d)) v of [heads, rows, d] by the kernel."""
    return flash_attention(q, k, v, causal=False)


def on_host(q, k, v):
    """The same in PyTorch, in 64 bits."""
    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    return (scores.softmax(-1) @ v).float()


class Attention(torch.nn.Module):
    """Rows of x attend to rows of `context`, or to those of x."""

    def __init__(self, context_width, dtype):
        super().__init__()
        self.to_q = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.to_k = torch.nn.Linear(context_width, WIDTH, bias=False)
        self.to_v = torch.nn.Linear(context_width, WIDTH, bias=False)
        self.to_out = torch.nn.Linear(WIDTH, WIDTH)
        self.dtype = dtype
        self.attend = on_device

    def heads_of(self, x):
        """[rows, width] as [heads, rows, width / heads], in the type of the kernel."""
        return x.reshape(-1, HEADS, WIDTH // HEADS).transpose(0, 1).to(self.dtype).contiguous()

    def forward(self, x, context=None):
        """The layer."""
        context = x if context is None else context
        parts = [self.heads_of(part) for part in (self.to_q(x), self.to_k(context),
                                                  self.to_v(context))]
        found = self.attend(*parts).float()
        return self.to_out(found.transpose(0, 1).reshape(x.shape))


class Block(torch.nn.Module):
    """The two attentions of a transformer block, each added to what it got."""

    def __init__(self, dtype):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.own = Attention(WIDTH, dtype)
        self.cross = Attention(WORD_WIDTH, dtype)

    def forward(self, x, words):
        """The block."""
        x = x + self.own(self.norms[0](x))
        return x + self.cross(self.norms[1](x), words)


torch.manual_seed(1)
image, prompt = torch.randn(POSITIONS, WIDTH), torch.randn(WORDS, WORD_WIDTH)
for dtype in (torch.float32, torch.bfloat16):
    block = Block(dtype)
    with torch.no_grad():
        found = block(image, prompt)
        block.own.attend = block.cross.attend = on_host
        error = (found - block(image, prompt)).abs().max().item()
    print(f"{dtype}: error {error:.1e}, device time of the last attention "
          f"{flash_attention.device_ns} ns")
