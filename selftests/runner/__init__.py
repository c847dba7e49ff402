# SPDX-License-Identifier: MIT
"""The program behind make check, make check-long and make check-nightly."""
