#!/usr/bin/env python3
"""Nights over 40 tasks in real projects, with agents that misbehave and a runtime that is killed again and again.

    python3 tests/night/forty.py target/release/reflexion            # three projects and a sandbox, about a quarter of an hour
    python3 tests/night/forty.py target/debug/reflexion --quick      # the sample project alone, about a minute, offline

The projects: a clone of this repository with copies of its sample program, and published packages with the tests of their
sdists, which pip installs. Bugs of one token are planted, each with a test that shows it and no other (`bugs.py`). The agents
are the embedded `repair` and `faults.py`, which hangs, lies, crashes, forks, deletes, pushes, edits tests, …, and does it
right from its second attempt on. `kill -9` hits the runtime at moments that --seed decides, once with its process group.

Nothing of the user's checkout and its repository may have changed: what agents do with git they do in a repository of their own. A
plain `git push` is refused. A shorter night of the first project runs in Landlock.

Prints a table per project, and what is wrong; exits with 1 if anything is.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import bugs
import standing
from standing import git

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Name, version, sources, tests, where tests and what they show are protected.
PACKAGES = [("toolz", "1.2.0", "toolz", "toolz/tests"), ("isodate", "0.7.2", "src/isodate", "tests")]
PATIENCE = {"hang": 4, "hanger": 4, "chatter": 4}
# Group, agent, how many, the kind of goal, verdict, status, attempts (None: whatever it takes), most attempts.
GROUPS = [
    ("repair", "repair", 8, "bug", None, None, None, 8),
    ("missing, then repair", "label", 2, "bug", None, None, None, 8),
    ("edits tests", "edit-tests", 1, "bug", "confirmed", "closed", 2, 5),
    ("lies once", "lie", 2, "any", "confirmed", "closed", 2, 5),
    ("lies for ever", "liar", 1, "any", "false_done", "blocked", 2, 2),
    ("crashes", "crash", 2, "any", "confirmed", "closed", 2, 5),
    ("crashes when done", "crash-when-done", 1, "any", "confirmed", "closed", 1, 5),
    ("breaks something else", "break", 1, "any", "confirmed", "closed", 2, 5),
    ("hangs once", "hang", 1, "note", "confirmed", "closed", 2, 5),
    ("hangs for ever", "hanger", 1, "note", "failed", "blocked", 2, 2),
    ("prints for ever", "chatter", 1, "note", "confirmed", "closed", 2, 5),
    ("forks and setsids", "fork", 1, "note", "confirmed", "closed", 1, 5),
    ("rm -rf", "rm-rf", 1, "note", "confirmed", "closed", 2, 5),
    ("pushes", "push", 1, "note", "confirmed", "closed", 2, 5),
    ("pushes past the fence", "push-hard", 1, "note", "confirmed", "closed", 2, 5),
    ("switches branches", "switch", 1, "note", "confirmed", "closed", 2, 5),
    ("refs, stash, config, hooks", "refs", 1, "note", "confirmed", "closed", 2, 5),
    ("prints 50 MB", "loud", 1, "note", "confirmed", "closed", 1, 5),
    ("half a merge", "half-merge", 1, "note", "confirmed", "closed", 2, 5),
    ("commits itself", "commit", 1, "note", "confirmed", "closed", 1, 5),
    ("branches", "branch", 1, "note", "confirmed", "closed", 2, 5),
    ("moves integration", "move", 1, "note", "confirmed", "closed", 1, 5),
    ("deletes integration", "delete", 1, "note", "confirmed", "closed", 1, 5),
    ("deletes all branches, last", "delete-all", 1, "note", "false_done", "blocked", 1, 1),
    ("same line", "honest", 3, "line", "confirmed", "closed", 1, 5),
    ("missing", "absent", 1, "note", None, "open", 0, 5),
    ("after one that works", "honest", 1, "note", "confirmed", "closed", 1, 5),
    ("after one that fails", "honest", 1, "note", None, "open", 0, 5),
    ("two parts", "honest", 1, "parts", "confirmed", "closed", 2, 5),
]
# The project is this repository itself: what a test of it names by its whole name, and nothing else does, is what that test compares with.
LINES = "NIGHT" + ".md"
# Of these so many in a quick night; nothing of the others.
QUICK = {
    "repair": 3, "lies for ever": 1, "crashes": 1, "hangs once": 1, "forks and setsids": 1, "refs, stash, config, hooks": 1,
    "same line": 2, "after one that fails": 1,
}
# In Landlock so many, and the attempts that it takes where an agent cannot do what it wants to do beside its work.
SANDBOXED = {
    "repair": 3, "lies once": 1, "crashes": 1, "forks and setsids": 1, "rm -rf": 1, "pushes": 1, "pushes past the fence": 1,
    "switches branches": 1, "refs, stash, config, hooks": 1, "half a merge": 1, "commits itself": 1, "branches": 1,
    "moves integration": 1, "deletes integration": 1, "deletes all branches, last": 1, "same line": 2, "two parts": 1,
}
SANDBOXED_ATTEMPTS = {"branches": 1}
# Left alone without a sandbox, because nothing could stop it.
ONLY_SANDBOXED = {"pushes past the fence"}


class Project:
    """A repository of a user, its remote, and the tasks with what is expected of them."""

    def __init__(self, name, place, options):
        self.name, self.options = name, options
        self.place = place / name
        self.dir, self.remote = self.place / "checkout", self.place / "remote.git"
        self.answers, self.tasks, self.groups = {}, [], {}
        self.bugs, self.suite, self.syntax, self.protect, self.tests = [], None, "", [], ""
        self.mark = f"FORTY_{uuid.uuid4().hex}"
        self.env = {**options.env, self.mark: "1"}
        self.trouble, self.said, self.kills, self.sandbox = [], [], 0, "none"

    def say(self, text):
        print(f"[{self.name}] {text}", flush=True)

    # ------------------------------------------------------------ what there is to do

    def task(self, group, agent, goal, most, test=None, **more):
        number = len(self.tasks) + 1
        name = f"t{number:02}-{agent}"
        task = {
            "id": name, "title": f"Task {number}: {group}", "description": f"What is asked for: {json.dumps(goal)}",
            "priority": 4 if agent == "delete-all" else self.options.random.randrange(4), "status": "open", "maxAttempts": most, **more,
            "createdAt": f"2026-11-01T09:{number:02}:00Z", "updatedAt": f"2026-11-01T09:{number:02}:00Z",
        }
        if goal["kind"] == "bug":
            task["description"] = f"A test of {goal['file']} fails."
            task.update(expects="fix", checks=[{"name": "test", "run": test, "timeoutMs": 60000}])
        else:
            task["checks"] = [{"name": "written", "run": written(goal)}]
        task.update({"labels": ["tests-of-repair"]} if agent == "label" else {"agent": agent})
        self.answers[name] = {**goal, "tests": self.tests, "beside": self.beside}
        self.tasks.append(task)
        self.groups.setdefault(group, []).append(name)
        return name

    def make_tasks(self, groups):
        left = list(self.bugs)
        liars = []
        for group, agent, count, kind, *_, most in groups:
            for _ in range(count - len(self.groups.get(group, []))):
                more = {}
                if group == "after one that works":
                    more["deps"] = [{"id": self.groups["same line"][0], "type": "blocks"}]
                if group == "after one that fails":
                    more["deps"] = [{"id": liars[0], "type": "blocks"}]
                if kind in ("bug", "any") and left:
                    bug = left.pop()
                    name = self.task(group, agent, bug.goal(), most, self.suite.command(bug.test) if not bug.own else bug.own, **more)
                elif kind == "parts":
                    name = self.parts(group, agent, most)
                elif kind == "line":
                    number = len(self.tasks) + 1
                    name = self.task(group, agent, {"kind": "line", "file": LINES, "text": f"- line of task {number}"}, most)
                elif kind == "bug":
                    continue
                else:
                    number = len(self.tasks) + 1
                    name = self.task(group, agent, {"kind": "note", "file": f"notes/{number:02}.txt", "text": f"note {number}"}, most, **more)
                liars += [name] if agent == "liar" else []

    def parts(self, group, agent, most):
        number = len(self.tasks) + 1
        goals = {part: {"kind": "note", "file": f"notes/{number:02}-{part}.txt", "text": part} for part in ("one", "two")}
        name = self.task(group, agent, goals["two"], most)
        task = self.tasks[-1]
        for part, goal in goals.items():
            self.answers[f"{name}/{part}"] = goal
            check = {"name": part, "run": written(goal)}
            task.setdefault("subtasks", []).append({"id": part, "title": f"Part {part}", "description": "", "checks": [check]})
        return name

    def write(self):
        """project.json, tasks.jsonl, and a checkout in the middle of somebody's work."""
        answers = self.place / "answers.json"
        answers.write_text(json.dumps(self.answers))
        agents = {"default": "repair", "labels": {"tests-of-repair": ["absent", "repair"]}}
        agents["absent"] = {"type": "command", "argv": ["no-such-agent-of-the-forty"]}
        for agent in {agent for _, agent, *_ in GROUPS} - {"repair", "label", "absent"}:
            argv = ["python3", str(HERE / "faults.py"), str(answers), agent]
            agents[agent] = {"type": "command", "argv": argv, "timeoutMs": 1000 * PATIENCE.get(agent, 60)}
        settings = {
            "name": self.name, "tasks": "tasks.jsonl", "maxAttempts": 8, "agents": agents,
            "checks": [{"name": "syntax", "run": self.syntax}], "protect": self.protect,
            "sandbox": self.sandbox, "workspace": {"env": {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "src:."}},
        }
        (self.dir / LINES).write_text("# The night\n\nThe end.\n")
        (self.dir / "project.json").write_text(json.dumps(settings, indent=1))
        (self.dir / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in self.tasks))
        git(self.dir, "config", "user.name", "somebody")
        git(self.dir, "config", "user.email", "somebody@localhost")
        git(self.dir, "add", "-A", "-f")
        git(self.dir, "commit", "-q", "-m", "forty tasks")
        git(self.dir, "push", "-q", "--force", "origin", "HEAD:refs/heads/main")
        for branch in ("keep-me", "delete-me"):
            git(self.dir, "branch", branch)
        git(self.dir, "tag", "-a", "-m", "v0", "v0")
        (self.dir / LINES).write_text("# stashed\n")
        git(self.dir, "stash", "-q")
        (self.dir / "staged.txt").write_text("staged\n")
        git(self.dir, "add", "staged.txt")
        (self.dir / "untracked.txt").write_text("untracked\n")
        hook = self.dir / ".git" / "hooks" / "post-checkout"
        hook.write_text("#!/bin/sh\nexit 0\n")
        hook.chmod(0o755)
        git(self.dir, "status")
        self.before, self.remote_before = standing.snapshot(self.dir), standing.refs(self.remote)

    # ------------------------------------------------------------ the night

    def entries(self):
        return sum(path.read_bytes().count(b"\n") for path in self.dir.glob(".reflection/runs/*/journal.jsonl"))

    def night(self, kills):
        """Starts it until it ends by itself; kills it at the given numbers of journal lines."""
        started, deadline = time.monotonic(), time.monotonic() + self.options.limit
        for number, kill in enumerate([*kills, None, None, None]):
            code, said = self.start(number, kill, deadline, group=number == len(kills) // 2)
            if code < 0 and time.monotonic() < deadline:
                continue
            if code in (0, 1, 3):
                break
            # Nobody would start it again at night; here it goes on, to see more.
            self.trouble.append(f"exit code {code}: {said[-500:].strip()}")
            time.sleep(2)
        if time.monotonic() >= deadline:
            self.trouble.append(f"the night did not end within {self.options.limit} s")
        self.code, self.seconds = code, time.monotonic() - started
        self.say(f"the night ended with {code} after {self.seconds:.0f} s and {self.kills} kills")

    def start(self, number, kill, deadline, group):
        """Starts it, and waits for its end or ends it: at `kill`, or at the deadline."""
        log = self.place / f"night-{number}.log"
        with log.open("w") as err, (self.place / "report.json").open("w") as out:
            process = subprocess.Popen(
                [str(self.options.program), "overnight", "--json", "--jobs", "4"], cwd=self.dir, env=self.env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
            )
        while process.poll() is None:
            if time.monotonic() >= deadline:
                process.kill()
            elif kill and self.entries() >= kill[0]:
                time.sleep(kill[1])
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL) if group else process.kill()
                    self.kills += 1
                    self.say(f"killed after {self.entries()} journal lines{', with its group' if group else ''}")
                break
            time.sleep(0.05)
        return process.wait(), log.read_text()

    def end_everything(self):
        """Whatever this project's night started, wherever it is."""
        for pid in standing.processes(self.mark, self.place):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def report(self):
        """What the night that came to its end printed."""
        try:
            return json.loads((self.place / "report.json").read_text())
        except ValueError:
            return {}

    # ------------------------------------------------------------ what stands after it

    def require(self, name, wrong):
        """`wrong`: what does not hold; nothing if all is well."""
        self.totals.append((name, "ok" if not wrong else "WRONG"))
        if wrong:
            self.trouble.append(f"{name}: {str(wrong)[:600]}")

    def judge(self):
        self.totals = []
        time.sleep(1)
        self.require("no process left", standing.processes(self.mark, self.place))
        self.end_everything()
        after = standing.snapshot(self.dir)
        self.require("user's checkout untouched", standing.differences(self.before, after))
        self.require("remote untouched", standing.differences(self.remote_before, standing.refs(self.remote)))
        self.require("no worktree left", standing.worktrees(self.dir, Path(self.env["XDG_STATE_HOME"], "reflexion/rooms")))
        self.require("no lock of git left", standing.locks(self.dir))
        self.require("repository sound", "" if git(self.dir, "fsck", "--connectivity-only", "--no-dangling", check=False) == "" else "git fsck")
        night = standing.Night(self.dir, self.options.program, self.report(), self.env)
        self.require("one run", [] if len(night.journals) == 1 else list(night.journals))
        self.require("branches stand", night.wrong_branches())
        commits = night.commits()
        confirmed = [task for task in night.tasks if night.reports.get(task, {}).get("verdict") == "confirmed"]
        lost = [f"{task['id']} is not in the report" for task in self.tasks if task["id"] not in night.reports]
        lost += [f"{task} has no commit" for task in confirmed if not commits.get(task)]
        self.require("lost 0", lost)
        doubled = night.doubled() + [task for task, count in commits.items() if count > 1]
        doubled += [f"{task} is merged and not confirmed" for task in commits if task not in confirmed]
        self.require("doubled 0", doubled)
        self.require("each refuted attempt has its reflection", night.attempts_without_reflection())
        without = [t for t in night.tasks if night.tasks[t]["status"] != "closed" and not night.reports.get(t, {}).get("cause")]
        self.require("nothing open without a cause", without)
        size = standing.megabytes(self.dir / ".reflection")
        self.totals.append((".reflection", f"{size:.1f} MB"))
        if size > 100:
            self.trouble.append(f".reflection has {size:.0f} MB")
        self.require("merged work passes its checks in a fresh clone", self.check_fresh(night, confirmed))
        self.rows = [self.row(night, group, commits) for group in GROUPS if group[0] in self.groups]

    def check_fresh(self, night, confirmed):
        try:
            fresh = night.fresh(self.place / "fresh")
        except RuntimeError as error:
            return str(error)
        env = {**self.env, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "src:."}
        red = []
        for task in self.tasks:
            checks = [{"run": self.syntax}, *task["checks"]] if task["id"] in confirmed else []
            checks += [check for part in task.get("subtasks", []) if checks for check in part["checks"]]
            for check in checks:
                done = bugs.run(check["run"], fresh, env)
                if done is None or done.returncode:
                    red.append(f"{task['id']}: {check['run']}: {done and done.stdout[-200:]}")
        return red + [path.name for path in fresh.rglob("*") if path.name in ("stray.txt", "half-done.txt", "broken.py")]

    def row(self, night, group, commits):
        name, _, _, _, verdict, status, attempts, _ = group
        if self.sandbox != "none":
            attempts = SANDBOXED_ATTEMPTS.get(name, attempts)
        got, judged, lessons, merged = [], [], 0, 0
        for task in self.groups[name]:
            found, end = night.tasks[task]["status"], night.reports.get(task, {})
            used = len(night.of("attempt_judged", task))
            again = sum(e["outcome"]["kind"] != "merged" for e in night.of("merge_ended", task))
            judged.append(used)
            lessons += sum(r["taskId"] == task for r in night.reflections)
            merged += commits.get(task, 0)
            got.append(f"{end.get('verdict') or 'none'}, {found}")
            right = (end.get("verdict"), found) in (("confirmed", "closed"), ("false_done", "blocked"), ("failed", "blocked"))
            if attempts is not None:
                wanted = attempts + again * (2 if name == "two parts" else 1)
                right = (end.get("verdict"), found, used) == (verdict, status, wanted)
            if not right:
                self.trouble.append(f"{task} ({name}): {got[-1]}, {used} attempts, {again} not merged: {end.get('cause')}")
        expected = f"{verdict or 'none'}, {status}" if attempts is not None else "confirmed, closed; or blocked"
        said = "; ".join(f"{got.count(one)} {one}" for one in sorted(set(got)))
        return [name, len(got), expected, said, "+".join(map(str, judged)), lessons, merged]

    def print_table(self):
        names = ["group", "tasks", "expected", "got", "attempts", "reflections", "merged"]
        print(f"\n### {self.name}: {len(self.tasks)} tasks, {self.kills} kills, {self.seconds:.0f} s, exit {self.code}\n")
        for row in [names, ["---"] * len(names), *self.rows]:
            print("| " + " | ".join(map(str, row)) + " |")
        sums = [sum(row[i] for row in self.rows) for i in (1, 5, 6)]
        attempts = sum(int(n) for row in self.rows for n in row[4].split("+"))
        print(f"| **all** | {sums[0]} |  |  | {attempts} | {sums[1]} | {sums[2]} |\n")
        print(", ".join(f"{name}: {value}" for name, value in self.totals))
        for trouble in self.trouble:
            print(f"WRONG: {trouble}")
        print(flush=True)


