#!/usr/bin/env python3
"""What the clean room costs: the runtime beside a script that checks where the agent worked, for six kinds of projects.

    cargo build --release && python3 benches/rooms.py target/release/reflexion
    TASKS=20 KINDS=small,cargo WITH=run python3 benches/rooms.py target/release/reflexion

One worker, TASKS (6) tasks, each with an agent whose one line turns the check green. The script keeps one worktree, resets
it for each task but for what is ignored, sets up once, checks at the base and after the agent, and commits. The runtime has
a directory for the agent, one for the checks and, in a night, one for merges, where it checks once more; `WITH=run` is
`reflexion run`, which merges nothing, as the script. Printed are times of a task, the first one beside the mean of the later
ones, how often checks and setup ran, and the disk used at most: below `.reflection`, in a run of its own and as seen every
tenth of a second, and by the script's worktree and cache.

Packages are fetched once, before anything is measured. A kind whose packages cannot be had is SKIPPED. Nothing is asserted
but that all work was confirmed: times belong to a machine.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import threading
import time

from night import WHO, ended, run, scratch

TASKS = int(os.environ.get("TASKS", "6"))
NIGHT = os.environ.get("WITH", "overnight") == "overnight"
KINDS = os.environ.get("KINDS", "small,middle,large,npm,venv,cargo").split(",")
FILES = {"small": 50, "middle": 2_000, "large": 50_000}
IGNORED = [".reflection/", "memory/", "node_modules/", ".venv/", "__pycache__/", "target/"]
IDS = [f"task_{n:03}" for n in range(TASKS)]

# A kind's setup, check and agent; `$TASK` is the task's id, `$STORE` has what was fetched. CALLS has a line for each call.
SETUP = {
    "npm": "npm ci --offline --no-audit --no-fund",
    "venv": f"{shlex.quote(sys.executable)} -m venv .venv && "
            '.venv/bin/python -m pip install -q --no-index --find-links "$STORE" -r requirements.txt',
}
CHECK = {
    "npm": "node check.js $TASK",
    "venv": ".venv/bin/python check.py $TASK",
    "cargo": "cargo test --offline -- --exact $TASK",
}
AGENT = {"cargo": "echo 'pub const LINE: &str = \"right\";' > src/$TASK.rs"}
COUNTED = 'echo {} >> "$CALLS"; {}'

BY_HAND = r"""
set -eu
base=$(git rev-parse HEAD)
git worktree add -q --detach ../slots/only "$base"
cd ../slots/only
[ -z "$SETUP" ] || sh -c "$SETUP" >&2
for TASK in $IDS; do
  export TASK
  git reset -q --hard "$base"
  git clean -qffd
  if sh -c "$CHECK" > ../said 2>&1; then exit 5; fi
  sh -c "$AGENT"
  sh -c "$CHECK" > ../said 2>&1
  git add -A
  git commit -q -m "$TASK"
  git branch -f "done/$TASK"
  touch "../ended/$TASK"
