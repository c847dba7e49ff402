# SPDX-License-Identifier: MIT
"""Kernels for common layers, written in NKI.

They are ordinary kernels: they run wherever NKI runs, and are meant to be read. Each takes arrays
of any size that its description does not limit, and sums in FP32 whatever the types of its
arguments are. The page of the kernels in the manual says how far each is from double precision.
"""

from .attention import flash_attention, rope, rope_grad
from .attention_grad import flash_attention_grad
from .conv import (conv2d, conv2d_grad, max_pool2d, max_pool2d_grad, mean_pool2d,
                   mean_pool2d_grad)
from .lookup import cross_entropy, cross_entropy_grad, embedding, embedding_grad, topk, topk_grad
from .matmul import batched_matmul, batched_matmul_grad, matmul, matmul_grad
from .mx import mx_matmul
from .norm import layernorm, layernorm_grad, rmsnorm, rmsnorm_grad, softmax, softmax_grad
from .pointwise import adam, gelu, gelu_grad, sgd, silu, silu_grad
from .ring import ring_matmul, ring_matmul_grad

__all__ = [
    "adam", "batched_matmul", "batched_matmul_grad", "conv2d", "conv2d_grad", "cross_entropy",
    "cross_entropy_grad", "embedding", "embedding_grad", "flash_attention", "flash_attention_grad",
    "gelu", "gelu_grad", "layernorm", "layernorm_grad", "matmul", "matmul_grad", "max_pool2d",
    "max_pool2d_grad", "mean_pool2d", "mean_pool2d_grad", "mx_matmul", "ring_matmul",
    "ring_matmul_grad", "rmsnorm", "rmsnorm_grad", "rope", "rope_grad", "sgd", "silu", "silu_grad",
    "softmax", "softmax_grad", "topk", "topk_grad"
]
