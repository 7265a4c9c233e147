#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Computes the golden vectors again, in another language and from the written rules alone.

    scripts/check_vectors.py           exit 1 when a vector differs
    scripts/check_vectors.py --write   fill in the results of rows that were added

A row has one line, so that the C++ tests can read it without a JSON library. To add one, write its
inputs and run --write; a row that was there before must not change: its data is stored somewhere.
"""

import base64
import json
import pathlib
import sys

try:
    import xxhash
except ImportError:
    print("the Python module xxhash is not installed: scripts/setup.sh test")
    sys.exit(77)

VECTORS = pathlib.Path(__file__).parent.parent / "tests" / "vectors"


def bucket_row(row):
    value = xxhash.xxh3_64_intdigest(bytes.fromhex(row["id_hex"]), seed=int(row["seed"]))
    result = {"id_hex": row["id_hex"], "seed": row["seed"], "hash": f"{value:016x}"}
    for buckets in (1, 8, 10, 12, 16, 1000):
        result[f"of_{buckets}"] = (value & 0xFFFFFFFF) % buckets
    return result


def slot_row(row):
    value = xxhash.xxh3_64_intdigest(row["partition_key"].encode(), seed=0)
    result = {"partition_key": row["partition_key"], "hash": f"{value:016x}"}
    for slots in (16384, 1024):
        result[f"of_{slots}"] = value & (slots - 1)
    return result


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value):
    return varint(len(value)) + value


def history(schemes):
    """Each scheme: version, selection, buckets, seed, state and, if it is a custom one, its name."""
    out = varint(len(schemes))
    for version, selection, buckets, seed, state, *name in schemes:
        out += varint(version) + bytes([selection]) + varint(buckets) + varint(int(seed)) + bytes([state])
        if selection == 3:
            out += text(name[0].encode())
    return out


def routing_row(row):
    body = b"SWRT" + varint(1) + varint(int(row["epoch"])) + bytes([row["suffix"]]) + text(row["format"].encode())
    body += varint(len(row["owners"]).bit_length() - 1) + varint(len(row["shards"]))
    body += b"".join(text(shard.encode()) for shard in row["shards"])
    body += b"".join(varint(owner) for owner in row["owners"])
    body += history(row["ordinary"])
    own = sorted((bytes.fromhex(key), schemes) for key, schemes in row["own"].items())
    body += varint(len(own)) + b"".join(text(key) + history(schemes) for key, schemes in own)
    fingerprint = xxhash.xxh3_128_digest(body, seed=0)
    return row | {"bytes": (body + fingerprint).hex(), "fingerprint": fingerprint.hex()}


def scheme_stamp_row(row):
    """A scheme's fingerprint: of the key format and a history of this one scheme, writable."""
    version = row["scheme"][0]
    body = b"SWSC" + varint(1) + bytes([row["suffix"]]) + text(row["format"].encode()) + history([row["scheme"]])
    return row | {"stamp": f"{version}-{xxhash.xxh3_128_hexdigest(body, seed=0)}"}


def table_stamp_row(row):
    tables = json.loads((VECTORS / "routing.json").read_text(encoding="utf-8"))["tables"]
    table = next(each for each in tables if each["name"] == row["table"])
    return row | {"stamp": f"{table['epoch']}-{routing_row(table)['fingerprint']}"}


def routed_id_row(row):
    packed = bytes([1]) + xxhash.xxh3_64_digest(bytes.fromhex(row["key_hex"]), seed=0)
    packed += varint(row["scheme"]) + varint(row["bucket"])
    slot = xxhash.xxh3_64_intdigest(bytes.fromhex(row["partition_key_hex"]), seed=0) & 0xFFFFF
    packed += slot.to_bytes(3, "big")
    result = bytes.fromhex(row["local_hex"]) + b"~" + base64.urlsafe_b64encode(packed).rstrip(b"=")
    return row | {"text_hex": result.hex()}


FILES = {
    "placement.json": {"buckets": bucket_row, "slots": slot_row},
    "routed_ids.json": {"ids": routed_id_row},
    "routing.json": {"tables": routing_row},
    "stamps.json": {"schemes": scheme_stamp_row, "tables": table_stamp_row},
}


def layout(content):
    parts = []
    for name, value in content.items():
        if isinstance(value, list):
            rows = ",\n".join("    " + json.dumps(row) for row in value)
            parts.append(f'  "{name}": [\n{rows}\n  ]')
        else:
            parts.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    agreed = differing = 0
    for file, parts in FILES.items():
        path = VECTORS / file
        content = json.loads(path.read_text(encoding="utf-8"))
        for part, compute in parts.items():
            for number, row in enumerate(content[part]):
                result = compute(row)
                if row == result:
                    agreed += 1
                else:
                    differing += 1
                    print(f"{file}: {part} {number}: {row} should be {result}")
                content[part][number] = result
        if "--write" in sys.argv[1:]:
            path.write_text(layout(content), encoding="utf-8")
    print(f"{agreed} vectors agree" + (f", {differing} do not" if differing else ""))
    return 1 if differing or agreed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
