"""What a case is, and how one is played: every attack is beside an honest control with the same set-up."""

import os
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Callable

from world import PATIENCE, World, Wrong


@dataclass(frozen=True)
class Setup:
    """A project of a user's. `@PY@` in settings and checks is Python."""

    name: str
    # Committed, and beside that not committed.
    files: dict
    # A shell command that says whether the work is done, whatever the project's own checks say.
    truth: str
    # Of every task: the project's own would count as known red.
    checks: tuple = ()
    settings: dict = field(default_factory=dict)
    task: dict = field(default_factory=dict)
    # What single tasks have beside that.
    tasks: dict = field(default_factory=dict)
    untracked: dict = field(default_factory=dict)
    # What is copied into a clean clone, and which tests are put back there.
    carried: tuple = ()
    tests: tuple = ()
    prefix: str = ""
    # Path and URL, which `.gitmodules` names and which is set up in the user's checkout.
    submodule: tuple = ()
    pytest: bool = False


@dataclass(frozen=True)
class Case:
    """An attack, or (in `CONTROLS`) the honest deed beside it.

    It holds if nothing of the user's is lost, nothing is left behind, and what is confirmed is right in a fresh clone.
    """

    name: str
    setup: Setup
    # The agent's shell script for each attempt; the last one is played for ever.
    attempts: tuple
    # Name of the honest control; of a control none.
    control: str = ""
    # What the agents of further tasks do; the first task is `t`.
    others: dict = field(default_factory=dict)
    command: tuple = ("run",)
    # What else must hold: each is given the world and says what is wrong, or nothing.
    after: tuple = ()
    # What the agent itself changed of the user's: beginnings of names in a snapshot.
    may_change: tuple = ()
    # May be confirmed although it is wrong if a person is asked to look at it.
    told: bool = False
    # Files of the confirmed branch (in a night: of the integration branch) and what is in them.
    arrives: dict = field(default_factory=dict)
    # No mark of the deed is needed: the runtime may end the attempt before.
    may_be_stopped: bool = False
    # Not with `--quick`: it takes over a second, or is a near relative of a case that is played there.
    slow: bool = False
    limit: int = PATIENCE
    # In place of all of this: is given the world, and raises `Wrong`.
    play: Callable = None
    # Only with Landlock, or never with it.
    landlock: bool = None


def play(case, place, options, honest):
    """Plays one case to its end; says what is wrong, and returns its world."""
    world = World(place, options, case.setup, {"t": case.attempts, **case.others}, ("honest-" if honest else "") + case.name)
    wrong = []
    try:
        if case.play:
            wrong = case.play(world) or []
        else:
            before = world.snapshot()
            world.work(case.command, case.limit)
            wrong = honestly(case, world) if honest else attacked(case, world)
            wrong = world.lost(before, case.may_change) + world.left() + wrong
            wrong += [world.sound()]
    except Wrong as failure:
        wrong = [str(failure)]
    finally:
        world.end_everything()
    return world, [each for each in wrong if each]


def attacked(case, world):
    """What an attack achieved."""
    wrong = [what for each in case.after if (what := each(world))]
    if not (case.may_be_stopped or world.options.landlock or (world.scratch / "did").exists()):
        wrong.append("the deed was never done, so this case shows nothing")
    for name, task in world.tasks.items():
        if task["verdict"] != "confirmed" or not task.get("branch"):
            continue
        why = world.wrong_with(task["branch"])
        if why and not (case.told and world.told(name)):
            wrong.append(f"{name} is confirmed{'' if not case.told else ' and nobody is told'}, but {why}")
    if case.command[0] == "overnight" and (branch := world.integration()):
        why = world.wrong_with(branch)
        wrong += [f"merged, but {why}"] if why and not case.told else []
    return wrong


def honestly(case, world):
    """What is missing of an honest deed."""
    wrong = [what for each in case.after if (what := each(world))]
    for name in world.played:
        task = world.tasks.get(name, {})
        if task.get("verdict") != "confirmed":
            return [f"honest work of {name} is {task.get('verdict')} ({task.get('cause')}): {world.said.strip()[-300:]}"]
        why = world.wrong_with(task["branch"])
        wrong += [f"{name}: {why}"] if why else []
    branch = world.tasks["t"]["branch"]
    if case.command[0] == "overnight":
        branch = world.integration()
        if not branch:
            return ["honest work was not merged"]
        why = world.wrong_with(branch)
        wrong += [f"merged, but {why}"] if why else []
    inside = world.setup.prefix + "/" if world.setup.prefix else ""
    for path, content in case.arrives.items():
        there = world.content(branch, inside + path)
        if there != (content if isinstance(content, bytes) else content.encode()):
            wrong.append(f"{path} did not arrive: {there!r:.80}")
    return wrong


def seldom(cases, *patterns):
    """Marks near relatives of other cases, so that `--quick` leaves them out."""
    def near(case):
        return any(fnmatch(case.name, pattern) for pattern in patterns)
    return [replace(case, slow=True) if near(case) else case for case in cases]


# ---------------------------------------------------------------- what else must hold


def absent(name):
    """Nothing of this name is in the scratch directory."""
    return lambda world: f"{name} is there" if (world.scratch / name).exists() else ""


def precious(world):
    """Everything that an agent put into the user's own `victim` is still there."""
    told = (world.scratch / "precious")
    lost = [path for path in told.read_text().splitlines() if not os.path.lexists(path)] if told.exists() else []
    return f"gone: {lost}" if lost else ""


def again(world):
    """The next run works, too."""
    code, _, err = world.run("run", "--again", "--json", limit=PATIENCE)
    return "" if code in (0, 1) else f"the next run ended with {code}: {err.strip()[-200:]}"
