// SPDX-License-Identifier: BSL-1.0
import { xxhash3 } from "hash-wasm";

// The low 32 bits: a Number holds them exactly, and the rule needs no others. The seed is a BigInt.
async function hash32(bytes, seed) {
  const digits = await xxhash3(bytes, Number(seed & 0xffffffffn), Number(seed >> 32n));
  return parseInt(digits.slice(8), 16);
}

export const bucketOf = async (id, buckets, seed = 1n) => (await hash32(id, seed)) % buckets;
export const slotOf = async (partitionKey, slots = 16384) =>
  (await hash32(partitionKey, 0n)) & (slots - 1);

// What follows the bucket of a scheme with time windows: their width in minutes, the item's time in milliseconds.
export function windowOf(minutes, time) {
  const width = minutes * 60000;
  const start = new Date(Math.floor(time / width) * width);
  return "@" + start.toISOString().slice(0, 16).replaceAll(/[-:]/g, "") + "Z";
}
