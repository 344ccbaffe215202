"""A box per scenario: a small git project, a home of its own, and a scripted model server on its own port."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path

import agents
from limits import Limited

# Longer than anything here takes on a busy machine; only what would hang for ever meets it.
RUN_SECONDS = 300
PATIENCE = 180
RIGHT = "def total(prices):\n    return sum(prices)\n"
WRONG = "def total(prices):\n    return sum(prices[1:])\n"
SPOILING = "def total(prices):\n    prices.sort()\n    return sum(prices)\n"
BROKEN = "def total(prices):\n    return 0\n"
TEST = """import unittest

from shop import total


class Total(unittest.TestCase):
    def test_every_price_counts(self):
        self.assertEqual(total([5, 7, 11]), 23)
"""
# How whatever the runtime says to an agent at work begins, and how a reviewer is asked.
FEEDBACK = "reflexion:feedback"
REVIEWER = "You review a change that somebody else made"
FINDING = "total() sorts the list of its caller"
# The heading under which a prompt holds the lessons of earlier attempts.
REFLECTIONS = "## Reflections on earlier attempts"


class Failed(Exception):
    """The scenario went another way than it must."""


def require(holds, what):
    if not holds:
        raise Failed(what)


def edit(text):
    """A turn that writes the file, and the turn that claims success."""
    return [{"text": "I write the file.", "tools": [{"write": {"path": "shop.py", "content": text}}]}, {"text": "Done, the test passes."}]


def learning():
    """A model that works wrongly until a lesson stands in its prompt."""
    return {
        "rules": [
            {"name": "second", "when": {"contains": REFLECTIONS, "has_tools": True}, "turns": edit(RIGHT), "on_exhausted": "restart"},
            {"name": "first", "when": {"has_tools": True}, "turns": edit(WRONG), "on_exhausted": "restart"},
        ]
    }


def right():
    """A model that works well."""
    return {"turns": edit(RIGHT), "on_exhausted": "restart"}


def lying():
    """A model that claims what is not so until it is told in the same conversation."""
    return {
        "rules": [
            {"name": "told", "when": {"contains": FEEDBACK, "has_tools": True}, "turns": edit(RIGHT)},
            {"name": "first", "when": {"has_tools": True}, "turns": edit(WRONG)},
        ]
    }


def reviewed():
    """An author whose change passes the test and spoils its caller's list, and a reviewer that sees it."""
    dissent = {"complete": False, "severity": "HIGH", "feedback": FINDING, "missing": [f"shop.py: {FINDING}"]}
    approval = {"complete": True, "severity": "NONE", "feedback": "It does what was asked.", "missing": []}
    rest = {"next_actions": [], "requires_human_action": False}
    return {
        "rules": [
            {"name": "dissents", "when": {"contains": [REVIEWER, "prices.sort()"]}, "turns": [{"json": {**dissent, **rest}}]},
            {"name": "approves", "when": {"contains": REVIEWER}, "turns": [{"json": {**approval, **rest}}]},
            {"name": "answers", "when": {"contains": FINDING, "has_tools": True}, "turns": edit(RIGHT)},
            {"name": "author", "when": {"has_tools": True}, "turns": edit(SPOILING)},
        ]
    }


def refusing(status, times=-1, then=None, **more):
    """A model server that answers with an HTTP error, for ever or so many times."""
    error = {"error": {"status": status, **more}, "times": times}
    answers = {"turns": [error, *(then or [])]}
    # Titles and the like are refused too: a key is bad for every request.
    return {"rules": [{"name": "all", "when": {}, **answers}]} if then is None else answers


