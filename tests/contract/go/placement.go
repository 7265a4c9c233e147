// SPDX-License-Identifier: BSL-1.0
package main

import "github.com/zeebo/xxh3"

func bucketOf(id string, buckets uint32, seed uint64) uint32 {
	return uint32(xxh3.HashStringSeed(id, seed)) % buckets
}

func slotOf(partitionKey string, slots uint32) uint32 {
	return uint32(xxh3.HashStringSeed(partitionKey, 0)) & (slots - 1)
}
