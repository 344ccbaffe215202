#!/usr/bin/env python3
"""Makes logs of failing checks: plants bugs into real packages and runs their own tests or compilers.

    python3 benches/matching/plant.py DIRECTORY [LOGS [SEED]]
    cargo bench --bench matching -- DIRECTORY/logs

Packages come from PyPI, npm and crates.io through their clients and stay in DIRECTORY. A bug is one changed token of one line; it counts if the
check turns red. Each bug gives up to three logs: as it is; in another directory, with the lines moved and a longer or shorter report; and beside a second bug in
the same file, as a half-done attempt leaves it. A log is `logs/TOOL-NUMBER-VARIANT.json` with `bug`, `tool`, `exit` and `output`. The choice of bugs is
seeded; what is not on this machine is left out and named.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

SWAPS = [(" + ", " - "), (" - ", " + "), (" < ", " >= "), (" > ", " <= "), (" <= ", " > "), (" >= ", " < "), (" == ", " != "),
         (" != ", " == "), (" and ", " or "), (" or ", " and "), ("True", "False"), ("False", "True"), (" && ", " || "), (" || ", " && "),
         (" === ", " !== "), ("true", "false"), ("false", "true"), ("return ", "return not "), (" 1", " 2"), (" 0", " 1"), ("[0]", "[-1]"),
         (" not ", " "), (" is ", " is not "), (" += ", " -= "), (".len()", ".len() + 1"), ("Some(", "Some(&"), (": usize", ": &str"),
         ("&mut ", "&"), (": string", ": number"), (": number", ": string"), (".push(", ".pull("), ("let ", "let mut_ ")]
TIMEOUT = 90


class Tool:
    """A package with the command that checks it, in two ways."""

    def __init__(self, name, package, sources, commands, comment):
        self.name, self.package, self.sources, self.commands, self.comment = name, package, sources, commands, comment


def run(command, directory, seconds=TIMEOUT):
    environment = {**os.environ, "CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode(errors="replace")


def fetched(base, name, command, found):
    """A directory with a package, fetched once; none where that does not work."""
    place = base / "packages" / name
    if not place.exists():
        place.mkdir(parents=True)
        code, output = run(command, place, 300)
        if code != 0:
            print(f"left out: {name}: {output.strip().splitlines()[-1:]}")
    for archive in place.glob("*.tar.gz"):
        shutil.unpack_archive(archive, place)
        archive.unlink()
    places = sorted(path for path in place.glob(found) if path.is_dir())
    return places[0] if places else None


def tools(base):
    venv = base / "venv"
    if not venv.exists():
        run([sys.executable, "-m", "venv", str(venv)], base)
        run([str(venv / "bin/pip"), "install", "-q", "pytest"], base, 300)
    python = str(venv / "bin/python")
    pip = lambda name: [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name]
    pytest = [[python, "-m", "pytest", "-q", "-p", "no:cacheprovider"], [python, "-m", "pytest", "--tb=short", "-v", "-p", "no:cacheprovider"]]
    for name, sources, tests in [("toolz", "toolz/*.py", "toolz"), ("more-itertools", "more_itertools/recipes.py", "tests/test_recipes.py"),
                                 ("sortedcontainers", "*/sortedlist.py", "tests/test_coverage_sortedlist.py"), ("inflection", "inflection/*.py", "test_inflection.py"),
                                 ("tabulate", "tabulate/*.py", "test/test_api.py")]:
        place = fetched(base, name, pip(name), f"{name.replace('-', '?')}*")
        if place and (place / tests).exists():
            yield Tool("pytest", place, sources, [command + [tests] for command in pytest], "#")
    for name, sources, module in [("more-itertools", "more_itertools/recipes.py", "tests.test_recipes"), ("python-slugify", "slugify/*.py", "test")]:
        place = fetched(base, name, pip(name), f"{name.replace('-', '?')}*")
        if place:
            unittest = [python, "-m", "unittest"]
            yield Tool("unittest", place, sources, [unittest + [module], unittest + ["-v", module]], "#")
    for name, sources, tests in [("qs", "lib/*.js", ["parse.js", "stringify.js"]), ("minimist", "*.js", ["num.js", "parse.js", "bool.js", "long.js"]),
                                 ("deep-equal", "*.js", ["cmp.js"])]:
        place = fetched(base, f"npm-{name}", ["npm", "install", "--silent", "--no-audit", name, "tape@5", "mock-property", "has-override-mistake",
                                              "iconv-lite", "safer-buffer", "object-inspect"], f"node_modules/{name}")
        if place and (place / "test" / tests[0]).exists():
            files = [f"test/{test}" for test in tests]
            yield Tool("node --test", place, sources, [["node", "--test", *files], ["node", "--test", "--test-reporter=spec", *files]], "//")
            yield Tool("tape", place, sources, [["node", files[0]], ["node", *files[-1:]]] if len(files) == 1 else [["node", files[0]]] * 2, "//")
    registry = sorted(Path.home().glob(".cargo/registry/src/*"))
    for name in ["strsim", "itoa", "percent-encoding", "unicode-width", "smallvec", "fnv", "hex", "textwrap", "humantime", "semver"]:
        places = [place for root in registry for place in sorted(root.glob(f"{name}-[0-9]*"))]
        if places:
            yield Tool("cargo test", places[-1], "src/**/*.rs", [["cargo", "test", "--offline", "--lib"], ["cargo", "test", "--offline", "--lib", "-q"]], "//")
            yield Tool("rustc", places[-1], "src/**/*.rs", [["cargo", "check", "--offline"], ["cargo", "build", "--offline"]], "//")
    place = fetched(base, "npm-ts", ["npm", "install", "--silent", "--no-audit", "typescript@5", "superstruct@1", "zod@3"], "node_modules/zod")
    if place:
        compiler = ["node", str(place.parent / "typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2020", "--moduleResolution", "node"]
        roots = sorted(str(path.relative_to(place)) for path in place.glob("src/**/ZodError.ts"))
        if roots:
            yield Tool("tsc", place, str(Path(roots[0]).parent / "*.ts"), [compiler + [roots[0]], compiler + ["--pretty", "false", roots[0]]], "//")


def mutated(lines, chooser, comment):
    """The lines with one token changed, and where; none where nothing can be."""
    places = [(at, old, new) for at, line in enumerate(lines) for old, new in SWAPS
              if old in line and not line.strip().startswith((comment, "*", "/*", '"', "'"))]
    if not places:
        return None
    at, old, new = chooser.choice(places)
    return lines[:at] + [lines[at].replace(old, new, 1)] + lines[at + 1:], at


def attempt(base, tool, file, text, variant):
    """What the check says of a copy of the package with this text in a file."""
    room = base / "rooms" / f"w{variant}" / tool.package.name
    shutil.rmtree(room.parent, ignore_errors=True)
    target = base / "targets" / f"{tool.package.name}-{variant}"
    shutil.copytree(tool.package, room, symlinks=True)
    modules = tool.package.parent
    if modules.name == "node_modules":
        (room.parent / "node_modules").symlink_to(modules)
    (room / file).write_text(text)
    command = tool.commands[min(variant, 1)]
    if command[0] == "cargo":
        command = command + ["--target-dir", str(target)]
    return run(command, room)


def plant(base, tool, number, chooser, logs):
    files = [f for f in sorted(tool.package.glob(tool.sources)) if "test" not in str(f.relative_to(tool.package)) and f.stat().st_size > 400]
    if not files:
        return 0
    file = chooser.choice(files)
    lines = file.read_text().splitlines()
    bug = mutated(lines, chooser, tool.comment)
    if not bug:
        return 0
    changed, at = bug
    name, made = file.relative_to(tool.package), 0
    again = mutated(changed, chooser, tool.comment)
    moved = [f"{tool.comment} moved"] * 3 + changed if not lines[0].startswith(("#!", '"""', "#![")) else changed + [f"{tool.comment} moved"]
    for variant, text in enumerate([changed, moved, again[0] if again else changed]):
        code, output = attempt(base, tool, name, "\n".join(text) + "\n", variant)
        if code in (0, None):
            if variant == 0:
                return 0
            continue
        record = {"bug": f"{tool.package.name} {name}:{at} {changed[at].strip()}", "tool": tool.name, "exit": code, "output": output}
        (logs / f"{tool.name.replace(' ', '')}-{number:04}-{variant}.json").write_text(json.dumps(record))
        made += 1
    return made


def is_green(base, tool, variant):
    file = sorted(tool.package.glob(tool.sources))
    return bool(file) and attempt(base, tool, file[0].relative_to(tool.package), file[0].read_text(), variant)[0] == 0


def main():
    base, wanted = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 300
    logs = base / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    usable = []
    for tool in tools(base):
        if is_green(base, tool, 0) and is_green(base, tool, 1):
            usable.append(tool)
        else:
            print(f"left out: {tool.name} on {tool.package.name}: its check is red without a bug", flush=True)
    print(f"{len(usable)} checks: " + ", ".join(sorted({tool.name for tool in usable})), flush=True)
    chooser, number = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20261128), 0
    done = len(list(logs.glob("*.json")))
    while done < wanted and number < wanted * 4:
        tool = usable[number % len(usable)]
        done += plant(base, tool, number, chooser, logs)
        number += 1
    print(f"{done} logs of {number} bugs tried in {logs}")


if __name__ == "__main__":
    main()
