//! Where commands push, what they write, and whose exit status a line ends with.

use super::super::CommandKind::Test;
use super::super::{CommandKind, Edits, PushTarget, Run, runs};
use super::kinds::{check_kinds, telling};

#[test]
fn git_is_run_in_an_environment() {
    let check = |line: &str, expected: &[&str]| {
        let found = runs(line).into_iter().find(|run| run.words[0] == "git").unwrap();
        assert_eq!(found.env, expected, "{line}");
    };
    check("HUSKY=0 git commit -m x", &["HUSKY=0"]);
    check("env SKIP=a,b git commit -m x", &["SKIP=a,b"]);
    check("export HUSKY=0 && cd x; A=1 git commit -m x", &["HUSKY=0", "A=1"]);
    check("HUSKY=0 npm ci && git commit -m x", &[]);
    check("git commit -m 'HUSKY=0'", &[]);
}

#[test]
fn where_a_push_goes() {
    #[track_caller]
    fn check(line: &str, remote: Option<&str>, branches: &[&str], flags: &str) {
        let found = telling(line);
        let [Run { kind: CommandKind::Push(target), .. }] = found.as_slice() else { panic!("{line}: {found:?}") };
        let expected = PushTarget {
            remote: remote.map(str::to_owned),
            branches: branches.iter().map(|&branch| branch.to_owned()).collect(),
            forced: flags.contains('f'),
            dry_run: flags.contains('n'),
        };
        assert_eq!(*target, expected, "{line}");
    }
    let origin = Some("origin");
    check("git push", None, &[], "");
    check("git push origin", origin, &[], "");
    check("git push origin main", origin, &["main"], "");
    check("git push origin HEAD:main", origin, &["main"], "");
    check("git push origin HEAD:refs/heads/main", origin, &["main"], "");
    check("git push origin main:refs/heads/backup", origin, &["backup"], "");
    check("git push origin :main", origin, &["main"], "");
    check("git push origin --delete main", origin, &["main"], "");
    check("git push -d origin main", origin, &["main"], "");
    check("git push origin +main", origin, &["main"], "f");
    check("git push --force origin main", origin, &["main"], "f");
    check("git push -uf origin main", origin, &["main"], "f");
    check("git push --force-with-lease=main:abc origin x", origin, &["x"], "f");
    check("git push -u origin feature/main-nav", origin, &["feature/main-nav"], "");
    check("git push --dry-run origin main", origin, &["main"], "n");
    check("git push -n origin main", origin, &["main"], "n");
    check("git push --all origin", origin, &["*"], "");
    check("git push --mirror", None, &["*"], "f");
    check("git push origin :", origin, &["*"], "");
    check("git push --tags", None, &["refs/tags/*"], "");
    check("git push origin v1 --tags", origin, &["v1"], "");
    check("git push origin tag v1", origin, &["refs/tags/v1"], "");
    check("git push origin refs/tags/v1", origin, &["refs/tags/v1"], "");
    check("git push origin HEAD", origin, &[], "");
    check("git push -u origin HEAD", origin, &[], "");
    check("git push origin a b:main", origin, &["a", "main"], "");
    check("git -C sub -c user.name=x push origin main", origin, &["main"], "");
    check("git push -o ci.skip origin main", origin, &["main"], "");
    check("git push --repo=origin", origin, &[], "");
    check("git push --repo=origin main", origin, &["main"], "");
    check("git push -u origin fix/login && gh pr list --base main", origin, &["fix/login"], "");
    check("B=main; git push origin $B", origin, &["main"], "");
    check("B=main && git push origin HEAD:${B}", origin, &["main"], "");
    check("git push origin $BRANCH", origin, &["$BRANCH"], "");
    check("git push -u origin \"$(git branch --show-current)\"", origin, &[], "");
    check("git push origin $(git rev-parse --abbrev-ref HEAD):main", origin, &["main"], "");
    check("git push https://github.com/o/r main", Some("https://github.com/o/r"), &["main"], "");
    check("git subtree push --prefix docs origin gh-pages", origin, &["gh-pages"], "");
    check_kinds("echo \"git push origin main\"", &[]);
    check_kinds("git push --help", &[]);
    check_kinds("git log --grep push", &[]);
}

