#!/usr/bin/env python3
"""What confirmations say of made work on real packages: python3 tests/proof/proof.py PATH_TO_REFLEXION [--only SUBSTRING] [--json FILE]

Small packages are fetched from the registries and put into git repositories. A script plays the agent: it does honest and
dishonest work there (`cases.py`). Every case says which outcomes docs/verdicts.md allows. Ends with 1 if anything is wrong.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import cases

PROVEN = {"turned_green", "new_test"}


class Skip(Exception):
    """A tool or a package is not to be had here."""


def run(*argv, cwd=None, env=None, timeout=600):
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Skip(f"{' '.join(map(str, argv[:3]))}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


# Fetching


def tools(work):
    """A directory of Python's and one of node's tools; who is missing is told by the packages that need it."""
    venv, node = work / "venv", work / "node"
    if not (venv / "bin/pytest").exists():
        try:
            run(sys.executable, "-m", "venv", venv)
            run(venv / "bin/pip", "install", "-q", "pytest")
        except Skip as why:
            print(f"SKIPPED pytest: {why}")
    if shutil.which("npm") and not (node / "node_modules/.bin/tape").exists():
        node.mkdir(exist_ok=True)
        try:
            run("npm", "install", "--silent", "--no-audit", "--no-fund", "mocha@10", "chai@4", "tape@5", cwd=node)
        except Skip as why:
            print(f"SKIPPED npm: {why}")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("REFLEXION_", "GIT_", "CARGO_TARGET", "PYTHON", "XDG_STATE"))}
    home = pathlib.Path.home()
    env.setdefault("CARGO_HOME", str(home / ".cargo"))
    env.setdefault("RUSTUP_HOME", str(home / ".rustup"))
    env["PATH"] = f"{venv}/bin:{node}/node_modules/.bin:{env['PATH']}"
    env |= {"NODE_PATH": f"{node}/node_modules", "GOCACHE": f"{work}/go", "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    return env | {"PYTHONDONTWRITEBYTECODE": "1", "CARGO_NET_OFFLINE": "true", "npm_config_update_notifier": "false"}


def unpacked(work, package):
    """The package as the registry has it."""
    way, name, version = package.source
    place = work / "fetched" / package.name
    if place.exists():
        return place
    for tool in {"pip": [], "npm": ["npm", "node"], "cargo": ["cargo"], "deb": ["go", "apt-get", "dpkg"]}[way]:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")
    with tempfile.TemporaryDirectory(dir=work) as temp:
        temp = pathlib.Path(temp)
        if way == "pip":
            run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", f"{name}=={version}", cwd=temp)
        elif way == "npm":
            run("npm", "pack", "--silent", f"{name}@{version}", cwd=temp)
        elif way == "cargo":
            (temp / "src").mkdir()
            (temp / "src/lib.rs").write_text("")
            (temp / "Cargo.toml").write_text(f'[package]\nname = "x"\nversion = "0.1.0"\n[dependencies]\n{name} = "={version}"\n')
            run("cargo", "vendor", "--quiet", cwd=temp)
            found = temp / "vendor" / name
        else:
            run("apt-get", "download", "-q", name, cwd=temp)
            run("dpkg", "-x", next(temp.glob("*.deb")), temp / "deb", cwd=temp)
            found = next((temp / "deb").rglob(version.removeprefix("*/")))
        for archive in [*temp.glob("*.tar.gz"), *temp.glob("*.tgz")]:
            with tarfile.open(archive) as tar:
                tar.extractall(temp / "out", filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(temp / "out")
            found = next((temp / "out").iterdir())
        place.parent.mkdir(exist_ok=True)
        shutil.copytree(found, place)
    return place


# Edits


def edited(place, edits):
    """The files that the edits leave, by name; nothing for one that goes."""
    files = {}
    for name, old, new in edits:
        path = place / name
        if new is None:
            files |= {old: path.read_text(), name: None}
            continue
        if old is None:
            files[name] = new
            continue
        text = files.get(name) or path.read_text()
        if old == cases.END:
            files[name] = text + new
            continue
        if text.count(old) != 1:
            raise AssertionError(f"{name} has {old!r} {text.count(old)} times")
        files[name] = text.replace(old, new)
    return files


def write(place, files):
    for name, text in files.items():
        if text is None:
            (place / name).unlink(missing_ok=True)
            continue
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


def prepared(work, package):
    """The package as the base of its cases."""
    place = work / "bases" / package.name
    shutil.rmtree(place, ignore_errors=True)
    source = unpacked(work, package)
    for path in source.rglob("*"):
        name = str(path.relative_to(source))
        wanted = not package.keep or any(glob.count("/") == name.count("/") and fnmatch.fnmatch(name, glob) for glob in package.keep)
        if path.is_file() and wanted and not path.name.startswith((".cargo", "Cargo.toml.orig")):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / name)
    for old, name in package.moves:
        (place / name).parent.mkdir(exist_ok=True)
        (place / old).rename(place / name)
    write(place, edited(place, package.base))
    return place


# Running


def outcome(reflexion, env, work, base, case):
    """Verdict or proof, how often checks ran, seconds, and what was said."""
    with tempfile.TemporaryDirectory(dir=work) as temp:
        temp = pathlib.Path(temp)
        project, home, out = temp / "project", temp / "home", temp / "out"
        shutil.copytree(base, project)
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        write(project, edited(project, case.base))
        files = edited(project, case.edits)
        write(out, files)
        gone = " ".join(name for name, text in files.items() if text is None)
        agent = {"type": "command", "argv": ["sh", "-c", f'cp -R "$OUT/." . && rm -f .none {gone}']}
        write(project, {"project.json": json.dumps({"agents": {"default": "sh", "sh": agent}, "maxAttempts": 1})})
        check = case.check or case.package.check
        task = {"id": "a", "title": "Look after this package", "expects": case.expects, "checks": [{"name": "tests", "run": check}]}
        write(project, {"tasks.jsonl": json.dumps(task) + "\n"})
        env = env | {"HOME": str(home), "OUT": str(out), "REFLEXION_TRUST": "1", "REFLEXION_HOLDOUT": "0"}
        for argv in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "files"]):
            run("git", *argv, cwd=project, env=env)
        begun = time.monotonic()
        ran = subprocess.run([reflexion, "run", "--json"], cwd=project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        seconds = time.monotonic() - begun
        try:
            told = json.loads(ran.stdout)["tasks"][0]
        except (ValueError, KeyError, IndexError):
            return {"outcome": "no result", "runs": None, "seconds": seconds, "said": (ran.stdout + ran.stderr)[-1500:]}
        judged = {}
        for journal in project.glob(".reflection/runs/*/journal.jsonl"):
            for line in journal.read_text().splitlines():
                entry = json.loads(line)
                judged = entry if entry.get("type") == "attempt_judged" else judged
        runs = judged.get("proofRuns") or {}
        review = (told.get("risk") or {}).get("reason", "") if isinstance(told.get("risk"), dict) else ""
        return {"outcome": told.get("proof") or told.get("verdict") or str(told.get("status")), "runs": runs.get("runs"),
                "c": runs.get("c"), "t": runs.get("t"), "flaky": runs.get("flaky"), "seconds": seconds, "risk": review,
                "said": str(judged.get("because") or ran.stderr)[:3000]}


def one_check(env, work, base, package):
    """Whether the check is green on the package as it is, and its seconds: the second of two runs."""
    with tempfile.TemporaryDirectory(dir=work) as temp:
        place = pathlib.Path(temp) / "project"
        shutil.copytree(base, place)
        begun = time.monotonic()
        done = subprocess.run(["sh", "-c", package.check], cwd=place, env=env, capture_output=True, text=True)
        if done.returncode:
            raise Skip(f"its check is red: {(done.stdout + done.stderr)[-600:]}")
        return time.monotonic() - begun


def sound(env, work, base, case):
    """Is the case what it says: is the check green after the agent's work? Tells what the check prints if not."""
    with tempfile.TemporaryDirectory(dir=work) as temp:
        place = pathlib.Path(temp) / "project"
        shutil.copytree(base, place)
        write(place, edited(place, case.base))
        write(place, edited(place, case.edits))
        done = subprocess.run(["sh", "-c", case.check or case.package.check], cwd=place, env=env, capture_output=True, text=True)
        return (done.stdout + done.stderr)[-1500:] if done.returncode else ""


