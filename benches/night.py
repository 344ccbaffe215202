#!/usr/bin/env python3
"""What a night costs beside a shell script that does the same by hand.

    cargo build --release && python3 benches/night.py target/release/reflexion
    TASKS=1000 JOBS=4 python3 benches/night.py target/release/reflexion
    STEADY=1500 python3 benches/night.py target/release/reflexion

Three nights of TASKS (200) tasks each: agents that do nothing, so that every attempt is refuted; agents whose one line is
confirmed and merged; and ten attempts per task. Printed is the CPU time (user and system, all children included) per
attempt, that of the script, and the calls of git per attempt, counted in a small night of its own. The script keeps a
worktree per worker and resets it for each task, records what changed, runs the check at the base, after the agent and
after the rebase, commits, and merges one task at a time; it guards nothing, journals nothing, and learns nothing.

At last a repository of FILES (50,000) files: a worktree that is made for each task, one that is reset, and the runtime.
STEADY is one long night of so many tasks in place of all that: each adds a file, and is confirmed and merged. Printed is the
time from one merge to the next in the first, the middle and the last tenth: a night should not become slower as it grows.
Nothing is asserted: times belong to a machine.
"""

import datetime
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

TASKS = int(os.environ.get("TASKS", "200"))
JOBS = int(os.environ.get("JOBS", "2"))
FILES = int(os.environ.get("FILES", "50000"))
STEADY = int(os.environ.get("STEADY", "0"))
WHO = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]

# Nothing; the line that the check looks for; a file with that line.
NOTHING = ["/bin/true"]
EDIT = ["sh", "-c", 'echo right > "t/$REFLEXION_TASK_ID.txt"']
ADD = ["sh", "-c", 'echo right > "t/new-$REFLEXION_TASK_ID.txt"']

# `$1` is the worker's number; tasks come from `tasks.txt`, one id a line. ATTEMPTS is how often a red one is tried.
BY_HAND = r"""
set -eu
worker=$1
slot=$PWD/../slots/$worker
base=$(git rev-parse HEAD)
awk -v n="$JOBS" -v w="$worker" 'NR % n == w' tasks.txt > "../slots/$worker.tasks"
[ "$PLACE" = slot ] && git worktree add -q --detach "$slot" "$base"
while read -r task; do
  export REFLEXION_TASK_ID="$task"
  check="grep -qx right t/$task.txt"
  [ "$PLACE" = new ] && git worktree add -q --detach "$slot" "$base"
  cd "$slot"
  git reset -q --hard "$base"
  git clean -qffdx
  sh -c "$check" || true
  attempt=0
  while [ "$attempt" -lt "$ATTEMPTS" ]; do
    attempt=$((attempt + 1))
    if [ "$attempt" -gt 1 ]; then
      git reset -q --hard "$base"
      git clean -qffdx
    fi
    sh -c "$AGENT" || true
    git add -A
    git diff --cached --raw "$base" > ../diff
    if sh -c "$check"; then
      git commit -q -m "$task"
      git branch -f "done/$task"
      exec 9> ../merging
      flock 9
      if git rev-parse -q --verify refs/heads/integration > /dev/null; then
        git rebase -q --onto integration "$base"
        sh -c "$check"
      fi
      git update-ref refs/heads/integration HEAD
      exec 9>&-
      git checkout -q --detach
      break
    fi
  done
  cd "$OLDPWD"
  [ "$PLACE" = new ] && git worktree remove --force "$slot"
done < "../slots/$worker.tasks"
exit 0
"""


def run(argv, cwd, env=None, allowed=(0, 1)):
    """CPU seconds with all children, wall seconds, peak memory in MB, of one call."""
    started = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=cwd, env={**os.environ, "REFLEXION_TRUST": "1", **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in allowed:
        sys.exit(f"{argv}: exit status {process.returncode}\n{said.decode(errors='replace')[-2000:]}")
    return used.ru_utime + used.ru_stime, time.monotonic() - started, used.ru_maxrss / 1024


def project(top, tasks, agent, attempts, files=0):
    """A repository with a file per task, its task file and its settings."""
    repository = pathlib.Path(top, "repository")
    (repository / "t").mkdir(parents=True)
    ids = [f"task-{n:05}" for n in range(tasks)]
    new = "new-" if agent is ADD else ""
    for name in ids if not new else ["first"]:
        (repository / "t" / f"{name}.txt").write_text("wrong\n")
    for number in range(files):
        folder = repository / f"d{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.txt").write_text(f"{number}\n" * 20)
    lines = [{"id": name, "title": f"Mend {name}", "checks": [
        {"name": "right", "run": f"grep -qx right t/{new}{name}.txt"}]} for name in ids]
    (repository / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (repository / "tasks.txt").write_text("".join(name + "\n" for name in ids))
    settings = {"name": "bench", "jobs": JOBS, "maxAttempts": attempts, "retry": {"start": "fresh"},
                "agents": {"default": "bench", "bench": {"type": "command", "argv": agent}}}
    (repository / "project.json").write_text(json.dumps(settings))
    (repository / ".gitignore").write_text(".reflection/\nmemory/\n")
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all"], ["status"]):
        subprocess.run(["git", *WHO, *args], cwd=repository, check=True, stdout=subprocess.DEVNULL)
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "config", key, "bench"], cwd=repository, check=True)
    return repository


