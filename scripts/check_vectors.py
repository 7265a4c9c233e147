#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Computes the golden vectors again, in another language and from the written rules alone.

    scripts/check_vectors.py           exit 1 when a vector differs
    scripts/check_vectors.py --write   fill in the results of rows that were added

A row has one line, so that the C++ tests can read it without a JSON library. To add one, write its
inputs and run --write; a row that was there before must not change: its data is stored somewhere.
"""

import base64
import datetime
import json
import pathlib
import sys

try:
    import xxhash
except ImportError:
    print("the Python module xxhash is not installed: scripts/setup.sh test")
    sys.exit(77)

EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
DAY_OF_2000 = datetime.date(2000, 1, 1).toordinal()
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


def window_row(row):
    minute = int(row["time"]) // 60_000 // row["minutes"] * row["minutes"]
    day, minute = divmod(minute, 1440)
    # Python's calendar has no year 0: the days of 400 years come again and again.
    era, day = divmod(day + (EPOCH_DAY - DAY_OF_2000) + 5 * 146_097, 146_097)
    date = datetime.date.fromordinal(DAY_OF_2000 + day)
    text = f"@{date.year - 2000 + 400 * era:04}{date:%m%d}T{minute // 60:02}{minute % 60:02}Z"
    return {"window": text, "minutes": row["minutes"], "time": row["time"]}


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value):
    return varint(len(value)) + value


YEAR_0 = -62_167_219_200_000  # 0000-01-01T00:00Z, in milliseconds since 1970


def form(*histories):
    """2 where a scheme has time windows or a since, which it says after its state; else 1."""
    return 2 if any(len(scheme) >= 7 for schemes in histories for scheme in schemes) else 1


def history(schemes, version):
    """Each scheme: version, selection, buckets, seed, state; width in minutes and since in milliseconds (null:
    none) where one of them is; and, if it is a custom one, its name at the end."""
    out = varint(len(schemes))
    for number, selection, buckets, seed, state, *more in schemes:
        out += varint(number) + bytes([selection]) + varint(buckets) + varint(int(seed)) + bytes([state])
        if selection == 3:
            out += text(more.pop().encode())
        if version == 2:
            width, since = more or (0, None)
            out += varint(width) + varint(0 if since is None else int(since) - YEAR_0 + 1)
    return out


def routing_row(row):
    version = form(row["ordinary"], *row["own"].values())
    body = b"SWRT" + varint(version) + varint(int(row["epoch"])) + bytes([row["suffix"]]) + text(row["format"].encode())
    body += varint(len(row["owners"]).bit_length() - 1) + varint(len(row["shards"]))
    body += b"".join(text(shard.encode()) for shard in row["shards"])
    body += b"".join(varint(owner) for owner in row["owners"])
    body += history(row["ordinary"], version)
    own = sorted((bytes.fromhex(key), schemes) for key, schemes in row["own"].items())
    body += varint(len(own)) + b"".join(text(key) + history(schemes, version) for key, schemes in own)
    fingerprint = xxhash.xxh3_128_digest(body, seed=0)
    return row | {"bytes": (body + fingerprint).hex(), "fingerprint": fingerprint.hex()}


def scheme_stamp_row(row):
    """A scheme's fingerprint: of the key format and a history of this one scheme, writable."""
    schemes = [row["scheme"]]
    body = b"SWSC" + varint(form(schemes)) + bytes([row["suffix"]]) + text(row["format"].encode())
    body += history(schemes, form(schemes))
    return row | {"stamp": f"{row['scheme'][0]}-{xxhash.xxh3_128_hexdigest(body, seed=0)}"}


def table_stamp_row(row):
    tables = json.loads((VECTORS / "routing.json").read_text(encoding="utf-8"))["tables"]
    table = next(each for each in tables if each["name"] == row["table"])
    return row | {"stamp": f"{table['epoch']}-{routing_row(table)['fingerprint']}"}


def routed_id_row(row):
    time = int(row["time"]) if "time" in row else None
    packed = bytes([1 if time is None else 2]) + xxhash.xxh3_64_digest(bytes.fromhex(row["key_hex"]), seed=0)
    packed += varint(row["scheme"]) + varint(row["bucket"])
    slot = xxhash.xxh3_64_intdigest(bytes.fromhex(row["partition_key_hex"]), seed=0) & 0xFFFFF
    packed += slot.to_bytes(3, "big")
    if time is not None:
        packed += varint(2 * time if time >= 0 else -2 * time - 1)
    result = bytes.fromhex(row["local_hex"]) + b"~" + base64.urlsafe_b64encode(packed).rstrip(b"=")
    return row | {"text_hex": result.hex()}


FILES = {
    "placement.json": {"buckets": bucket_row, "slots": slot_row, "windows": window_row},
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
