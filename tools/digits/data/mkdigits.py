#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pack scikit-learn's digits.csv.gz into the binary form that dataset.c reads.

usage: mkdigits.py digits.csv.gz digits.bin
"""
import gzip
import struct
import sys

PIXELS = 64


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    records = []
    with gzip.open(sys.argv[1], "rt", encoding="ascii") as csv:
        for number, line in enumerate(csv, 1):
            values = [int(float(v)) for v in line.split(",")]
            pixels, label = values[:-1], values[-1]
            if len(pixels) != PIXELS or max(pixels) > 16 or not 0 <= label <= 9:
                sys.exit(f"{sys.argv[1]}: line {number} is not 64 pixels and a label")
            records.append(bytes([label] + pixels))
    with open(sys.argv[2], "wb") as out:
        out.write(struct.pack("<4sIII", b"NDIG", 1, len(records), PIXELS))
        out.write(b"".join(records))


if __name__ == "__main__":
    main()
