"""The runtime loses, changes or executes nothing of the user's, whatever an agent leaves in its workspace."""

from cases import Case, Setup, absent, again, precious, seldom

WRITTEN = {"name": "written", "run": "grep -qx right answer.txt"}
# Without a slash, so that links of these names are ignored, too.
IGNORED = "build\ndata\nmade\n.env\n"
FILES = {"answer.txt": "wrong\n", "half.txt": "nothing\n", "tool.sh": "exit 0\n", ".gitignore": IGNORED}
TRUTH = "grep -qx right answer.txt"
NOTE = Setup("note", FILES, TRUTH, (WRITTEN,))
# A check that starts a program of the tree.
TOOL = Setup("tool", FILES, TRUTH, ({"name": "tool", "run": "sh ./tool.sh && grep -qx right answer.txt"},))
CARRY = Setup(
    "carry", FILES, TRUTH, (WRITTEN,), {"carry": ["data/models", ".env"]},
    untracked={"data/models/weights.bin": "weights\n", "data/models/deep/er/file.bin": "deeper\n", "data/raw/big.csv": "1,2\n", ".env": "KEY=1\n"},
    carried=("data/models", ".env"),
)
# The same where git ignores nothing of it.
LOOSE = Setup("loose", {**FILES, ".gitignore": "build/\n"}, TRUTH, (WRITTEN,), CARRY.settings, untracked=CARRY.untracked, carried=CARRY.carried)
MADE = Setup("made", FILES, TRUTH, (WRITTEN,), {"setup": "mkdir -p made/deep && echo made > made/file && echo made > made/deep/file"})
PREFIX = Setup("prefix", FILES, TRUTH, (WRITTEN,), prefix="app")

# ---------------------------------------------------------------- links in the place of what the runtime puts back

NESTED = "git init -q vendor; git -C vendor commit -q --allow-empty -m nested; half"


def nested(target):
    """A repository inside, and in the next attempt a link in its place."""
    return (NESTED, f"rm -rf vendor; ln -s {target} vendor; half; did", "right")


def linked(place, target):
    """One attempt leaves a link in the place of something, the next is honest."""
    return (f"rm -rf {place}; ln -s {target} {place}; half; did", "right")


