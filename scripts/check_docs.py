#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Holds README.md and docs/ to the code.

Every block of C++ must stand, line for line, in a program that is compiled (examples/, docs/snippets/), and
every block of another language in one that the tests run (tests/contract/); indentation and empty lines do
not count. Every relative link must lead to a file. With the path of the built quickstart,
the README's output must be what it prints.

usage: check_docs.py [path of the quickstart]
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
faults = []


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def programs(ending, *folders):
    return [lines_of(path.read_text())
            for folder in folders for path in sorted((root / folder).rglob(f"*.{ending}"))]


LANGUAGES = {"cpp": programs("cpp", "examples", "docs/snippets") + programs("hpp", "examples"),
             **{language: programs(ending, f"tests/contract/{language}")
                for language, ending in {"javascript": "mjs", "python": "py", "go": "go", "java": "java",
                                         "rust": "rs"}.items()}}


def stands_in(block, program):
    return any(program[at:at + len(block)] == block for at in range(len(program)))


pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md")),
         *sorted((root / "examples").rglob("*.md"))]
blocks = links = 0
for page in pages:
    text = page.read_text()
    name = page.relative_to(root)
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S):
        if language not in LANGUAGES:
            continue
        blocks += 1
        lines = lines_of(block)
        if not any(stands_in(lines, program) for program in LANGUAGES[language]):
            faults.append(f"{name}: this block of {language} is in no program: {lines[0]!r} …")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        links += 1
        if not re.match(r"https?:", link) and not (page.parent / link).exists():
            faults.append(f"{name}: the link {link} leads nowhere")

if len(sys.argv) > 1:
    printed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    if f"```text\n{printed}```" not in (root / "README.md").read_text():
        faults.append("README.md: the quickstart prints something else")

for fault in faults:
    print(fault)
print(f"{len(pages)} pages, {blocks} blocks of code, {links} links, {len(faults)} faults")
sys.exit(1 if faults else 0)