def written(goal):
    return f"grep -qxF -- {shlex.quote(goal['text'])} {goal['file']}"


def syntax(directory):
    code = f"import ast, pathlib; [ast.parse(p.read_bytes()) for p in pathlib.Path('{directory}').rglob('*.py')]"
    return f'python3 -c "{code}"'


# ---------------------------------------------------------------- the projects


def sample(place, options, groups, name="sample"):
    """A clone of this repository, with copies of its sample program that have one more bug each."""
    project = Project(name, place, options)
    project.place.mkdir()
    git(ROOT, "clone", "-q", "--bare", "--no-hardlinks", str(ROOT), str(project.remote))
    git(project.remote, "remote", "remove", "origin")
    git(project.place, "clone", "-q", "--no-hardlinks", str(project.remote), str(project.dir))
    git(project.dir, "checkout", "-q", "-B", "main")
    base = project.dir / "config" / "sample"
    project.suite, project.syntax = bugs.unittest("."), syntax("shops")
    project.protect, project.tests, project.beside = ["shops/*/tests", "config/sample/tests"], "shops/*/tests/*.py", "shops/broken.py"
    (project.dir / "shops").mkdir()
    (project.dir / "shops" / "README.md").write_text("Copies of config/sample.\n")
    count = sum(n for _, _, n, kind, *_ in groups if kind in ("bug", "any")) - 3
    files = [path.name for path in sorted(base.glob("*.py"))]
    chosen = bugs.choose(base, files, project.suite, count, True, options)
    for number, bug in enumerate(chosen):
        shop = project.dir / "shops" / f"{number:02}"
        (shop / "tests").mkdir(parents=True)
        for file in (bug.file, f"tests/test_{bug.file}", "tests/__init__.py"):
            shutil.copy(base / file, shop / file)
        bug.plant(shop)
        bug.own = f"cd shops/{number:02} && python3 -B -m unittest -q {bug.test}"
        bug.file = f"shops/{number:02}/{bug.file}"
    project.bugs = chosen
    own = [json.loads(line) for line in (ROOT / "tasks.jsonl").read_text().splitlines() if line.strip()]
    project.tasks += own
    project.groups["repair"] = [task["id"] for task in own]
    project.make_tasks(groups)
    return project


