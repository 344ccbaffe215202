#!/usr/bin/env python3
"""What `reflexion hook stop` costs at every stop of an agent, beside the `git status` that it calls and a hook of Node's.

    cargo build --release && python3 benches/hook.py target/release/reflexion

Makes repositories of 200 and of 50,000 files and prints the median CPU time (user and system, children included) of the
hook when it is off, when it writes its record, of `git status --porcelain -z`, and of `node -e 0` if there is Node, by
turns. Exits with 1 if a goal is not reached. ROUNDS in the environment changes how often.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("ROUNDS", "25"))
# The goals: 3 ms when off; 1.3 times `git status` and 5 ms when on, in the large repository; a fifth of Node in the small one.
OFF_MS, FACTOR, MORE_MS, NODE = 3.0, 1.3, 5.0, 5.0


def repository(path, files):
    os.makedirs(path)
    for number in range(files):
        folder = os.path.join(path, f"d{number // 100}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"f{number}.txt"), "w", encoding="utf-8") as out:
            out.write(f"{number}\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for args in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"], ["status", "--porcelain"]):
        subprocess.run(["git", *args], cwd=path, check=True, stdout=subprocess.DEVNULL)


def cpu(argv, path, mode="off", payload=b""):
    """CPU milliseconds of one call and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "REFLECTION_MODE": mode}
    subprocess.run(argv, cwd=path, env=env, input=payload, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(program, path):
    """Medians by name, in ms."""
    def payload(event):
        return json.dumps({"session_id": "bench", "cwd": path, "hook_event_name": event}).encode()

    cpu([program, "hook", "session-start"], path, "solo", payload("SessionStart"))
    calls = {
        "off": lambda: cpu([program, "hook", "stop"], path, "off", payload("Stop")),
        "on": lambda: cpu([program, "hook", "stop"], path, "solo", payload("Stop")),
        "git": lambda: cpu(["git", "status", "--porcelain", "-z"], path),
    }
    if shutil.which("node"):
        calls["node"] = lambda: cpu(["node", "-e", "0"], path)
    took = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            took[name].append(call())
    return {name: statistics.median(times) for name, times in took.items()}


def main():
    program = os.path.abspath(sys.argv[1])
    reached = True
    with tempfile.TemporaryDirectory() as scratch:
        for files in (200, 50_000):
            path = os.path.join(scratch, str(files))
            repository(path, files)
            ms = measure(program, path)
            limit = FACTOR * ms["git"] + MORE_MS
            print(f"{files} files: off {ms['off']:.1f} ms (goal: {OFF_MS:.0f}), on {ms['on']:.1f} ms, git status {ms['git']:.1f} ms", end="")
            reached &= ms["off"] < OFF_MS
            if files > 200:
                print(f"; on is {ms['on'] / ms['git']:.2f} times git status (goal: {FACTOR} times and {MORE_MS:.0f} ms)")
                reached &= ms["on"] < limit
            elif "node" in ms:
                print(f", node -e 0 {ms['node']:.1f} ms; 1/{ms['node'] / ms['on']:.1f} of node (goal: 1/{NODE:.0f})")
                reached &= ms["node"] / ms["on"] >= NODE
            else:
                print("\nSKIPPED: node is not installed, so the hook is not compared with it")
    sys.exit(0 if reached else 1)


main()
