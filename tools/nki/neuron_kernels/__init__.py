# SPDX-License-Identifier: MIT
"""Kernels for common layers, written in NKI.

They are ordinary kernels: they run wherever NKI runs, and are meant to be read. Each takes arrays
of any size that its description does not limit, and sums in FP32 whatever the types of its
arguments are. The page of the kernels in the manual says how far each is from double precision.
"""

from .attention import flash_attention, rope
from .conv import conv2d, max_pool2d, mean_pool2d
from .lookup import cross_entropy, cross_entropy_grad, embedding, embedding_grad, topk
from .matmul import batched_matmul, matmul
from .norm import layernorm, rmsnorm, rmsnorm_grad, softmax, softmax_grad
from .pointwise import adam, gelu, gelu_grad, sgd, silu, silu_grad

__all__ = [
    "adam", "batched_matmul", "conv2d", "cross_entropy", "cross_entropy_grad", "embedding",
    "embedding_grad", "flash_attention", "gelu", "gelu_grad", "layernorm", "matmul",
    "max_pool2d", "mean_pool2d", "rmsnorm", "rmsnorm_grad", "rope", "sgd", "silu", "silu_grad",
    "softmax", "softmax_grad", "topk"
]
