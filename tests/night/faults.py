#!/usr/bin/env python3
"""An agent that misbehaves in a way that is said in its arguments, and does it right (at once, or from attempt 2 on).

    faults.py ANSWERS BEHAVIOUR        # ANSWERS: JSON, what is right for which task

It plays what agents do to people's machines, inside of the project that it is given and its remote.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

TASK = os.environ.get("REFLEXION_TASK_ID", "")
PART = os.environ.get("REFLEXION_SUBTASK_ID", TASK)
ATTEMPT = int(os.environ.get("REFLEXION_ATTEMPT", "1"))
RUN = os.environ.get("REFLEXION_RUN_ID", "")
HERE = Path.cwd()


def git(*arguments):
    """Whatever comes of it: an agent does not look either."""
    name = ["-c", "user.name=agent", "-c", "user.email=agent@localhost"]
    done = subprocess.run(["git", *name, *arguments], text=True, capture_output=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip()


def right(goal):
    path = HERE / goal["file"]
    if goal["kind"] == "bug":
        text = path.read_text()
        path.write_text(text.replace(goal["wrong"] + "\n", goal["right"] + "\n", 1))
    elif goal["kind"] == "line":
        # Everybody writes below the same heading, so that two at a time conflict.
        text = path.read_text()
        path.write_text(text.replace("\n\n", f"\n\n{goal['text']}\n", 1))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(goal["text"] + "\n")


def half(goal):
    """Something, but not what was asked for."""
    (HERE / "half-done.txt").write_text(f"{TASK} {ATTEMPT}\n")


def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def hang(goal):
    half(goal)
    deaf()
    while True:
        time.sleep(3600)


def chatter(goal):
    deaf()
    while True:
        print("still thinking about it", flush=True)
        time.sleep(0.05)


def crash(goal):
    half(goal)
    fall()


def crash_when_done(goal):
    right(goal)
    fall()


def fall():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def fork(goal):
    """Grandchildren in sessions of their own that hold the agent's output open and write into its files later."""
    right(goal)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
            deaf()
            time.sleep(3)
            (HERE / "stray.txt").write_text("too late\n")
            time.sleep(3600)
    time.sleep(0.2)


def rm_rf(goal):
    for entry in list(HERE.iterdir()):
        shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def push(goal):
    half(goal)
    git("add", "-A")
    git("commit", "-q", "-m", "mine")
    git("push", "-q", "origin", f"HEAD:refs/heads/stolen-{TASK}")
    git("push", "-q", "--force", "origin", "HEAD:refs/heads/main")


def push_hard(goal):
    """Without the settings that the environment brings."""
    os.environ.pop("GIT_CONFIG_COUNT", None)
    push(goal)


def switch(goal):
    """`git checkout` in what looks like the user's repository, and is the workspace's own."""
    git("checkout", "-q", "-b", f"taken-{TASK}", "main")


def refs(goal):
    half(goal)
    git("add", "-A")
    git("commit", "-q", "-m", "mine")
    git("branch", f"mine-{TASK}")
    git("tag", f"mine-{TASK}")
    git("update-ref", "refs/heads/keep-me", "HEAD")
    git("branch", "-D", "delete-me")
    git("stash", "clear")
    git("config", f"night.mine-{TASK}", "true")
    hook = HERE / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)


def edit_tests(goal):
    """Makes the tests green instead of the program right."""
    protected = [path for path in sorted(HERE.glob(goal["tests"])) if path.name.startswith("test_")]
    for path in protected:
        path.write_text("")


def loud(goal):
    right(goal)
    line = b"x" * 1023 + b"\n"
    for _ in range(50 * 1024):
        sys.stdout.buffer.write(line)
    sys.stdout.flush()


def half_merge(goal):
    """A merge with conflicts that is never finished, and the lock of a git that never ended."""
    start, sides = git("rev-parse", "HEAD"), []
    for side in ("theirs", "ours"):
        git("checkout", "-q", "--detach", start)
        (HERE / "half-merged.txt").write_text(side + "\n")
        git("add", "-A")
        git("commit", "-q", "-m", side)
        sides.append(git("rev-parse", "HEAD"))
    git("merge", sides[0])
    Path(git("rev-parse", "--path-format=absolute", "--git-dir"), "index.lock").write_text("")


def commit(goal):
    """Where it stands: on no branch."""
    right(goal)
    git("add", "-A")
    git("commit", "-q", "-m", "the agent's own commit")


def branch(goal):
    """On a branch of its own, which stands among the user's then."""
    git("checkout", "-q", "-b", f"agent-{TASK}")
    commit(goal)


def break_other(goal):
    """Right for the task, and a file that is no Python any more."""
    right(goal)
    (HERE / goal["beside"]).write_text("def broken(:\n")


def move_integration(goal):
    """The branch that everything is merged into."""
    right(goal)
    git("update-ref", f"refs/heads/reflexion/{RUN}/integration", "HEAD")


def delete_integration(goal):
    right(goal)
    git("update-ref", "-d", f"refs/heads/reflexion/{RUN}/integration")


def delete_branches(goal):
    """All that the run has made so far, when the others are done."""
    time.sleep(6)
    for name in git("for-each-ref", "--format=%(refname)", f"refs/heads/reflexion/{RUN}").splitlines():
        git("update-ref", "-d", name)


def lie(goal):
    print("Done. All tests pass.")


# Name: what it does in its first attempt (in every one, if `for ever`).
FIRST = {
    "lie": lie, "hang": hang, "chatter": chatter, "crash": crash, "rm-rf": rm_rf, "push": push, "push-hard": push_hard, "switch": switch,
    "refs": refs, "edit-tests": edit_tests, "half-merge": half_merge,
    "break": break_other, "branch": branch,
}
EVERY = {
    "honest": right, "liar": lie, "hanger": hang, "crash-when-done": crash_when_done, "fork": fork, "loud": loud,
    "commit": commit, "move": move_integration, "delete": delete_integration, "delete-all": delete_branches,
}


def main():
    answers, behaviour = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
    sys.stdin.read()
    goal = answers.get(f"{TASK}/{PART}", answers.get(TASK))
    if behaviour in EVERY:
        EVERY[behaviour](goal)
    elif ATTEMPT == 1:
        FIRST[behaviour](goal)
    else:
        right(goal)
    print(f"{TASK}: I did what was to be done.")


if __name__ == "__main__":
    main()
