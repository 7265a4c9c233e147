# SPDX-License-Identifier: BSL-1.0
"""Answers the questions of ../check.py."""
import sys

from placement import bucket_of, slot_of

for line in sys.stdin:
    what, digits, count, *seed = line.split()
    octets = bytes.fromhex(digits[1:])
    print(bucket_of(octets, int(count), int(seed[0])) if what == "bucket" else slot_of(octets, int(count)))
