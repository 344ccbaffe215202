#!/usr/bin/env python3
"""What reflections do for a small model on HumanEval: the `completion` agent, at most three attempts a problem, once as
usual and once with `--no-reflexion`; everything else is equal.

    python3 benches/small_model/humaneval.py --reflexion target/release/reflexion \
        --base-url http://127.0.0.1:8201/v1 --chains humaneval-py-chains.jsonl --problems 30 --out /tmp/humaneval

The problems are the first N by their number that the file has (`task_id`, `prompt`, `entry_point`, `setup`, `test`). Each
is a task of a project of its own chunk: a file with the prompt's stub, and a check outside of the repository that runs the
problem's tests on it, so that the model sees no more of them than a failing check prints. Temperature 0; in the usual arm
the same model writes the reflections.

The arms take turns chunk by chunk. Finished chunks are kept in the output directory and not run again, so an interrupted
measurement is continued by the same command. Progress goes to OUT/progress.log, the result to OUT/result.json and stdout.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import time

ARMS = {"usual": [], "no-reflexion": ["--no-reflexion"]}
CHECK_MS = 10_000
MEMORY_KB = 2_097_152


def problems(chains, count):
    """The first `count` problems by number; the runs of the file repeat them word for word."""
    found = {}
    with open(chains, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found.setdefault(int(record["task_id"].rsplit("/", 1)[1]), record)
    return [(number, found[number]) for number in sorted(found)[:count]]


def model(options, **more):
    return {
        "provider": "openai",
        "baseUrl": options.base_url,
        "model": options.model,
        "temperature": 0,
        **more,
    }


def project(options, where, chunk, **settings):
    """A git repository with a stub per problem, its tasks, and the tests beside it; `settings` replace keys of its project.json."""
    shutil.rmtree(where, ignore_errors=True)
    repo, tests = os.path.join(where, "project"), os.path.join(where, "tests")
    os.makedirs(repo)
    os.makedirs(tests)
    tasks = []
    for number, problem in chunk:
        name, test = f"he_{number:03}.py", os.path.join(tests, f"check_{number:03}.py")
        write(os.path.join(repo, name), problem["setup"] + problem["prompt"])
        run_it = f"exec(compile(open({name!r}).read(), {name!r}, 'exec'), globals())\n"
        write(test, problem["setup"] + run_it + problem["test"])
        tasks.append({
            "id": f"he-{number:03}",
            "title": f"Write `{problem['entry_point']}`",
            "description": f"Complete the function `{problem['entry_point']}` in `{name}` so that it does what its description says. "
            "Keep its name and its parameters.",
            "status": "open",
            "expects": "fix",
            "checks": [{
                "name": "tests",
                "run": f"ulimit -v {MEMORY_KB}; exec python3 -B {test}",
                "timeoutMs": CHECK_MS,
            }],
            "createdAt": "2026-01-01T00:00:00Z",
        })
    write(os.path.join(repo, "tasks.jsonl"), "".join(json.dumps(task) + "\n" for task in tasks))
    write(os.path.join(repo, "project.json"), json.dumps({
        "name": "humaneval",
        "tasks": "tasks.jsonl",
        "maxAttempts": 3,
        "jobs": 1,
        "agents": {
            "default": "model",
            "model": {"type": "completion", "timeoutMs": 600_000, **model(options, maxTokens=900)},
        },
        "reflexion": {
            "generationTimeoutMs": 300_000,
            "generator": {"type": "llm", **model(options, maxTokens=500)},
        },
        **settings,
    }, indent=2))
    write(os.path.join(repo, ".gitignore"), ".reflection/\nmemory/*.jsonl\n")
    git = ["git", "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "stubs"], check=True)
    return repo


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run_chunk(options, arm, index, chunk, log):
    """The tasks of a chunk as `run --json` prints them; from the output directory if it is there already."""
    where = os.path.join(options.out, arm, f"chunk-{index:02}")
    result = os.path.join(where, "run.json")
    if not os.path.exists(result):
        repo = project(options, where, chunk)
        log(f"{arm} chunk {index}: begins ({len(chunk)} problems)")
        began = time.time()
        with open(os.path.join(where, "stderr.log"), "w", encoding="utf-8") as stderr:
            done = subprocess.run(
                [os.path.abspath(options.reflexion), "run", "--json", *ARMS[arm]],
                cwd=repo, env={**os.environ, "REFLEXION_TRUST": "1"}, stdout=subprocess.PIPE, stderr=stderr, check=False,
            )
        if done.returncode not in (0, 1):
            sys.exit(f"{arm} chunk {index}: exit status {done.returncode}; see {where}/stderr.log")
        write(result + ".part", done.stdout.decode())
        os.rename(result + ".part", result)
        log(f"{arm} chunk {index}: {time.time() - began:.0f} s")
    with open(result, encoding="utf-8") as file:
        tasks = json.load(file)["tasks"]
    for task in tasks:
        log(f"  {arm} {task['id']}: {task['verdict']}, solved at {task['solvedAt']}, {task['attempts']} attempts, "
            f"endings {[ending['kind'] for ending in task['endings']]}")
    return {task["id"]: task for task in tasks}


def table(results):
    usual, plain = results["usual"], results["no-reflexion"]
    both = sorted(set(usual) & set(plain))
    at = {arm: collections.Counter(results[arm][task]["solvedAt"] for task in both) for arm in ARMS}
    solved = {arm: {task for task in both if results[arm][task]["solvedAt"]} for arm in ARMS}
    gained = sorted(solved["usual"] - solved["no-reflexion"])
    lost = sorted(solved["no-reflexion"] - solved["usual"])
    lines = [f"{len(both)} problems in both arms", "| arm | at attempt 1 | 2 | 3 | solved | unsolved |", "|---|---|---|---|---|---|"]
    for arm in ARMS:
        counts = at[arm]
        lines.append(f"| {arm} | {counts[1]} | {counts[2]} | {counts[3]} | {len(solved[arm])} | {counts[None]} |")
    lines.append(f"gained by reflections: {len(gained)} {gained}; lost: {len(lost)} {lost}")
    summary = {
        "problems": len(both), "gained": gained, "lost": lost,
        "arms": {arm: {"solvedAt": {str(k): v for k, v in sorted(at[arm].items(), key=str)},
                       "tokens": sum(results[arm][task].get("tokens") or 0 for task in both),
                       "reflectionsWritten": sum(results[arm][task]["reflectionsWritten"] for task in both),
                       "reflectionsInjected": sum(results[arm][task]["reflectionsInjected"] for task in both)}
                 for arm in ARMS},
    }
    return "\n".join(lines), summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reflexion", required=True, help="the program")
    parser.add_argument("--base-url", required=True, help="an OpenAI-compatible address, up to and including the version")
    parser.add_argument("--model", default="local", help="the server's name of the model (default: %(default)s)")
    parser.add_argument("--chains", required=True, help="JSON Lines with the problems")
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--chunk", type=int, default=5, help="problems per run (default: %(default)s)")
    parser.add_argument("--out", required=True, help="where projects and results go")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "progress.log"), "a", encoding="utf-8") as progress:
        def log(line):
            print(time.strftime("%H:%M:%S"), line, file=progress, flush=True)

        chosen = problems(options.chains, options.problems)
        chunks = [chosen[at:at + options.chunk] for at in range(0, len(chosen), options.chunk)]
        results = {arm: {} for arm in ARMS}
        for index, chunk in enumerate(chunks):
            for arm in ARMS:
                results[arm].update(run_chunk(options, arm, index, chunk, log))
            text, summary = table(results)
            log("so far: " + text.replace("\n", "\n    "))
            write(os.path.join(options.out, "result.json"), json.dumps(summary, indent=2) + "\n")
    print(text)


if __name__ == "__main__":
    main()
