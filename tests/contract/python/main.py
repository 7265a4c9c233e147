# SPDX-License-Identifier: BSL-1.0
"""Answers the questions of ../check.py."""
import sys

from placement import bucket_of, slot_of, window_of

for line in sys.stdin:
    what, digits, count, *more = line.split()
    octets = bytes.fromhex(digits[1:])
    if what == "window":
        print(window_of(int(count), int(more[0])))
    else:
        print(bucket_of(octets, int(count), int(more[0])) if what == "bucket" else slot_of(octets, int(count)))
