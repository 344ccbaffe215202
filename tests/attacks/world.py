"""One case's world in a temporary directory: a user's home, project and second repository, and what stands in them afterwards."""

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import uuid
from pathlib import Path

# What an agent's script is given beside the runtime's own variables, and the few words that all of them use.
WORDS = """\
did() { : > "$S/did"; }
right() { printf 'right\\n' > answer.txt; }
half() { echo "$REFLEXION_TASK_ID $REFLEXION_ATTEMPT" > half.txt; }
fix() { printf 'def total(prices):\\n    return sum(prices)\\n' > shop.py; }
"""
# The script of the newest attempt that has one: the last one is played for ever.
DISPATCH = """\
n=$REFLEXION_ATTEMPT
while [ "$n" -gt 1 ] && [ ! -f "$A/$REFLEXION_TASK_ID.$n.sh" ]; do n=$((n - 1)); done
. "$A/words.sh"
. "$A/$REFLEXION_TASK_ID.$n.sh"
exit 0
"""
# Longer than anything here takes on a busy machine.
PATIENCE = 120
# What is copied from one world into the next of the same set-up.
OF_USER = ("home", "victim", "repository")
TEMPLATES, TEMPLATES_LOCK = {}, threading.Lock()
# What git itself writes there, whoever calls it.
OF_GIT = {"objects", "refs", "logs", "packed-refs", "index", "worktrees", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "branches", "description"}


class Wrong(Exception):
    """What must hold does not."""


