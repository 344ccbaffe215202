#!/usr/bin/env python3
"""How fast `reflexion judge` reads: Claude Code transcripts of 50 and 200 MB, the smaller beside `jq -c .`; and a small one.

    cargo build --release && python3 benches/judge.py target/release/reflexion

Writes a transcript like those of Claude Code (our own words, the same bytes every time), judges it a few times by turns
with jq, and prints CPU time (user and system) and peak memory: the ratio to jq, the memory at both sizes, and the median
of 50 runs on a small transcript. Exits with 1 if a goal is not reached. Needs jq. MB, ROUNDS and SMALL_ROUNDS in the
environment change the sizes and counts.
"""

import json
import os
import random
import statistics
import sys
import tempfile

MEGABYTES = float(os.environ.get("MB", "50"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SMALL_ROUNDS = int(os.environ.get("SMALL_ROUNDS", "50"))
# The goals: a fifth of jq's time; 10 ms; memory that does not grow with the file. It is full only beyond 50 MB, when the
# latest 5000 calls are held, so a little more is allowed for a file of four times the size.
RATIO, GROWTH, SMALL_MS = 5.0, 1.3, 10.0

WORDS = (
    "the parser returns an error when input ends too early because buffer was never flushed before value moved "
    "check test module function result option slice borrow naïve größer → “quoted” path/to/file.rs"
).split()


def prose(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def code(rng, lines):
    kinds = (
        "    let {} = {}.get(\"{}\").unwrap_or_default();",
        "\tif {} == {} {{ return Err(format!(\"{}: \\{}\")); }}",
        "fn {}({}: &str) -> Result<(), Error> {{",
        "// {} {} {}",
        "",
    )
    pick = lambda: rng.choice(WORDS)
    return "\n".join(rng.choice(kinds).format(pick(), pick(), pick(), "n") for _ in range(lines))


def records(rng):
    """One task after the other: a prompt, then thoughts, reads, edits, commands and what came of them."""
    number = 0

    def record(kind, **more):
        nonlocal number
        number += 1
        stamp = f"2026-11-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.{number % 1000:03}Z"
        return {
            "parentUuid": f"00000000-0000-4000-8000-{number - 1:012}" if number > 1 else None,
            "isSidechain": False, "userType": "external", "cwd": "/home/me/app", "version": "2.1.330",
            "sessionId": "11111111-2222-4333-8444-555555555555", "gitBranch": "main", "type": kind, **more,
            "uuid": f"00000000-0000-4000-8000-{number:012}", "timestamp": stamp,
        }

    def assistant(turn, block):
        usage = {"input_tokens": 900 + turn, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20000, "output_tokens": 50}
        message = {"id": f"msg_{turn:08}", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [block],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        return record("assistant", message=message, requestId=f"req_{turn:08}")

    def result(call, text, structured, **more):
        block = {"tool_use_id": call, "type": "tool_result", "content": text, **more}
        return record("user", message={"role": "user", "content": [block]}, toolUseResult=structured)

    turn = 0
    while True:
        yield record("user", message={"role": "user", "content": f"Mend this: {prose(rng, 40)}"})
        yield record("attachment", attachment={"type": "environment", "text": prose(rng, 200)})
        for _ in range(rng.randint(8, 30)):
            turn += 1
            call = f"toolu_{turn:08}"
            use = lambda name, **given: assistant(turn, {"type": "tool_use", "id": call, "name": name, "input": given})
            yield assistant(turn, {"type": "thinking", "thinking": prose(rng, rng.randint(20, 200)), "signature": "c2ln" * 60})
            yield assistant(turn, {"type": "text", "text": prose(rng, rng.randint(10, 60))})
            what = rng.random()
            file = f"/home/me/app/src/{rng.choice(WORDS[:8])}.rs"
            if what < 0.4:
                text = code(rng, rng.randint(20, 600))
                yield use("Read", file_path=file)
                yield result(call, text, {"type": "text", "file": {"filePath": file, "content": text, "numLines": text.count("\n")}})
            elif what < 0.65:
                old, new = code(rng, rng.randint(2, 30)), code(rng, rng.randint(2, 30))
                yield use("Edit", file_path=file, old_string=old, new_string=new)
                whole = code(rng, rng.randint(50, 300))
                yield result(call, f"The file {file} has been updated.", {"filePath": file, "oldString": old, "newString": new, "originalFile": whole})
            elif what < 0.99:
                output = "\n".join(f"test {prose(rng, 2).replace(' ', '::')} ... ok" for _ in range(rng.randint(3, 200)))
                output += f"\n\ntest result: ok. {turn} passed; 0 failed"
                yield use("Bash", command=f"cargo test {rng.choice(WORDS)}", description="run the tests")
                yield result(call, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}, is_error=False)
            else:
                picture = "iVBORw0KGgo" * rng.randint(2000, 20000)
                yield use("Read", file_path="/home/me/app/shot.png")
                image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}]
                yield result(call, image, {"type": "image", "file": {"base64": picture}})
        turn += 1
        yield assistant(turn, {"type": "text", "text": f"Done: {prose(rng, 60)}"})


def write(path, size):
    rng = random.Random(7)
    written = 0
    with open(path, "w", encoding="utf-8") as out:
        for record in records(rng):
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
            out.write(line)
            written += len(line.encode())
            if written >= size:
                return


def run(argv, path):
    """CPU seconds, peak memory in MiB, exit status."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(os.open(path, os.O_RDONLY), 0)
        os.dup2(null, 1)
        os.execvp(argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def measure(argv, path, rounds):
    took = [run(argv, path) for _ in range(rounds)]
    return statistics.median(t[0] for t in took), max(t[1] for t in took), took[0][2]


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        small, large, larger = (os.path.join(scratch, f"{name}.jsonl") for name in ("small", "large", "larger"))
        write(small, 50_000)
        write(large, MEGABYTES * 1e6)
        write(larger, 4 * MEGABYTES * 1e6)
        size = lambda path: f"{os.path.getsize(path) / 1e6:.0f} MB"
        judge, jq = [program, "judge", "--json"], ["jq", "-c", "."]
        # By turns, so that both see the same machine.
        by_turns = [(run(judge, large), run(jq, large)) for _ in range(ROUNDS)]
        ours = statistics.median(j[0] for j, _ in by_turns)
        theirs = statistics.median(q[0] for _, q in by_turns)
        memory = max(j[1] for j, _ in by_turns)
        print(f"{size(large)}: judge {ours * 1000:.0f} ms CPU, jq -c . {theirs * 1000:.0f} ms; 1/{theirs / ours:.1f} of jq (goal: 1/{RATIO:.0f})")
        print(f"{size(large)}: peak memory of judge {memory:.1f} MiB, jq {max(q[1] for _, q in by_turns):.1f} MiB; exit {by_turns[0][0][2]}")
        took, more, status = measure(judge, larger, 2)
        print(f"{size(larger)}: judge {took * 1000:.0f} ms CPU, peak memory {more:.1f} MiB, {more / memory:.2f} times that of {size(large)} (goal: {GROWTH}); exit {status}")
        took, least, status = measure(judge, small, SMALL_ROUNDS)
        print(f"{os.path.getsize(small) / 1e3:.0f} kB: judge {took * 1000:.1f} ms CPU, median of {SMALL_ROUNDS} (goal: {SMALL_MS:.0f}), {least:.1f} MiB; exit {status}")
        reached = theirs / ours >= RATIO and more / memory <= GROWTH and took * 1000 < SMALL_MS
        sys.exit(0 if reached else 1)


main()
