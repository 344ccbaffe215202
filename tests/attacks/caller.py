"""What belongs to whoever calls the program, and is no agent's, check's or clone's: open files, exported variables, temporary files, and the
files that they name for output."""

import json
import os
import subprocess
from functools import partial
from pathlib import Path

from cases import Case, Setup
from world import Wrong, write

# Writes into whatever it has open beside its three streams.
OPEN = """\
import os
for number in sorted(map(int, os.listdir("/proc/self/fd"))):
    try:
        number > 2 and os.write(number, b'forged by an agent\\n')
    except OSError:
        pass
"""
TRIES = '"$PY" "$A/open.py"; '
NOTE = Setup("caller", {"answer.txt": "wrong\n"}, "grep -qx right answer.txt", ({"name": "written", "run": "grep -qx right answer.txt"},))
OPENED = Setup("opened", NOTE.files, NOTE.truth, ({"name": "written", "run": TRIES + NOTE.truth},), {"setup": TRIES + "true"})
BELOW = Setup("below", {"app/answer.txt": "wrong\n", "app/kept": "\n"}, "cd app && grep -qx right answer.txt",
              ({"name": "written", "run": "cd app && grep -qx right answer.txt"},), {"setup": "cd app && rm -f notes"})
ASKED = {"decompose": {"agent": "asked"}, "agents": {
    "default": "scripted", "scripted": {"type": "command", "argv": ["sh", "-c", '. "$A/dispatch.sh"']},
    "asked": {"type": "command", "argv": ["sh", "-c", '{ pwd; dirname "$REFLEXION_PROMPT_FILE"; } > "$S/asked"']},
}}
PARTS = Setup("parts", NOTE.files, NOTE.truth, NOTE.checks, ASKED)


def confirmed(world, expected):
    verdict = world.tasks.get("t", {}).get("verdict")
    return [] if (verdict == "confirmed") == expected else [f"the verdict is {verdict}: {world.said.strip()[-300:]}"]


