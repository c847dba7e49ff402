# SPDX-License-Identifier: MIT
"""The program behind make check, make check-long and make check-nightly."""

import pathlib
import sys

# Of the package neuron_vm.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