LINKS = [
    Case("nested-then-link", NOTE, nested('"$P"'), "link"),
    Case("nested-then-link-to-other", NOTE, nested('"$O"'), "link"),
    Case("nested-then-parent-link", NOTE, (
        "mkdir -p deps; git init -q deps/lib; half", 'rm -rf deps; ln -s "$H/src" deps; half; did', "right"), "link"),
    Case("nested-git-is-link", NOTE, ('mkdir vendor; ln -s "$O/.git" vendor/.git; cp "$O/lib.py" vendor; half; did', "right"), "link"),
    Case("nested-git-is-file", NOTE, ('mkdir vendor; echo "gitdir: $O/.git" > vendor/.git; cp "$O/lib.py" vendor; half; did', "right"), "link"),
    Case("nested-link-by-check", TOOL, (
        "git init -q vendor; git -C vendor commit -q --allow-empty -m nested\n"
        'printf "rm -rf vendor; ln -s %s vendor; : > %s/did\\n" "$O" "$S" > tool.sh; half', "right"), "tool"),
    Case("nested-link-same-attempt", NOTE, (
        'git init -q vendor; ln -s "$O" link; git init -q build/x; rm -rf build; ln -s "$O" build; half; did', "right"), "link"),
    Case("tracked-file-is-link", NOTE, linked("answer.txt", '"$H/.bashrc"'), "link"),
    Case("tracked-file-is-link-written-by-check", TOOL, (
        "rm answer.txt; ln -s \"$O/answer.txt\" answer.txt; echo 'test -L answer.txt' > tool.sh; half; did", "right"), "tool"),
    Case("ignore-file-is-link", NOTE, linked(".gitignore", '"$H/.bashrc"'), "link"),
    Case("ignored-directory-is-link", NOTE, linked("build", '"$H"'), "link"),
    Case("new-directory-is-link", NOTE, linked("docs", '"$H/.ssh"'), "link"),
    Case("link-to-root", NOTE, linked("build", "/"), "link"),
    Case("link-loop", NOTE, ("ln -s b a; ln -s a b; ln -s . self; mkdir build; ln -s .. build/up; half; did", "right"), "link"),
    Case("carry-parent-to-users", CARRY, linked("data", '"$P/data"'), "carry"),
    Case("carry-parent-to-home", CARRY, linked("data", '"$H"'), "carry"),
    Case("carry-link-then-next-task", CARRY, ('rm -rf data; ln -s "$H" data; right; did',), "carry", others={"u": ("right",)}),
    Case("setup-link-then-next-task", MADE, ('rm -rf made; ln -s "$H" made; right; did',), "made", others={"u": ("right",)}),
    Case("carry-parent-to-users-not-ignored", LOOSE, linked("data", '"$P/data"'), "loose"),
    Case("carry-parent-to-home-not-ignored", LOOSE, linked("data", '"$H"'), "loose"),
    Case("carry-file-to-home-not-ignored", LOOSE, linked(".env", '"$H/.ssh/id_ed25519"'), "loose"),
    Case("carry-itself-to-users", CARRY, linked("data/models", '"$P/data/models"'), "carry"),
    Case("carry-itself-to-home", CARRY, linked("data/models", '"$H"'), "carry"),
    Case("carry-inner-directory", CARRY, linked("data/models/deep/er", '"$H/.ssh"'), "carry"),
    Case("carry-file-to-home", CARRY, linked(".env", '"$H/.bashrc"'), "carry"),
    Case("carry-file-in-directory", CARRY, linked("data/models/weights.bin", '"$H/models/weights.bin"'), "carry"),
    Case("carry-hard-link", CARRY, ('ln -f "$H/.bashrc" .env; half; did', "right"), "carry"),
    Case("carry-modes", CARRY, ('rm .env; ln -s "$H/.ssh/id_ed25519" .env; chmod -R a-w data; half; did', "right"), "carry"),
    Case("carry-dangling", CARRY, linked(".env", '"$H/not-there-yet"'), "carry"),
    Case("carry-by-check", Setup("carry-tool", FILES, TRUTH, TOOL.checks, CARRY.settings, untracked=CARRY.untracked,
                                 carried=CARRY.carried), (
        'printf "rm -rf data; ln -s %s data; : > %s/did\\n" "$H" "$S" > tool.sh; half', "right"), "carry"),
    Case("setup-parent-to-users", MADE, linked("made", '"$O"'), "made"),
    Case("setup-parent-to-home", MADE, linked("made", '"$H"'), "made"),
    Case("setup-file-to-home", MADE, linked("made/file", '"$H/.bashrc"'), "made"),
    Case("setup-inner-directory", MADE, linked("made/deep", '"$H/.ssh"'), "made"),
    Case("prefix-to-users", PREFIX, ('cd ..; rm -rf app; ln -s "$P" app; did', "right"), "prefix"),
    Case("prefix-to-other", PREFIX, ('cd ..; rm -rf app; ln -s "$O" app; did', "right"), "prefix"),
    Case("prefix-memory-link", PREFIX, ('rm -rf memory .reflection; ln -s "$P/memory" memory; ln -s "$P/.reflection" .reflection; half; did',
                                        "right"), "prefix"),
    Case("memory-link", NOTE, linked("memory", '"$P/memory"'), "link"),
    Case("memory-to-victim", NOTE, linked("memory", '"$V"'), "link"),
    Case("state-link", NOTE, linked(".reflection", '"$P/.reflection"'), "link"),
    Case("state-to-victim", NOTE, linked(".reflection", '"$V"'), "link"),
    Case("workspace-itself-is-link", NOTE, (
        'half; w=$PWD; cd /; mv "$w" "$S/away"; ln -s "$O" "$w"; did', "right"), "link", may_be_stopped=True, landlock=False),
    Case("workspaces-directory-is-link", NOTE, (
        'half; w=$PWD; d=$(dirname "$w"); mkdir -p "$V/$(basename "$w")/sub"; for f in answer.txt sub/mine; do\n'
        'echo precious > "$V/$(basename "$w")/$f"; echo "$V/$(basename "$w")/$f" >> "$S/precious"; done\n'
        'cd /; mv "$d" "$S/away"; ln -s "$V" "$d"; did', "right"), "link", after=(precious,), may_change=("victim/",), landlock=False),
]