#[test]
fn whose_exit_status_a_line_ends_with() {
    /// `d`: decides, `b`: takes the blame; of the first test run.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let run = telling(line).into_iter().find(|run| run.kind == Test).expect(line);
        let mut found = String::new();
        found.push_str(if run.decides_exit { "d" } else { "" });
        found.push_str(if run.takes_blame { "b" } else { "" });
        assert_eq!(found, expected, "{line}");
    }
    check("npm test", "db");
    check("npm test 2>&1", "db");
    check("cd x && npm test", "db");
    check("npm run build && npm test", "db");
    check("npm test && echo ok", "db");
    check("npm test && git push", "d");
    check("npm test; true", "");
    check("npm test; echo $?", "");
    check("npm test\nls", "");
    check("ls; npm test", "db");
    check("npm test | tail -5", "");
    check("npm test |& tee log", "");
    check("echo y | npm test", "db");
    check("set -o pipefail; npm test | tail -5", "db");
    check("set -euo pipefail\nnpm test | grep x\nls", "d");
    check("bash -o pipefail -c 'npm test | cat'", "db");
    check("npm test || true", "b");
    check("npm test || echo failed", "b");
    check("npm test || npm run test:retry", "b");
    check("npm test || exit 1", "db");
    check("npm test || exit 1; ls", "d");
    check("npm test || exit 1; echo fine", "db");
    check("npm test || { echo failed; exit 1; }", "db");
    check("npm test || false", "db");
    check("npm test && echo ok || echo failed", "b");
    check("npm test &", "");
    check("! npm test", "");
    check("(npm test)", "db");
    check("(npm test; ls)", "");
    check("{ npm test; } | tail", "");
    check("if npm test; then echo ok; fi", "");
    check("for d in a b; do npm test; done", "");
    check("set -e; for d in a b; do npm test; done", "d");
    check("for d in a b; do npm test || exit 1; done", "d");
    check("set -e; npm test; ls", "d");
    check("bash -e -c 'npm test; ls'", "d");
    check("bash -c 'npm test; ls'", "");
    check("bash -c 'npm test' && ls", "d");
    check("out=$(npm test)", "db");
    check("echo $(npm test)", "");
    check("npm test; rc=$?; tail log; exit $rc", "db");
    check("npm test > log 2>&1; exit $?", "db");
    check("npm test | tail; exit ${PIPESTATUS[0]}", "db");
    check("npm test; exit 0", "");
    check("timeout 60 npm test", "db");
    check("sh -c 'npm test || exit 1; ls'; true", "");
}

