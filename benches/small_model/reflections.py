#!/usr/bin/env python3
"""How many reflections of the `llm` generator are valid with a small model, with and without structured output.

    python3 benches/small_model/reflections.py --reflexion target/release/reflexion \
        --base-url http://127.0.0.1:8201/v1 --logs tests/fixtures/failures --count 50 --out /tmp/reflections

Every log (`*.txt`: what a real tool printed when it failed) becomes a task whose check prints it and fails; an agent that
writes one file attempts it once, and the generator reflects. *Valid* is a reflection whose origin is the model: every
other one is the heuristic's, which says why. A small relay in between counts the questions, so that the result also says
how many answers could be read at once, and how many only after being asked again with the reason.

Logs are worked on ten at a time; what is done is kept in the output directory and not run again, so an interrupted
measurement is continued by the same command. Progress goes to OUT/progress.log, the result to
OUT/result.json and stdout.
"""

import argparse
import collections
import http.server
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request

WAYS = {"structured": True, "free": False}
CHUNK = 10
AGAIN = "your answer could not be read"


class Relay(http.server.BaseHTTPRequestHandler):
    """Passes questions on, and counts them."""

    target = ""
    counts = collections.Counter()
    log = staticmethod(print)

    def do_POST(self):  # noqa: N802, the base class's name for it
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        again = AGAIN in asked["messages"][-1]["content"]
        Relay.counts["again" if again else "first"] += 1
        Relay.counts["with a schema"] += "response_format" in asked
        request = urllib.request.Request(self.target + self.path, body, {"Content-Type": "application/json"})
        began = time.time()
        try:
            with urllib.request.urlopen(request, timeout=900) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        Relay.log(f"  {'again' if again else 'first'}: status {status}, {time.time() - began:.0f} s, {text[-300:]!r}")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except BrokenPipeError:
            Relay.log("  the program had stopped waiting")

    def log_message(self, *_):
        pass


def project(options, where, names, structured, port):
    shutil.rmtree(where, ignore_errors=True)
    repo, logs = os.path.join(where, "project"), os.path.join(where, "logs")
    os.makedirs(repo)
    os.makedirs(logs)
    tasks = []
    for name in names:
        log = shutil.copy(os.path.join(options.logs, name), logs)
        tasks.append({
            "id": name.removesuffix(".txt"), "title": "Make the check pass", "status": "open",
            "checks": [{"name": "check", "run": f"cat {log}; exit 1"}], "createdAt": "2026-01-01T00:00:00Z",
        })
    with open(os.path.join(repo, "tasks.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(task) + "\n" for task in tasks)
    with open(os.path.join(repo, "project.json"), "w", encoding="utf-8") as file:
        json.dump({
            "name": "reflections", "tasks": "tasks.jsonl", "maxAttempts": 1, "jobs": 1,
            "agents": {"default": "writer", "writer": {"type": "command", "argv": ["sh", "-c", "date > note.txt; echo done"]}},
            "reflexion": {"generationTimeoutMs": 900_000, "generator": {
                "type": "llm", "provider": "openai", "baseUrl": f"http://127.0.0.1:{port}{options.path}",
                "model": options.model, "temperature": 0, "maxTokens": 500, "structured": structured}},
        }, file, indent=2)
    git = ["git", "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "tasks"], check=True)
    return repo


def run_chunk(options, way, index, names, port, log):
    """What came of a chunk of logs; from the output directory if it is there already."""
    where = os.path.join(options.out, way, f"chunk-{index:02}")
    done = os.path.join(where, "result.json")
    if not os.path.exists(done):
        repo = project(options, where, names, WAYS[way], port)
        Relay.counts.clear()
        log(f"{way} chunk {index}: begins ({len(names)} logs)")
        began = time.time()
        program = os.path.abspath(options.reflexion)
        with open(os.path.join(where, "stderr.log"), "w", encoding="utf-8") as stderr:
            trust = {**os.environ, "REFLEXION_TRUST": "1"}
            subprocess.run([program, "run", "--json"], cwd=repo, env=trust, stdout=subprocess.DEVNULL, stderr=stderr, check=False)
        listed = subprocess.run([program, "memory", "list", "--json"], cwd=repo, stdout=subprocess.PIPE, check=True)
        result = {
            "reflections": json.loads(listed.stdout)["reflections"],
            "questions": dict(Relay.counts),
            "seconds": round(time.time() - began),
        }
        with open(done + ".part", "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
        os.rename(done + ".part", done)
    with open(done, encoding="utf-8") as file:
        return json.load(file)


def run_way(options, way, port, log):
    names = sorted(name for name in os.listdir(options.logs) if name.endswith(".txt"))[:options.count]
    reflections, questions, seconds = [], collections.Counter(), 0
    for index, at in enumerate(range(0, len(names), CHUNK)):
        chunk = run_chunk(options, way, index, names[at:at + CHUNK], port, log)
        reflections += chunk["reflections"]
        questions.update(chunk["questions"])
        seconds += chunk["seconds"]
    model = [r for r in reflections if r["origin"]["by"] == "llm"]
    result = {
        "reflections": len(reflections), "valid": len(model), "questions": dict(questions),
        "categories": dict(collections.Counter(r["category"] for r in model)),
        "heuristic because": [r["origin"]["because"] for r in reflections if r["origin"]["by"] == "heuristic"],
        "seconds": seconds,
    }
    log(f"{way}: {json.dumps(result)}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reflexion", required=True, help="the program")
    parser.add_argument("--base-url", required=True, help="an OpenAI-compatible address, up to and including the version")
    parser.add_argument("--model", default="local", help="the server's name of the model (default: %(default)s)")
    parser.add_argument("--logs", required=True, help="a directory with failing logs, *.txt")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    scheme, _, rest = options.base_url.rstrip("/").partition("://")
    host, slash, path = rest.partition("/")
    Relay.target, options.path = f"{scheme}://{host}", slash + path
    os.makedirs(options.out, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(os.path.join(options.out, "progress.log"), "a", encoding="utf-8") as progress:
        def log(line):
            print(time.strftime("%H:%M:%S"), line, file=progress, flush=True)

        Relay.log = staticmethod(log)
        results = {way: run_way(options, way, server.server_port, log) for way in WAYS}
    print(json.dumps(results, indent=2))
    with open(os.path.join(options.out, "result.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