class World:
    """`setup`: what stands in the project; `played`: which scripts the agents play there."""

    def __init__(self, place, options, setup, played, name):
        self.place, self.options, self.setup, self.played = place / name, options, setup, played
        self.home, self.other, self.victim = self.place / "home", self.place / "home/src/lib", self.place / "victim"
        self.repository = self.place / "repository"
        self.project = self.repository / setup.prefix if setup.prefix else self.repository
        # What agents and checks leave for the case to look at. It is gone when the branch is looked at.
        self.scratch = self.place / "scratch"
        self.mark = f"ATTACK_{uuid.uuid4().hex}"
        self.said, self.code = "", None
        self.lay_out()

    # ------------------------------------------------------------ what there is before

    def lay_out(self):
        """Made once for each set-up, and copied then: nothing in it says where it stands."""
        for name in ("scratch", "state", "cache", "tmp", "agent"):
            (self.place / name).mkdir(parents=True, exist_ok=True)
        self.environment()
        key = repr((self.setup, sorted(self.played)))
        with TEMPLATES_LOCK:
            template = TEMPLATES.get(key)
            if template is None:
                self.make_home()
                self.make_project()
                template = self.options.templates / str(len(TEMPLATES))
                template.mkdir(parents=True)
                subprocess.run(["cp", "-a", *(self.place / name for name in OF_USER), template], check=True)
                TEMPLATES[key] = template
            else:
                subprocess.run(["cp", "-a", *(template / name for name in OF_USER), self.place], check=True)
        if self.setup.submodule:
            # Its configuration says where it stands.
            self.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
        self.base = self.git("rev-parse", "HEAD").strip()
        self.carried = self.place / "carried"
        for name in self.setup.carried:
            copy(self.project / name, self.carried / name)
        self.scripts()

    def make_home(self):
        for name in ("home/.config/git", "victim/worktrees/old"):
            (self.place / name).mkdir(parents=True)
        write(self.home / ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
              "[protocol \"file\"]\n\tallow = always\n")
        write(self.home / ".bashrc", "export EDITOR=ed\n")
        write(self.home / "made", "not made by setup\n")
        write(self.home / ".ssh/id_ed25519", "the only copy of a key\n").chmod(0o600)
        write(self.home / "models/weights.bin", "months of work\n")
        write(self.victim / "precious.txt", "precious\n")
        write(self.victim / ".gitignore", "precious, too\n")
        write(self.victim / "worktrees/old/file.txt", "precious\n")
        write(self.victim / "log.jsonl", '{"precious": true}\n')
        self.make_repository(self.other, {"lib.py": "LIBRARY = 1\n", "half.txt": "of the user\n", "answer.txt": "of the user\n"})
        write(self.other / "lib.py", "LIBRARY = 2  # not committed yet\n")

    def environment(self):
        """Of the runtime, and so of agents and checks: places have one letter each."""
        python = f"{self.python().parent}:{self.options.python.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        self.clean = {
            "PATH": python, "HOME": str(self.place / "state"), "TMPDIR": str(self.place / "tmp"), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PY": str(self.python()), "S": str(self.scratch),
        }
        places = {"A": self.place / "agent", "P": self.project, "O": self.other, "H": self.home, "V": self.victim}
        self.env = {
            # What is tried is safety: every retry has its lessons.
            "REFLEXION_HOLDOUT": "0",
            **self.clean, **{key: str(path) for key, path in places.items()}, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.place / "state"), "XDG_CACHE_HOME": str(self.place / "cache"), "XDG_DATA_HOME": str(self.home / ".local/share"),
            # A build that asks for trust in a project has it.
            "REFLEXION_TRUST": "1", self.mark: "1",
        }
        # Of the suite's own git: nothing of the home that an agent may have changed.
        self.clean["GIT_CONFIG_GLOBAL"] = "/dev/null"
        for who in ("AUTHOR", "COMMITTER"):
            self.clean.update({f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"})

    def words(self, text):
        """Which Python, in settings and checks."""
        return text.replace("@PY@", str(self.python()))

    def python(self):
        return self.options.venv / "bin/python3" if self.setup.pytest else self.options.python

    def make_repository(self, path, files, submodule=()):
        path.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write(path / name, content)
        self.git("init", "-q", "-b", "main", "--template=", at=path)
        if submodule:
            name, url = submodule
            write(path / ".gitmodules", f'[submodule "{name}"]\n\tpath = {name}\n\turl = {url}\n')
            commit = self.git("rev-parse", "HEAD", at=path / url).strip()
            self.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{name}", at=path)
            (path / name).mkdir()
        self.git("add", "-A", at=path)
        self.git("commit", "-q", "-m", "as it is", at=path)

    def make_project(self):
        files = {self.setup.prefix + "/" + name if self.setup.prefix else name: text for name, text in self.setup.files.items()}
        settings = {
            "name": "shop", "maxAttempts": 3, "checks": [], "agents": {
                "default": "scripted",
                "scripted": {"type": "command", "argv": ["sh", "-c", '. "$A/dispatch.sh"'], "timeoutMs": 60000},
            },
            **self.setup.settings,
        }
        if self.options.landlock:
            settings["sandbox"] = {"write": ["../../scratch" if self.setup.prefix else "../scratch"]}
        # A task of its own for each agent that plays.
        tasks = [{"id": name, "title": f"Task {name}", "createdAt": f"2026-11-01T09:00:{number:02}Z", "checks": self.setup.checks, **self.setup.task, **self.setup.tasks.get(name, {})}
                 for number, name in enumerate(sorted(self.played))]
        inside = self.setup.prefix + "/" if self.setup.prefix else ""
        files[inside + "project.json"] = self.words(json.dumps(settings, indent=1))
        files[inside + "tasks.jsonl"] = self.words("".join(json.dumps(task) + "\n" for task in tasks))
        files[inside + "memory/README.md"] = "Lessons.\n"
        self.make_repository(self.repository, files, self.setup.submodule)
        for name in ("keep-me", "keep-me-too"):
            self.git("branch", name)
        self.git("tag", "-a", "-m", "v1", "v1")
        write(self.repository / "stashed.txt", "stashed\n")
        self.git("stash", "-q", "-u")
        # What only a reflog leads to.
        self.git("commit", "-q", "--allow-empty", "-m", "taken back")
        self.git("reset", "-q", "--hard", "HEAD~1")
        for name, text in {**self.setup.untracked, "notes-of-mine.txt": "untracked\n"}.items():
            write(self.project / name, text)
        write(self.repository / ".git/info/exclude", "*.mine\n")
        write(self.repository / ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)

    def scripts(self):
        write(self.place / "agent/words.sh", WORDS)
        write(self.place / "agent/dispatch.sh", DISPATCH)
        for task, attempts in self.played.items():
            for number, script in enumerate(attempts, 1):
                write(self.place / "agent" / f"{task}.{number}.sh", script)

    def git(self, *arguments, check=True, at=None):
        done = subprocess.run(["git", "-C", str(at or self.repository), *arguments], env=self.clean, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, errors="surrogateescape", timeout=PATIENCE)
        if check and done.returncode:
            raise Wrong(f"git {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
        return done.stdout

    # ------------------------------------------------------------ the runtime at work

    def start(self, *arguments, **more):
        """The program, in the project, as the leader of its own group."""
        # Who reads `/dev/zero` to its end meets a limit before the machine does.
        limited = ["sh", "-c", 'ulimit -v 3000000; exec "$@"', "sh", str(self.options.program), *arguments]
        return subprocess.Popen(limited, cwd=self.project, env=self.env, start_new_session=True, **more)

    def run(self, *arguments, limit=PATIENCE, stdin=""):
        """Its exit code and what it printed; it is ended if it does not end."""
        process = self.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            out, err = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Wrong(f"`{' '.join(arguments)}` did not end within {limit} s") from None
        if process.returncode < 0 or process.returncode in (101, 134):
            raise Wrong(f"`{' '.join(arguments)}` died with {process.returncode}: {err.strip()[-200:]}")
        return process.returncode, out, err

    def work(self, command, limit):
        """A run or a night to its end, with what it said of each task."""
        self.code, out, self.said = self.run(*command, "--json", limit=limit)
        write(self.place / "said.txt", self.said)
        try:
            self.tasks = {task["id"]: task for task in json.loads(out)["tasks"]}
        except (ValueError, KeyError):
            self.tasks = {}
        return self.tasks

    def report(self):
        code, out, err = self.run("report", "--json", limit=20)
        if code:
            raise Wrong(f"`report --json` ended with {code}: {err.strip()[-200:]}")
        return json.loads(out)

    def told(self, task):
        """Whether a person is asked to look at it."""
        about = self.tasks.get(task, {})
        if about.get("needs_review") or about.get("needs") == "person" or (about.get("risk") or {}).get("needs_review"):
            return True
        report = self.report()
        names = [each["id"] for each in report["tasks"]]
        return any(names[place] == task for need in report["needs"] for place in need["tasks"])

    def integration(self):
        return self.report().get("integration")

    def end_everything(self):
        """Whatever was started in this world and is still there."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def processes(self):
        """Who carries this world's mark, or works in it: also after `env -i setsid`."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                there, environment = os.readlink(entry / "cwd"), (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if self.mark.encode() in environment or there == str(self.place) or there.startswith(f"{self.place}/") or f"{self.place}/" in command:
                found[int(entry.name)] = command
        return found

    # ------------------------------------------------------------ what there is afterwards

    def snapshot(self):
        """Everything of the user's, by name: bytes, kinds, modes, and what git knows."""
        seen = {}
        for name in ("home", "victim"):
            look(self.place / name, name, seen, skip=())
        inside = [self.project / "memory", self.project / ".reflection"]
        look(self.repository, "repository", seen, skip=(*inside, self.repository / ".git"))
        look(self.project / "memory", "memory", seen, skip=())
        lessons = self.project / "memory/reflections.jsonl"
        if lessons.is_file() and not lessons.is_symlink():
            seen["memory/reflections.jsonl"] = lessons.read_bytes()
        git = self.repository / ".git"
        for name in ("HEAD", "config", "config.worktree", "hooks", "info", "shallow", "objects/info/alternates", "logs/HEAD", "modules"):
            look(git / name, f".git/{name}", seen, skip=())
        for path in git.iterdir() if git.is_dir() else ():
            if path.name not in OF_GIT:
                seen.setdefault(f".git/{path.name}", "there")
        seen["index"] = self.git("ls-files", "-s", "-v", check=False)
        seen["stash"] = self.git("stash", "list", "--format=%H %gs", check=False)
        for line in self.git("for-each-ref", "--format=%(refname) %(objectname) %(symref)", check=False).splitlines():
            if not line.startswith(("refs/heads/reflexion/", "refs/reflexion/")):
                seen[line.split(" ")[0]] = line
        return seen

    def lost(self, before, may_change=()):
        """What of the user's is not as it was. Lessons may be added to."""
        after, wrong = self.snapshot(), []
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) == after.get(name) or name.startswith(tuple(may_change)):
                continue
            if name == "memory/reflections.jsonl" and isinstance(after.get(name), bytes) and after[name].startswith(before.get(name, b"")):
                continue
            if name.startswith("memory") and name not in before:
                continue
            wrong.append(f"{name} is {'gone' if name not in after else 'new' if name not in before else 'changed'}")
        return wrong

    def left(self):
        """What a run must not leave behind."""
        wrong = []
        deadline = time.monotonic() + 2
        while (there := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        wrong += [f"process {pid} left: {command[:80]}" for pid, command in there.items()]
        listed = self.git("worktree", "list", "--porcelain", check=False).splitlines()
        wrong += [f"worktree left: {line[9:]}" for line in listed if line.startswith("worktree ") and line[9:] != str(self.repository)]
        wrong += [f"lock left: {path.relative_to(self.repository)}" for path in (self.repository / ".git").rglob("*.lock")]
        state = self.project / ".reflection"
        if state.is_dir() and not state.is_symlink():
            wrong += [f"left: {path.relative_to(self.project)}" for path in state.rglob(".tmp*") if not (state / "cache") in path.parents]
            # A link that an agent left there is none: what it leads to is looked at by itself.
            slots = [path for path in walk(state / "worktrees") if path.is_file() and not path.is_symlink()]
            wrong += [f"workspace left: {slots[0].relative_to(state)}"] if slots else []
        rooms = list((self.place / "state/reflexion/rooms").glob("*"))
        wrong += [f"clean room left: {rooms[0]}"] if rooms else []
        return wrong

    def sound(self):
        """Everything that a ref of the user's or of the run leads to is there."""
        broken = subprocess.run(["git", "-C", str(self.repository), "fsck", "--connectivity-only", "--no-dangling", "--no-progress"], env=self.clean,
                                text=True, capture_output=True, timeout=PATIENCE)
        return "" if broken.returncode == 0 else f"git fsck: {(broken.stderr + broken.stdout).strip()[-200:]}"

    # ------------------------------------------------------------ what a branch is worth

    def wrong_with(self, branch):
        """Why the branch is not what was asked for, in a fresh clone with the user's tests, setup and carried files; nothing if it is."""
        shutil.rmtree(self.scratch)
        self.scratch.mkdir()
        fresh = self.place / f"fresh-{branch.rsplit('/', 1)[-1]}"
        try:
            self.git("clone", "-q", "--no-local", "-b", branch, str(self.repository), str(fresh), at=self.place)
            for check in [*self.setup.checks, {"run": self.setup.truth, "truth": True}]:
                if why := self.red(fresh, check):
                    return why
        except Wrong as wrong:
            return f"a fresh clone: {wrong}"
        return ""

    def red(self, fresh, check):
        """Why one check is red there, each from the very same files."""
        self.git("reset", "-q", "--hard", at=fresh)
        self.git("clean", "-xffdq", at=fresh)
        inside = fresh / self.setup.prefix if self.setup.prefix else fresh
        if self.setup.tests:
            self.git("checkout", "-q", self.base, "--", *self.setup.tests, at=inside)
        for name in self.setup.carried:
            subprocess.run(["rm", "-rf", str(inside / name)], check=True)
            copy(self.carried / name, inside / name)
        cache = self.place / "fresh-cache"
        subprocess.run(["rm", "-rf", str(cache)], check=True)
        cache.mkdir()
        more = {key: value.replace("{cache}", str(cache)) for key, value in self.setup.settings.get("workspace", {}).get("env", {}).items()}
        env = {**self.clean, **more}
        if "setup" in self.setup.settings:
            done = subprocess.run(["sh", "-c", self.words(self.setup.settings["setup"])], cwd=inside, env=env, text=True, capture_output=True)
            if done.returncode:
                return f"`setup` fails: {done.stderr.strip()[-160:]!r}"
        token = uuid.uuid4().hex
        # A program that ends early with 0 has not said the word.
        command = self.words(check["run"]) + (' && echo "$TOKEN"' if check.get("truth") and "TOKEN" not in check["run"] else "")
        done = subprocess.run(["sh", "-c", command], cwd=inside, env=env | {"TOKEN": token}, text=True, capture_output=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        if done.returncode == 0 and (not check.get("truth") or token in done.stdout):
            return ""
        which = "what was asked for is not done" if check.get("truth") else f"check `{check['name']}` is red"
        return f"{which}: {(done.stderr + done.stdout).strip()[-160:]!r}"

    def content(self, branch, path):
        """Of one file of a branch, or None."""
        done = subprocess.run(["git", "-C", str(self.repository), "cat-file", "blob", f"{branch}:{path}"], env=self.clean, capture_output=True)
        return done.stdout if done.returncode == 0 else None

    def remove(self):
        """Also where directories are deeper than Python can go, and modes forbid it."""
        if os.getuid():
            subprocess.run(["chmod", "-R", "u+rwx", str(self.place)], capture_output=True)
        subprocess.run(["rm", "-rf", str(self.place)], capture_output=True)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True) if source.is_dir() else shutil.copy2(source, target)


def walk(root):
    """Everything below, through no link. Without recursion, and short where somebody made it very deep."""
    for directory, directories, files in os.walk(root):
        if len(Path(directory).parts) > 60:
            directories.clear()
        yield from (Path(directory, name) for name in (*directories, *files))


def look(root, name, seen, skip):
    """Adds each path below `root`, itself too, with what it is."""
    if root in skip or not os.path.lexists(root):
        return
    seen[name] = kind(root)
    if root.is_dir() and not root.is_symlink():
        for path in sorted(root.iterdir()):
            look(path, f"{name}/{path.name}", seen, skip)


def kind(path):
    """What stands there: its kind, mode, and bytes."""
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        return ("link", os.readlink(path))
    if stat.S_ISREG(about.st_mode):
        return ("file", stat.S_IMODE(about.st_mode), hashlib.sha256(path.read_bytes()).hexdigest())
    return (stat.S_IFMT(about.st_mode), stat.S_IMODE(about.st_mode))


def listen(path):
    """A socket's name that stays when nobody listens any more."""
    # The path of a socket may have 108 bytes only.
    here = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)
