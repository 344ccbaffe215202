"""Small bugs for real programs: one token changed, a test that fails for it and for none of the others."""

import io
import json
import keyword
import os
import random
import re
import shutil
import subprocess
import sys
import tokenize
from concurrent.futures import ThreadPoolExecutor

# What people get wrong: boundaries, signs, constants, the wrong way round.
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "//": "*",
    "and": "or", "or": "and", "True": "False", "False": "True", "min": "max", "max": "min", "+=": "-=", "-=": "+=",
}


class Suite:
    """How the tests of a project are run, as a whole and one by one, and what its failures look like."""

    def __init__(self, where, every, one, failed):
        self.where, self.every, self.one, self.failed = where, every, one, failed

    def command(self, test):
        return self.one.format(test=f"'{test}'")

    def failing(self, directory, env):
        """The tests that fail, or None if that cannot be told (it does not end, or does not even begin)."""
        done = run(self.every, directory / self.where, env)
        if done is None or done.returncode not in (0, 1):
            return None
        found = {self.name(match) for match in re.finditer(self.failed, done.stdout, re.M)}
        return found if bool(found) == (done.returncode == 1) else None

    @staticmethod
    def name(match):
        """unittest before Python 3.11 names the class alone."""
        groups = match.groups()
        return groups[-1] if len(groups) == 1 or groups[1].endswith("." + groups[0]) else f"{groups[1]}.{groups[0]}"


def pytest():
    whole = "python3 -m pytest -q --tb=no -rf -p no:cacheprovider -o addopts="
    one = "python3 -m pytest -q -p no:cacheprovider -o addopts= {test}"
    # A name with a dash in it is cut short here, is then no test, and is not taken.
    return Suite(".", whole, one, r"^FAILED (\S+)")


def unittest(where):
    one = f"cd {where} && python3 -B -m unittest -q {{test}}"
    return Suite(where, "python3 -B -m unittest discover 2>&1", one, r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)")


def run(command, directory, env, limit=60):
    """The command's result; None if it took too long. Nothing of it is left."""
    process = subprocess.Popen(
        command, shell=True, cwd=directory, env=env, text=True, errors="replace", start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        return subprocess.CompletedProcess(command, process.returncode, output)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None


class Bug:
    """A line that was replaced in a file, and the test that shows it."""

    def __init__(self, file, wrong, right):
        self.file, self.wrong, self.right, self.tests, self.test = file, wrong, right, set(), None

    def plant(self, directory):
        replace(directory / self.file, self.right, self.wrong)

    def goal(self):
        return {"kind": "bug", "file": self.file, "wrong": self.wrong, "right": self.right}


def remembered(path, choose):
    """What an earlier call chose; finding bugs takes minutes, and the same seed finds the same ones."""
    if not path.exists():
        path.write_text(json.dumps([(bug.file, bug.wrong, bug.right, bug.test) for bug in choose()]))
    bugs = []
    for file, wrong, right, test in json.loads(path.read_text()):
        bugs.append(Bug(file, wrong, right))
        bugs[-1].test = test
    return bugs


def replace(path, old, new):
    lines = path.read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.rstrip("\n") == old]
    if len(at) != 1:
        raise ValueError(f"{path}: {len(at)} lines are {old!r}")
    lines[at[0]] = new + "\n"
    path.write_text("".join(lines))


def candidates(base, files):
    """Every bug of one token inside of a function, in lines that occur once."""
    for file in files:
        text = (base / file).read_text()
        lines = text.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            swapped = SWAPS.get(token.string)
            if token.type == tokenize.NUMBER and token.string.isdigit():
                swapped = str(int(token.string) + 1)
            row, column = token.start
            line = lines[row - 1] if row <= len(lines) else ""
            code = line.strip().split(" ")[0].rstrip(":")
            if swapped is None or token.type == tokenize.STRING or not line.startswith("    "):
                continue
            if keyword.iskeyword(code) and code not in ("if", "elif", "while", "return", "for", "yield"):
                continue
            wrong = line[:column] + swapped + line[token.end[1] :]
            if lines.count(line) == 1 and wrong not in lines:
                yield Bug(file, wrong, line)


def choose(base, files, suite, count, apart, options):
    """At most `count` bugs: each has a test that fails for it, and for no other one unless each gets a copy of its own."""
    env, chosen = {**options.env, "PYTHONPATH": "src:."}, []
    known = suite.failing(base, env)
    if known is None:
        sys.exit(f"the tests in {base / suite.where} do not run")
    found = list(candidates(base, files))
    random.Random(options.seed).shuffle(found)

    def look(bug):
        copy = options.place / f"bug-{id(bug)}"
        shutil.copytree(base, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "target"))
        try:
            bug.plant(copy)
            bug.tests = (suite.failing(copy, env) or set()) - known
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        return bug

    with ThreadPoolExecutor(2) as pool:
        for start in range(0, len(found), 4):
            if len(chosen) >= count:
                break
            for bug in pool.map(look, found[start : start + 4]):
                same_place = any(bug.file == other.file and bug.right == other.right for other in chosen)
                if 1 <= len(bug.tests) <= 12 and not same_place and with_own_tests([bug] if apart else [*chosen, bug]):
                    chosen.append(bug)
    chosen = chosen[:count]
    if not apart:
        chosen = together(base, with_own_tests(chosen), suite, env, options.place)
    return chosen


def with_own_tests(bugs):
    """The bugs with a test each that fails for no other; nothing if one has none."""
    for bug in bugs:
        others = set().union(*(other.tests for other in bugs if other is not bug), set())
        own = sorted(test for test in bug.tests - others if "'" not in test)
        if not own:
            return []
        bug.test = own[0]
    return bugs


def together(base, bugs, suite, env, scratch):
    """Those whose test is red with all of them planted, and green when only theirs is gone."""
    copy = scratch / "together"
    shutil.copytree(base, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "target"))
    try:
        for bug in bugs:
            bug.plant(copy)
        good = []
        for bug in bugs:
            red = run(suite.command(bug.test), copy, env)
            replace(copy / bug.file, bug.wrong, bug.right)
            green = run(suite.command(bug.test), copy, env)
            if red and green and red.returncode == 1 and green.returncode == 0:
                good.append(bug)
                replace(copy / bug.file, bug.right, bug.wrong)
        return good
    finally:
        shutil.rmtree(copy, ignore_errors=True)