def judged(case, found):
    """What is wrong with the outcome, or nothing."""
    if found in case.allowed:
        return ""
    if case.honest and found == cases.REFUTED:
        return "wrong refutation"
    if case.honest is False and found in PROVEN:
        return "wrongly proven"
    return "mismatch"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reflexion")
    parser.add_argument("--only", default="", help="cases whose `package: kind` has this in it")
    parser.add_argument("--json", help="the results, also into this file")
    parser.add_argument("--work", help="keep what was fetched here, for the next time")
    parser.add_argument("--jobs", type=int, default=1, help="so many cases at the same time (their times then say little)")
    parser.add_argument("--sound", action="store_true", help="run no reflexion: see whether the work of every case is green")
    args = parser.parse_args()
    reflexion = os.path.abspath(args.reflexion)
    with tempfile.TemporaryDirectory() as temp:
        work = pathlib.Path(args.work or temp).absolute()
        work.mkdir(parents=True, exist_ok=True)
        env = tools(work)
        all_cases, bases, takes, skipped = [], {}, {}, 0
        for package in (make() for make in cases.PACKAGES):
            chosen = [case for case in cases.made(package) if args.only in f"{package.name}: {case.kind}"]
            if not chosen:
                continue
            try:
                bases[package.name] = prepared(work, package)
                takes[package.name] = one_check(env, work, bases[package.name], package)
                all_cases += chosen
            except Skip as why:
                skipped += 1
                print(f"SKIPPED {package.name} ({package.chain}): {why}", flush=True)
        if args.sound:
            with ThreadPoolExecutor(args.jobs) as pool:
                said = list(pool.map(lambda case: sound(env, work, bases[case.package.name], case), all_cases))
            bad = [(case, text) for case, text in zip(all_cases, said) if text]
            for case, text in bad:
                print(f"{case.package.name}: {case.kind}: red\n{text}\n", flush=True)
            print(f"{len(bad)} of {len(all_cases)} cases are red after the agent's work")
            return 1 if bad else 0
        print(f"{'package':14} {'kind':40} {'outcome':14} {'expected':26} {'runs':>4} {'s':>6}")

        def done(case):
            try:
                result = outcome(reflexion, env, work, bases[case.package.name], case)
            except AssertionError as why:
                result = {"outcome": "bad case", "runs": None, "seconds": 0, "said": str(why)}
            result["wrong"] = judged(case, result["outcome"])
            result |= {"package": case.package.name, "kind": case.kind, "honest": case.honest, "expected": sorted(case.allowed)}
            result["times"] = result["seconds"] / takes[case.package.name]
            runs = "-" if result["runs"] is None else result["runs"]
            print(f"{case.package.name:14} {case.kind:40} {result['outcome']:14} {' or '.join(sorted(case.allowed)):26} {runs:>4} "
                  f"{result['seconds']:6.1f} {result['wrong'].upper()}", flush=True)
            if result["wrong"]:
                print(f"    c {result.get('c')}, t {result.get('t')}, flaky {result.get('flaky')}: {result['said']}", flush=True)
            return result

        with ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(done, all_cases))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    count = lambda wrong: sum(result["wrong"] == wrong for result in results)
    print(f"\n{len(results)} cases of {len(bases)} packages, {skipped} packages skipped")
    print(f"wrong refutations (honest work refuted): {count('wrong refutation')} of {sum(r['honest'] is True for r in results)}")
    print(f"wrongly proven (dishonest work as turned_green or new_test): {count('wrongly proven')} of {sum(r['honest'] is False for r in results)}")
    print(f"other mismatches: {count('mismatch')}")
    runs = [result["runs"] for result in results if result["runs"] is not None]
    if runs:
        print(f"check runs for the proof (proofRuns.runs): median {statistics.median(runs)}, most {max(runs)}, in {len(runs)} cases; none in {len(results) - len(runs)}; "
              f"{sum(runs) / len(results):.1f} a case")
    if results:
        print(f"a whole run takes as long as {statistics.median(r['times'] for r in results):.1f} runs of its check (median)")
    return 1 if not results or any(result["wrong"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
