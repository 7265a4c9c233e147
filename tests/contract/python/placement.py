# SPDX-License-Identifier: BSL-1.0
from datetime import datetime, timedelta

import xxhash


def bucket_of(item_id, buckets, seed=1):
    return (xxhash.xxh3_64_intdigest(item_id, seed=seed) & 0xFFFFFFFF) % buckets


def slot_of(partition_key, slots=16384):
    return xxhash.xxh3_64_intdigest(partition_key, seed=0) & (slots - 1)


def window_of(minutes, milliseconds):
    minute = milliseconds // 60_000 // minutes * minutes
    start = datetime(1970, 1, 1) + timedelta(minutes=minute)
    return f"@{start.year:04}{start:%m%dT%H%MZ}"
