#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws the plots of docs/performance.md, as SVG, from what a benchmark prints.

usage: plot.py FOLDER PROGRAM        as in: plot.py docs/plots build/release/benchmarks/benchmark_reading
"""
import collections
import html
import pathlib
import subprocess
import sys

# Colours that are told apart without colour vision, on white and on dark pages.
COLOURS = ["#9a9a9a", "#2a78b5", "#d98a2b"]
BAR, GAP, LEFT, WIDTH = 16, 22, 230, 760


def draw(title, unit, groups, legend, path):
    """`groups`: [(name, [value, ...])], a bar for each value, in the legend's order."""
    most = max(value for _, values in groups for value in values)
    scale = (WIDTH - LEFT - 70) / most
    height = 64 + sum(len(values) * (BAR + 3) + GAP for _, values in groups)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
           f'aria-label="{html.escape(title)}" font-family="system-ui, sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="12" y="22" font-size="15" font-weight="600" fill="#222">{html.escape(title)}</text>']
    x = 12
    for colour, name in zip(COLOURS, legend):
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 17}" y="45" fill="#444">{html.escape(name)}</text>')
        x += 34 + 7.2 * len(name)
    y = 66
    for name, values in groups:
        middle = y + len(values) * (BAR + 3) / 2 + 3
        out.append(f'<text x="{LEFT - 10}" y="{middle:.0f}" text-anchor="end" fill="#222">{html.escape(name)}</text>')
        for colour, value in zip(COLOURS, values):
            out.append(f'<rect x="{LEFT}" y="{y}" width="{value * scale:.1f}" height="{BAR}" fill="{colour}"/>')
            out.append(f'<text x="{LEFT + value * scale + 6:.1f}" y="{y + 13}" fill="#222">{value:g}{unit}</text>')
            y += BAR + 3
        y += GAP
    out.append("</svg>")
    path.write_text("\n".join(out) + "\n")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    rows, hedges = collections.OrderedDict(), []
    for line in subprocess.run([program, "--lines", "rows", "hedges"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        title, name, *cells = line.split("\t")
        if title.startswith("rows read"):
            rows.setdefault(title.split(": ")[1], {})[name] = float(cells[0])
        else:
            hedges.append((name, [float(cells[0]), float(cells[1])]))
    ways = ["fetch::full", "fetch::quota", "fetch::least"]
    draw("Rows read for one row returned", "", [(name, [by[way] for way in ways]) for name, by in rows.items()],
         ["fetch::full, as mostly written by hand", "fetch::quota, the default", "fetch::least"],
         folder / "rows.svg")
    draw("Slowest hundredth of simulated reads of 10 sources, one of them a straggler", " ms",
         hedges, ["without hedges", "hedged beyond 95 %, at most 5 % more queries"], folder / "hedges.svg")


main()
