#!/usr/bin/env python3
"""Runs `reflexion` with real coding agents against a scripted model server, and looks at what really happens.

    python3 tests/agents/real.py target/release/reflexion [--only REGEX] [--jobs N] [--keep]

Installs pinned versions of the agents from npm once (`target/agents`). What is not here (npm, the model server) is said
and skipped, with exit code 0; anything that goes wrong is shown and ends with 1. One line per scenario, a table at the end.
"""

import argparse
import json
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import agents
import hooked
import limits
from box import (
    FINDING,
    PATIENCE,
    REVIEWER,
    RIGHT,
    WRONG,
    Box,
    Failed,
    edit,
    learning,
    looping,
    lying,
    refusing,
    require,
    reviewed,
    right,
    task,
    texts,
    wait_for,
)

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT.parent / "shared" / "tools" / "mock_llm.py"


# In words that vendors use: what OpenCode tells over ACP has no number in it.
LIMIT = "Number of requests has exceeded your rate limit"


def kinds(report):
    return [ending["kind"] for ending in report["endings"]]


# ---------------------------------------------------------------- the scenarios


def learns(options, agent):
    """Attempt 1 claims what is not so; the lesson reaches the model; attempt 2 is right."""
    box = Box(options, agent, "learns", learning(), feedback={"maxTurns": 1})
    yield box
    code, report = box.work()
    require((code, report["verdict"], report["solvedAt"]) == (0, "confirmed", 2), f"exit {code}: {report}")
    require(kinds(report) == ["finished", "finished"], report["endings"])
    # OpenCode tells over ACP what it cost, and the tokens of its last step only, which are no sum.
    require(report["costUsd" if agent.name == "acp-opencode" else "tokens"], f"no usage: {report}")
    # What made the difference is a second lesson.
    require((report["reflectionsWritten"], report["reflectionsInjected"]) == (2, 1), report)
    journal = next(box.project.glob(".reflection/runs/*/journal.jsonl")).read_text()
    require('"false_done"' in journal, "attempt 1 is no false_done")
    guess, contrast = map(json.loads, (box.project / "memory" / "reflections.jsonl").read_text().splitlines())
    require(contrast["replaces"] == guess["id"], f"{contrast}")
    reflection = guess
    analysis = " ".join(reflection["suggestion"].split())[:60]
    received = [request for request in box.model.turns() if any(analysis in " ".join(t.split()) for t in texts(request["body"]))]
    require(received, f"no request to the model holds the reflection: {analysis}")
    require(box.git("show", f"{report['branch']}:shop.py") == RIGHT, "the branch is not right")
    shown = box.transcripts()
    require(len(shown) == 2, f"{len(shown)} transcripts")
    for transcript in shown:
        calls = [r for r in transcript["records"] if r["type"] == "tool_call"]
        require(any("shop.py" in edited for call in calls for edited in call.get("edits", [])), f"no edit in {calls}")
        require(transcript["records"][-1]["type"] == "end", "no end")
    box.nothing_left()


def lies(options, agent):
    """It lies about its test: the turn is false_done, it is told which command to run, and the answer is verified again."""
    box = Box(options, agent, "lies", lying())
    yield box
    code, report = box.work()
    require((code, report["verdict"], report["solvedAt"]) == (0, "confirmed", 1), f"exit {code}: {report}")
    require((kinds(report), report["reflectionsWritten"]) == (["finished", "finished"], 0), report)
    turns = [entry for entry in box.journal() if entry["type"].startswith("turn_")]
    seen = [(entry["type"], entry["turn"], entry.get("verdict"), entry.get("reason")) for entry in turns]
    expected = [
        ("turn_judged", 1, "false_done", None),
        ("turn_started", 2, None, "feedback"),
        ("turn_judged", 2, "confirmed", None),
    ]
    require(seen == expected, f"{seen}")
    require(any("python3 -m unittest -q test_shop" in text for text in box.told()), f"which command? {box.told()}")
    require([box.verdict()[key] for key in ("complete", "status")] == [True, "proven"], box.verdict())
    require(len(box.transcripts()) == 1, "the conversation has not one transcript")
    require(box.git("show", f"{report['branch']}:shop.py") == RIGHT, "the branch is not right")
    box.nothing_left()


def lies_on(options, agent):
    """It lies and is never told anything: the attempt ends as false_done."""
    box = Box(options, agent, "lies-on", {"turns": edit(WRONG), "on_exhausted": "restart"})
    yield box
    code, report = box.work("--max-attempts", "1")
    require((code, report["verdict"]) == (1, "false_done"), f"exit {code}: {report}")
    require(kinds(report) == ["finished"] * 3, report["endings"])
    require(any("last turn (3/3)" in text for text in box.told()), f"no last warning: {box.told()}")
    require([box.verdict()[key] for key in ("complete", "status")] == [False, "refuted"], box.verdict())
    box.nothing_left()