# ---------------------------------------------------------------- sizes, kinds, names

DEEP = """
"$PY" - <<'PY'
import os
os.makedirs("%s", exist_ok=True)
os.chdir("%s")
for _ in range(%d):
    os.mkdir("d")
    os.chdir("d")
open("file", "w").close()
PY
"""
NAMES = """
"$PY" - <<'PY'
import os
names = [b"-rf", b"--help", b"-", b"new\\nline", b"tab\\t", b"\\xff\\xfe.bin", b":(exclude)x", b":!x", b"*", b"a b", b'"quoted"', b"back\\\\slash", b"n" * 255,
         b"~", b"$(touch pwned)", b"`touch pwned`", b"\\x1b[31mred", b"..." ]
for name in names:
    with open(name, "wb") as file:
        file.write(b"kept\\n")
PY
"""
ODD = ("-rf", "new\nline", ":(exclude)x", "*", "$(touch pwned)", "...", "n" * 255)
SHAPES = [
    Case("deep-60000", NOTE, (DEEP % ("deep", "deep", 60000) + "half; did", "right"), "shape", after=(again,), slow=True),
    Case("deep-60000-ignored", NOTE, (DEEP % ("build", "build", 60000) + "half; did", "right"), "shape", after=(again,), slow=True),
    Case("deep-60000-carried", CARRY, (DEEP % ("data/models", "data/models", 60000) + "half; did", "right"), "carry", after=(again,), slow=True),
    Case("sparse-40-gb", NOTE, ("truncate -s 40G big.bin; right; did", "right"), "shape", slow=True, limit=60),
    Case("sparse-40-gb-ignored", NOTE, ("mkdir -p build; truncate -s 40G build/big.bin; right; did",), "shape", slow=True, limit=60),
    Case("many-files-ignored", NOTE, ("mkdir build; cd build; seq 20000 | xargs touch; cd ..; half; did", "right"), "shape", slow=True),
    Case("read-only-tree", NOTE, ("mkdir -p docs/in build/in; touch docs/in/f build/in/f; chmod -R a-w docs build; chmod 000 build/in; half; did",
                                  "right"), "shape"),
    Case("read-only-workspace", NOTE, ("half; chmod a-w . answer.txt; did", "right"), "shape"),
    Case("pipe-in-tree", NOTE, ("mkfifo pipe; half; did", "right"), "shape", limit=20),
    Case("pipe-for-tracked-file", NOTE, ("rm answer.txt; mkfifo answer.txt; did", "right"), "shape", limit=20),
    Case("pipe-for-gitignore", NOTE, ("rm .gitignore; mkfifo .gitignore; half; did", "right"), "shape", limit=20),
    Case("pipe-for-gitattributes", NOTE, ("mkfifo .gitattributes; half; did", "right"), "shape", limit=20),
    Case("pipe-for-inner-gitignore", NOTE, ("mkdir docs; echo x > docs/x; mkfifo docs/.gitignore; half; did", "right"), "shape", limit=20),
    Case("pipe-for-lockfile", MADE, ("mkfifo package-lock.json Cargo.lock uv.lock poetry.lock; half; did", "right"), "made", limit=20),
    Case("pipe-in-carried", CARRY, ("mkfifo data/models/pipe; rm .env; mkfifo .env; half; did", "right"), "carry", limit=20),
    Case("pipe-in-setup", MADE, ("rm made/file; mkfifo made/file; half; did", "right"), "made", limit=20),
    Case("pipe-for-git", NOTE, ("rm -rf .git; mkfifo .git; half; did", "right"), "shape", limit=20),
    # It stands outside of the workspace, where nobody looks for it before git does; git waits for it for a minute.
    Case("pipe-behind-nested-git", NOTE, (
        'git init -q "$S/other"; rm "$S/other/.git/HEAD"; mkfifo "$S/other/.git/HEAD"; mkdir lib; ln -s "$S/other/.git" lib/.git; half; did',
        "right"), "shape", slow=True, limit=120),
    Case("socket-in-tree", NOTE, ("\"$PY\" -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; half; did", "right"), "shape", limit=20),
    Case("odd-names-then-retry", NOTE, (NAMES + "half; did", "right"), "names", after=(absent("pwned"),)),
    Case("names-of-options", NOTE, ("mkdir -- --work-tree=.. -c --exec; touch -- -c/core.fsmonitor=x --force; half; did", "right"), "names"),
    Case("name-of-dot-git", NOTE, ("mkdir -p .GIT .git.d 'git~1'; printf '[core]\\n\\tfsmonitor = touch %s/ran\\n' \"$S\" > .GIT/config; half; did",
                                   "right"), "shape", after=(absent("ran"),)),
    Case("modules-out-of-tree", NOTE, (
        "printf '[submodule \"../../../evil\"]\\n\\tpath = sub\\n\\turl = %s\\n' \"$O\" > .gitmodules; half; did", "right"), "shape"),
]