def sandboxed(place, options, groups):
    project = sample(place, options, [(g[0], g[1], SANDBOXED[g[0]], *g[3:]) for g in GROUPS if g[0] in SANDBOXED], "sandboxed")
    project.sandbox = "landlock"
    return project


def package(place, options, groups, described):
    """A published package as its sdist brings it, with its own tests."""
    name, version, sources, tests = described
    project = Project(name, place, options)
    base = fetch(name, version, options)
    project.place.mkdir()
    git(place, "init", "-q", "--bare", "-b", "main", str(project.remote))
    shutil.copytree(base, project.dir, symlinks=True)
    git(project.dir, "init", "-q", "-b", "main")
    git(project.dir, "remote", "add", "origin", str(project.remote))
    project.suite, project.syntax, project.tests = bugs.pytest(), syntax(sources), f"{tests}/*.py"
    project.protect, project.beside = [tests], f"{sources}/broken.py"
    count = sum(n for _, _, n, kind, *_ in groups if kind in ("bug", "any"))
    files = [str(path.relative_to(base)) for path in sorted((base / sources).rglob("*.py"))]
    files = [file for file in files if "tests" not in Path(file).parts]
    known = options.cache / f"{name}-{version}.bugs.{options.seed}.{count}.json"
    project.bugs = bugs.remembered(known, lambda: bugs.choose(base, files, project.suite, count, False, options))
    for bug in project.bugs:
        bug.plant(project.dir)
        bug.own = None
    project.make_tasks(groups)
    return project


