#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Holds the snippets of docs/contract.md, in each language, to the golden vectors.

usage: check.py <language> <folder for its build>

Exit status 77, with the reason, where the language's tools or its hash library cannot be had. A program
gets one question a line, `bucket =<id in hex> <buckets> <seed>`, `slot =<partition key in hex> <slots>` or
`window = <width in minutes> <time in milliseconds>`, and answers one a line.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HASH4J = "com.dynatrace.hash4j:hash4j:0.20.0"
JARS = os.pathsep.join(["classes", "hash4j-0.20.0.jar"])

# For each language: how to get its library, how to build, how to run. All in a copy of its folder.
LANGUAGES = {
    "python": ([sys.executable, "-c", "import xxhash"], None, [sys.executable, "main.py"]),
    "javascript": (["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"], None,
                   ["node", "main.mjs"]),
    "go": (["go", "mod", "download"], ["go", "build", "-o", "main", "."], ["./main"]),
    "java": (["mvn", "-B", "-q", "dependency:copy", f"-Dartifact={HASH4J}", "-DoutputDirectory=."],
             ["javac", "-cp", JARS, "-d", "classes", "Main.java", "Placement.java"],
             ["java", "-cp", JARS, "Main"]),
    "rust": (["cargo", "fetch", "-q"], ["cargo", "build", "-q", "--offline"], ["target/debug/contract"]),
}
# What says that a library came, and is not the one that it should be: no reason to skip.
WRONG = ("EINTEGRITY", "EUSAGE", "SECURITY ERROR", "checksum")


# The languages whose snippets have time windows, too.
WINDOWED = ("python", "javascript")


def questions(language):
    vectors = json.loads((HERE.parent / "vectors" / "placement.json").read_text(encoding="utf-8"))
    for row in vectors["buckets"]:
        for field in row:
            if field.startswith("of_"):
                yield f"bucket ={row['id_hex']} {field[3:]} {row['seed']}", row[field]
    for row in vectors["slots"]:
        for field in row:
            if field.startswith("of_"):
                yield f"slot ={row['partition_key'].encode().hex()} {field[3:]}", row[field]
    # Python's calendar begins with the year 1.
    for row in vectors["windows"] if language in WINDOWED else []:
        if not row["window"].startswith("@0000"):
            yield f"window = {row['minutes']} {row['time']}", row["window"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main():
    language, build = sys.argv[1], pathlib.Path(sys.argv[2])
    fetch, compile_, run = LANGUAGES[language]
    for tool in (fetch, compile_, run):
        if tool and "/" not in tool[0] and not shutil.which(tool[0]):
            skip(f"{tool[0]} is not installed")
    shutil.copytree(HERE / language, build, dirs_exist_ok=True)
    try:
        fetched = subprocess.run(fetch, cwd=build, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        skip(f"no answer within 120 s to: {' '.join(fetch)}")
    if fetched.returncode != 0:
        said = fetched.stdout + fetched.stderr
        if any(word in said for word in WRONG):
            sys.exit(said)
        skip(f"the library cannot be had: {' '.join(fetch)}\n{said[-1000:]}")
    if compile_:
        subprocess.run(compile_, cwd=build, check=True)
    asked, expected = zip(*questions(language))
    answers = subprocess.run(run, cwd=build, check=True, capture_output=True, text=True,
                             input="\n".join(asked) + "\n").stdout.split()
    if len(answers) != len(expected):
        sys.exit(f"{language}: {len(answers)} answers to {len(expected)} questions")
    wrong = [f"{question}: {answer}, and it should be {right}"
             for question, answer, right in zip(asked, answers, expected) if answer != str(right)]
    print("\n".join(wrong + [f"{language}: {len(asked) - len(wrong)} of {len(asked)} answers agree"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