# ---------------------------------------------------------------- git of the workspace

CONFIG = "git config %s; half; did"
HOOK = "#!/bin/sh\\ntouch %s/ran\\n"


def configured(name, value, more="", **keys):
    """The agent sets something that would start a program of its own when the runtime calls git."""
    script = f"printf '{HOOK}' \"$S\" > \"$S/evil\"; chmod +x \"$S/evil\"; {more} git config {value}; half; did"
    return Case(name, NOTE, (script, "right"), "git", after=(absent("ran"),), **keys)


GIT = [
    Case("dot-git-gone", NOTE, ("rm -rf .git; half; did", "right"), "git"),
    Case("dot-git-is-new-repository", NOTE, ("rm -rf .git; git init -q .; git add -A; git commit -q -m mine; half; did", "right"), "git"),
    Case("dot-git-to-other", NOTE, ('rm -rf .git; ln -s "$O/.git" .git; half; did', "right"), "git"),
    Case("dot-git-to-users", NOTE, ('rm -rf .git; ln -s "$P/.git" .git; half; did', "right"), "git"),
    Case("dot-git-file-to-other", NOTE, ('rm -rf .git; echo "gitdir: $O/.git" > .git; half; did', "right"), "git"),
    Case("dot-git-file-to-users", NOTE, ('rm -rf .git; echo "gitdir: $P/.git" > .git; half; did', "right"), "git"),
    Case("dot-git-file-to-users-confirmed", NOTE, ('rm -rf .git; echo "gitdir: $P/.git" > .git; right; did',), "git"),
    Case("dot-git-to-victim", NOTE, ('rm -rf .git; ln -s "$V" .git; half; did', "right"), "git"),
    configured("fsmonitor", 'core.fsmonitor "$S/evil"'),
    configured("fsmonitor-of-worktree", '--worktree core.fsmonitor "$S/evil"', "git config extensions.worktreeConfig true;"),
    configured("hooks-path", 'core.hooksPath "$S/hooks"',
               'mkdir "$S/hooks"; for h in post-checkout post-index-change reference-transaction pre-auto-gc post-rewrite; do cp "$S/evil" "$S/hooks/$h"; done;'),
    configured("filter-clean", 'filter.evil.clean "$S/evil"', "echo '* filter=evil' > .gitattributes;"),
    configured("filter-process", 'filter.evil.process "$S/evil"', "echo '* filter=evil' > .gitattributes;"),
    configured("filter-smudge-in-info", 'filter.evil.smudge "$S/evil"',
               'mkdir -p "$(git rev-parse --git-path info)"; echo "* filter=evil" > "$(git rev-parse --git-path info/attributes)";'),
    configured("include-path", 'include.path "$S/more"', "printf '[core]\\n\\tfsmonitor = %s/evil\\n' \"$S\" > \"$S/more\";"),
    configured("diff-external", 'diff.external "$S/evil"'),
    configured("text-conversion", 'diff.evil.textconv "$S/evil"', "echo '*.txt diff=evil' > .gitattributes;"),
    configured("signing-program", 'gpg.program "$S/evil"', "git config commit.gpgSign true;"),
    configured("alternate-refs-command", 'core.alternateRefsCommand "$S/evil"'),
    Case("core-worktree", NOTE, ('git config core.worktree "$O"; half; did', "right"), "git"),
    Case("core-worktree-to-home", NOTE, ('git config core.worktree "$H"; git config core.bare false; half; did', "right"), "git"),
    Case("core-bare", NOTE, ("git config core.bare true; half; did", "right"), "git"),
    Case("broken-config", NOTE, ('echo "[broken" >> "$(git rev-parse --git-path config)"; half; did', "right"), "git"),
    Case("own-hooks", NOTE, (
        'd=$(git rev-parse --git-path hooks); mkdir -p "$d"; for h in post-checkout post-commit reference-transaction; do\n'
        f"printf '{HOOK}' \"$S\" > \"$d/$h\"; chmod +x \"$d/$h\"; done; half; did", "right"), "git", after=(absent("ran"),)),
    Case("hooks-directory-is-link", NOTE, ('d=$(git rev-parse --git-path hooks); rm -rf "$d"; ln -s "$V" "$d"; half; did', "right"), "git"),
    Case("alternates", NOTE, (
        'mkdir -p "$S/objects"; GIT_OBJECT_DIRECTORY="$S/objects" git hash-object -w answer.txt > /dev/null\n'
        'd=$(git rev-parse --git-path objects/info); mkdir -p "$d"; echo "$S/objects" >> "$d/alternates"; half; did', "right"), "git"),
    Case("shallow", NOTE, ('git rev-parse HEAD > "$(git rev-parse --git-path shallow)"; half; did', "right"), "git"),
    Case("grafts", NOTE, ('mkdir -p "$(git rev-parse --git-path info)"; git rev-parse HEAD > "$(git rev-parse --git-path info/grafts)"; half; did',
                          "right"), "git"),
    Case("replace-objects", NOTE, ("git replace HEAD:answer.txt HEAD:half.txt; half; did", "right"), "git"),
    Case("branches-and-tags", NOTE, (
        "git branch mine; git branch -D keep-me; git tag mine; git tag -d v1; git update-ref refs/heads/keep-me-too HEAD~0; git branch -f keep-me-too $(\n"
        "git commit-tree -m x HEAD^{tree}); half; did", "right"), "git"),
    Case("stash-and-notes", NOTE, ("git stash clear; git notes add -m note HEAD; half; did", "right"), "git"),
    Case("switch-branch", NOTE, ("git checkout -q -b elsewhere; half; git add -A; git commit -q -m mine; did", "right"), "git"),
    Case("symbolic-refs", NOTE, (
        "git symbolic-ref refs/heads/link refs/heads/main; git update-ref --no-deref -d refs/heads/keep-me\n"
        "git symbolic-ref refs/heads/keep-me refs/heads/main; half; did", "right"), "git"),
    Case("ref-that-blocks-the-runs", NOTE, ("git update-ref refs/heads/reflexion HEAD; half; did", "right"), "git"),
    Case("index-flags", NOTE, ("git update-index --assume-unchanged answer.txt; git update-index --skip-worktree half.txt; did", "right"), "git"),
    Case("sparse-checkout", NOTE, ("git sparse-checkout set --no-cone half.txt; half; did", "right"), "git"),
    Case("locks", NOTE, (
        'd=$(git rev-parse --git-dir); touch "$d/index.lock" "$d/HEAD.lock" "$(git rev-parse --git-path config).lock"; half; did', "right"), "git",
         may_be_stopped=True),
    Case("collected-garbage", NOTE, ("git reflog expire --expire=now --all; git gc -q --prune=now; half; did", "right"), "git"),
    Case("objects-removed", NOTE, ('find "$(git rev-parse --git-path objects)" -type f -delete; half; did', "right"), "git"),
    Case("packed-refs-emptied", NOTE, ('git pack-refs --all; : > "$(git rev-parse --git-path packed-refs)"; half; did', "right"), "git"),
    Case("worktrees-pruned", NOTE, ('git worktree add -q "$S/extra"; rm -rf "$S/extra"; git worktree prune; half; did', "right"), "git"),
    Case("half-a-merge", NOTE, (
        "git checkout -q --detach; echo one > answer.txt; git commit -qam one; git checkout -q --detach HEAD~1; echo two > answer.txt; git commit -qam two\n"
        "git merge -q HEAD@{2}; did", "right"), "git"),
    Case("head-is-garbage", NOTE, ('echo garbage > "$(git rev-parse --git-path HEAD)"; half; did', "right"), "git"),
    Case("git-environment-file", NOTE, ('mkdir -p .git.d; echo x > .git.d/x; printf "[core]\\n" > .gitconfig; half; did', "right"), "git"),
]