class Model:
    """The scripted model server; every request that it gets is in its log."""

    def __init__(self, server, folder, script):
        folder.mkdir(parents=True)
        self.log, self.port_file = folder / "requests.jsonl", folder / "port"
        (folder / "script.json").write_text(json.dumps(script))
        command = [sys.executable, str(server), "--script", "script.json", "--port-file", "port", "--log", "requests.jsonl", "--quiet"]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.port_file.exists() and self.port_file.read_text().strip(), 20, "the model server did not start")
        self.url = f"http://127.0.0.1:{self.port_file.read_text().strip()}"

    def requests(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def turns(self):
        """Requests of an agent's main loop."""
        return [request for request in self.requests() if request["tools"]]

    def play(self, script):
        data = json.dumps(script).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/__mock/script", data=data, method="POST"), timeout=10)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Box:
    """One scenario's world."""

    def __init__(self, options, agent, name, script, retries=1, chain=(), limited=None, **settings):
        self.options, self.agent = options, agent
        # What else stands in project.json.
        self.settings = settings
        self.place = options.place / f"{agent.name}-{name}"
        shutil.rmtree(self.place, ignore_errors=True)
        self.home, self.project = self.place / "home", self.place / "project"
        self.home.mkdir(parents=True)
        self.model = Model(options.server, self.place / "model", script)
        self.models = [self.model]
        url = self.model.url
        if limited:
            self.limit = Limited(url, *limited)
            self.models.append(self.limit)
            url = self.limit.url
        self.env = agents.environment(options.programs, self.home)
        self.env.update(agent.set_up(self.home, url, retries))
        self.marks, self.said = [], ""
        for other, its_script in chain:
            model = Model(options.server, self.place / f"model-{other.name}", its_script)
            self.models.append(model)
            self.env.update(other.set_up(self.home, model.url, retries))
        self.lay_out([agent, *(other for other, _ in chain)])

    def lay_out(self, chain):
        names = [agent.name for agent in chain]
        project = {
            "name": "shop",
            "agents": {"default": names if len(names) > 1 else names[0], **{a.name: a.entry for a in chain if a.entry}},
        }
        project["agents"].update(self.settings.get("agents", {}))
        project.update({key: value for key, value in self.settings.items() if key != "agents"})
        files = {
            "shop.py": BROKEN,
            "test_shop.py": TEST,
            ".gitignore": "__pycache__/\nmemory/\n.reflection/\n",
            "project.json": json.dumps(project, indent=1),
            "tasks.jsonl": task("sum"),
        }
        for path, text in files.items():
            agents.write(self.project / path, text)
        agents.write(self.home / ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
        self.commit()

    def commit(self):
        if not (self.project / ".git").exists():
            self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "as it is")

    def git(self, *args):
        done = subprocess.run(["git", *args], cwd=self.project, env=self.env, capture_output=True, text=True, timeout=60)
        require(done.returncode == 0, f"git {args}: {done.stderr}")
        return done.stdout

    # Running the program.

    def start(self, *args, **env):
        """Starts the program; everything that it starts carries a mark in its environment."""
        mark = f"REAL_AGENTS_MARK={uuid.uuid4()}"
        self.marks.append(mark)
        name, value = mark.split("=")
        command = [str(self.options.reflexion), *args]
        output = open(self.place / f"out-{len(self.marks)}", "w+"), open(self.place / f"err-{len(self.marks)}", "w+")
        env = {**self.env, **env, name: value}
        process = subprocess.Popen(command, cwd=self.project, env=env, stdin=subprocess.DEVNULL, stdout=output[0], stderr=output[1])
        return process, output

    def end(self, started, seconds=RUN_SECONDS):
        process, (out, err) = started
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = f"none within {seconds} s"
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        self.said += f"--- reflexion ended with {code}\n{texts[1][-4000:]}\n{texts[0][-4000:]}\n"
        return code, texts[0]

    def run(self, *args, **env):
        """Runs the program to its end: its exit code, and the document that it printed."""
        code, out = self.end(self.start(*args, "--json", **env))
        try:
            return code, json.loads(out)
        except ValueError:
            raise Failed(f"exit code {code}, and no JSON document on stdout") from None

    def work(self, *args, **env):
        """`reflexion run` on the one task: its exit code and report."""
        code, document = self.run("run", *args, **env)
        require(len(document["tasks"]) == 1, "not one task")
        return code, document["tasks"][0]

    def status(self):
        """The task's effective status."""
        _, document = self.run("task", "list")
        return document["tasks"][0]["status"]

    def journal(self):
        lines = next(self.project.glob(".reflection/runs/*/journal.jsonl")).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def verdict(self):
        """The artefact that other programs read; there is one session."""
        files = list(self.project.glob(".reflection/verdict_*.json"))
        require(len(files) == 1, f"verdicts: {files}")
        return json.loads(files[0].read_text())

    def told(self):
        """What the runtime said to the agent at work, as the model server received it."""
        found = [text for request in self.model.turns() for text in texts(request["body"]) if FEEDBACK in text]
        require(found, "no request holds feedback")
        return found

    def transcripts(self):
        _, document = self.run("transcript", "list")
        return [self.run("transcript", "show", row["session"])[1] for row in document["transcripts"]]

    # Looking at what is left.

    def left(self, mark=-1):
        """Processes that a call of the program started and that still run."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if self.marks[mark].encode() in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    if command:
                        found.append(f"{entry.name} {command[:120]}")
            except OSError:
                pass
        return found

    def setting(self, **changed):
        """Changes the agent's entry in project.json."""
        path = self.project / "project.json"
        project = json.loads(path.read_text())
        project["agents"].setdefault(self.agent.name, {}).update(changed)
        path.write_text(json.dumps(project, indent=1))
        self.commit()

    def nothing_left(self, mark=-1):
        left = self.left(mark)
        require(not left, f"still running: {left}")

    def close(self):
        for model in self.models:
            model.stop()
        # What a failed scenario leaves must not disturb the others.
        for mark in range(len(self.marks)):
            for line in self.left(mark):
                try:
                    os.kill(int(line.split()[0]), signal.SIGKILL)
                except OSError:
                    pass


def task(name):
    check = {"name": "unit", "run": "python3 -m unittest -q test_shop"}
    return json.dumps({"id": name, "title": "total() must add up every price", "description": "Mend shop.py.", "checks": [check]}) + "\n"


def texts(value):
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(0.05)
