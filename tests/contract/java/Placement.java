// SPDX-License-Identifier: BSL-1.0
import com.dynatrace.hash4j.hashing.Hashing;

final class Placement {
    static int bucketOf(byte[] id, int buckets, long seed) {
        return Integer.remainderUnsigned((int) Hashing.xxh3_64(seed).hashBytesToLong(id), buckets);
    }

    static int slotOf(byte[] partitionKey, int slots) {
        return (int) Hashing.xxh3_64(0).hashBytesToLong(partitionKey) & (slots - 1);
    }
}
