#!/usr/bin/env python3
"""Prints what `reflexion judge` says of every case below a directory, a line each, in an order that does not change.

    python3 tests/cases/verdicts.py target/debug/reflexion DIRECTORY > before.txt
    …                                                                > after.txt
    diff before.txt after.txt

Cases are JSON Lines with an `id` and an `input`; a file of other lines is one transcript. An input is a transcript (`messages`, `tools`,
`commands`, `transcript` or a `response`), or a question about an agent that is still there (`time_since_activity`: stuck; `task_summary`:
compaction). Any other input asks nothing of `judge` and is counted. Nothing is written, and no judge is asked: each case is judged in an
empty directory with a home of its own.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# What a case may call the answer, by the name that a plain document has for it.
ANSWERS = ("response", "agent_response", "output")


def question(given):
    """The kind of question that an input is, and what is given on stdin; None if it asks nothing of `judge`."""
    if not isinstance(given, dict):
        return None
    if "time_since_activity" in given:
        return "stuck", json.dumps(given)
    if "task_summary" in given:
        return "compaction", json.dumps(given)
    if isinstance(given.get("transcript"), str):
        return "completion", given["transcript"]
    if isinstance(given.get("transcript"), list):
        return "completion", "\n".join(json.dumps(record) for record in given["transcript"])
    document = {key: given[key] for key in ("task", "messages", "tools", "commands") if key in given}
    answer = next((given[key] for key in ANSWERS if isinstance(given.get(key), str)), None)
    if answer is not None and "task" in given:
        document["response"] = answer
    if not any(key in document for key in ("messages", "tools", "commands", "response")):
        return None
    return "completion", json.dumps(document)


def cases(path):
    """Each case's name and question; the whole file where its lines are no cases."""
    text = path.read_text(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        records = [json.loads(line) for line in lines]
    except ValueError:
        records = []
    if records and all(isinstance(record, dict) and "id" in record for record in records) and "input" in records[0]:
        return [(record["id"], question(record.get("input"))) for record in records]
    return [("the file", ("completion", text))]


def verdict(reflexion, kind, given, place):
    """The exit status and the decisions in the document, in words."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("REFLEXION_", "REFLECTION_", "XDG_"))}
    env["HOME"] = str(place)
    run = subprocess.run([reflexion, "judge", "--json", "--kind", kind, "-"], input=given, text=True, errors="replace",
                         capture_output=True, cwd=place, env=env, timeout=120)
    if run.returncode not in (0, 1):
        return f"{run.returncode} {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else ''}"
    said = json.loads(run.stdout)
    if kind != "completion":
        answer = {key: value for key, value in said.items() if key not in ("explanation", "v")}
        return f"{run.returncode} {json.dumps(answer, sort_keys=True)}"
    reasons = [f"{reason['gate']} {reason['outcome']}" for reason in said["reasons"] if reason["outcome"] != "not_run"]
    return f"{run.returncode} {said['status']} {said['severity']}: {', '.join(reasons)}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    reflexion, directory = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    asked, silent = [], 0
    for path in sorted(directory.rglob("*.jsonl")):
        for name, what in cases(path):
            if what is None:
                silent += 1
            else:
                asked.append((f"{path.relative_to(directory)} {name}", *what))
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        verdicts = pool.map(lambda case: verdict(reflexion, case[1], case[2], place), asked)
        for (name, kind, _), said in zip(asked, verdicts):
            print(f"{name} {kind}: {said}")
    print(f"{len(asked)} judged, {silent} that ask nothing of judge")


if __name__ == "__main__":
    main()