#[test]
fn what_is_written() {
    #[track_caller]
    fn check(line: &str, writes: bool, edits: Edits, files: &[&str]) {
        let found = runs(line);
        assert_eq!(found.iter().any(|run| run.writes), writes, "{line}\n{found:#?}");
        assert_eq!(found.iter().map(|run| run.edits).max().unwrap_or_default(), edits, "{line}\n{found:#?}");
        let names: Vec<&str> = found.iter().flat_map(|run| &run.files).map(String::as_str).collect();
        assert_eq!(names, files, "{line}");
    }
    use Edits::{No, Perhaps, Yes};
    check("echo x > a.txt", true, Yes, &["a.txt"]);
    check("echo x >> 'b c.txt'", true, Yes, &["b c.txt"]);
    check("cat > src/a.rs <<EOF\nfn main() {}\nEOF", true, Yes, &["src/a.rs"]);
    check("cat <<EOF > a\nx > y\nEOF\nls", true, Yes, &["a"]);
    check("{ echo a; echo b; } > both", true, Yes, &["both"]);
    check("> empty", true, Yes, &["empty"]);
    check("echo x | tee a b", true, Yes, &["a", "b"]);
    check("sed -i 's/a/b/' x.rs", true, Yes, &["x.rs"]);
    check("sed -i.bak -e 's/a/b/' x.rs y.rs", true, Yes, &["x.rs", "y.rs"]);
    check("sed -n 's/a/b/p' x.rs", false, No, &[]);
    check("perl -pi -e 's/a/b/' x.rs", true, Yes, ["s/a/b/", "x.rs"][1..].as_ref());
    check("git apply fix.patch", true, Yes, &[]);
    check("git apply --check fix.patch", false, No, &[]);
    check("git checkout -- a.rs", true, Yes, &["a.rs"]);
    check("git checkout main", false, No, &[]);
    check("git checkout -b x", false, No, &[]);
    check("git switch main", false, No, &[]);
    check("git restore a.rs", true, Yes, &["a.rs"]);
    check("git restore --staged a.rs", false, No, &[]);
    check("git mv a b", true, Yes, &["a", "b"]);
    check("git commit -m x", true, No, &[]);
    check("git add . && git status", false, No, &[]);
    check("git stash pop", true, Yes, &[]);
    check("git stash list", false, No, &[]);
    check("git reset --hard", true, Yes, &[]);
    check("git pull", true, Perhaps, &[]);
    check("git diff > /tmp/x.diff", false, No, &[]);
    check("patch -p1 < x.diff", true, Yes, &[]);
    check("apply_patch <<'EOF'\n*** Begin Patch\nEOF", true, Yes, &[]);
    check("mkdir -p a/b", true, No, &["a/b"]);
    check("rm -rf target", true, No, &["target"]);
    check("rm tests/a.rs", true, Yes, &["tests/a.rs"]);
    check("rm -rf /tmp/x", false, No, &[]);
    check("mv a b", true, Yes, &["a", "b"]);
    check("cp a b", true, Yes, &["b"]);
    check("cargo fmt", true, Perhaps, &[]);
    check("cargo fmt --check", false, No, &[]);
    check("npx eslint --fix .", true, Perhaps, &[]);
    check("npm install", true, No, &[]);
    check("npm install left-pad", true, Perhaps, &[]);
    check("npm ci", true, No, &[]);
    check("cargo add serde", true, Perhaps, &[]);
    check("pip install x", true, No, &[]);
    check("python3 - <<'EOF'\nopen('a', 'w').write('x')\nEOF", true, Perhaps, &[]);
    check("python3 -c 'print(1)'", false, No, &[]);
    check("node -e \"require('fs').writeFileSync('a','b')\"", true, Perhaps, &[]);
    check("npm test", false, No, &[]);
    check("npm test > log.txt 2>&1", false, No, &[]);
    check("npm test 2>&1 | tee log.txt | tail", false, No, &[]);
    check("npx jest -u", true, Perhaps, &[]);
    check("ls 2>/dev/null 1>&2", false, No, &[]);
    check("ls >& /dev/null; ls &> /dev/null", false, No, &[]);
    check("find . -name '*.pyc' -delete", true, Perhaps, &[]);
    check("find . -exec sed -i s/a/b/ {} +", true, Yes, &["{}"]);
    check("grep -rl a . | xargs sed -i 's/a/b/'", true, Yes, &[]);
    check("grep -rl a . | xargs -0 perl -pi -e 's/a/b/'", true, Yes, &[]);
    check("sed -i s/a/b/ /tmp/x", false, No, &[]);
    check("perl -pi -e 's/a/b/' a.c", true, Yes, &["a.c"]);
    check("vim -es a.c -c '%s/a/b/g' -c wq", true, Yes, &["a.c"]);
    check("nvim --headless +'%s/a/b/|x' a.c", true, Yes, &["a.c"]);
    check("ex -s a.c <<'EOF'\n%s/a/b/\nw!\nq\nEOF", true, Yes, &["a.c"]);
    check("vim -R a.c -c 'q!'", false, No, &[]);
    check("curl -o a.json https://x", true, Yes, &["a.json"]);
    check("echo 'a > b'", false, No, &[]);
    check("[[ a > b ]]", false, No, &[]);
    check("(( a > b ))", false, No, &[]);
    check("cat a | sort | uniq -c", false, No, &[]);
}
