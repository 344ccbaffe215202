"""Nights of eight tasks and four jobs in which the runtime is killed, and the user's own git collects garbage."""

import json
import random
import signal
import subprocess
import threading
from functools import partial

from cases import Case, Setup
from world import PATIENCE, Wrong

NAMES = "abcdefgh"
# `g` is never done.
DONE = NAMES.replace("g", "")
SETUP = Setup(
    "eight", {"README.md": "Notes.\n", ".gitignore": "build/\n"}, " && ".join(f"grep -qx {name} notes/{name}.txt" for name in DONE),
    tasks={name: {"checks": [{"name": "written", "run": f"grep -qx {name} notes/{name}.txt"}], "maxAttempts": 2} for name in NAMES})
HONEST = 'sleep 0.1; mkdir -p notes build; echo "$REFLEXION_TASK_ID" > notes/$REFLEXION_TASK_ID.txt; echo x > build/x'
PLAYED = {name: (HONEST,) for name in NAMES} | {"c": ("half", HONEST), "e": ("half; exit 1", HONEST), "g": ("half",)}


def eight(world, kills=None, disturb=None):
    """One night after another, each to its end, until the runtime was killed often enough."""
    for name in NAMES:
        for number, script in enumerate(PLAYED[name], 1):
            (world.place / "agent" / f"{name}.{number}.sh").write_text(script)
    tasks = "".join(json.dumps({"id": name, "title": f"Task {name}", **SETUP.tasks[name]}) + "\n" for name in NAMES)
    (world.project / "tasks.jsonl").write_text(tasks)
    world.git("commit", "-q", "-a", "-m", "eight tasks")
    world.base = world.git("rev-parse", "HEAD").strip()
    moments, left, wrong = random.Random(world.options.seed), kills(world.options) if kills else 0, []
    while not wrong:
        before = world.snapshot()
        stop = disturb(world) if disturb else lambda: None
        try:
            left = night(world, moments, left)
        finally:
            stop()
        wrong = [each for each in (*outcome(world), *world.lost(before, (".git/info/refs",)), *world.left(), world.sound()) if each]
        if left <= 0:
            break
    return wrong


def night(world, moments, left):
    """Kills it at moments that the seed decides; returns how many kills are left."""
    command, ended = ("overnight", "--new", "--again"), False
    for _ in range(left + 20):
        said = (world.place / "said.txt").open("a")
        process = world.start(*command, "--jobs", "4", "--json", stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)
        try:
            code = process.wait(moments.uniform(0.02, 1.2) if left > 0 else PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            if left <= 0:
                raise Wrong(f"the night did not end within {PATIENCE} s") from None
            left -= 1
            command = ("overnight", "--resume")
            continue
        # It was killed before it had written anything that one could go on with.
        if code == 2 and command[1] == "--resume":
            command = ("overnight", "--new", "--again")
            continue
        ended = True
        break
    if not ended or code not in (0, 1):
        raise Wrong(f"the night ended with {code}: {(world.place / 'said.txt').read_text().strip()[-300:]}")
    return left


def outcome(world):
    """Everything but `g` is merged once, and is there."""
    report = world.report()
    states = {task["id"]: task["state"] for task in report["tasks"]}
    wrong = [f"{name} is {states.get(name)}" for name in DONE if states.get(name) != "merged"]
    wrong += ["g is merged"] if states.get("g") == "merged" else []
    branch = report.get("integration")
    if not branch:
        return [*wrong, "nothing was merged"]
    subjects = world.git("log", "--format=%s", f"{world.base}..{branch}").split("\n")
    wrong += [f"Task {name} was merged {subjects.count(f'Task {name}')} times" for name in DONE if subjects.count(f"Task {name}") != 1]
    subprocess.run(["rm", "-rf", str(world.place / "fresh-integration")], check=True)
    return [*wrong, world.wrong_with(branch)]


def again_and_again(command, world):
    """The user's own git, all the time. What it says does not matter: it may meet itself."""
    over = threading.Event()

    def work():
        while not over.is_set():
            subprocess.run(["git", "-C", str(world.repository), *command], env=world.clean, capture_output=True, stdin=subprocess.DEVNULL)
            over.wait(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    return lambda: (over.set(), thread.join())


def often(options):
    return 60 if options.full else 4 if options.quick else 12


def twice(options):
    return 2


GC = partial(again_and_again, ("gc", "-q", "--prune=now"))
ATTACKS = [
    Case("killed", SETUP, (HONEST,), "calm", play=partial(eight, kills=often)),
    Case("gc-all-the-time", SETUP, (HONEST,), "calm", play=partial(eight, disturb=GC), slow=True),
    Case("prune-all-the-time", SETUP, (HONEST,), "calm", play=partial(eight, disturb=partial(again_and_again, ("prune", "--expire=now"))), slow=True),
    Case("repack-all-the-time", SETUP, (HONEST,), "calm", play=partial(eight, disturb=partial(again_and_again, ("repack", "-adq"))), slow=True),
    Case("worktrees-pruned-all-the-time", SETUP, (HONEST,), "calm",
         play=partial(eight, disturb=partial(again_and_again, ("worktree", "prune", "--expire=now"))), slow=True),
    Case("killed-and-gc", SETUP, (HONEST,), "calm", play=partial(eight, kills=twice, disturb=GC), slow=True),
]
CONTROLS = {"calm": Case("calm", SETUP, (HONEST,), play=eight)}
