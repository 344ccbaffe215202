"""A cloned repository whose state is not what it seems: every command ends with a message, and writes nothing behind a link."""

import json
import os
import shutil
import stat
import time
from functools import partial

from cases import Case, Setup, seldom
from world import Wrong, listen, write

NOTE = Setup("note", {"answer.txt": "wrong\n", ".gitignore": "build/\n"}, "grep -qx right answer.txt", ({"name": "written", "run": "grep -qx right answer.txt"},))
LESSON = {"taskId": "t", "subtaskId": "t", "attemptNumber": 1, "category": "root_cause", "analysis": "It was `wrong`.", "suggestion": "Write right."}
STOP = {"session_id": "s1", "hook_event_name": "Stop", "stop_hook_active": False}
# What somebody does with a clone, in this order. The last one writes and starts an agent.
COMMANDS = [
    (("status",), ""), (("report",), ""), (("report", "--html"), ""), (("report", "--json"), ""), (("watch", "--json"), ""),
    (("watch", "--once"), ""), (("memory", "list"), ""), (("memory", "add"), json.dumps(LESSON)), (("memory", "prune"), ""), (("task", "list"), ""),
    (("task", "ready"), ""), (("transcript", "list"), ""), (("transcript", "show"), ""), (("doctor",), ""), (("config", "show"), ""),
    (("hook", "session-start"), json.dumps({**STOP, "hook_event_name": "SessionStart"})), (("hook", "stop"), json.dumps(STOP)),
    (("hook", "stop", "--verify"), json.dumps(STOP)), (("task", "add", "one more"), ""), (("task", "sync"), ""), (("apply", "t"), ""), (("run", "t", "--again"), ""),
]
SECONDS = 10
# May stand in the name of a path that is to be replaced.
RUN = "RUN"


def link(target, world, path):
    path.symlink_to(target.format(H=world.home, V=world.victim, P=world.project, O=world.other))


def moved(world, path):
    """The very same, elsewhere, and a link to it."""
    away = world.victim / "away" / path.name
    away.parent.mkdir()
    shutil.move(path, away)
    path.symlink_to(away)


def pipe(world, path):
    os.mkfifo(path)


def unix_socket(world, path):
    listen(path)


def directory(world, path):
    write(path / "file.txt", "a directory\n")


def plain_file(world, path):
    write(path, "a file\n")


def device(world, path):
    # Only root can make one; a link to one is what anybody can commit.
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)) if os.getuid() == 0 else path.symlink_to("/dev/zero")


def commands(world, what=None, place="", first=True):
    """Everything that a person does with a clone; with `what` in the place of `place`."""
    if first:
        # A run of before, whose records are there.
        world.work(("run",), 60)
        world.run("memory", "add", stdin=json.dumps(LESSON))
    if what:
        path = world.project / place.replace(RUN, newest(world))
        if what is moved:
            pass
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        what(world, path)
    world.env["REFLECTION_MODE"] = "solo"
    before, wrong = world.snapshot(), []
    for command, stdin in COMMANDS:
        started = time.monotonic()
        try:
            code, out, err = world.run(*command, limit=SECONDS, stdin=stdin)
        except Wrong as failure:
            wrong.append(str(failure))
            if len(wrong) == 2:
                break
            continue
        if "out of memory" in err or "allocate memory" in err:
            wrong.append(f"`{' '.join(command)}` reads without an end")
            break
        if code not in (0, 1, 2, 3, 4) or (code and not (out + err).strip() and "hook" not in command):
            wrong.append(f"`{' '.join(command)}` ended with {code} without a word")
        if what is None and code:
            wrong.append(f"`{' '.join(command)}` ended with {code} after {time.monotonic() - started:.1f} s: {(out + err).strip()[-200:]}")
    # A person added a task, and applied work.
    changed = world.lost(before, ("repository/tasks.jsonl", "repository/answer.txt", "memory"))
    return wrong + changed + (kept(world) if what is None else [])


def newest(world):
    runs = sorted((world.project / ".reflection/runs").glob("*")) if (world.project / ".reflection/runs").is_dir() else []
    return runs[-1].name if runs else "20260101-000000-aaaa"


def kept(world):
    """What the commands must have written where nothing is in their way."""
    memory = (world.project / "memory/reflections.jsonl").read_text()
    wrong = [] if memory.count("It was `wrong`.") == 2 else ["`memory add` did not keep its lesson"]
    wrong += [] if list((world.project / ".reflection/runs").glob("*/report.html")) else ["`report --html` wrote no page"]
    return wrong + ([] if list((world.project / ".reflection/reflections").glob("s1-*.json")) else ["`hook stop` wrote no record"])


def case(name, what, place, **more):
    first = RUN in place or place.startswith(".reflection/") or place.startswith("memory/") or what is moved
    return Case(name, NOTE, ("printf 'right\\n' > answer.txt",), "clone", play=partial(commands, what=what, place=place, first=first), **more)


