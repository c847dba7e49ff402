# SPDX-License-Identifier: MIT
"""What the tests of nrtpy share. Their arguments are the folders that hold NEFFs."""

import pathlib
import sys
import tempfile
import unittest

import numpy as np

import nrtpy
from nrtpy import NrtError, NrtpyModel, NrtpyTensor

FOLDERS = [pathlib.Path(folder) for folder in sys.argv[1:]]
# Of the tensors of the kernel add.
SHAPE = (4, 3)


def neff(name):
    """The path of a NEFF."""
    return next(folder / f"{name}.neff" for folder in FOLDERS
                if (folder / f"{name}.neff").exists())


def full(value):
    """An array of one value, as the kernel add takes it."""
    return np.full(SHAPE, value, dtype=np.float16)


def add_inputs(a=1.0, b=2.0, core_id=0):
    """Inputs of the kernel add."""
    return {"a_input": NrtpyTensor.from_numpy(full(a), "a_input", core_id),
            "b_input": NrtpyTensor.from_numpy(full(b), "b_input", core_id)}


def add_model(**how):
    """The kernel add, loaded."""
    return NrtpyModel.load_from_neff(neff("add"), **how)


def result(outputs):
    """The only output as an array."""
    return next(iter(outputs.values())).numpy()


class Case(unittest.TestCase):
    """A test that begins and ends without a runtime."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(nrtpy.reset)

    def assert_nrt_error(self, status, name, call, *args, **kwargs):
        """The call fails with a status, which the text has as well."""
        with self.assertRaises(NrtError) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.status, status)
        self.assertRegex(str(caught.exception), rf"^NRT Error {name}\({status}\): ")
        return str(caught.exception)
