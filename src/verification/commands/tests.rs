use super::CommandKind;
use super::CommandKind::Build;
use super::CommandKind::Ci;
use super::CommandKind::Format;
use super::CommandKind::Lint;
use super::CommandKind::Other;
use super::CommandKind::PullRequest;
use super::CommandKind::Test;
use super::CommandKind::Typecheck;
use super::Edits;
use super::PushTarget;
use super::Run;
use super::runs;
use proptest::prelude::*;

/// The runs of a line that are for something.
fn telling(line: &str) -> Vec<Run> {
    runs(line).into_iter().filter(|run| run.kind != Other).collect()
}

#[track_caller]
fn check_kinds(line: &str, expected: &[CommandKind]) {
    let found: Vec<CommandKind> = telling(line).into_iter().map(|run| run.kind).collect();
    assert_eq!(found, expected, "{line}\n{:#?}", runs(line));
}

#[test]
fn test_runs_are_seen_through_whatever_stands_before_them() {
    for line in [
        "npm test",
        "npm t",
        "npm run test:unit -- --watch=false",
        "npm --prefix web run test",
        "npm -w api test",
        "cd app && npm test",
        "cd app; CI=1 NODE_ENV=test npm test",
        "env -u X CI=1 npm test",
        "sudo -E -u me npm test",
        "time -p npm test",
        "/usr/bin/time -v npm test",
        "timeout -k 5 120 npm test",
        "nice -n 10 nohup npm test &",
        "bash -lc 'cd x && npm test'",
        "bash -c \"bash -c 'npm test'\"",
        "bash -euo pipefail -c 'npm test | tee log'",
        "(cd x && npm test)",
        "{ npm test; }",
        "if true; then npm test; fi",
        "for d in a b; do (cd $d && npm test); done",
        "while ! npm test; do sleep 1; done",
        "case $x in a|b) npm test;; esac",
        "out=$(npm test 2>&1)",
        "echo \"$(npm test)\"",
        "echo `npm test`",
        "eval npm test",
        "f() { npm test; }; f",
        "function f { npm test; }\nf",
        "ls | xargs -n 1 npm test --",
        "bash <<'EOF'\nnpm test\nEOF",
        "bash <<< 'npm test'",
        "docker compose exec -T app npm test",
        "docker run --rm -v $PWD:/w -w /w node:22 sh -c 'npm ci && npm test'",
        "! npm test",
        "npm \\\n  test",
        "'npm' \"test\"",
        "# first\nnpm test # now",
        "diff <(npm test) expected",
        "trap 'rm x' EXIT\r\nnpm test\r\n",
        "nix develop -c npm test",
        "source .venv/bin/activate && npm test",
        "[[ -f a && -f b ]] && npm test",
        "(( x > 1 )); npm test",
        "find . -name x -exec npm test {} \\;",
    ] {
        check_kinds(line, &[Test]);
    }
}

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
fn runners_of_tests() {
    for line in [
        "pnpm test",
        "pnpm -r test",
        "pnpm --filter web test",
        "yarn test",
        "yarn run test",
        "yarn workspace web test",
        "yarn jest",
        "pnpm exec vitest run",
        "pnpm vitest",
        "npx jest --ci",
        "npx -y vitest@3 run",
        "npm exec -- mocha",
        "bun test",
        "bun run test",
        "bunx vitest",
        "deno test -A",
        "deno task test",
        "node --test",
        "node --test test/",
        "pytest",
        "pytest -q tests/test_a.py::test_b",
        "python -m pytest -q",
        "python3.12 -m unittest",
        "py -3 -m pytest",
        "uv run pytest",
        "uv run --with x python -m pytest",
        "uv run -m pytest",
        "poetry run pytest",
        "pipenv run pytest",
        "pdm run pytest",
        "hatch run pytest",
        "coverage run -m pytest",
        "tox -e py312",
        "nox -s tests",
        "python manage.py test",
        "./manage.py test",
        "python tests/test_all.py",
        "conda run -n env pytest",
        ".venv/bin/pytest",
        ".venv/bin/python -m pytest",
        "cargo test",
        "cargo t",
        "cargo +nightly test",
        "cargo nextest run",
        "cargo +nightly nextest run --workspace",
        "cargo --locked test --workspace",
        "cargo llvm-cov nextest",
        "cargo miri test",
        "cross test --target x",
        "cargo xtask test",
        "go test ./...",
        "go test -run TestA ./pkg",
        "gotestsum -- ./...",
        "go run gotest.tools/gotestsum@latest",
        "ginkgo -r",
        "mvn -q test",
        "mvn verify",
        "./mvnw -pl a package",
        "./gradlew test",
        "gradle :app:test --tests X",
        "gradle check",
        "./gradlew build",
        "make test",
        "make -C sub -j8 check",
        "make -j 4 check",
        "just test",
        "task test:unit",
        "ctest",
        "ctest --test-dir build -V",
        "cmake --build build --target test",
        "meson test -C build",
        "ninja test",
        "bazel test //...",
        "dotnet test",
        "swift test",
        "xcodebuild test -scheme A",
        "mix test",
        "rspec",
        "bundle exec rspec spec/a_spec.rb",
        "bin/rspec",
        "rake test",
        "bundle exec rake spec",
        "rails test",
        "phpunit",
        "vendor/bin/phpunit",
        "./vendor/bin/pest",
        "php artisan test",
        "composer test",
        "flutter test",
        "dart test",
        "zig build test",
        "dune runtest",
        "stack test",
        "cabal test all",
        "sbt test",
        "lein test",
        "rebar3 eunit",
        "gleam test",
        "forge test",
        "bats tests/",
        "prove -r t",
        "playwright test",
        "npx playwright test",
        "npx cypress run",
        "nx test web",
        "npx nx run web:test",
        "nx affected -t test",
        "nx run-many --target=test",
        "turbo run test",
        "turbo test",
        "lerna run test",
        "./run_tests.sh",
        "bash scripts/test.sh",
        "./scripts/run-tests.sh --fast",
        "elm-test",
        "ava",
        "c8 mocha",
        "NODE_ENV=test npx ava",
        "sh -c 'exec pytest'",
        "earthly +test",
    ] {
        check_kinds(line, &[Test]);
    }
}

