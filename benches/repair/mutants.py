#!/usr/bin/env python3
"""Measures the `repair` agent on mutants that other people's tools plant in published packages.

    python3 benches/repair/mutants.py --reflexion target/release/reflexion            # everything
    python3 benches/repair/mutants.py --half held-out --jobs 1 --work /tmp/mutants    # keep what was prepared

It needs python3 (3.9+), cargo, git, and the package registries through pip and cargo. Everything it installs and writes
goes below --work. Steps, each skipped when its result is there already:

1. `packages`: fetches the pinned packages below and sees that their own tests pass.
2. `mutants`:  lets mutmut (Python) and cargo-mutants (Rust) list every mutant they would plant, shuffles them with a fixed
               seed, and keeps the first ones that the package's own tests kill quickly (below --limit seconds).
3. `measure`:  one project per mutant (project.json, tasks.jsonl, git), `reflexion run --json --max-attempts 8` once with
               reflections and once with `--no-reflexion`; every result goes to results.jsonl at once.

The packages of the half `dev` were used while the agent was written; those of `held-out` were not looked at.
String mutants ("x" -> "XXxXX") are mutmut's most frequent kind and no agent of small edits can undo them; they are
capped at --strings of a package's mutants and reported as their own kind, not left out.
"""

import argparse
import difflib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

PYTEST = "python3 -m pytest -q -p no:cacheprovider"
PACKAGES = [
    # name, version, language, half, what runs its tests, where its sources are
    ("isodate", "0.7.2", "python", "dev", f"{PYTEST} tests", ["src"]),
    ("toolz", "1.2.0", "python", "dev", f"{PYTEST} toolz", ["toolz"]),
    ("semver", "3.1.1", "python", "dev", f"{PYTEST} tests -o addopts=", ["src"]),
    ("strsim", "0.11.1", "rust", "dev", "cargo test --offline -q --lib", ["src"]),
    ("schema", "0.7.8", "python", "held-out", f"{PYTEST} test_schema.py", ["schema"]),
    ("humanize", "4.17.0", "python", "held-out", f"{PYTEST} tests --ignore tests/test_benchmarks.py", ["src"]),
    ("cachetools", "8.0.1", "python", "held-out", f"{PYTEST} tests", ["src"]),
    ("humantime", "2.3.0", "rust", "held-out", "cargo test --offline -q --lib", ["src"]),
]
# What mutmut 2 would plant, one JSON object a line; runs inside the virtual environment.
LIST_MUTMUT = r"""
import json, pathlib, sys
from mutmut import Context, list_mutations, mutate
for name in sys.argv[1:]:
    source = pathlib.Path(name).read_text(encoding="utf-8")
    for identity in list_mutations(Context(source=source, filename=name)):
        mutated, count = mutate(Context(source=source, filename=name, mutation_id=identity))
        if count:
            print(json.dumps({"file": name, "mutated": mutated}))
"""


