"""Hooks of real agents: installed by the program, fired by a session of the agent's own, and taken out again."""

import json
import subprocess

import agents
from box import PATIENCE, RIGHT, WRONG, FEEDBACK, Box, edit, learning, require, right, texts

TEST = "python3 -m unittest -q test_shop"
PROMPT = f"Fix the bug in shop.py so that its test passes. Run `{TEST}`."

# How each agent is run by a person's script. Codex asks people to trust a hook; a script says that it did.
COMMANDS = {
    "claude": ["claude", "-p", PROMPT, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
    "codex": ["codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", PROMPT],
    "gemini": ["gemini", "-p", PROMPT, "-o", "stream-json", "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"],
    "opencode": ["opencode", "run", "--format", "json", "--auto", PROMPT],
}
# A project's own settings count where the project is trusted, which Codex and Gemini ask a person.
USER = ["codex", "gemini"]


def session(box, **env):
    """One session of the agent's own in the project, without the program around it."""
    command = COMMANDS[box.agent.name]
    env = {**box.env, "npm_config_fetch_retries": "0", **env}
    done = subprocess.run(command, cwd=box.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    box.said += f"--- {command[0]} ended with {done.returncode}\n{done.stderr[-3000:]}\n{done.stdout[-3000:]}\n"
    require(done.returncode == 0, f"{command[0]} ended with {done.returncode}")


def change_hooks(box, what, *more):
    scope = ["--user"] if box.agent.name in USER else []
    code, said = box.run("hook", what, box.agent.name, *scope, *more)
    require(code == 0 and said["changed"], f"hook {what}: exit {code}: {said}")
    return said["file"]


def records(box):
    return [json.loads(file.read_text()) for file in sorted(box.project.glob(".reflection/reflections/*.reflection.json"))]


def hooks(options, agent):
    """Installed, a session is recorded if the mode says so; taken out, it is not."""
    box = Box(options, agent, "hooks", right())
    yield box
    agents.write(box.project / "mine.txt", "dirty before the session\n")
    change_hooks(box, "install")
    session(box)
    require(not (box.project / ".reflection").exists(), "the mode was off")
    box.git("checkout", "-q", "shop.py")
    session(box, REFLECTION_MODE="solo")
    found = records(box)
    require(len(found) == 1, f"{len(found)} records: {found}")
    seen = found[0]["agent"], found[0]["files_changed"], found[0]["provenance"]["degraded"]
    # The settings themselves were there before the session.
    require(seen == (agent.name, ["shop.py"], False), f"{found[0]}")
    change_hooks(box, "uninstall")
    box.git("checkout", "-q", "shop.py")
    session(box, REFLECTION_MODE="solo")
    require(len(records(box)) == 1, "it is still called")


def claiming():
    """A model that sees its test fail and says that it passes, until it is told."""
    run = {"text": "I run the test.", "tools": [{"shell": TEST}]}
    wrong, right = [turns[:1] for turns in (edit(WRONG), edit(RIGHT))]
    return {
        "rules": [
            {"name": "told", "when": {"contains": FEEDBACK, "has_tools": True}, "turns": [*right, run, {"text": "Done, the test passes."}]},
            {"name": "first", "when": {"has_tools": True}, "turns": [*wrong, run, {"text": "Done, the test passes."}]},
        ]
    }


def hooks_verify(options, agent):
    """With --verify a stop that the record refutes sends the agent back to work, in the same session."""
    box = Box(options, agent, "hooks-verify", claiming())
    yield box
    change_hooks(box, "install", "--verify")
    session(box, REFLECTION_MODE="solo")
    require((box.project / "shop.py").read_text() == RIGHT, "it was not sent back")
    told = [text for request in box.model.turns() for text in texts(request["body"]) if FEEDBACK in text]
    require(any(TEST in text for text in told), f"it was not told which test failed: {told[-1:]}")
    found = records(box)
    require([record["provenance"]["reflection_attempt"] for record in found] == [2], f"one stop, captured twice: {found}")


def hooks_learn(options, agent):
    """With --learn lessons reach a session of the agent's own: at its start, and after a command that failed as one did in a run."""
    box = Box(options, agent, "hooks-learn", learning(), feedback={"maxTurns": 1})
    yield box
    code, _ = box.work()
    require(code == 0, f"the run ended with {code}")
    lesson = json.loads((box.project / "memory" / "reflections.jsonl").read_text().splitlines()[-1])
    # As many as a session begins with, so that the run's own is left for the failure.
    more = [added(box, f"Filler {number}: carts are lists.") for number in range(3)]
    for one in [lesson["id"], *more]:
        code, said = box.run("memory", "promote", one)
        require(code == 0, f"promote {one}: {code}: {said}")
    change_hooks(box, "install", "--learn")
    agents.write(box.project / "shop.py", WRONG)
    runs_it = {"text": "I run the test.", "tools": [{"shell": TEST}]}
    box.model.play({"rules": [{"name": "tries", "when": {"has_tools": True}, "turns": [runs_it, {"text": "It fails."}]}]})
    before = len(box.model.turns())
    session(box)
    asked = [" ".join(" ".join(texts(request["body"])).split()) for request in box.model.turns()[before:]]
    says = " ".join(lesson["suggestion"].split())[:50]
    require(says not in asked[0], "nothing had failed yet")
    require(says in asked[-1], f"it was not told after its failure: {asked[-1][-3000:]}")
    # A plugin of OpenCode's cannot speak at a session's start.
    require(agent.name == "opencode" or "Filler 2" in asked[0], f"it began without lessons: {asked[0][-3000:]}")


def added(box, suggestion):
    """The id of a lesson that a person has written."""
    lesson = {"taskId": "carts", "subtaskId": "carts", "attemptNumber": 1, "category": "root_cause", "analysis": suggestion, "suggestion": suggestion}
    command = [box.options.reflexion, "memory", "add", "--json"]
    done = subprocess.run(command, cwd=box.project, env=box.env, input=json.dumps(lesson), capture_output=True, text=True, timeout=PATIENCE)
    require(done.returncode == 0, f"memory add: {done.stderr}")
    return json.loads(done.stdout)["id"]
