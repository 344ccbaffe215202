#!/usr/bin/env python3
"""What a lesson is worth to a small model's second attempt at a HumanEval problem, beside what the check prints.

    python3 benches/small_model/lessons.py --reflexion target/debug/reflexion \
        --base-url http://127.0.0.1:8201/v1 --chains humaneval-py-chains.jsonl --out /tmp/lessons

The model (temperature 0.8) attempts a problem once. Where that fails, its second attempt is made three times, in a random
order, from the very same first one (a relay gives each the answer that the first was given):

    output   the prompt has the first attempt's change and what the check printed
    rules    the same, and the lesson that the rules wrote
    model    the same, and the lesson that the model itself wrote

Everything else is equal. A round goes over all problems; rounds go on until each arm has --retries retries. An attempt at a
problem of the next round is a new one. The interval of a difference is that of a mean of paired differences, with problems
as clusters (they are what is drawn), 95 %, normal.

What is done is kept in the output directory and not run again: the same command goes on. Progress goes to OUT/progress.log,
the result to OUT/result.json and stdout.
"""

import argparse
import collections
import http.server
import json
import math
import os
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from humaneval import model, problems, project, write

ARMS = {
    "output": {"enabled": False},
    "rules": {"generator": {"type": "heuristic"}},
    "model": {"generator": {"type": "llm"}},
}
LONG_MS = 1_800_000
NORMAL = 1.96


class Relay(http.server.BaseHTTPRequestHandler):
    """Passes questions on. The first one of an arm is its first attempt: all arms of a problem get one answer."""

    target = ""
    out = ""
    asked = collections.Counter()

    def do_POST(self):  # noqa: N802, the base class's name for it
        _, problem, arm, path = self.path.split("/", 3)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Relay.asked[problem, arm] += 1
        is_first = Relay.asked[problem, arm] == 1
        kept = os.path.join(Relay.out, problem, "first.json")
        if is_first and os.path.exists(kept):
            with open(kept, "rb") as file:
                status, text = 200, file.read()
        else:
            status, text = self.answer(path, body)
        if is_first and status == 200:
            with open(kept, "wb") as file:
                file.write(text)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path, body):
        request = urllib.request.Request(f"{Relay.target}/{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=LONG_MS / 1000) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def log_message(self, *_):
        pass


def run(options, relay, name, number, problem, arm):
    """What came of a problem in an arm; from the output directory if it is there already."""
    where = os.path.join(options.out, name, arm)
    result = where + ".json"
    if os.path.exists(result):
        with open(result, encoding="utf-8") as file:
            return json.load(file)
    asked = argparse.Namespace(**{**vars(options), "base_url": f"http://127.0.0.1:{relay}/{name}/{arm}"})
    Relay.asked[name, arm] = 0
    hot = {"temperature": 0.8}
    lessons = {"holdout": False, "generationTimeoutMs": LONG_MS, **ARMS[arm]}
    if lessons.get("generator", {}).get("type") == "llm":
        lessons["generator"] = {"type": "llm", **model(asked, maxTokens=500, **hot)}
    agent = {"type": "completion", "timeoutMs": LONG_MS, **model(asked, maxTokens=900, **hot)}
    repo = project(asked, where, [(number, problem)], maxAttempts=2, agents={"default": "model", "model": agent},
                   reflexion=lessons)
    with open(os.path.join(where, "stderr.log"), "w", encoding="utf-8") as stderr:
        done = subprocess.run([os.path.abspath(options.reflexion), "run", "--json"], cwd=repo, stderr=stderr,
                              env={**os.environ, "REFLEXION_TRUST": "1"}, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{name} {arm}: exit status {done.returncode}; see {where}/stderr.log")
    task = json.loads(done.stdout)["tasks"][0]
    came = {"solvedAt": task["solvedAt"], "attempts": task["attempts"], "tokens": task.get("tokens"),
            "shown": task["reflectionsInjected"], "origins": origins(repo)}
    write(result + ".part", json.dumps(came) + "\n")
    os.rename(result + ".part", result)
    return came


def origins(repo):
    """Who wrote the lesson of the first attempt."""
    try:
        with open(os.path.join(repo, "memory", "reflections.jsonl"), encoding="utf-8") as lines:
            written = [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []
    return [lesson["origin"]["by"] for lesson in written if lesson["attemptNumber"] == 1 and not lesson.get("replaces")]


def first_failed(came):
    return came["attempts"] == 2


def table(retries):
    """`retries`: of each problem, the retries of its rounds, an outcome per arm each."""
    flat = [retry for rounds in retries.values() for retry in rounds]
    count = len(flat)
    lines = [f"{count} retries in each arm, of {len(retries)} problems", "| arm | passed | share | beside `output` |", "|---|---|---|---|"]
    summary = {"retries": count, "problems": len(retries), "arms": {}}
    for arm in ARMS:
        passed = sum(retry[arm] for retry in flat)
        mean = sum(retry[arm] - retry["output"] for retry in flat) / max(count, 1)
        spread = sum(sum(retry[arm] - retry["output"] - mean for retry in rounds) ** 2 for rounds in retries.values())
        half = NORMAL * math.sqrt(spread) / max(count, 1)
        beside = "" if arm == "output" else f"{100 * mean:+.1f} points ({100 * (mean - half):+.1f} to {100 * (mean + half):+.1f})"
        lines.append(f"| {arm} | {passed} | {100 * passed / max(count, 1):.1f} % | {beside} |")
        summary["arms"][arm] = {"passed": passed, "difference": mean, "interval": [mean - half, mean + half]}
    return "\n".join(lines), summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reflexion", required=True, help="the program")
    parser.add_argument("--base-url", required=True, help="an OpenAI-compatible address, up to and including the version")
    parser.add_argument("--model", default="local", help="the server's name of the model (default: %(default)s)")
    parser.add_argument("--chains", required=True, help="JSON Lines with the problems")
    parser.add_argument("--problems", type=int, default=164)
    parser.add_argument("--retries", type=int, default=100, help="retries in each arm (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="at most this many (default: %(default)s)")
    parser.add_argument("--out", required=True, help="where projects and results go")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    Relay.out = options.out
    Relay.target = options.base_url.rstrip("/")
    relay = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    retries = collections.defaultdict(list)
    with open(os.path.join(options.out, "progress.log"), "a", encoding="utf-8") as progress:
        for number_of_round in range(options.rounds):
            for number, problem in problems(options.chains, options.problems):
                name = f"r{number_of_round}-{number:03}"
                order = random.Random(name).sample(sorted(ARMS), len(ARMS))
                came = {}
                for arm in order:
                    came[arm] = run(options, relay.server_address[1], name, number, problem, arm)
                    if not first_failed(came[arm]):
                        break
                print(time.strftime("%H:%M:%S"), name, came, file=progress, flush=True)
                if len(came) == len(ARMS) and all(map(first_failed, came.values())):
                    retries[number].append({arm: int(came[arm]["solvedAt"] == 2) for arm in ARMS})
                text, summary = table(retries)
                write(os.path.join(options.out, "result.json"), json.dumps(summary, indent=2) + "\n")
            if summary["retries"] >= options.retries:
                break
    print(text)


if __name__ == "__main__":
    main()
