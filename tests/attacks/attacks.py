#!/usr/bin/env python3
"""Agents, checks and cloned repositories that mean harm, and beside each the same deed done honestly.

    python3 tests/attacks/attacks.py target/release/reflexion            # everything, some minutes
    python3 tests/attacks/attacks.py target/release/reflexion --quick    # what takes about a second each
    python3 tests/attacks/attacks.py target/release/reflexion --only files clean.pyc-source

Everything happens in temporary directories with a home of their own; nothing needs a network but pytest, which pip installs once.
Prints a line per case, a table per group, and what is wrong; exits with 1 if anything is. README.md says how a case is written.
"""

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import caller
import cases
import clean
import files
import hostile
import nights
import records
import results
import rights
import tokens
import trust
import words

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {"files": files, "hostile": hostile, "clean": clean, "results": results, "rights": rights, "secrets": tokens, "trust": trust, "caller": caller, "words": words, "records": records, "nights": nights}


class Job:
    """An attack or a control, and what came of it."""

    def __init__(self, group, case, honest):
        self.group, self.case, self.honest = group, case, honest
        self.name = f"{group}.{case.name}" + (" (honest)" if honest else "")
        self.wrong, self.skipped, self.seconds, self.kept = [], "", 0.0, None

    def work(self, place, options):
        started = time.monotonic()
        self.skipped = unable(self.case, options)
        if not self.skipped:
            try:
                world, self.wrong = cases.play(self.case, place / self.group, options, self.honest)
            except Exception as error:  # A case that cannot be played is worth nothing, and says so.
                self.wrong = [f"the suite itself: {type(error).__name__}: {error}"]
                self.kept = place / self.group / (("honest-" if self.honest else "") + self.case.name)
            else:
                if self.wrong or options.keep:
                    self.kept = world.place
                else:
                    world.remove()
        self.seconds = time.monotonic() - started
        return self

    def line(self):
        if self.skipped:
            return f"SKIPPED {self.name}: {self.skipped}"
        if not self.wrong:
            return f"ok      {self.name} ({self.seconds:.1f} s)"
        return f"FAILED  {self.name} ({self.seconds:.1f} s): {' '.join('; '.join(self.wrong).split())[:500]} [kept: {self.kept}]"


def unable(case, options):
    """Why a case cannot be played here."""
    if case.setup.pytest and not options.pytest:
        return f"pytest could not be installed into {options.venv}"
    if case.landlock is not None and case.landlock != options.landlock:
        return "only with --landlock" if case.landlock else "not with --landlock"
    return ""


def chosen(options):
    """The attacks that were asked for, and each control that stands beside one of them."""
    jobs, controls = [], set()
    for group, module in GROUPS.items():
        for case in module.ATTACKS:
            name = f"{group}.{case.name}"
            if options.only and not any(fnmatch.fnmatch(name, p) or name.startswith(p) or case.name == p for p in options.only):
                continue
            if options.quick and case.slow:
                continue
            jobs.append(Job(group, case, honest=False))
            controls.add((group, case.control))
    return jobs + [Job(group, GROUPS[group].CONTROLS[name], honest=True) for group, name in sorted(controls)]


def check_names():
    """Every case names its control, and no two have the same name."""
    for group, module in GROUPS.items():
        names = [case.name for case in module.ATTACKS]
        doubled = {name for name in names if names.count(name) > 1}
        strange = [case.name for case in module.ATTACKS if case.control not in module.CONTROLS]
        assert not doubled and not strange, f"{group}: doubled {doubled}, without a control {strange}"


def pytest_there(options):
    """Installed once, for all runs of the suite."""
    python = options.venv / "bin/python3"
    works = [python, "-m", "pytest", "--version"]
    if python.exists() and subprocess.run(works, capture_output=True).returncode == 0:
        return True
    made = subprocess.run([options.python, "-m", "venv", options.venv], capture_output=True)
    if made.returncode == 0:
        subprocess.run([python, "-m", "pip", "-q", "install", "pytest"], capture_output=True)
    return made.returncode == 0 and subprocess.run(works, capture_output=True).returncode == 0


def table(jobs):
    print("\n| group | attacks | held | failed | skipped | controls | passed |\n|---|---|---|---|---|---|---|")
    for group in GROUPS:
        attacks = [job for job in jobs if job.group == group and not job.honest]
        honest = [job for job in jobs if job.group == group and job.honest]
        if attacks:
            failed, skipped = sum(bool(job.wrong) for job in attacks), sum(bool(job.skipped) for job in attacks)
            passed = sum(not job.wrong and not job.skipped for job in honest)
            print(f"| {group} | {len(attacks)} | {len(attacks) - failed - skipped} | {failed} | {skipped} | {len(honest)} | {passed} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM", type=Path, nargs="?", help="reflexion")
    parser.add_argument("--quick", action="store_true", help="only cases that take about a second each")
    parser.add_argument("--full", action="store_true", help="60 kills in the nights")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases or groups; with their controls")
    parser.add_argument("--list", action="store_true", help="print the names, and play nothing")
    parser.add_argument("--landlock", action="store_true", help="agents, checks and setup work in the sandbox `landlock`")
    parser.add_argument("--seed", type=int, default=20261123, help="when nights are killed (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=3, help="cases at the same time (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the directories of cases that passed, too")
    options = parser.parse_args()
    check_names()
    jobs = chosen(options)
    if options.list:
        print("\n".join(job.name + (f"  control: {job.case.control}" if not job.honest else "") for job in jobs))
        return 0
    if not options.program or not jobs:
        parser.error("no case has such a name" if options.program else "the program is missing")
    os.umask(0o022)
    place = Path(tempfile.mkdtemp(prefix="attacks-")).resolve()
    # Somebody may build it anew meanwhile.
    options.program = Path(shutil.copy(options.program.resolve(), place / "reflexion"))
    options.templates = place / "templates"
    options.python, options.venv = Path(sys.executable).resolve(), ROOT / "target/attacks/venv"
    options.pytest = any(job.case.setup.pytest for job in jobs) and pytest_there(options)
    # The long ones first, so that nobody waits for one of them at the end.
    jobs.sort(key=lambda job: not job.case.slow)
    lock = threading.Lock()
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(job.work, place, options) for job in jobs]):
            with lock:
                print(done.result().line(), flush=True)
    table(jobs)
    failed, skipped = [job for job in jobs if job.wrong], [job for job in jobs if job.skipped]
    if failed or options.keep:
        print(f"\nkept: {place}")
    else:
        shutil.rmtree(place, ignore_errors=True)
    print(f"{len(jobs) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