#[test]
fn what_only_mentions_or_lists_tests_runs_none() {
    for line in [
        "echo \"npm test\"",
        "echo npm test",
        "grep -r \"cargo test\" .",
        "rg 'npm test' docs && cat a",
        "# npm test",
        "ls # npm test",
        "git commit -m \"run npm test; cargo test && pytest\"",
        "git commit -m \"$(cat <<'EOF'\nfix it\n\nnpm test\nEOF\n)\"",
        "cat > notes.md <<EOF\nnpm test\ncargo test\nEOF",
        "cat <<-EOF\n\tnpm test\n\tEOF\nls",
        "python3 - <<'EOF'\nimport os\nos.system('npm test')\nEOF",
        "echo 'a' | sed 's/x/npm test/'",
        "printf '%s' 'pytest'",
        "echo pytest",
        "which pytest",
        "command -v pytest",
        "pip install pytest",
        "npm install --save-dev jest",
        "cargo test --no-run",
        "cargo test --help",
        "cargo test -- --list",
        "cargo nextest list",
        "cargo install cargo-nextest",
        "pytest --collect-only",
        "pytest --co -q",
        "pytest --version",
        "pytest --help",
        "npx jest --listTests",
        "go test -list . ./...",
        "go test -run '^$' -bench .",
        "go test -c ./pkg",
        "ctest -N",
        "make -n test",
        "make help",
        "tox -l",
        "dotnet test --list-tests",
        "npm run",
        "npm run test:server",
        "make test-data",
        "playwright install",
        "npx playwright show-report",
        "npx cypress open",
        "cat tests/test_a.py",
        "ls tests",
        "vim test.sh",
        "f() { npm test; }",
        "x='npm test'",
        "docker exec app ls",
        "python -c 'import pytest'",
        "python -m json.tool tests.json",
        "[ -f test ]",
        "test -f Cargo.toml",
        "find tests -name '*.py'",
        "cp test.sh x",
    ] {
        check_kinds(line, &[]);
    }
}

