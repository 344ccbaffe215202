"""What stands after a night: the user's checkout, processes, branches, tasks, reflections."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path


def git(directory, *arguments, check=True):
    done = subprocess.run(["git", "-C", str(directory), *arguments], text=True, capture_output=True)
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def snapshot(project):
    """Everything of the user's that a night must leave alone, by name."""
    seen = {}
    for directory, directories, files in os.walk(project):
        directories[:] = [d for d in directories if Path(directory, d) not in (project / ".git", project / ".reflection", project / "memory")]
        for name in files:
            path = Path(directory, name)
            seen[str(path.relative_to(project))] = (digest(path), path.lstat().st_mode)
    for name in ("index", "HEAD", "config", "hooks", "info", "logs/HEAD", "MERGE_HEAD"):
        root = project / ".git" / name
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file():
                seen[str(path.relative_to(project))] = (digest(path), path.stat().st_mode)
    seen.update(refs(project))
    # Not its log's bytes: a stash that was cleared and put back has the time of that.
    seen["stash"] = git(project, "stash", "list", "--format=%H %gs")
    return seen


def refs(repository):
    lines = git(repository, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines if not line.startswith(("refs/heads/reflexion/", "refs/reflexion/")))


def digest(path):
    return os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()


def differences(before, after):
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def processes(mark, place):
    """Who carries the mark in its environment or works below the place: pid and command."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            there = os.readlink(entry / "cwd")
        except OSError:
            continue
        below = there == str(place) or there.startswith(f"{place}/")
        if mark.encode() in environment or below:
            found[int(entry.name)] = command.strip()
    return found


class Night:
    """What a project's journal, memory, tasks and branches tell."""

    def __init__(self, project, program, report, env):
        """`report`: what the night printed at its end; `env`: of the user whose night it was, as nobody else believes its marks."""
        self.project = project
        self.reports = {task["id"]: task for task in report.get("tasks", [])}
        self.journals = {}
        for path in sorted(project.glob(".reflection/runs/*/journal.jsonl")):
            entries = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
            if entries:
                self.journals[path.parent.name] = entries
        self.entries = [entry for entries in self.journals.values() for entry in entries]
        listed = subprocess.run([program, "task", "list", "--json"], cwd=project, env=env, text=True, capture_output=True)
        self.tasks = {task["id"]: task for task in json.loads(listed.stdout)["tasks"]}
        memory = project / "memory" / "reflections.jsonl"
        self.reflections = [json.loads(line) for line in memory.read_text().splitlines()] if memory.exists() else []

    def of(self, kind, task):
        return [entry for entry in self.entries if entry["type"] == kind and entry["task"] == task]

    def run(self):
        return sorted(self.journals)[-1]

    def tip(self):
        """The last commit that was merged, as the journal has it: branches may have been moved or deleted."""
        merged = [e["outcome"]["commit"] for e in self.entries if e["type"] == "merge_ended" and e["outcome"]["kind"] == "merged"]
        return merged[-1] if merged else ""

    def wrong_branches(self):
        """What does not stand where the night says that it stands."""
        standing = dict(
            line.split(" ") for line in git(self.project, "for-each-ref", "--format=%(refname:short) %(objectname)").splitlines()
        )
        name = f"reflexion/{self.run()}/integration"
        wrong = [] if standing.get(name) == (self.tip() or None) else [f"{name} is at {standing.get(name)}, not at {self.tip()}"]
        told = {report["branch"] for report in self.reports.values() if report.get("branch")}
        return wrong + sorted(told - standing.keys())

    def commits(self):
        """How many commits of which task were merged."""
        base = next(e for e in self.entries if e["type"] == "run_started")["plan"]["base"]
        counts = {}
        bodies = git(self.project, "log", "-z", "--format=%B", f"{base}..{self.tip() or base}").split("\0")
        for body in filter(str.strip, bodies):
            told = [line[6:] for line in body.splitlines() if line.startswith("task: ")]
            task = told[0] if told else f"(nobody's: {body.strip()[:40]})"
            counts[task] = counts.get(task, 0) + 1
        return counts

    def fresh(self, place):
        """A new clone with the work that was merged; also where no branch leads to it any more."""
        shutil.rmtree(place, ignore_errors=True)
        git(self.project, "clone", "-q", "--no-hardlinks", "--no-checkout", str(self.project), str(place))
        git(place, "checkout", "-q", "--detach", self.tip() or "HEAD")
        return place

    def attempts_without_reflection(self):
        """Judged and refuted, or not merged, and no lesson of it in the memory."""
        known = {reflection["id"] for reflection in self.reflections}
        judged = [e for e in self.entries if e["type"] == "attempt_judged" and e["verdict"] in ("failed", "false_done")]
        judged += [e for e in self.entries if e["type"] == "merge_ended" and e["outcome"]["kind"] != "merged"]
        return [f"{e['task']}#{e['attempt']}" for e in judged if e.get("reflection") not in known]

    def doubled(self):
        """Attempts that were judged twice, tasks that were merged twice, reflections on the same failure."""
        keys = [("attempt", e["task"], e["subtask"], e["attempt"]) for e in self.entries if e["type"] == "attempt_judged"]
        keys += [("merged", e["task"]) for e in self.entries if e["type"] == "merge_ended" and e["outcome"]["kind"] == "merged"]
        not_merged = {(e["task"], e["attempt"]) for e in self.entries if e["type"] == "merge_ended" and e["outcome"]["kind"] != "merged"}
        keys += [
            ("reflection", r["taskId"], r["subtaskId"], r["attemptNumber"])
            for r in self.reflections
            # What made the difference is a second lesson of the same attempt.
            if (r["taskId"], r["attemptNumber"]) not in not_merged and not r.get("replaces")
        ]
        return sorted({key for key in keys if keys.count(key) > 1})


def megabytes(directory):
    paths = [Path(d, f) for d, _, files in os.walk(directory) for f in files]
    return sum(path.lstat().st_blocks * 512 for path in paths) / 1e6


def worktrees(project, rooms):
    """What git knows, and what stands where they and the clean rooms were; an empty directory does no harm."""
    told = [line[9:] for line in git(project, "worktree", "list", "--porcelain").splitlines() if line.startswith("worktree ")]
    places = [project / ".reflection" / "worktrees", *rooms.glob("*")]
    files = {path.relative_to(below).parts[:2] for below in places for path in below.rglob("*") if path.is_file()}
    return [path for path in told if Path(path) != project] + ["/".join(parts) for parts in sorted(files)]


def locks(project):
    return [str(path.relative_to(project)) for path in (project / ".git").rglob("*.lock")]
