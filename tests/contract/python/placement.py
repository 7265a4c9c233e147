# SPDX-License-Identifier: BSL-1.0
import xxhash


def bucket_of(item_id, buckets, seed=1):
    return (xxhash.xxh3_64_intdigest(item_id, seed=seed) & 0xFFFFFFFF) % buckets


def slot_of(partition_key, slots=16384):
    return xxhash.xxh3_64_intdigest(partition_key, seed=0) & (slots - 1)
