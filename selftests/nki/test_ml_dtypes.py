# SPDX-License-Identifier: MIT
"""Types that NumPy lacks, with ml_dtypes and without, whatever this machine has.

With it: a stand-in that is compiled here (standin/ml_dtypes.c). Without: one that cannot be
imported. In both cases the tests of types run in a process of their own.
"""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

from neuron_emu import dtypes

HERE = pathlib.Path(__file__).parent
# Most machines have no ml_dtypes, and run all tests without it.
FILES = {"standin": ("test_types.py", "test_torch.py"), "without": ("test_types.py",)}
NAMES = ("bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn")


@pytest.fixture(name="standin", scope="module")
def built_standin(tmp_path_factory):
    """The folder of the stand-in."""
    headers = pathlib.Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        pytest.fail("Python.h is not there (python3-dev)")
    folder = tmp_path_factory.mktemp("standin")
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    f"-I{headers}", f"-I{np.get_include()}", HERE / "standin/ml_dtypes.c", "-o",
                    folder / "ml_dtypes.so", "-lm"], check=True)
    return folder


@pytest.fixture(name="without", scope="module")
def no_package(tmp_path_factory):
    """The folder of a module that is not there."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "ml_dtypes.py").write_text("raise ImportError('ml_dtypes')\n")
    return folder


def python(folder, *arguments):
    """Run Python with a folder before all others."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path}, timeout=600, check=False)


@pytest.mark.parametrize("kind", ["standin", "without"])
def test_the_tests_of_types(kind, request):
    folder = request.getfixturevalue(kind)
    code = (f"import sys; sys.path.append({str(HERE.parents[1] / 'tools/nki')!r}); "
            "from neuron_emu import dtypes; print(*[dtypes.numpy_dtype(n).name for n in "
            f"{NAMES!r}])")
    done = python(folder, "-c", code)
    names = {"standin": list(NAMES), "without": ["void16", "void8", "void8", "void8"]}[kind]
    assert done.stdout.split() == names, done.stderr
    done = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W",
                  "ignore::DeprecationWarning", *(HERE / file for file in FILES[kind]))
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40


CONVERT = """
import sys, numpy as np, ml_dtypes
values = np.load(sys.argv[1])
for name in sys.argv[2:]:
    array = values.astype(getattr(ml_dtypes, name))
    sys.stdout.write(array.view(f"u{array.itemsize}").astype(np.uint16).tobytes().hex() + "\\n")
"""


def test_both_round_alike(standin, tmp_path, monkeypatch):
    """from_float32() without ml_dtypes gives the bits of its types, ties and limits included."""
    monkeypatch.setattr(dtypes, "ml_dtypes", None)
    random = np.random.default_rng(0)
    limits = np.array([0, -0.0, 240, 247.9, 248, 248.1, 448, 464, 464.1, 57344, 61440, 61441, 1e9,
                       np.inf, 2.0**-9, 2.0**-10, 2.0**-17, 3 * 2.0**-10], np.float32)
    ties = (np.arange(1, 2**14, dtype=np.uint32) << 17 | 1 << 15).view(np.float32)
    some = random.standard_normal(20000) * np.exp2(random.integers(-20, 20, 20000))
    values = np.concatenate([limits, -limits, ties[np.isfinite(ties)], some.astype(np.float32)])
    np.save(tmp_path / "values.npy", values)
    done = python(standin, "-c", CONVERT, tmp_path / "values.npy", *NAMES)
    for name, line in zip(NAMES, done.stdout.splitlines(), strict=True):
        want = np.frombuffer(bytes.fromhex(line), np.uint16)
        found = dtypes.from_float32(values, name)
        np.testing.assert_array_equal(found.view(dtypes.bits_dtype(name)), want, err_msg=name)