ATTACKS = seldom(
    [*LINKS, *SHAPES, *GIT], "nested-git-is-*", "nested-link-same*", "*written-by-check", "ignore-file*", "link-loop", "carry-*-to-users*", "carry-file-in*",
    "carry-dangling", "carry-*-not-ignored", "*-then-next-task", "setup-inner*", "setup-*-to-users", "prefix-to-other", "prefix-memory*", "memory-link", "state-link",
    "read-only-workspace", "pipe-in-*", "pipe-for-lockfile", "pipe-for-tracked*", "names-of-options", "fsmonitor-of*", "filter-process", "filter-smudge*",
    "diff-external", "text-*", "signing*", "alternate-refs*", "core-worktree-*", "core-bare", "grafts", "replace*", "switch-branch", "index-flags", "half-a-merge",
    "packed*", "git-environment*", "dot-git-to-*", "dot-git-is-*", "worktrees-pruned", "sparse-checkout")
RIGHT = {"answer.txt": "right\n"}
CONTROLS = {
    case.name: case for case in (
        # A link to a file of its own tree is a file like any other.
        Case("link", NOTE, ("ln -s answer.txt docs; half", "right; ln -s answer.txt link"), arrives={**RIGHT, "link": "answer.txt"}),
        Case("tool", TOOL, ("half", "right; echo 'test -f answer.txt' > tool.sh"), arrives={**RIGHT, "tool.sh": "test -f answer.txt\n"}),
        Case("carry", CARRY, ("half; grep -q KEY .env && rm -rf data", "grep -q weights data/models/weights.bin && right"), arrives=RIGHT),
        Case("loose", LOOSE, ("half; rm -rf data", "grep -q weights data/models/weights.bin && right"), arrives=RIGHT),
        Case("made", MADE, ("half; rm -rf made", "grep -q made made/deep/file && right"), arrives=RIGHT),
        Case("prefix", PREFIX, ("half", "right; echo new > ../beside.txt"), arrives=RIGHT),
        Case("shape", NOTE, ("mkdir -p docs/in build; echo d > docs/in/f; half", "right; mkdir -p docs/in; echo d > docs/in/f"),
             arrives={**RIGHT, "docs/in/f": "d\n"}),
        Case("names", NOTE, (NAMES + "right",), arrives={**RIGHT, **{name: "kept\n" for name in ODD}}),
        Case("git", NOTE, ("git commit -q --allow-empty -m mine; half", "right; git add -A; git commit -q -m mine"), arrives=RIGHT),
    )
}
