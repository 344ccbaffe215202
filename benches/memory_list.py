#!/usr/bin/env python3
"""What listing a large memory costs, beside `wc` and `grep` of the same file.

    cargo build --release && python3 benches/memory_list.py target/release/reflexion

Writes RECORDS reflections (1,000,000) of about 700 bytes into a temporary project, lists them as lines and as JSON into
`/dev/null`, and prints the median time of ROUNDS (5) by turns, the largest memory, and how many times `wc -l` and
`LC_ALL=C grep -c` for a text of each line that is. Exits with 1 if a goal is not reached: 2 s for a million lines, 64 MB for either.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RECORDS = int(os.environ.get("RECORDS", "1000000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# The goals: seconds for a million lessons as lines, and megabytes whatever their number.
SECONDS, MEGABYTES = 2.0, 64.0


def project(path):
    os.makedirs(os.path.join(path, "memory"))
    with open(os.path.join(path, "project.json"), "w", encoding="utf-8") as out:
        out.write("{}")
    with open(os.path.join(path, "memory/reflections.jsonl"), "w", encoding="utf-8") as out:
        for number in range(RECORDS):
            lesson = {
                "id": f"ref-{number:08}",
                "sessionId": f"session-{number:08}",
                "taskId": f"task-{number % 1000}",
                "subtaskId": f"task-{number % 1000}",
                "attemptNumber": 1 + number % 3,
                "category": "root_cause",
                "analysis": f"The check `unit` failed in src/parser.rs:{number % 900}, because the file was read twice. " * 2,
                "suggestion": "Read the file once, keep the tokens, and let both callers use them.",
                "actionItems": ["Look at the callers of the parser first.", "Run the failing check alone."],
                "confidence": 0.6,
                "createdAt": "2026-01-01T00:00:00Z",
                "v": 1,
            }
            out.write(json.dumps(lesson) + "\n")


def took(argv, path):
    """Seconds of one call, and megabytes."""
    began = time.monotonic()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        child = subprocess.Popen(argv, cwd=path, stdout=nowhere, stderr=nowhere, env={**os.environ, "LC_ALL": "C"})
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{argv}: exit status {child.returncode}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as path:
        project(path)
        file = "memory/reflections.jsonl"
        calls = {
            "wc": ["wc", "-l", file],
            "grep": ["grep", "-c", "callers of the parser", file],
            "lines": [program, "memory", "list"],
            "JSON": [program, "memory", "list", "--json"],
        }
        seen = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, argv in calls.items():
                seen[name].append(took(argv, path))
        size = os.path.getsize(os.path.join(path, file)) / 1e6
    seconds = {name: statistics.median(time for time, _ in runs) for name, runs in seen.items()}
    print(f"{RECORDS} lessons, {size:.0f} MB; wc {seconds['wc']:.2f} s, grep {seconds['grep']:.2f} s")
    missed = []
    for name in ("lines", "JSON"):
        memory = max(megabytes for _, megabytes in seen[name])
        times = ", ".join(f"{seconds[name] / seconds[other]:.1f} times {other}" for other in ("wc", "grep"))
        print(f"memory list as {name}: {seconds[name]:.2f} s ({times}), {memory:.0f} MB")
        if memory > MEGABYTES:
            missed.append(f"{name} take {memory:.0f} MB")
    if seconds["lines"] > SECONDS * RECORDS / 1e6:
        missed.append(f"lines take {seconds['lines']:.2f} s")
    if missed:
        sys.exit("missed: " + "; ".join(missed))


main()