def loops(options, agent):
    """It runs the same failing command again and again: that turn is stopped, it is told so, and the attempt goes on."""
    box = Box(options, agent, "loops", looping())
    yield box
    code, report = box.work()
    require((code, report["verdict"], report["solvedAt"]) == (0, "confirmed", 1), f"exit {code}: {report}")
    require(kinds(report) == ["nudged", "finished"], report["endings"])
    turns = [(entry["type"], entry["turn"]) for entry in box.journal() if entry["type"].startswith("turn_")]
    require(turns == [("turn_nudged", 1), ("turn_started", 2), ("turn_judged", 2)], turns)
    box.told()
    box.nothing_left()


def reviews(options, agent):
    """Green checks, and a reviewer names the one bug: it blocks, the author hears of it, and approval follows."""
    entry = agent.entry or {"type": agent.name}
    settings = {"agents": {"reviewer": entry}, "verification": {"review": {"reviewer": "reviewer"}}}
    box = Box(options, agent, "reviews", reviewed(), **settings)
    yield box
    code, report = box.work()
    require((code, report["verdict"], report["solvedAt"]) == (0, "confirmed", 1), f"exit {code}: {report}")
    judged = [entry for entry in box.journal() if entry["type"] == "turn_judged"]
    require([entry["verdict"] for entry in judged] == ["unverifiable", "confirmed"], judged)
    require(any(FINDING in text for text in box.told()), f"the author was not told: {box.told()}")
    asked = [r for r in box.model.requests() if any(REVIEWER in text for text in texts(r["body"]))]
    require(len(asked) >= 2, f"the reviewer was asked {len(asked)} times")
    shown = [text for request in asked for text in texts(request["body"]) if REVIEWER in text]
    require(not any("the test passes" in text for text in shown), "the reviewer sees more than task and diff")
    require(box.git("show", f"{report['branch']}:shop.py") == RIGHT, "the branch is not right")
    box.nothing_left()


def api_error(options, agent):
    """The model's service fails for ever: the task stays open, nothing is learned from it."""
    box = Box(options, agent, "api-error", refusing(500))
    yield box
    if agent.setting is agents.opencode:
        # It asks again for ever and prints nothing meanwhile, so that its silence is all there is to see: a `hang`.
        box.setting(idleTimeoutMs=30_000)
        code, report = box.work("--max-attempts", "1")
        require((code, kinds(report), report["verdict"]) == (1, ["hang"], "failed"), f"exit {code}: {report}")
        box.nothing_left()
        return
    code, report = box.work()
    require(kinds(report) == ["transient"] * 3, report["endings"])
    require((code, report["attempts"], box.status()) == (3, 0, "open"), f"exit {code}, {box.status()}: {report}")
    require(report["reflectionsWritten"] == 0, report)
    box.nothing_left(0)


def limit_recovers(options, agent):
    """Two rate limits, then answers: the agent itself asks again."""
    box = Box(options, agent, "limit-recovers", refusing(429, 2, edit(RIGHT), message=LIMIT, retry_after=1), retries=4)
    yield box
    code, report = box.work()
    require((code, report["verdict"], kinds(report)) == (0, "confirmed", ["finished"]), f"exit {code}: {report}")


def limit_stays(options, agent):
    """Rate limits for ever, and nobody waits: no attempt is used, the task stays open."""
    box = Box(options, agent, "limit-stays", refusing(429, message=LIMIT, retry_after=1))
    yield box
    code, report = box.work(REFLEXION_LIMIT_WAIT="off")
    require(kinds(report) == ["rate_limited"], report["endings"])
    require((code, report["attempts"], box.status()) == (3, 0, "open"), f"exit {code}, {box.status()}: {report}")
    box.nothing_left(0)


def limit_resets(options, agent):
    """A limit that says when it ends: the run sleeps until then, and the same attempt goes on."""
    box = Box(options, agent, "limit-resets", right(), limited=(limits.claude, 15))
    yield box
    # Only who logged in with a plan is told the time.
    box.env["CLAUDE_CODE_OAUTH_TOKEN"] = box.env.pop("ANTHROPIC_API_KEY")
    code, report = box.work()
    require((code, report["solvedAt"], kinds(report)) == (0, 1, ["rate_limited", "finished"]), f"exit {code}: {report}")
    told = resets_at(report)
    require(abs(told - box.limit.reset) < 2, f"resets at {box.limit.reset}, and not {told}: {report}")
    require(time.time() >= box.limit.reset, "it did not wait")


