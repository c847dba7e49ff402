#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Debug a kernel with nrtpy: reproduce its error, mend it, confirm.

usage: nrtpy_debug.py GATHER_ROWS.s

These are the steps of the public tutorial "Test and debug a NKI kernel end-to-end". The kernel is
assembled by neuron-as, which must be on the path, because this project has no compiler for NKI.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from nrtpy import NrtError, NrtpyModel, NrtpyTensor


def build(source, neff):
    """Assemble the text of a kernel."""
    subprocess.run(["neuron-as", "-", "-o", neff], input=source, text=True, check=True)


def inspect(model):
    """Print what goes into the kernel and what comes out."""
    for what, tensors in (("inputs", model.input_tensors_info),
                          ("outputs", model.output_tensors_info)):
        print(f"Model {what}:")
        for name, info in tensors.items():
            print(f"  {name}: shape={info.shape}, size={info.size}")


def execute(model):
    """The output for an input of ones."""
    ones = NrtpyTensor.from_numpy(np.ones((128, 512), dtype=np.float32), name="src_tensor")
    outputs = model(inputs={"src_tensor": ones})
    return next(iter(outputs.values())).numpy()


def main(path):
    """The kernel as it is, then with the mistake mended."""
    source = pathlib.Path(path).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        neff = pathlib.Path(folder) / "kernel.neff"
        build(source, neff)
        model = NrtpyModel.load_from_neff(neff)
        inspect(model)
        try:
            execute(model)
            sys.exit("The execution succeeded; it should not have.")
        except NrtError as error:
            print(f"Caught NrtError:\n  {error}")

        # The log line of libnrt names "src_tensor" and how far behind its begin the access was:
        # 99999 rows. The index is wrong.
        build(source.replace(".set ROW, 99999", ".set ROW, 0"), neff)
        result = execute(NrtpyModel.load_from_neff(neff))
        print(f"Execution succeeded. Output shape: {result.shape}")
        print(f"Output sample (first row): {result[0, :5]}")


if __name__ == "__main__":
    # The kernel is for one physical core. On Trainium2 and 3 a core is two unless this is said.
    os.environ.setdefault("NEURON_LOGICAL_NC_CONFIG", "1")
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