#[test]
fn other_kinds() {
    for (line, expected) in [
        ("cargo build --release", Build),
        ("cargo b", Build),
        ("npm run build", Build),
        ("yarn build", Build),
        ("make", Build),
        ("make -j8 all", Build),
        ("cmake --build build -j", Build),
        ("go build ./...", Build),
        ("tsc -p .", Build),
        ("npx tsc", Build),
        ("vite build", Build),
        ("mvn -q compile", Build),
        ("mvn package -DskipTests", Build),
        ("./gradlew assemble", Build),
        ("gradle build -x test", Build),
        ("dotnet build", Build),
        ("swift build", Build),
        ("gcc -o a a.c", Build),
        ("docker build -t x .", Build),
        ("python -m build", Build),
        ("cargo clippy --all-targets -- -D warnings", Lint),
        ("npm run lint", Lint),
        ("npx eslint .", Lint),
        ("ruff check .", Lint),
        ("uvx ruff check", Lint),
        ("black --check .", Lint),
        ("cargo fmt --check", Lint),
        ("cargo fmt --all -- --check", Lint),
        ("prettier --check .", Lint),
        ("gofmt -l .", Lint),
        ("go vet ./...", Lint),
        ("golangci-lint run", Lint),
        ("npm run format:check", Lint),
        ("npx tsc --noEmit", Typecheck),
        ("pnpm tsc --noEmit", Typecheck),
        ("npm run typecheck", Typecheck),
        ("npm run type-check", Typecheck),
        ("mypy src", Typecheck),
        ("cargo check", Typecheck),
        ("uv run pyright", Typecheck),
        ("cargo fmt", Format),
        ("prettier --write .", Format),
        ("npx prettier -w src", Format),
        ("black .", Format),
        ("gofmt -w .", Format),
        ("npm run format", Format),
        ("ruff format", Format),
        ("gh pr create --title x --body y", PullRequest),
        ("gh pr merge 3 --squash", PullRequest),
        ("gh -R o/r pr edit 3", PullRequest),
        ("glab mr create", PullRequest),
        ("gh api repos/o/r/pulls -f title=x -f head=y", PullRequest),
        ("gh pr checks 3 --watch", Ci),
        ("gh run watch", Ci),
        ("gh run view 12 --log-failed", Ci),
        ("gh pr view --json statusCheckRollup", Ci),
        ("gh api repos/o/r/commits/abc/check-runs", Ci),
    ] {
        check_kinds(line, &[expected]);
    }
    for line in
        ["gh pr list", "gh pr view 3", "gh pr create --help", "gh pr create --dry-run", "gh issue comment 1 -b x"]
    {
        check_kinds(line, &[]);
    }
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
    use Edits::No;
    use Edits::Perhaps;
    use Edits::Yes;
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

#[test]
fn words_are_unquoted_and_wrappers_gone() {
    #[track_caller]
    fn check(line: &str, expected: &[&[&str]]) {
        let found: Vec<Vec<String>> = runs(line).into_iter().map(|run| run.words).collect();
        assert_eq!(found, expected, "{line}");
    }
    check("a 'b c' \"d $e\" f\\ g $'h\\ti'", &[&["a", "b c", "d $e", "f g", "h\ti"]]);
    check("A=1 env B=2 timeout 5 npx jest -t 'x y'", &[&["npx", "jest", "-t", "x y"]]);
    check("a && b || c; d | e & f", &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]);
    check("a 'unclosed && b", &[&["a", "unclosed && b"]]);
    check("a $(b", &[&["b"], &["a", "$(b"]]);
    check(") a; } b; done; fi c", &[&["a"], &["b"], &["c"]]);
    check("a <<X\nbody\nX\nb", &[&["a"], &["b"]]);
    check("a <<X <<Y\n1\nX\n2\nY\nb", &[&["a"], &["b"]]);
    check("", &[]);
    check("  \n ; & | ", &[]);
    check("a=(1 2) b", &[&["b"]]);
    check("ls *.(a|b) é", &[&["ls", "*."], &["a"], &["b"], &["é"]]);
}

#[test]
fn deep_nesting_ends() {
    for open in [
        "(",
        "$(",
        "\"$(",
        "`",
        "{ ",
        "if ",
        "f(){ ",
        "bash -c '",
        "eval ",
        "find -exec ",
        "${x:-$(",
        "\\`",
        "case x in a) ",
        "<(",
    ] {
        let _ = runs(&open.repeat(5_000));
    }
    let mut chain = String::new();
    for at in 0..2_000 {
        chain.push_str(&format!("f{at}() {{ f{}; }}; ", at + 1));
    }
    let _ = runs(&(chain + "f0"));
}

/// Measured once with a megabyte of each: linear, at most 8 s without optimisation. Here a tenth, so that it costs little.
#[test]
fn long_lines_give_as_many_runs_as_they_have() {
    let line = "cd a && npm test | tail -1; ".repeat(4_000);
    assert_eq!(runs(&line).len(), 12_000);
    for piece in [
        "a ",
        "'",
        "\"",
        "$((",
        "((",
        "<<E\n",
        "<<E ",
        "\\",
        "x=$?;",
        "rc=$?;exit $rc&",
        "#",
        "env ",
        "sudo -u ",
        "é",
        "a&&",
        "|",
        "&",
        ";;",
        "case ",
        "[[ ",
    ] {
        let _ = runs(&piece.repeat(50_000 / piece.len()));
    }
}

proptest! {
    #[test]
    fn any_text_is_read(line in "\\PC{0,200}") {
        let _ = runs(&line);
    }

    #[test]
    fn any_shell_like_text_is_read(pieces in prop::collection::vec(prop::sample::select(vec![
        "npm", "test", "git", "push", "'", "\"", "`", "$(", "${", "$((", "((", ")", "))", "}", "{", "(", "[[", "]]", "&&", "||", ";",
        "|", "&", "\n", " ", "<<E", "E\n", "<<-", "<<<", ">", ">&", "2>", "&>", "\\", "#", "if", "then", "fi", "for", "do", "done",
        "case", "in", "esac", ";;", "f()", "function", "=", "x=", "$'", "é", "\r\n", "bash -c", "eval", "xargs", "find -exec", "env",
    ]), 0..60)) {
        let line = pieces.concat();
        let _ = runs(&line);
        let _ = runs(&pieces.join(" "));
    }

    #[test]
    fn quoting_a_text_hides_it(text in "[a-z &|;()<>$`\\n#{}]{0,60}") {
        let found = runs(&format!("echo '{text}'"));
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(&found[0].words, &vec!["echo".to_owned(), text]);
    }
}