def open_files(world):
    """The caller has a file of theirs open, and so is the stream of events, as `--events >(…)` is."""
    write(world.place / "agent/open.py", OPEN)
    notes = write(world.home / "notes", "precious\n")
    with open(notes, "r+b", buffering=0) as file, open(world.place / "events", "w+b", buffering=0) as events:
        numbers = (file.fileno(), events.fileno())
        process = world.start("run", "--json", "--events", f"/dev/fd/{numbers[1]}", pass_fds=numbers, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        out, world.said = process.communicate(timeout=90)
    world.tasks = {task["id"]: task for task in json.loads(out)["tasks"]}
    lines = (world.place / "events").read_text().splitlines()
    wrong = [f"the stream of events has {line!r}" for line in lines if not line.startswith("{")][:1]
    wrong += [] if len(lines) > 5 else [f"only {len(lines)} events arrived"]
    return wrong + ([] if notes.read_text() == "precious\n" else ["an open file of the user's is written to"]) + confirmed(world, True)


def exported(world, name, value, expected):
    """The caller's shell has a variable by which `cd app` means another directory, or a line is read otherwise."""
    write(world.home / "work/app/answer.txt", "right\n")
    write(world.home / "work/app/notes", "precious\n")
    world.env[name] = value.format(H=world.home)
    before = world.snapshot()
    world.work(("run",), 60)
    return world.lost(before) + confirmed(world, expected)


def clone_among_temporary_files(world, name):
    """Somebody tries a stranger's project in a directory for temporary files, and another project runs."""
    clone = world.place / "tmp" / name
    world.make_repository(clone, {"readme": "\n", ".held-by-reflexion": "", ".held": "", "empty/file": "\n"})
    write(clone / "mine.txt", "two days of work\n")
    world.work(("run",), 60)
    there = (clone / "mine.txt").exists() and (clone / ".git").exists()
    return confirmed(world, True) + ([] if there else [f"the clone {name} is gone"])


def events_through(world, place, make, refused=True):
    """Events are to go into a file of a directory that is a link by then."""
    target = world.home / "conf.d"
    target.mkdir()
    path = Path(place.format(T=world.place / "tmp", H=world.home, W=world.place))
    path.parent.mkdir(parents=True, exist_ok=True)
    make(world, path, target)
    first = "" if path.is_symlink() else world.run("run", "--events", str(path / "events"))[2]
    code, _, err = world.run("run", "--again", "--events", str(path / "events"))
    if not path.is_symlink():
        raise Wrong(f"no link was made, so this case shows nothing: {first[-300:]}")
    written = [each.name for each in target.iterdir()]
    if refused:
        return ([] if code == 4 and "symbolic link" in err else [f"it is not refused: {code} {err.strip()[-200:]}"]) + [f"{name} is written" for name in written]
    return [] if code == 0 and written == ["events"] else [f"the user's own link is not followed: {code} {err.strip()[-200:]}"]


def linked(world, path, target):
    path.symlink_to(target)


def linked_where_all_may_write(world, path, target):
    path.parent.chmod(0o1777)
    linked(world, path, target)


def linked_by_the_agent(world, path, target):
    path.mkdir()


def reports_through(world, name, refused=True):
    """A clone has a link to the home directory, and somebody has a report written below it."""
    (world.project / "docs").symlink_to(world.home)
    world.work(("run",), 60)
    before = world.snapshot()
    code, _, err = world.run("report", "--md", "--out", name)
    if refused:
        return world.lost(before) + ([] if code == 4 else [f"it is not refused: {code} {err.strip()[-200:]}"])
    return [] if code == 0 and (world.project / name).read_text().strip() else [f"no report: {code} {err.strip()[-200:]}"]


def asked_elsewhere(world):
    """Whoever is asked is asked where no other agent's temporary files are."""
    world.work(("run",), 60)
    asked = (world.scratch / "asked").read_text().split("\n")[:2]
    temp = os.path.realpath(world.place / "tmp")
    return confirmed(world, True) + [f"somebody is asked in {each}" for each in asked if os.path.realpath(each).startswith(temp + "/")]


def events_case(name, place, make, attempts=("right",), **more):
    return Case(name, NOTE, attempts, "own-link", play=partial(events_through, place=place, make=make), **more)


def variable(name, value, **more):
    return Case(f"exported-{name.lower()}", BELOW, ("half",), "own-variable", play=partial(exported, name=name, value=value, expected=False), **more)


LINKS = 'rm -rf "$TMPDIR/ev"; ln -s "$H/conf.d" "$TMPDIR/ev"; right'
ATTACKS = [
    Case("open-files", OPENED, ('"$PY" "$A/open.py"; right',), "events-by-number", play=open_files),
    variable("CDPATH", "{H}/work"),
    Case("clone-called-like-ours", NOTE, ("right",), "another-clone", play=partial(clone_among_temporary_files, name="reflexion-examples")),
    Case("clone-called-like-a-question", NOTE, ("right",), "another-clone", play=partial(clone_among_temporary_files, name="reflexion-judge-a1b2c3"), slow=True),
    events_case("events-through-an-agents-link", "{T}/ev", linked_by_the_agent, (LINKS,)),
    events_case("events-through-a-link-among-temporary-files", "{T}/below/ev", linked),
    events_case("events-through-a-link-where-all-may-write", "{W}/shared/ev", linked_where_all_may_write),
    Case("report-through-a-clones-link", NOTE, ("right",), "own-report", play=partial(reports_through, name="docs/.profile")),
    Case("asked-among-temporary-files", PARTS, ("right",), "asked", play=asked_elsewhere),
]
CONTROLS = {
    "events-by-number": Case("events-by-number", NOTE, ("right",), play=open_files),
    "own-variable": Case("own-variable", BELOW, ("printf 'right\\n' > app/answer.txt",), play=partial(exported, name="CDPATH", value="{H}/work", expected=True)),
    "another-clone": Case("another-clone", NOTE, ("right",), play=partial(clone_among_temporary_files, name="examples")),
    "own-link": Case("own-link", NOTE, ("right",), play=partial(events_through, place="{H}/logs", make=linked, refused=False)),
    "own-report": Case("own-report", NOTE, ("right",), play=partial(reports_through, name="night.md", refused=False)),
    "asked": Case("asked", PARTS, ("right",), play=asked_elsewhere),
}
