// SPDX-License-Identifier: BSL-1.0
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub fn bucket_of(id: &[u8], buckets: u32, seed: u64) -> u32 {
    xxh3_64_with_seed(id, seed) as u32 % buckets
}

pub fn slot_of(partition_key: &[u8], slots: u32) -> u32 {
    xxh3_64_with_seed(partition_key, 0) as u32 & (slots - 1)
}