def night(program, top, path=None):
    env = {"HOME": top, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    return run([program, "overnight", "--new"], pathlib.Path(top, "repository"), env)


def by_hand(top, agent, attempts, place="slot"):
    slots = pathlib.Path(top, "slots")
    slots.mkdir()
    script = pathlib.Path(top, "worker.sh")
    script.write_text(BY_HAND)
    line = "exec /bin/true" if agent is NOTHING else agent[-1]
    env = {"JOBS": str(JOBS), "AGENT": line, "ATTEMPTS": str(attempts), "PLACE": place, "HOME": top}
    all_workers = f"for w in $(seq 0 {JOBS - 1}); do sh '{script}' $w & done; wait"
    return run(["sh", "-c", all_workers], pathlib.Path(top, "repository"), env)


def scratch():
    return tempfile.TemporaryDirectory(prefix="night-bench-")


def count_calls(program, agent, attempts):
    """Calls of git per attempt in a small night, and which they are."""
    with scratch() as top:
        project(top, 20, agent, attempts)
        log, tools = pathlib.Path(top, "calls"), pathlib.Path(top, "tools")
        tools.mkdir()
        shim = tools / "git"
        shim.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{log}'\nexec {shutil.which('git')} \"$@\"\n")
        shim.chmod(0o755)
        night(program, top, tools)
        calls = {}
        for line in log.read_text().splitlines():
            words = line.split()
            while words and words[0] == "-c":
                words = words[2:]
            name = words[0] if words else "?"
            calls[name] = calls.get(name, 0) + 1
    count = 20 * attempts
    each = ", ".join(f"{name} {n / count:.1f}" for name, n in sorted(calls.items(), key=lambda c: -c[1]) if n >= count / 10)
    return f"{sum(calls.values()) / count:.1f} calls of git per attempt: {each}"


def compare(program, name, agent, attempts, tasks):
    with scratch() as top:
        repository = project(top, tasks, agent, attempts)
        cpu, wall, peak = night(program, top)
        if agent is EDIT:
            merged = subprocess.run(["git", "for-each-ref", "--format=%(refname)", "refs/heads/reflexion/**/integration"],
                                    cwd=repository, check=True, capture_output=True, text=True).stdout.split()
            log = ["git", "rev-list", "--count", f"main..{merged[0]}"]
            count = int(subprocess.run(log, cwd=repository, check=True, capture_output=True).stdout)
            assert count == tasks, f"{count} of {tasks} were merged"
    with scratch() as top:
        repository = project(top, tasks, agent, attempts)
        hand, hand_wall, _ = by_hand(top, agent, attempts)
        if agent is EDIT:
            log = ["git", "rev-list", "--count", "main..integration"]
            count = int(subprocess.run(log, cwd=repository, check=True, capture_output=True).stdout)
            assert count == tasks, f"the script merged {count} of {tasks}"
    n = tasks * attempts
    print(f"{name}: {n} attempts, runtime {1000 * cpu / n:.1f} ms CPU ({1000 * wall / n:.1f} ms wall) each, "
          f"by hand {1000 * hand / n:.1f} ms CPU ({1000 * hand_wall / n:.1f} ms wall): {cpu / hand:.2f} times; "
          f"peak {peak:.0f} MB", flush=True)
    print(f"  {count_calls(program, agent, attempts)}", flush=True)


def large(program):
    tasks = 4 * JOBS
    each = []
    for place in ("new", "slot", "runtime"):
        with scratch() as top:
            project(top, tasks, EDIT, 1, FILES)
            cpu, wall, _ = night(program, top) if place == "runtime" else by_hand(top, EDIT, 1, place)
            each.append(f"{place} {cpu / tasks:.2f} s CPU, {JOBS * wall / tasks:.2f} s wall")
    print(f"{FILES} files, {tasks} confirmed tasks, {JOBS} at a time, each: {'; '.join(each)}", flush=True)


def ended(repository, what="merge_ended"):
    """When the tasks of the only run ended, or were merged, in seconds."""
    journal, = pathlib.Path(repository, ".reflection", "runs").glob("*/journal.jsonl")
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    times = [e["at"] for e in entries if e["type"] == what and e.get("outcome", {}).get("kind", "merged") == "merged"]
    second = [datetime.datetime.fromisoformat(at[:19] + "+00:00").timestamp() for at in times]
    return [whole + float("0" + at[19:-1]) for whole, at in zip(second, times)]


def steady(program):
    if STEADY < 20:
        sys.exit("STEADY: at least 20 tasks")
    with scratch() as top:
        repository = project(top, STEADY, ADD, 1)
        cpu, wall, peak = night(program, top)
        times = ended(repository)
        assert len(times) == STEADY, f"{len(times)} of {STEADY} were merged"
    part = max(1, STEADY // 10)
    each = [1000 * (times[at + part] - times[at]) / part for at in (0, (STEADY - part) // 2, STEADY - 1 - part)]
    print(f"a night of {STEADY} tasks, {JOBS} at a time: {each[0]:.1f} ms wall per task in the first tenth, "
          f"{each[1]:.1f} in the middle, {each[2]:.1f} in the last: {each[2] / each[0]:.2f} times the first; "
          f"{1000 * cpu / STEADY:.1f} ms CPU, {1000 * wall / STEADY:.1f} ms wall each in all; peak {peak:.0f} MB", flush=True)


def main():
    program = os.path.abspath(sys.argv[1])
    if STEADY:
        steady(program)
        return
    compare(program, "nothing done", NOTHING, 1, TASKS)
    compare(program, "confirmed and merged", EDIT, 1, TASKS)
    compare(program, "ten attempts per task", NOTHING, 10, max(1, TASKS // 10))
    large(program)


if __name__ == "__main__":
    main()
