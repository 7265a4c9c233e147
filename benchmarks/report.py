#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs a benchmark as built by one or more compilers, counts its instructions with callgrind, and prints the
tables of docs/performance.md: ratios to the first row of each, in bold where a bar is missed.

With --merges, one table of all: ours, and each peer's time as a multiple of it, with the bars beside.

usage: report.py [--only-instructions | --merges] [--part NAME]... COMPILER=PROGRAM...

as in: report.py g++=build/release/benchmarks/benchmark_placement \\
                 clang=build/clang/benchmarks/benchmark_placement
"""
import argparse
import collections
import pathlib
import re
import subprocess
import tempfile


def lines_of(command, **options):
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout
    return [line.split("\t") for line in printed.splitlines()]


def instructions(program, parts):
    """{title: {row: (instructions a call, bar)}}: one dump of callgrind's for each row."""
    calls = 4096
    with tempfile.TemporaryDirectory() as folder:
        rows = lines_of(["valgrind", "--tool=callgrind", "--callgrind-out-file=dump", "--toggle-collect=bench::counted(*",
                         "--dump-before=bench::counted_row*", program, "--counted", *parts],
                        cwd=folder, stderr=subprocess.DEVNULL)
        dumps = sorted(pathlib.Path(folder).glob("dump.*"), key=lambda path: int(path.suffix[1:]))
        totals = [int(re.search(r"^(?:summary|totals): (\d+)", dump.read_text(), re.M)[1])
                  for dump in dumps if "Trigger: --dump-before" in dump.read_text()]
    if len(totals) != len(rows):
        raise SystemExit(f"{len(rows)} rows, but callgrind made {len(totals)} dumps")
    counts = collections.defaultdict(dict)
    for (title, row, units, bar), total in zip(rows, totals):
        counts[title][row] = (total / int(units), float(bar))
    return counts


def times(program, parts):
    """{title: [cells after the title]}"""
    tables = collections.defaultdict(list)
    for title, *cells in lines_of([program, "--lines", *parts]):
        tables[title].append(cells)
    return tables


def cell(ratio, met, note=""):
    text = f"{ratio:.2f}{note}"
    return text if met else f"**{text}**"


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " --- |" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row).replace("<", "&lt;") + " |")
    print()


def add_times(rows, tables):
    for at, row in enumerate(rows):
        for table in tables:
            _, time, ratio, *bar = table[at]
            note = f" ({float(time):.2f} ns)" if at == 0 else ""
            row.append(cell(float(ratio), bar[1:] != ["NOT MET"], note))
        row.append(bar[0].replace("<=", "≤").replace(">=", "≥"))


def add_instructions(rows, tables):
    for row in rows:
        bar = 0
        for table in tables:
            if row[0] not in table:
                row.append("")
                continue
            base = next(iter(table.values()))[0]
            count, bar = table[row[0]]
            row.append(cell(count / base, not bar or count / base <= bar, f" ({count:.0f})"))
        row.append(f"≤ {bar:.2f}" if bar else "")


def print_merges(tables):
    """A row for each table, a column for each peer; what is measured against a bar has it beside."""
    ours = "shardweave::merge"
    names, rows = [], []
    for title, cells in tables.items():
        bars = {line[0].partition(" / ")[0]: (float(line[3].split()[1]), line[4] == "met")
                for line in cells if " / " in line[0]}
        timed = {line[0]: float(line[1]) for line in cells if " / " not in line[0]}
        least = next(time for name, time in timed.items() if name.startswith(ours))
        about = title.removeprefix("merging ").partition(", against")[0]
        unit = f"{least:.1f} ns" if least < 500 else f"{least / 1000:.2f} µs"
        row = {"": about, "ours": unit}
        for at, (name, time) in enumerate(timed.items()):
            if not name.startswith(ours):
                short = name.partition(", ")[0].removeprefix("peer: ")
                bar, met = bars.get(name, (0, True))
                beside = f" (≥ {bar:g})" if bar else ""
                row["a move" if at == 0 and "sort" not in name else short] = cell(time / least, met, beside)
        moved = next(line for line in cells if line[0].startswith(ours))[3:]
        if len(moved) == 2:  # a bar in multiples of a move
            move = next(iter(timed.values()))
            row["a move"] = cell(move / least, moved[1] == "met", f" (≥ {1 / float(moved[0].split()[1]):.2f})")
        names += [name for name in row if name not in names]
        rows.append(row)
    print_table(names, [[row.get(name, "") for name in names] for row in rows])


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--only-instructions", action="store_true")
    ask.add_argument("--merges", action="store_true")
    ask.add_argument("--part", action="append", default=[])
    ask.add_argument("programs", nargs="+", metavar="COMPILER=PROGRAM")
    asked = ask.parse_args()
    programs = {name: str(pathlib.Path(path).resolve())
                for name, path in (each.split("=", 1) for each in asked.programs)}
    if asked.merges:
        for program in programs.values():
            print_merges(times(program, asked.part))
        return
    counted = {name: instructions(program, asked.part) for name, program in programs.items()}
    timed = {name: {} if asked.only_instructions else times(program, asked.part)
             for name, program in programs.items()}
    first = next(iter(programs))
    for title in timed[first] or counted[first]:
        print(f"### {title[0].upper()}{title[1:]}\n".replace("<", "&lt;"))
        if title.startswith("movement"):
            print_table(["", "10 → 11 moves", "draining one of ten moves", "peak / average at 100", "at 101"],
                        [[row[0], row[1] + " %", row[2] + " %", row[3], row[4]] for row in timed[first][title]])
            continue
        names = [row[0] for row in timed[first][title]] if timed[first] else list(counted[first][title])
        rows = [[name] for name in names]
        header = [""]
        if timed[first]:
            header += [f"{compiler}: time ×" for compiler in programs] + ["bar"]
            add_times(rows, [timed[compiler][title] for compiler in programs])
        if title in counted[first]:
            header += [f"{compiler}: instructions ×" for compiler in programs] + ["bar"]
            add_instructions(rows, [counted[compiler][title] for compiler in programs])
        print_table(header, rows)


main()
