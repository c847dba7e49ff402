# SPDX-License-Identifier: MIT
"""python3 -m neuron_emu SCRIPT [ARGUMENT...]: a script whose `import nki` finds these packages."""

import argparse
import os
import runpy
import sys


def main():
    """Parse the options, then be the script."""
    parser = argparse.ArgumentParser(prog="python3 -m neuron_emu", description=__doc__)
    parser.add_argument("--check", action="store_true", help="look for races and other errors")
    parser.add_argument("--target", help="trn1, trn2 or trn3")
    parser.add_argument("--profile", metavar="FOLDER",
                        help="leave a report and a timeline of each kernel in this folder")
    parser.add_argument("--schedule", action="store_true",
                        help="let the scheduler make kernels faster; results stay the same")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.check:
        os.environ["NEURON_EMU_CHECK"] = "memory"
    if options.target:
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = options.target
    if options.schedule:
        os.environ["NEURON_EMU_NKI_SCHEDULE"] = "1"
    if options.profile:
        os.environ["NEURON_EMU_NKI_PROFILE"] = os.path.abspath(options.profile)
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    sys.argv = [options.script] + options.arguments
    runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
