# SPDX-License-Identifier: MIT
"""Kernels beside numpy: which baseline is accepted, and what becomes of samples."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import figures
import nki_bench
import nki_run
from trees import NotMeasured

FOLDER = "/usr/lib/x86_64-linux-gnu"
PYTHON = "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.so"


def samples(**changed):
    """What the program writes: of every figure two samples, of ours and of the baseline."""
    return [(name, *changed.get(name, ([1.0, 1.0], [1.0, 1.0]))) for name in nki_bench.GOALS]


def found(**changed):
    """The figures of such samples, by name."""
    return {one["name"]: one for one in nki_bench.figures_of(samples(**changed))}


def test_openblas_is_accepted():
    """Debian's library of BLAS leads to that of OpenBLAS."""
    paths = [PYTHON, f"{FOLDER}/openblas-pthread/libblas.so.3",
             f"{FOLDER}/openblas-pthread/libopenblasp-r0.3.21.so"]
    assert nki_run.openblas_of(paths) == paths[1:]


@pytest.mark.parametrize("paths, name", [
    ([f"{FOLDER}/blas/libblas.so.3.11.0"], "libblas.so.3.11.0"),
    # LAPACK brings OpenBLAS, but products are those of the reference.
    ([f"{FOLDER}/blas/libblas.so.3.11.0", f"{FOLDER}/openblas-pthread/libopenblasp-r0.3.21.so"],
     "libblas.so.3.11.0"),
    (["/opt/intel/lib/libmkl_rt.so.2"], "libmkl_rt.so.2"),
    ([], "no library")])
def test_other_baselines_are_refused(paths, name):
    """By name: a kernel would be faster than the reference, whatever it costs."""
    with pytest.raises(SystemExit, match=name):
        nki_run.openblas_of([PYTHON, *paths])


@pytest.mark.parametrize("flags, kernels", [
    ({"avx512f", "avx512vl", "avx2", "fma"}, "SkylakeX"), ({"avx512f", "avx2", "fma"}, "Haswell"),
    ({"avx2"}, None), (set(), None)])
def test_class_of_the_host(flags, kernels):
    """The best that the processor has; without AVX2 OpenBLAS decides."""
    assert nki_run.host_class(flags) == kernels


def test_goal_is_about_the_ratio_of_pairs():
    """Three times the baseline in a pair of three is not the ratio."""
    one = found(nki_softmax=([2.0, 9.0, 4.0], [2.0, 3.0, 4.0]))["nki_softmax"]
    assert (one["ratio"], one["goal"], one["lower_is_better"]) == (1, 2, True)
    assert figures.goal_cells(one) == ("<= 2", "reached")
    one = found(nki_softmax=([5.0, 9.0, 9.0], [2.0, 3.0, 4.0]))["nki_softmax"]
    assert figures.goal_cells(one) == ("<= 2", "missed")


@pytest.mark.parametrize("share, verdict", [(96.9, "missed"), (97.1, "reached")])
def test_goal_of_modelled_time(share, verdict):
    """Without a baseline the value counts, and more of the engine's time is better."""
    one = found(nki_gemm_4096_modelled=([share], None))["nki_gemm_4096_modelled"]
    assert figures.goal_cells(one) == (">= 97", verdict)


def test_missing_figure_is_named():
    """A figure that the program does not measure any more is no figure that was reached."""
    with pytest.raises(NotMeasured, match="nki_layernorm"):
        nki_bench.figures_of([one for one in samples() if one[0] != "nki_layernorm"])