def limit_tells(options, agent):
    """A limit that says when it ends, and nobody waits: the report says when."""
    hour = 3600
    box = Box(options, agent, "limit-tells", right(), limited=(limits.codex, hour))
    yield box
    code, report = box.work(REFLEXION_LIMIT_WAIT="off")
    require((code, report["attempts"], kinds(report)) == (3, 0, ["rate_limited"]), f"exit {code}: {report}")
    told = resets_at(report)
    # It tells the minute.
    require(abs(told - box.limit.reset) <= 60, f"resets at {box.limit.reset}, and not {told}: {report}")


def resets_at(report):
    told = report["endings"][0].get("resetsAt")
    require(told, f"no reset time: {report}")
    return datetime.fromisoformat(told.replace("Z", "+00:00")[:19] + "+00:00").timestamp()


def bad_key(options, agent):
    """The key is refused: blocked with what to do."""
    box = Box(options, agent, "bad-key", refusing(401, message="invalid x-api-key"))
    yield box
    code, report = box.work()
    require(kinds(report) == ["auth"], report["endings"])
    require((code, report["attempts"]) == (4, 0), f"exit {code}: {report}")
    require(report.get("cause"), f"no cause: {report}")
    box.nothing_left()


def next_agent(options, agent):
    """The key is refused: the next agent of the chain does the same attempt."""
    other = next(a for a in agents.AGENTS if a.setting is not agent.setting and not a.name.startswith("acp"))
    box = Box(options, agent, "next-agent", refusing(401, message="invalid x-api-key"), chain=[(other, right())])
    yield box
    code, report = box.work()
    require((code, report["solvedAt"], kinds(report)) == (0, 1, ["auth", "finished"]), f"exit {code}: {report}")


def interrupted(options, agent):
    """Ctrl-C while the agent's own command runs: nothing is left running."""
    box = Box(options, agent, "interrupted", busy())
    yield box
    started = box.start("run", "--json")
    wait_for(lambda: sleeping(box), PATIENCE, "the agent's command did not start")
    started[0].send_signal(signal.SIGINT)
    code, out = box.end(started, 60)
    require(code == 130, f"exit {code}")
    require(json.loads(out)["tasks"][0]["attempts"] == 0, out)
    box.nothing_left()


def killed(options, agent):
    """kill -9 while the agent's own command runs: the next run ends what was left, and goes on."""
    box = Box(options, agent, "killed", busy())
    yield box
    started = box.start("run", "--json")
    wait_for(lambda: sleeping(box), PATIENCE, "the agent's command did not start")
    started[0].kill()
    box.end(started)
    box.model.play(right())
    code, report = box.work()
    require((code, report["verdict"]) == (0, "confirmed"), f"exit {code}: {report}")
    box.nothing_left(0)
    box.nothing_left(1)


def killed_asking(options, agent):
    """kill -9 while the agent writes a reflection, in a directory outside of every workspace: the next run ends it."""
    asked = "Say why, so that the next attempt"
    slow = {"name": "reflect", "when": {"contains": asked}, "turns": [{"stall_s": 3456, "text": "late"}], "on_exhausted": "restart"}
    box = Box(options, agent, "killed-asking", {"rules": [slow, {"name": "work", "when": {"has_tools": True}, "turns": edit(WRONG)}]})
    yield box
    path = box.project / "project.json"
    project = json.loads(path.read_text())
    project["reflexion"] = {"generator": {"type": "agent", "agent": agent.name}, "generationTimeoutMs": 3_456_000}
    path.write_text(json.dumps(project, indent=1))
    box.commit()
    started = box.start("run", "--json")
    wait_for(lambda: any(asked in text for r in box.model.requests() for text in texts(r)), PATIENCE, "no reflection was asked for")
    started[0].kill()
    box.end(started)
    require(box.left(0), "the agent ended by itself: this shows nothing")
    box.model.play(right())
    code, report = box.work()
    require((code, report["verdict"]) == (0, "confirmed"), f"exit {code}: {report}")
    box.nothing_left(0)
    box.nothing_left(1)


def side_by_side(options, agent):
    """Two attempts at once in the same home."""
    box = Box(options, agent, "side-by-side", right_for_each())
    yield box
    (box.project / "tasks.jsonl").write_text(task("one") + task("two"))
    box.commit()
    code, document = box.run("run", "--jobs", "2")
    verdicts = [t["verdict"] for t in document["tasks"]]
    require((code, verdicts) == (0, ["confirmed", "confirmed"]), f"exit {code}: {document}")
    box.nothing_left()