to = lambda target: partial(link, target)  # noqa: E731
ATTACKS = seldom([
    case("state-to-victim", to("{V}"), ".reflection"),
    case("state-to-home", to("{H}"), ".reflection"),
    case("state-to-own-git", to("{P}/.git"), ".reflection"),
    case("state-relative-link", to("../victim"), ".reflection"),
    case("state-dangling", to("{H}/not-there"), ".reflection"),
    case("state-moved", moved, ".reflection"),
    case("memory-moved", moved, "memory"),
    case("lessons-moved", moved, "memory/reflections.jsonl"),
    case("runs-moved", moved, ".reflection/runs"),
    case("run-moved", moved, f".reflection/runs/{RUN}"),
    case("journal-moved", moved, f".reflection/runs/{RUN}/journal.jsonl"),
    case("transcripts-moved", moved, f".reflection/runs/{RUN}/transcripts"),
    case("overlay-moved", moved, ".reflection/tasks.jsonl"),
    case("lock-moved", moved, ".reflection/run.lock"),
    case("records-moved", moved, ".reflection/reflections"),
    case("state-pipe", pipe, ".reflection"),
    case("state-socket", unix_socket, ".reflection"),
    case("state-file", plain_file, ".reflection"),
    case("memory-to-victim", to("{V}"), "memory"),
    case("memory-dangling", to("{H}/not-there"), "memory"),
    case("memory-pipe", pipe, "memory"),
    case("memory-file", plain_file, "memory"),
    case("lessons-to-bashrc", to("{H}/.bashrc"), "memory/reflections.jsonl"),
    case("lessons-dangling", to("{H}/.bash_login"), "memory/reflections.jsonl"),
    case("lessons-pipe", pipe, "memory/reflections.jsonl"),
    case("lessons-socket", unix_socket, "memory/reflections.jsonl"),
    case("lessons-device", device, "memory/reflections.jsonl"),
    case("lessons-to-zero", to("/dev/zero"), "memory/reflections.jsonl"),
    case("lessons-directory", directory, "memory/reflections.jsonl"),
    case("ignore-file-to-bashrc", to("{H}/.bashrc"), ".reflection/.gitignore"),
    case("ignore-file-pipe", pipe, ".reflection/.gitignore"),
    case("runs-to-victim", to("{V}"), ".reflection/runs"),
    case("runs-pipe", pipe, ".reflection/runs"),
    case("run-to-victim", to("{V}"), f".reflection/runs/{RUN}"),
    case("run-pipe", pipe, f".reflection/runs/{RUN}"),
    case("journal-to-victim", to("{V}/log.jsonl"), f".reflection/runs/{RUN}/journal.jsonl"),
    case("journal-pipe", pipe, f".reflection/runs/{RUN}/journal.jsonl"),
    case("journal-device", device, f".reflection/runs/{RUN}/journal.jsonl"),
    case("page-to-bashrc", to("{H}/.bashrc"), f".reflection/runs/{RUN}/report.html"),
    case("page-pipe", pipe, f".reflection/runs/{RUN}/report.html"),
    case("transcripts-to-victim", to("{V}"), f".reflection/runs/{RUN}/transcripts"),
    case("transcripts-pipe", pipe, f".reflection/runs/{RUN}/transcripts"),
    case("overlay-to-bashrc", to("{H}/.bashrc"), ".reflection/tasks.jsonl"),
    case("overlay-pipe", pipe, ".reflection/tasks.jsonl"),
    case("lock-to-bashrc", to("{H}/.bashrc"), ".reflection/run.lock"),
    case("lock-pipe", pipe, ".reflection/run.lock"),
    case("workspaces-to-victim", to("{V}/worktrees"), ".reflection/worktrees"),
    case("workspaces-pipe", pipe, ".reflection/worktrees"),
    case("cache-to-victim", to("{V}"), ".reflection/cache"),
    case("guarded-to-victim", to("{V}"), ".reflection/guarded"),
    case("guarded-pipe", pipe, ".reflection/guarded"),
    case("records-to-victim", to("{V}"), ".reflection/reflections"),
    case("records-pipe", pipe, ".reflection/reflections"),
    case("sessions-to-victim", to("{V}"), ".reflection/sessions"),
    case("sessions-pipe", pipe, ".reflection/sessions"),
    case("report-of-agent-pipe", pipe, ".reflection/reflection-input.json"),
    case("report-of-agent-to-zero", to("/dev/zero"), ".reflection/reflection-input.json"),
    case("settings-pipe", pipe, "project.json"),
    case("settings-to-zero", to("/dev/zero"), "config/reflexion.json"),
    case("tasks-pipe", pipe, "tasks.jsonl"),
    case("tasks-to-zero", to("/dev/zero"), "tasks.jsonl"),
], "state-relative*", "state-socket", "state-file", "*-dangling", "memory-file", "lessons-socket", "lessons-directory", "lessons-to-zero", "runs-pipe", "run-pipe",
    "run-to-victim", "journal-to-victim", "journal-device", "page-pipe", "transcripts-*", "lock-moved", "overlay-moved", "records-moved", "records-pipe", "workspaces-pipe",
    "guarded-pipe", "sessions-pipe", "report-of-agent-to*", "tasks-to-zero", "memory-pipe")
CONTROLS = {"clone": Case("clone", NOTE, ("printf 'right\\n' > answer.txt",), play=commands)}