def main():
    options = arguments()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    mutants = []
    for package in PACKAGES:
        if options.half in ("all", package[3]) and (not options.package or package[0] in options.package):
            mutants += prepare(package, work, options)
    print(f"{len(mutants)} mutants that the packages' tests kill", file=sys.stderr)
    if options.prepare_only:
        return
    results = measure(mutants, work, options)
    report(results, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reflexion", type=pathlib.Path, default=pathlib.Path("target/release/reflexion"))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("target/mutants"))
    parser.add_argument("--half", choices=["dev", "held-out", "all"], default="all")
    parser.add_argument("--package", action="append", help="only this package; may be given more than once")
    parser.add_argument("--count", type=int, default=18, help="mutants a package")
    parser.add_argument("--strings", type=int, default=3, help="string mutants among them at most")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds that a killing test run may take")
    parser.add_argument("--attempts", type=int, default=8)
    parser.add_argument("--prepare-only", action="store_true")
    return parser.parse_args()


# Packages ------------------------------------------------------------------------------------------------------------


def prepare(package, work, options):
    """The sampled mutants of a package, from the file that an earlier call wrote if there is one."""
    name, version, language, half, test, _ = package
    listing = work / f"{name}-{version}.mutants.{options.seed}.{options.count}.json"
    if listing.exists():
        return json.loads(listing.read_text())
    base = fetch(package, work)
    # All copies of a crate share one target directory, and Cargo tells them apart by the files' times only.
    for source in base.rglob("*.rs"):
        source.touch()
    status, output, seconds = run_tests(test, base, work, 180)
    if status != 0:
        sys.exit(f"the tests of {name} {version} fail before anything is mutated:\n{output[-2000:]}")
    print(f"{name}: its tests pass in {seconds:.1f} s", file=sys.stderr)
    candidates = (python_mutants if language == "python" else rust_mutants)(package, base, work)
    random.Random(f"{options.seed} {name}").shuffle(candidates)
    kept, strings = [], 0
    for candidate in candidates:
        if len(kept) == options.count:
            break
        candidate["kind"] = kind_of(candidate)
        if candidate["kind"] == "string" and strings >= options.strings:
            continue
        if killed(candidate, test, base, work, options.limit):
            strings += candidate["kind"] == "string"
            candidate.update(id=f"{name}-{len(kept) + 1}", package=name, half=half, test=test, base=str(base))
            kept.append(candidate)
    print(f"{name}: {len(candidates)} mutants listed, {len(kept)} kept", file=sys.stderr)
    listing.write_text(json.dumps(kept, indent=1))
    return kept


def fetch(package, work):
    name, version, language = package[:3]
    base = work / "packages" / f"{name}-{version}"
    if base.exists():
        return base
    base.parent.mkdir(exist_ok=True)
    if language == "python":
        python = venv(work)
        subprocess.run(
            [python, "-m", "pip", "-q", "download", "--no-deps", "--no-binary", ":all:", "-d", work / "sdists", f"{name}=={version}"],
            check=True,
        )
        shutil.unpack_archive(next((work / "sdists").glob(f"{name}-{version}.tar.gz")), base.parent)
    else:
        # Cargo itself brings the crate's files: a package that depends on it, and `cargo vendor`.
        scratch = work / "vendor" / name
        subprocess.run(["cargo", "new", "-q", "--vcs", "none", "--lib", "--name", "scratch", scratch], check=True)
        subprocess.run(["cargo", "add", "-q", f"{name}@={version}"], cwd=scratch, check=True)
        subprocess.run(["cargo", "vendor", "-q", "vendored"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(scratch / "vendored" / name, base)
        for left_over in [".cargo-checksum.json", "Cargo.toml.orig", ".cargo_vcs_info.json"]:
            (base / left_over).unlink(missing_ok=True)
        # Its benches and doc tests are not needed, its dev-dependencies are.
        subprocess.run(["cargo", "fetch", "-q"], cwd=base, check=True)
    return base


def venv(work):
    python = work / "venv" / "bin" / "python3"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        # The versions that the published numbers were measured with.
        subprocess.run([python, "-m", "pip", "-q", "install", "mutmut==2.4.5", "pytest==9.0.1", "freezegun==1.5.5"], check=True)
    return python


def cargo_mutants(work):
    program = work / "cargo" / "bin" / "cargo-mutants"
    if not program.exists():
        subprocess.run(["cargo", "install", "-q", "--locked", "--root", work / "cargo", "cargo-mutants"], check=True)
    return program


def environment(work):
    return dict(
        os.environ,
        PATH=f"{work / 'venv' / 'bin'}:{os.environ['PATH']}",
        PYTHONPATH="src:.",
        REFLEXION_TRUST="1",
        PYTHONDONTWRITEBYTECODE="1",
        CARGO_TARGET_DIR=str(work / "target"),
        CARGO_TERM_COLOR="never",
    )


def run_tests(test, directory, work, limit):
    """Exit status (None: over the limit), output, and seconds of a test command."""
    started = time.monotonic()
    process = subprocess.Popen(
        test, shell=True, cwd=directory, env=environment(work), text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output, time.monotonic() - started
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", limit


# Mutants -------------------------------------------------------------------------------------------------------------


def python_mutants(package, base, work):
    files = sorted(
        str(path.relative_to(base))
        for root in package[5]
        for path in (base / root).rglob("*.py")
        if not re.search(r"(^|/)(tests?|test_[^/]*)(/|$|\.py$)", str(path.relative_to(base)))
    )
    listed = subprocess.run([venv(work), "-c", LIST_MUTMUT, *files], cwd=base, check=True, text=True, capture_output=True)
    return [with_lines(json.loads(line), base) for line in listed.stdout.splitlines()]


def rust_mutants(package, base, work):
    listed = subprocess.run(
        [cargo_mutants(work), "mutants", "--list", "--json", "--diff", "--no-config"],
        cwd=base, env=environment(work), check=True, text=True, capture_output=True,
    )
    return [
        with_lines({"file": entry["file"], "mutated": replaced(base / entry["file"], entry)}, base)
        for entry in json.loads(listed.stdout)
    ]


def replaced(path, entry):
    """The file with the mutant's span replaced: cargo-mutants counts lines and columns from 1, in characters."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    start, end = entry["span"]["start"], entry["span"]["end"]
    before = "".join(lines[: start["line"] - 1]) + lines[start["line"] - 1][: start["column"] - 1]
    after = lines[end["line"] - 1][end["column"] - 1 :] + "".join(lines[end["line"] :])
    return before + entry["replacement"] + after


def with_lines(candidate, base):
    """Adds what the mutant took out and put in."""
    original = (base / candidate["file"]).read_text(encoding="utf-8").splitlines()
    diff = list(difflib.unified_diff(original, candidate["mutated"].splitlines(), n=0, lineterm=""))[2:]
    candidate["removed"] = [line[1:] for line in diff if line.startswith("-")]
    candidate["added"] = [line[1:] for line in diff if line.startswith("+")]
    candidate["line"] = int(re.match(r"@@ -(\d+)", diff[0]).group(1)) if diff else 0
    return candidate


def kind_of(candidate):
    """What the mutant changed, in a word, from the text alone."""
    removed, added = "\n".join(candidate["removed"]), "\n".join(candidate["added"])
    if len(candidate["removed"]) != 1 or len(candidate["added"]) != 1:
        return "block"
    if added.count("XX") >= 2 and "XX" not in removed:
        return "string"
    old, new = tokens(removed), tokens(added)
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    words = set(old + new)
    if words <= {"True", "False", "true", "false"}:
        return "boolean"
    if all(word[0].isdigit() for word in words):
        return "constant"
    if new == ["None"] or (not new and old):
        return "lost value" if new else "lost token"
    if len(old) <= 2 and len(new) <= 2 and not any(re.match(r"\w", w) and w not in KEYWORDS for w in words):
        return "operator"
    return "other"


KEYWORDS = {"and", "or", "not", "in", "is", "break", "continue", "return"}


def tokens(line):
    return re.findall(r"\w+|[<>=!+\-*/%&|^]+|\S", line)


def killed(candidate, test, base, work, limit):
    if not candidate["removed"] and not candidate["added"]:
        return False
    scratch = work / "scratch" / base.name
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(base, scratch, symlinks=True)
    (scratch / candidate["file"]).write_text(candidate["mutated"], encoding="utf-8")
    status, output, _ = run_tests(test, scratch, work, limit)
    # A mutant that does not compile is no mutant.
    return status not in (0, None) and not re.search(r"^error(\[E\d+\])?:.*", output.replace("error: test failed", ""), re.M)


# Measurement ---------------------------------------------------------------------------------------------------------


def measure(mutants, work, options):
    path = work / "results.jsonl"
    results = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {(r["id"], r["arm"]) for r in results}
    wanted = {m["id"] for m in mutants}
    with path.open("a") as out:
        for number, mutant in enumerate(mutants, 1):
            for arm in ("reflexion", "no-reflexion"):
                if (mutant["id"], arm) in known:
                    continue
                result = {key: mutant[key] for key in ("id", "package", "half", "kind")}
                result.update(arm=arm, **solve(mutant, arm, work, options))
                print(f"{number}/{len(mutants)} {mutant['id']} {mutant['kind']} {arm}: {result['solvedAt']}", file=sys.stderr)
                results.append(result)
                out.write(json.dumps(result) + "\n")
                out.flush()
    return [r for r in results if r["id"] in wanted]


def solve(mutant, arm, work, options):
    project = make_project(mutant, work, options)
    command = [str(options.reflexion.resolve()), "run", "--json", "--max-attempts", str(options.attempts)]
    if arm == "no-reflexion":
        command.append("--no-reflexion")
    done = subprocess.run(command, cwd=project, env=environment(work), text=True, capture_output=True)
    try:
        task = json.loads(done.stdout)["tasks"][0]
    except (ValueError, LookupError):
        sys.exit(f"{' '.join(command)} in {project}: exit {done.returncode}, no report\n{done.stderr[-2000:]}")
    shutil.rmtree(project)
    return {"solvedAt": task["solvedAt"], "attempts": task["attempts"]}


def make_project(mutant, work, options):
    project = work / "projects" / mutant["id"]
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(mutant["base"], project, symlinks=True)
    (project / mutant["file"]).write_text(mutant["mutated"], encoding="utf-8")
    task = {
        "id": mutant["id"],
        "title": f"Make the tests of {mutant['package']} pass again",
        "checks": [{"name": "test", "run": mutant["test"], "timeoutMs": 60000}],
    }
    settings = {
        "name": mutant["package"],
        "tasks": "tasks.jsonl",
        "maxAttempts": options.attempts,
        "agents": {"default": "repair", "repair": {"type": "repair"}},
    }
    (project / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    (project / "project.json").write_text(json.dumps(settings, indent=2))
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C", str(project)]
    for step in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "--no-verify", "-m", "base"]):
        subprocess.run(git + step, check=True)
    return project


def report(results, options):
    for half in ("dev", "held-out"):
        of_half = [r for r in results if r["half"] == half]
        if not of_half:
            continue
        print(f"\n{half}: share solved at or before attempt …")
        header = "  ".join(f"{n:>4}" for n in range(1, options.attempts + 1))
        print(f"{'':32}{'n':>4}  {header}")
        for arm in ("reflexion", "no-reflexion"):
            rows = [r for r in of_half if r["arm"] == arm]
            print_row(arm, rows, options.attempts)
            for key in ("package", "kind"):
                for value in sorted({r[key] for r in rows}):
                    print_row(f"  {value}", [r for r in rows if r[key] == value], options.attempts)


def print_row(label, rows, attempts):
    shares = [sum((r["solvedAt"] or attempts + 1) <= n for r in rows) / len(rows) for n in range(1, attempts + 1)]
    print(f"{label:32}{len(rows):>4}  " + "  ".join(f"{share:4.0%}" for share in shares))


if __name__ == "__main__":
    main()
