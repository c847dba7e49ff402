# SPDX-License-Identifier: MIT
"""Start the runner from the tree: python3 selftests/runner ARGUMENT..."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import cli

sys.exit(cli.main())