done
"""


def say(*argv, cwd, env=None):
    return subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True, text=True, timeout=300).stdout


class Unreachable(Exception):
    pass


def fetch(*argv, cwd, env):
    try:
        say(*argv, cwd=cwd, env=env)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unreachable(f"{error}\n{str(getattr(error, 'stderr', None) or '')[-500:]}") from error


def files(kind, top):
    """What a kind has beside its tasks, with packages in `store`."""
    repository, store = pathlib.Path(top, "repository"), pathlib.Path(top, "store")
    env = environment(top)
    for number in range(FILES.get(kind, 0)):
        folder = repository / f"d{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.txt").write_text(f"{number}\n" * 20)
    if kind == "npm":
        wanted = ["minimist", "ms", "picocolors", "semver", "yallist"]
        (repository / "package.json").write_text('{"name": "bench", "version": "1.0.0", "private": true}\n')
        (repository / "check.js").write_text(
            f"for (const name of {wanted}) require(name);\n"
            "const text = require('fs').readFileSync(`t/${process.argv[2]}.txt`, 'utf8');\n"
            "process.exit(text === 'right\\n' ? 0 : 1);\n")
        fetch("npm", "install", "--no-audit", "--no-fund", *wanted, cwd=repository, env=env)
        fetch("npm", "ci", "--no-audit", "--no-fund", cwd=repository, env=env)
        shutil.rmtree(repository / "node_modules")
    if kind == "venv":
        (repository / "requirements.txt").write_text("packaging\nsix\n")
        (repository / "check.py").write_text(
            "import packaging, pathlib, six, sys\n"
            "sys.exit(pathlib.Path('t', sys.argv[1] + '.txt').read_text() != 'right\\n')\n")
        fetch(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(store), "-r", "requirements.txt",
              cwd=repository, env=env)
    if kind == "cargo":
        (repository / "src").mkdir()
        (repository / "tests").mkdir()
        (repository / "Cargo.toml").write_text(
            '[package]\nname = "bench"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nitoa = "1"\nmemchr = "2"\n')
        for name in IDS:
            (repository / "src" / f"{name}.rs").write_text('pub const LINE: &str = "wrong";\n')
        (repository / "src" / "lib.rs").write_text(
            "".join(f"pub mod {name};\n" for name in IDS) +
            "pub fn digits(n: u32) -> usize { memchr::memchr(b'x', itoa::Buffer::new().format(n).as_bytes()).unwrap_or(0) }\n")
        (repository / "tests" / "lines.rs").write_text("".join(
            f'#[test]\nfn {name}() {{ assert_eq!((bench::{name}::LINE, bench::digits(7)), ("right", 0)); }}\n' for name in IDS))
        fetch("cargo", "fetch", cwd=repository, env=env)


def environment(top):
    home = pathlib.Path.home()
    return {**os.environ, "HOME": str(top), "REFLEXION_TRUST": "1", "STORE": f"{top}/store", "CALLS": f"{top}/calls",
            "CARGO_HOME": os.environ.get("CARGO_HOME", f"{home}/.cargo"),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup"),
            "npm_config_userconfig": f"{home}/.npmrc", "npm_config_cache": f"{top}/store"}


def project(kind, top):
    repository = pathlib.Path(top, "repository")
    for folder in (repository / "t", pathlib.Path(top, "store"), pathlib.Path(top, "slots", "ended")):
        folder.mkdir(parents=True)
    files(kind, top)
    for name in IDS:
        (repository / "t" / f"{name}.txt").write_text("wrong\n")
    setup, check, agent = commands(kind)
    settings = {"name": "bench", "jobs": 1, "maxAttempts": 1,
                "agents": {"default": "bench", "bench": {"type": "command", "argv": [
                    "sh", "-c", agent.replace("$TASK", "$REFLEXION_TASK_ID")]}}}
    if setup:
        settings["setup"] = setup
    if kind == "cargo":
        settings["workspace"] = {"env": {"CARGO_TARGET_DIR": "{cache}/target"}}
    (repository / "project.json").write_text(json.dumps(settings))
    (repository / "tasks.jsonl").write_text("".join(json.dumps({"id": name, "title": f"Mend {name}", "checks": [
        {"name": "right", "run": check.replace("$TASK", name)}]}) + "\n" for name in IDS))
    (repository / ".gitignore").write_text("".join(line + "\n" for line in IGNORED))
    for args in (["init", "-q", "-b", "main"], ["config", "user.name", "bench"], ["config", "user.email", "bench"],
                 ["config", "gc.auto", "0"], ["add", "."], ["commit", "-q", "-m", "all"], ["gc", "-q"], ["status"]):
        say("git", *WHO, *args, cwd=repository)
    return repository


def commands(kind):
    check = COUNTED.format("check", CHECK.get(kind, "grep -qx right t/$TASK.txt"))
    setup = COUNTED.format("setup", SETUP[kind]) if kind in SETUP else ""
    return setup, check, AGENT.get(kind, 'echo right > "t/$TASK.txt"')


def du(path):
    said = subprocess.run(["du", "-sk", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return int(said.split()[0]) / 1024 if said else 0


def measure(argv, top, repository, ends, env=None):
    """In ms: CPU and wall of a task, wall of the first one, of the later ones. Then checks per task, and setups."""
    calls = pathlib.Path(top, "calls")
    calls.write_text("")
    began = time.time()
    cpu, wall, _ = run(argv, repository, {**environment(top), **(env or {})}, allowed=(0,))
    times = ends()
    assert len(times) == TASKS, f"{len(times)} of {TASKS} tasks have ended"
    later = (times[-1] - times[0]) / max(1, TASKS - 1)
    said = calls.read_text().split()
    each = [1000 * n for n in (cpu / TASKS, wall / TASKS, times[0] - began, later)]
    return each, said.count("check") / TASKS, said.count("setup")


def compare(program, kind, top):
    repository = project(kind, top)
    setup, check, agent = commands(kind)
    slots = pathlib.Path(top, "slots")
    env = {"IDS": " ".join(IDS), "SETUP": setup, "CHECK": check, "AGENT": agent}
    if kind == "cargo":
        env["CARGO_TARGET_DIR"] = str(slots / "target")

    def by_hand_ended():
        return sorted(at.stat().st_mtime for at in (slots / "ended").iterdir())
    hand, hand_checks, hand_setups = measure(["sh", "-c", BY_HAND], top, repository, by_hand_ended, env)
    hand_disk = du(slots)
    shutil.rmtree(slots)
    say("git", "worktree", "prune", cwd=repository)
    argv = [program, *(["overnight", "--new"] if NIGHT else ["run"])]
    what = "merge_ended" if NIGHT else "task_ended"
    mine, checks, setups = measure(argv, top, repository, lambda: ended(repository, what))

    # The same once more, for the disk: looking at it takes time.
    for place in (".reflection", "memory"):
        shutil.rmtree(repository / place, ignore_errors=True)
    names = say("git", "for-each-ref", "--format=%(refname)", "refs/heads/reflexion", "refs/reflexion", cwd=repository)
    for ref in names.split():
        say("git", "update-ref", "-d", ref, cwd=repository)
    seen, over = [0], threading.Event()

    def look():
        while not over.wait(0.1):
            seen.append(du(repository / ".reflection"))
    looks = threading.Thread(target=look)
    looks.start()
    try:
        run(argv, repository, environment(top), allowed=(0,))
    finally:
        over.set()
        looks.join()

    print(f"{kind}: {TASKS} tasks, runtime {mine[1]:.0f} ms wall, {mine[0]:.0f} ms CPU each, by hand {hand[1]:.0f} ms wall, "
          f"{hand[0]:.0f} ms CPU: {mine[1] / hand[1]:.2f} times the wall, {mine[0] / hand[0]:.2f} times the CPU\n"
          f"  first task {mine[2]:.0f} against {hand[2]:.0f} ms, later ones {mine[3]:.0f} against {hand[3]:.0f} ms "
          f"({mine[3] / max(hand[3], 0.001):.2f} times); checks per task {checks:.1f} against {hand_checks:.1f}, "
          f"setups {setups} against {hand_setups}; disk {max(seen):.1f} against {hand_disk:.1f} MB", flush=True)


def main():
    program = os.path.abspath(sys.argv[1])
    for kind in KINDS:
        with scratch() as top:
            try:
                compare(program, kind, top)
            except Unreachable as error:
                print(f"{kind}: SKIPPED, its packages cannot be had: {error}", flush=True)


if __name__ == "__main__":
    main()