def fetch(name, version, options):
    base = options.cache / f"{name}-{version}"
    if not base.exists():
        options.cache.mkdir(parents=True, exist_ok=True)
        python = options.cache / "venv" / "bin" / "python3"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", options.cache / "venv"], check=True)
            subprocess.run([python, "-m", "pip", "-q", "install", "pytest"], check=True)
        download = ["download", "--no-deps", "--no-binary", ":all:", "-d", options.cache, f"{name}=={version}"]
        subprocess.run([python, "-m", "pip", "-q", *download], check=True)
        shutil.unpack_archive(options.cache / f"{name}-{version}.tar.gz", options.cache)
    return base


def moments(options, count, total):
    """When to kill: journal lines, and up to so many seconds after them."""
    lines = sorted(options.random.randrange(1, total) for _ in range(count))
    return [(at, options.random.random() * 0.7) for at in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM", type=Path, help="reflexion")
    parser.add_argument("--seed", type=int, default=20261122, help="bugs, priorities, and moments (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few tasks of the sample project, two kills")
    parser.add_argument("--kills", type=int, default=5, help="how often each night is killed (default %(default)s)")
    parser.add_argument("--only", default="", metavar="NAME", help="only this project")
    parser.add_argument("--limit", type=int, default=1200, help="seconds that a night may take (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the directory with the projects")
    options = parser.parse_args()
    options.program, options.cache = options.program.resolve(), ROOT / "target" / "night"
    options.place = place = Path(tempfile.mkdtemp(prefix="forty-")).resolve()
    # Somebody may build it anew meanwhile.
    options.program = Path(shutil.copy(options.program, place / "reflexion"))
    venv = options.cache / "venv" / "bin"
    options.env = {**os.environ, "PATH": f"{venv}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8",
                   "XDG_STATE_HOME": str(place / "state"), "REFLEXION_TRUST": "1", "REFLEXION_HOLDOUT": "0"}
    groups = [group for group in GROUPS if group[0] not in ONLY_SANDBOXED]
    makers = [sample] + [lambda *a, p=p: package(*a, p) for p in PACKAGES]
    makers.append(sandboxed)
    names = ["sample", *(p[0] for p in PACKAGES), "sandboxed"]
    if options.quick:
        groups, makers = [(g[0], g[1], QUICK[g[0]], *g[3:]) for g in GROUPS if g[0] in QUICK], [sample]
        options.limit, options.kills = min(options.limit, 180), 2
    # Also in the background, where a shell lets it ignore Ctrl-C: whatever ends it, what it started is ended.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    failed = []
    for name, make in zip(names, makers):
        if options.only in ("", name):
            failed += night(make, place, options, groups)
    if options.keep or failed:
        print(f"kept: {place}")
    else:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if failed else 0


def night(make, place, options, groups):
    options.random = random.Random(f"{options.seed} {len(list(place.iterdir()))}")
    project = make(place, options, groups)
    project.say(f"{len(project.tasks)} tasks, {len(project.bugs)} planted bugs")
    try:
        project.write()
        project.night(moments(options, options.kills, 6 * len(project.tasks)))
        project.judge()
        project.print_table()
    finally:
        project.end_everything()
    return project.trouble


if __name__ == "__main__":
    sys.exit(main())