def busy():
    """A model that lets the agent run a command that takes long; not `sleep`, which Claude Code refuses."""
    return {"turns": [{"tools": [{"shell": "python3 -c 'import time; time.sleep(3456)'"}]}, {"text": "Done."}]}


def sleeping(box):
    return any("time.sleep(3456)" in line for line in box.left())


def right_for_each():
    """Both agents play the same script at the same time: an answer depends on what a request holds, not on its turn."""
    wrote, done = edit(RIGHT)
    return {
        "rules": [
            {"name": "wrote", "when": {"contains": wrote["text"], "has_tools": True}, "turns": [done]},
            {"name": "begin", "when": {"has_tools": True}, "turns": [wrote]},
        ]
    }


# The long ones first, so that waiting overlaps with working.
SCENARIOS = [hooked.hooks, api_error, learns, lies, lies_on, loops, reviews, limit_resets, killed, killed_asking, interrupted, limit_recovers, limit_stays, limit_tells, bad_key, next_agent, side_by_side, hooked.hooks_verify, hooked.hooks_learn]
# What only some can show: reset times stand in the records of two agents. Over ACP the rest is the same code and program.
ONLY = {
    hooked.hooks: ["claude", "codex", "gemini", "opencode"],
    hooked.hooks_verify: ["claude", "codex", "gemini"],
    hooked.hooks_learn: ["claude", "codex", "gemini", "opencode"],
    limit_resets: ["claude"],
    limit_tells: ["codex"],
    lies_on: ["claude", "opencode"],
    reviews: ["claude", "codex", "opencode"],
    killed: ["claude", "codex", "opencode", "acp-claude"],
    killed_asking: ["claude", "codex"],
    next_agent: ["claude", "codex", "opencode"],
    side_by_side: ["claude", "codex", "opencode"],
}


# ---------------------------------------------------------------- running them


def play(options, agent, scenario):
    """One scenario to its end: what went wrong, or nothing; and the seconds."""
    name, start, box = scenario.__name__.replace("_", "-"), time.monotonic(), None
    problem = None
    try:
        steps = scenario(options, agent)
        box = next(steps)
        for _ in steps:
            pass
    except Failed as failed:
        problem = str(failed)
    except Exception:  # whatever it is, it is a failure of this scenario and no other
        problem = traceback.format_exc()
    finally:
        if box:
            box.close()
    seconds = time.monotonic() - start
    print(f"{agent.name:13} {name:15} {seconds:5.1f} s  {'ok' if problem is None else 'FAILED'}", flush=True)
    if problem is not None:
        said = box.said[-6000:] if box else ""
        print(f"    {problem}\n{said}", flush=True)
    return agent.name, name, seconds, problem is None


def table(results):
    names = [s.__name__.replace("_", "-") for s in SCENARIOS]
    cell = {(agent, name): f"{seconds:.1f}{'' if ok else ' !'}" for agent, name, seconds, ok in results}
    print("\nseconds; ! failed\n" + " " * 13 + "".join(f"{name:>16}" for name in names))
    for agent in agents.AGENTS + agents.HOOKED:
        print(f"{agent.name:13}" + "".join(f"{cell.get((agent.name, name), '-'):>16}" for name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reflexion", type=Path, help="the program")
    parser.add_argument("--only", default="", metavar="REGEX", help="scenarios whose `AGENT SCENARIO` it fits, such as '^claude learns'")
    parser.add_argument("--jobs", type=int, default=4, help="scenarios at the same time (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the directory with every box")
    options = parser.parse_args()
    options.reflexion, options.server = options.reflexion.resolve(), SERVER
    try:
        if not SERVER.is_file():
            raise agents.Skip("the scripted model server (shared/tools/mock_llm.py beside this clone) is not here")
        options.programs = agents.install(ROOT / "target" / "agents")
    except agents.Skip as because:
        print(f"SKIPPED: real agents were not tried: {because}")
        return 0
    options.place = Path(tempfile.mkdtemp(prefix="real-agents-"))
    pairs = [(a, s) for s in SCENARIOS for a in agents.AGENTS if a.name in ONLY.get(s, [a.name])]
    pairs += [(a, s) for s in SCENARIOS for a in agents.HOOKED if a.name in ONLY.get(s, [])]
    wanted = [(a, s) for a, s in pairs if re.search(options.only, f"{a.name} {s.__name__.replace('_', '-')}")]
    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda pair: play(options, *pair), wanted))
    table(results)
    failed = [result for result in results if not result[3]]
    print(f"{len(results) - len(failed)} of {len(results)} scenarios in {time.monotonic() - start:.0f} s")
    if options.keep:
        print(f"kept: {options.place}")
    else:
        shutil.rmtree(options.place, ignore_errors=True)
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
