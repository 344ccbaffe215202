//! The gate on diffs and recorded edits.

use super::super::fixture::{Turn, coding, turn};
use super::*;
use crate::domain::{Allow, ToolKind};
use serde_json::json;

/// A turn that changed one file like this: lines with `-`, `+` or a space in front.
fn changed(path: &str, lines: &str) -> Turn {
    let count = |not: char| lines.lines().filter(|l| !l.starts_with(not)).count();
    let diff = format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{} +1,{} @@\n{lines}\n",
        count('+'),
        count('-')
    );
    coding().observed(&[path], &diff)
}

fn harms(path: &str, lines: &str, words: &str) {
    changed(path, lines).fails(GATE, words);
}

fn fine(path: &str, lines: &str) {
    changed(path, lines).passes(GATE, "no test was deleted");
}

#[test]
fn test_files() {
    for path in [
        "tests/it/main.rs",
        "test_calc.py",
        "pkg/calc_test.go",
        "src/a.test.ts",
        "src/a.spec.tsx",
        "src/__tests__/a.js",
        "src/test/java/AppTest.java",
        "spec/models/user_spec.rb",
        "cypress/e2e/login.cy.ts",
        "src/tests.rs",
        "t/run.bats",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in
        ["src/latest.rs", "src/contest.py", "tests/README.md", "src/testing.rs", "docs/tests.md", "src/attest.go"]
    {
        assert!(!is_test(path), "{path}");
    }
}

#[test]
fn a_deleted_test_is_gone() {
    harms(
        "src/lib.rs",
        " mod tests {\n-    #[test]\n-    fn adds() {\n-        assert_eq!(add(1), 2);\n-    }\n }",
        "tests are gone: `adds`",
    );
    harms("tests/test_a.py", "-def test_add():\n-    assert add(1) == 2\n x = 1", "test_add");
    harms("src/a.test.ts", "-  it('adds', () => {\n-    expect(add(1)).toBe(2);\n-  });\n x", "adds");
    harms("a_test.go", "-func TestAdd(t *testing.T) {\n-\tt.Fatal(1)\n-}\n x", "TestAdd");
    harms("src/test/java/ATest.java", "-    @Test\n-    public void adds() {\n-    }\n x", "adds");
    let gone = "diff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\n--- a/tests/test_a.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def test_a():\n-    assert f()\n";
    coding().observed(&["tests/test_a.py"], gone).fails(GATE, "`tests/test_a.py` was deleted");
}

#[test]
fn a_formatter_may_put_a_tests_name_on_the_next_line() {
    let one = "-it('adds two', wrapped(async () => { expect(1).toBe(1) }));\n";
    let below = "+it(\n+  'adds two',\n+  wrapped(async () => {\n+    expect(1).toBe(1);\n+  }),\n+);";
    fine("test/a.test.ts", &format!("{one}{below}"));
    fine("test/a.test.ts", &format!("{}\n{}", below.replace('+', "-"), one.replace('-', "+").trim_end()));
    harms("test/a.test.ts", "-it(\n-  'adds two',\n-  wrapped(() => {}),\n-);\n x", "tests are gone: `adds two`");
}

#[test]
fn renamed_moved_and_rewritten_tests_are_still_there() {
    fine("test_a.py", "-def test_add():\n+def test_adds_two():\n     assert add(1) == 2");
    fine("test_a.py", "-def test_add():\n-    assert add(1) == 2\n+def test_add(x):\n+    assert add(1) == 2, x");
    let moved = "diff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\n--- a/tests/test_a.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def test_a():\n-    assert f()\n\
                     diff --git a/tests/unit/test_a.py b/tests/unit/test_a.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/unit/test_a.py\n@@ -0,0 +1,2 @@\n+def test_a():\n+    assert f()\n";
    coding().observed(&["tests/test_a.py"], moved).passes(GATE, "");
    fine("src/lib.rs", "-    fn helper() {}\n x");
    let mut removal = changed("test_a.py", "-def test_add():\n-    assert add(1) == 2\n x");
    removal.turn.task = "Delete the `add` function".to_owned();
    removal.asks_owner(GATE, "asks to remove");
    removal.turn.allow = vec![Allow::SkipTests];
    removal.asks_owner(GATE, "asks to remove");
    removal.turn.allow = vec![Allow::RemoveTests];
    removal.is_silent(GATE, "the task allows it");
}

/// Files of these lines that are gone, and new ones.
fn went(gone: &[(&str, &str)], new: &[(&str, &str)]) -> Turn {
    let (mut diff, mut paths) = (String::new(), Vec::new());
    for (files, sign, what) in [(gone, '-', "deleted"), (new, '+', "new")] {
        for (path, text) in files {
            paths.push(*path);
            diff.push_str(&format!("diff --git a/{path} b/{path}\n{what} file mode 100644\nindex 1..2\n"));
            let lines: Vec<String> = text.lines().map(|line| format!("{sign}{line}\n")).collect();
            let (a, b) = if sign == '-' { (lines.len(), 0) } else { (0, lines.len()) };
            let head = match sign {
                _ if lines.is_empty() => String::new(),
                '-' => format!("--- a/{path}\n+++ /dev/null\n@@ -1,{a} +0,{b} @@\n"),
                _ => format!("--- /dev/null\n+++ b/{path}\n@@ -0,{a} +1,{b} @@\n"),
            };
            diff.push_str(&format!("{head}{}", lines.concat()));
        }
    }
    coding().observed(&paths, &diff)
}

#[test]
fn a_file_without_known_tests_may_move_among_the_tests() {
    const SHELL: &str = "#!/bin/sh\n. ../lib.sh\nrun one\nis 1\n";
    let node = "require('node:test').test('t', () => {})";
    for (old, new, text) in [
        ("shop/tests/__init__.py", "store/tests/__init__.py", ""),
        ("tests/common.rs", "tests/common/mod.rs", "pub fn two() -> i32 { 2 }"),
        ("packages/a/x.test.js", "packages/b/x.test.js", node),
        ("app/tests/a.sh", "service/tests/a.sh", SHELL),
    ] {
        went(&[(old, text)], &[(new, text)]).passes(GATE, "no test was deleted");
    }
    went(&[("app/tests/a.sh", SHELL)], &[("tests/a.sh", &SHELL.replace("../", ""))]).passes(GATE, "");
    for (old, new, text) in [
        ("packages/a/x.test.js", "tests/x.js", node),
        ("packages/a/x.test.js", "packages/a/x.js", node),
        ("tests/a.sh", "tests/attic/a.sh", SHELL),
        ("tests/a.sh", "attic/a.txt", SHELL),
        ("tests/a.sh", "tests/a.sh.bak", SHELL),
        ("tests/test_x.py", "attic/x.txt", "def test_a():\n    assert f()"),
    ] {
        went(&[(old, text)], &[(new, text)]).fails(GATE, &format!("`{old}` was deleted"));
    }
    went(&[("tests/a.sh", SHELL)], &[("tests/b.sh", "#!/bin/sh\n. ../lib.sh\nrun two\n")]).fails(GATE, "a.sh");
    went(&[("tests/a.sh", SHELL), ("tests/b.sh", SHELL)], &[("tests/c.sh", SHELL)]).fails(GATE, "tests/b.sh");
}

#[test]
fn a_test_may_get_another_name_while_its_file_moves_or_is_split() {
    let python = "import app\n\ndef test_a():\n    assert app.a() == 1\n\ndef test_b():\n    assert app.b() == 2\n";
    let go = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tA(t)\n}\n\nfunc TestB(t *testing.T) {\n\tB(t)\n}\n";
    let elixir = "defmodule ATest do\n  use ExUnit.Case\n\n  test \"a\" do\n    assert A.a() == 1\n  end\nend\n";
    let perl = "use Test::More;\n\nsubtest 'a' => sub {\n    is(A::a(), 1);\n};\n\ndone_testing;\n";
    let node = "const test = require('node:test');\n\ntest('a', () => {\n  assert.equal(a(), 1);\n});\n";
    for (old, text, new, name, other) in [
        ("tests/test_a.py", python, "tests/unit/test_a.py", "test_a", "test_one"),
        ("a/a_test.go", go, "b/a_test.go", "TestA", "TestOne"),
        ("test/a_test.exs", elixir, "test/unit/a_test.exs", "\"a\"", "\"one\""),
        ("t/a.t", perl, "t/unit/a.t", "'a'", "'one'"),
        ("test/a.test.js", node, "test/unit/a.test.js", "'a'", "'one'"),
    ] {
        went(&[(old, text)], &[(new, &text.replace(name, other))]).passes(GATE, "no test was deleted");
    }
    let without = python.replace("def test_a():\n    assert app.a() == 1\n\n", "");
    went(&[("tests/test_a.py", python)], &[("tests/unit/test_a.py", &without)]).fails(GATE, "gone: `test_a`");
    let other = "def test_b():\n    assert app.b() == 2\n\ndef test_c():\n    assert app.c()\n";
    went(&[("tests/test_a.py", python)], &[("tests/test_c.py", "def test_c():\n    assert app.c()\n")])
        .fails(GATE, "`tests/test_a.py` was deleted");
    // No place where a runner looks for tests.
    went(&[("tests/test_a.py", python)], &[("src/notes.py", other)]).fails(GATE, "tests/test_a.py");
    // A file has more than its boilerplate.
    let perl = "use strict;\nuse warnings;\nuse Test::More;\nis(a(), 1);\nis(b(), 2);\ndone_testing;\n";
    let hollow = "use strict;\nuse warnings;\nuse Test::More;\nok(1);\ndone_testing;\n";
    went(&[("t/price.t", perl)], &[("t/other.t", hollow)]).fails(GATE, "`t/price.t` was deleted");
    let twice = "describe('x', () => {\n  it('works', () => {\n    x();\n  });\n});\n\ndescribe('y', () => {\n  it('works', () => {\n    y();\n  });\n});\n";
    let renamed = twice.replace("works", "is fine");
    went(&[("test/a.test.js", twice)], &[("test/unit/a.test.js", &renamed)]).passes(GATE, "no test was deleted");
    // One new test stands for one old test, also where one of them stood in its own file.
    let diff = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1,2 +1,4 @@\n-def test_a1():\n-    a()\n\
                    +def test_b1():\n+    b()\n+def test_new():\n+    c()\n\
                    diff --git a/tests/test_b.py b/tests/test_b.py\ndeleted file mode 100644\n--- a/tests/test_b.py\n+++ /dev/null\n@@ -1,4 +0,0 @@\n\
                    -def test_b1():\n-    b()\n-def test_b2():\n-    d()\n";
    coding()
        .observed(&["tests/test_a.py", "tests/test_b.py"], diff)
        .fails(GATE, "`tests/test_b.py`: tests are gone: `test_b2`");
    // Names may go round from file to file, and stand in what is no code.
    let round = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-def test_x():\n+def test_y():\n\
                     diff --git a/tests/test_b.py b/tests/test_b.py\n--- a/tests/test_b.py\n+++ b/tests/test_b.py\n@@ -1 +1 @@\n-def test_y():\n+def test_z():\n";
    coding().observed(&["tests/test_a.py", "tests/test_b.py"], round).passes(GATE, "no test was deleted");
    fine("docs/tests.md", "-test('a', () => {\n+test('b', () => {");
    let two = [("tests/test_a.py", python), ("tests/test_d.py", "def test_d():\n    d()\n\ndef test_b():\n    b()\n")];
    went(&two, &[("tests/test_c.py", other)]).fails(GATE, "tests are gone");
}

#[test]
fn a_test_that_cannot_fail_stands_for_no_other() {
    let old = "-def test_adds():\n-    assert add(1) == 2\n";
    let gone = |new: &str| harms("test_a.py", &format!("{old}{new}"), "tests are gone: `test_adds`");
    gone("+def test_fine():\n+    pass");
    gone("+def test_fine(): pass");
    gone("+def test_fine():\n+    # later\n+    ...\n+\n+x = 3");
    gone("+def test_fine():\n+    pytest.skip()\n+    assert add(1) == 2");
    gone("+@pytest.mark.skip\n+def test_fine():\n+    assert add(1) == 2");
    gone("+def test_fine():\n+    assert True");
    let old = "-it('adds', () => {\n-  expect(add(1)).toBe(2);\n-});\n";
    let gone = |new: &str| harms("a.test.js", &format!("{old}{new}"), "tests are gone: `adds`");
    gone("+it('is fine', () => {});");
    gone("+it('is fine', () => {\n+});");
    gone("+it('is fine');");
    gone("+it('is fine', { skip: true }, () => {\n+  expect(add(1)).toBe(2);\n+});");
    let old = "-    #[test]\n-    fn adds() {\n-        assert_eq!(add(1), 2);\n-    }\n";
    harms("src/lib.rs", &format!("{old}+    #[test]\n+    fn fine() {{}}"), "tests are gone: `adds`");
    harms(
        "src/lib.rs",
        &format!("{old}+    #[test]\n+    #[ignore]\n+    fn fine() {{\n+        f();\n+    }}"),
        "are gone: `adds`",
    );
    // One that may fail stands for it, wherever its words stand.
    fine("test_a.py", "-def test_adds():\n+def test_add_two():\n     assert add(1) == 2");
    fine("test_a.py", "-def test_adds():\n+def test_add_two():");
    fine("test_a.py", "-def test_adds():\n-    assert add(1)\n+def test_add_two(): assert add(1)");
    fine("a.test.js", "-it('adds', () => {\n-  check(1);\n-});\n+it('adds two', () => check(1));");
    fine("a.test.js", "-it('adds', adds);\n+it('adds two', adds);");
    fine("src/lib.rs", "     #[test]\n-    fn adds() {\n+    fn adds_two() {\n         check();\n     }");
}

#[test]
fn tests_that_leave_their_source_may_get_other_names() {
    let test = |name: &str| format!("    #[test]\n    fn {name}() {{\n        assert!(f());\n    }}\n");
    let lines = |sign: char, text: &str| {
        let signed: Vec<String> = text.lines().map(|line| format!("{sign}{line}\n")).collect();
        signed.concat()
    };
    let split = |new: &[&str]| {
        let old = lines('-', &["adds", "takes"].map(test).concat());
        let new = lines('+', &new.iter().map(|name| test(name)).collect::<String>());
        let count = new.lines().count();
        let diff = format!(
            "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,9 +1,2 @@\n mod tests\n{old}+;\n\
                 diff --git a/src/tests.rs b/src/tests.rs\nnew file mode 100644\n--- /dev/null\n+++ b/src/tests.rs\n@@ -0,0 +1,{count} @@\n{new}"
        );
        coding().observed(&["src/lib.rs", "src/tests.rs"], &diff)
    };
    split(&["adds", "subtracts"]).passes(GATE, "no test was deleted");
    split(&["adds"]).fails(GATE, "`src/lib.rs`: tests are gone: `takes`");
}

#[test]
fn only_what_holds_no_test_may_go_from_among_the_tests() {
    went(&[("tests/__init__.py", "")], &[]).passes(GATE, "no test was deleted");
    went(&[("tests/common.rs", "pub fn two() -> i32 { 2 }")], &[]).passes(GATE, "no test was deleted");
    for (path, text) in [
        ("tests/a.sh", "./app | grep -q ok"),
        ("tests/a.lua", "run()"),
        ("tests/x.js", "require('node:test').it('t')"),
        ("tests/shapes.py", "if f() != 1:\n    sys.exit(1)"),
        ("tests/test_it.py", "from cases import *"),
    ] {
        went(&[(path, text)], &[]).fails(GATE, "was deleted");
    }
    let large = "diff --git a/tests/c.py b/tests/c.py\ndeleted file mode 100644\nindex 1..0\n--- a/tests/c.py\n+++ /dev/null\n(2000000 bytes of this change are not shown)\n";
    coding().observed(&["tests/c.py"], large).fails(GATE, "`tests/c.py` was deleted");
}

#[test]
fn tests_that_were_there_are_switched_off() {
    harms("src/lib.rs", "     #[test]\n+    #[ignore]\n     fn adds() {", "switched off: `#[ignore]`");
    harms("test_a.py", "+@pytest.mark.skip(reason=\"flaky\")\n def test_add():", "switched off");
    harms("test_a.py", "+@pytest.mark.xfail\n def test_add():", "xfail");
    harms("test_a.py", " def test_add():\n+    pytest.skip(\"later\")\n     assert add(1) == 2", "pytest.skip");
    harms("a.test.js", "-it('adds', () => {\n+it.skip('adds', () => {", "it.skip");
    harms("a.test.js", "-describe('x', () => {\n+describe.skip('x', () => {", "describe.skip");
    harms("a_test.go", " func TestAdd(t *testing.T) {\n+\tt.Skip(\"flaky\")", "t.Skip");
    harms("ATest.java", "+    @Disabled\n     @Test\n     void adds() {", "@Disabled");
    harms("a.test.js", "-it('adds', () => {\n+it.only('adds', () => {", "only this test is run");
    harms("src/lib.rs", "-        assert_eq!(add(1), 2);\n+        // assert_eq!(add(1), 2);", "commented out");
    harms("test_a.py", "-def test_add():\n+# def test_add():", "commented out");
}

#[test]
fn a_mark_on_a_test_that_is_seen_to_run_is_left_open() {
    let ran = |lines: &str, before: &str, after: &str| {
        let mut turn = changed("test_a.py", lines).check("pytest", None, None);
        let observed = turn.turn.observed.as_mut().unwrap();
        observed.baseline[0].output = crate::domain::Output::whole(format!("== {before} in 0.10s =="));
        observed.checks[0].output = crate::domain::Output::whole(format!("== {after} in 0.10s =="));
        turn
    };
    let mark = "+@pytest.mark.skipif(sys.platform == 'win32', reason='paths')\n def test_add():";
    ran(mark, "3 passed", "3 passed").is_silent(GATE, "as many tests run as at the base");
    ran(mark, "1 failed, 2 passed, 1 skipped", "4 passed, 1 skipped").is_silent(GATE, "no more are skipped");
    // One that is skipped makes the number larger, also where new tests make up for it.
    ran(mark, "3 passed", "2 passed, 1 skipped").fails(GATE, "switched off");
    ran(mark, "3 passed", "3 passed, 1 skipped").fails(GATE, "switched off");
    ran(mark, "3 passed", "2 passed").fails(GATE, "switched off");
    changed("test_a.py", mark).check("pytest", None, None).fails(GATE, "switched off");
    // A mark that goes from one test to another keeps the numbers.
    let moved = "-@pytest.mark.skip\n def test_slow():\n     x()\n+@pytest.mark.skip\n def test_add():\n     y()";
    ran(moved, "3 passed, 1 skipped", "3 passed, 1 skipped").fails(GATE, "switched off");
    harms("test_a.py", mark, "switched off");
}

#[test]
fn each_language_has_its_marks() {
    let off = |path: &str, lines: &str| harms(path, lines, "switched off");
    off("test/a.test.js", "-test('adds', () => {\n+test('adds', { skip: true }, () => {");
    off("test/a.test.js", "-test('adds', (t) => {\n+test('adds', { timeout: 9, todo: 'later' }, (t) => {");
    off("a.test.js", " test('adds', (t) => {\n+  t.skip('later');\n   assert.equal(add(1), 2);");
    off("spec/a_spec.rb", "   it 'adds' do\n+    pending 'later'\n     expect(add(1)).to eq(2)");
    off("spec/a_spec.rb", "-  it 'adds' do\n+  it 'adds', skip: true do");
    off("spec/a_spec.rb", "-  it 'adds' do\n+  xit 'adds' do");
    off("test/a_test.rb", "   def test_adds\n+    skip\n     assert_equal 2, add(1)");
    off("t/a.bats", " @test \"adds\" {\n+  skip \"later\"\n   [ \"$(add 1)\" = 2 ]");
    off("tests/ATest.php", "   public function testAdds() {\n+    $this->markTestSkipped('later');\n     x();");
    off("a_test.go", "-It(\"adds\", func() {\n+PIt(\"adds\", func() {");
    off("AddTest.java", "-  @Test\n+  @Test(enabled = false)\n   public void adds() {");
    harms("a.test.js", "-test('adds', () => {\n+test('adds', { only: true }, () => {", "only this test");
    // What is new, or only reads like a mark, takes nothing away.
    fine("test/a.test.js", "+test('new', { skip: true }, () => {})");
    fine("test/a.test.js", "-test('adds', () => {\n+test('adds', { skip: false, todo: false }, () => {");
    fine("test/a.test.js", "-test('adds', () => {\n+test('adds', async () => { await add({ skip: 3 }, 1)");
    fine("spec/a_spec.rb", "+  it 'new', :skip do\n+  end");
    fine("spec/a_spec.rb", " skip_before = 3\n+skipped = 4\n+pending_count = 1");
    fine("t/a.bats", "+@test \"new\" {\n+  skip \"later\"\n+}");
    fine("tests/ATest.php", "+  public function testNew() {\n+    $this->markTestSkipped('later');\n+  }");
    fine("notes/skip.md", "+skip \"this\"");
}

#[test]
fn a_mark_that_moves_to_another_test_switches_that_one_off() {
    let moved = " #[test]\n-#[ignore]\n fn easy() {\n }\n #[test]\n+#[ignore]\n fn failing() {\n }";
    harms("src/lib.rs", moved, "switched off: `#[ignore]`");
    fine("src/lib.rs", "-#[ignore]\n #[test]\n+#[ignore]\n fn slow() {\n }");
    fine("src/lib.rs", " #[test]\n-#[ignore]\n+#[ignore = \"needs a server\"]\n fn slow() {\n }");
    let edit = |session: Turn, old: &str, new: &str| {
        let input = json!({"file_path": "src/lib.rs", "old_string": old, "new_string": new}).to_string();
        session.call(ToolKind::Edit, "Edit", &["src/lib.rs"], &input)
    };
    let (easy, easy_off) = ("#[test]\nfn easy() {", "#[test]\n#[ignore]\nfn easy() {");
    let (hard, hard_off) = ("#[test]\nfn hard() {", "#[test]\n#[ignore]\nfn hard() {");
    edit(edit(coding(), easy_off, easy), hard, hard_off).fails(GATE, "#[ignore]");
    edit(edit(coding(), hard, hard_off), easy_off, easy).fails(GATE, "#[ignore]");
    edit(edit(coding(), hard, hard_off), hard_off, hard).passes(GATE, "");
    edit(edit(coding(), hard, hard_off), "#[ignore]\n", "").is_silent(GATE, "taken back is not known");
}

#[test]
fn new_tests_that_are_skipped_take_nothing_away() {
    fine("src/lib.rs", "+    #[test]\n+    #[ignore = \"needs a server\"]\n+    fn slow() {\n+    }\n }");
    fine("test_a.py", "+@pytest.mark.skip\n+def test_new():\n+    assert f()");
    fine("a.test.js", "+it.skip('new', () => {})");
    fine("test_a.py", "-@pytest.mark.skip\n def test_add():");
    fine("src/queue.js", "+  queue.only('x')\n+  // skip the first");
    fine("README.md", "+Use `it.only(` to run one test.\n+#[ignore] skips");
}

#[test]
fn assertions_that_were_real_hold_always() {
    harms(
        "src/lib.rs",
        "-        assert_eq!(add(1), 2);\n+        assert!(true);",
        "holds always now: `assert!(true);`",
    );
    harms("test_a.py", "-    assert add(1) == 2\n+    assert True", "assert True");
    harms("test_a.py", "-    assert add(1) == 2\n+    assert 2 == 2", "assert 2 == 2");
    harms("a.test.js", "-  expect(add(1)).toBe(2);\n+  expect(true).toBe(true);", "expect(true)");
    harms("test_a.py", "-    self.assertEqual(add(1), 2)\n+    self.assertEqual(2, 2)", "assertEqual(2, 2)");
    harms("test_a.py", "-    assert add(1) == 2\n+    assert add(1) == 2 or True", "or True");
    fine("test_a.py", "-    assert add(1) == 2\n+    assert add(1) == 3");
    fine("test_a.py", "+    assert True");
    fine("src/lib.rs", "-        assert!(old);\n+        assert_eq!(new(1), new(2));");
}

#[test]
fn without_a_recorded_diff_the_edits_tell() {
    let edit = |old: &str, new: &str| {
        let input = json!({"file_path": "/p/tests/test_a.py", "old_string": old, "new_string": new}).to_string();
        coding().call(ToolKind::Edit, "Edit", &["/p/tests/test_a.py"], &input)
    };
    edit("def test_a():\n    assert f() == 1", "def test_a():\n    assert True").fails(GATE, "assert True");
    edit("def test_a():\n    assert f() == 1\n\ndef test_b():", "def test_b():").fails(GATE, "test_a");
    edit("    assert f() == 1", "    assert f() == 2").passes(GATE, "");
    coding().ran("git rm -q tests/test_a.py", 0, "").fails(GATE, "`tests/test_a.py` was deleted");
    coding()
        .call(ToolKind::Edit, "Write", &["tests/test_tmp.py"], "{}")
        .ran("rm tests/test_tmp.py", 0, "")
        .is_silent(GATE, "");
    coding().is_silent(GATE, "no diff is recorded");
    coding().observed(&[], "").passes(GATE, "nothing was changed");
}

#[test]
fn scripts_that_cannot_fail_any_more() {
    harms("package.json", "-    \"test\": \"jest\",\n+    \"test\": \"exit 0\",", "cannot fail any more");
    harms("package.json", "-    \"test\": \"jest\",\n+    \"test\": \"jest || true\",", "jest || true");
    harms("package.json", "-    \"test\": \"jest\",\n+    \"test\": \"echo ok\",", "echo ok");
    harms("Makefile", "-\tcargo test\n+\tcargo test || true", "cargo test || true");
    harms("Makefile", "-\tcargo test\n+\t-cargo test", "-cargo test");
    harms(".github/workflows/ci.yml", "-      - run: npm test\n+      - run: npm test || true", "npm test || true");
    harms("scripts/run_tests.sh", "+exit 0\n pytest", "exit 0");
    harms("pytest.ini", "+addopts = --deselect tests/test_a.py::test_add", "--deselect");
    fine("package.json", "-    \"test\": \"jest\",\n+    \"test\": \"vitest run\",");
    fine("package.json", "-    \"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"\n+    \"test\": \"jest\"");
    fine("Makefile", "+\trm -f out || true");
    fine(".github/workflows/ci.yml", "+      - run: npm test");
    fine("scripts/deploy.sh", "+exit 0");
    // What stands in a branch may be for who only asks for help; somebody sees it.
    let open = |lines: &str| changed("scripts/run_tests.sh", lines).is_silent(GATE, "`exit 0` was added in a branch");
    open("+if [ \"$1\" = --help ]; then\n+  echo usage\n+  exit 0\n+fi\n pytest");
    open("+if [ \"$1\" = --help ]; then\n+echo usage\n+exit 0\n+fi\n pytest");
    open(" case \"$1\" in\n+--help)\n+exit 0\n+;;\n esac\n pytest");
    let harm = |lines: &str| harms("scripts/run_tests.sh", lines, "cannot fail any more");
    harm("+if [ \"$1\" = --help ]; then\n+  usage\n+fi\n+exit 0\n pytest");
    harm("+if [ -t 1 ]; then\n+  pytest || true\n+fi");
}

#[test]
fn cargo_targets_without_tests_may_say_so() {
    fine("a/Cargo.toml", " x = 1\n+\n+[[bench]]\n+name = \"b\"\n+harness = false");
    fine("a/Cargo.toml", " [[ bench ]] # criterion\n name = \"b\"\n+harness = false");
    fine("a/Cargo.toml", "+[[example]]\n+name = \"b\"\n+test = false");
    for lines in [
        " [lib]\n+doctest = false",
        "+[lib]\n+test = false",
        "+[[bench]]\n+name = \"b\"\n [[test]]\n name = \"it\"\n+harness = false",
        "-[[bench]]\n [[test]]\n+harness = false",
        " name = \"a\"\n+harness = false",
    ] {
        harms("a/Cargo.toml", lines, "cannot fail any more");
    }
    let manifest = ("m/Cargo.toml", "[lib]\nproc-macro = true\ndoctest = false\ntest = false");
    let (test, lib) = ("#[test]\nfn a() {\n    assert!(f());\n}", "m/src/lib.rs");
    went(&[], &[manifest, (lib, "pub fn f() {}")]).passes(GATE, "no test was deleted");
    went(&[("a/src/lib.rs", test)], &[manifest, (lib, test)]).fails(GATE, "`m/Cargo.toml`: cannot fail any more");
    went(&[("a/src/lib.rs", test)], &[manifest, ("mm/src/lib.rs", test)]).passes(GATE, "");
}

/// A session without a recorded diff, of commands that went well.
fn shell(task: &str, lines: &[&str]) -> Turn {
    let mut session = turn(task);
    session.required.change = Some("asked".to_owned());
    lines.iter().fold(session, |session, line| session.ran(line, 0, ""))
}

#[test]
fn commands_that_take_tests_away() {
    for line in [
        "rm tests/test_a.py",
        "rm -rf tests",
        "rm -rf ./tests/",
        "rm -f tests/*",
        "rm -rf tests/unit",
        "git rm -r tests/",
        "git rm -q src/a.test.ts",
        "sudo rm -f spec/user_spec.rb",
        "mv tests /tmp/",
        "mv tests/test_a.py /tmp/keep.py",
        "mv tests/test_a.py tests/test_a.py.bak",
        "git mv tests/test_a.py attic/a.py",
        "find tests -name 'test_*.py' -delete",
        "find . -name '*_test.go' -exec rm {} +",
        "find tests -type f | xargs rm -f",
        "ls tests/*.py | xargs rm",
        "> tests/test_a.py",
        ": > tests/test_a.py",
        "truncate -s 0 tests/test_a.py",
        "cp /dev/null tests/test_a.py",
        "cat tests/test_a.py; cat > tests/test_a.py <<'E'\nx = 1\nE",
        "sed -i 's/#\\[test\\]/#[test]\\n#[ignore]/' src/lib.rs",
        "sed -i '/def test_add/i @pytest.mark.skip' tests/test_a.py",
        "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: tests/test_a.py\n*** End Patch\nE",
    ] {
        let found = shell("Fix the bug in the date parser and make sure the tests pass.", &[line]).findings();
        let kept = found.iter().find(|f| f.report.gate == GATE).unwrap();
        assert!(kept.is_failed(), "{line}: {}", kept.report.evidence);
    }
}

#[test]
fn what_the_session_made_or_put_back_is_no_loss() {
    const FIX: &str = "Fix the bug in the date parser. Do not delete tests.";
    for (task, lines) in [
        (FIX, &["cat > test_x.py <<'E'\nimport a\nE", "python test_x.py", "rm test_x.py"][..]),
        (FIX, &["echo 'fn main(){}' > tests/tmp.rs && cargo test; rm tests/tmp.rs"]),
        (FIX, &["cp tests/a.rs tests/b.rs", "rm tests/b.rs"]),
        (FIX, &["rm tests/test_a.py", "git checkout tests/test_a.py"]),
        (FIX, &["rm -rf tests", "git restore ."]),
        (FIX, &["git mv tests/test_a.py tests/unit/test_a.py"]),
        (FIX, &["mv tests /tmp/t", "mv /tmp/t tests"]),
        (FIX, &["rm -rf tests/__pycache__ tests/output target .pytest_cache"]),
        (FIX, &["find . -name '*.pyc' -delete; find tests -name __pycache__ -exec rm -r {} +"]),
        (FIX, &["rm /tmp/test_x.py"]),
        (FIX, &["gcc -o test test.c && rm -f test"]),
        (FIX, &["sed -i 's/@pytest.mark.skip//' tests/test_a.py"]),
        (FIX, &["rm a.test.js && cat > a.spec.ts <<'E'\nit('x', () => {})\nE"]),
        (FIX, &["cat >> tests/test_a.py <<'E'\n\ndef test_b():\n    assert f()\nE"]),
        ("Remove the duplicate tests", &["rm tests/test_b.py"]),
        ("Migrate the tests from jest to vitest", &["rm -rf __tests__"]),
    ] {
        let found = shell(task, lines).findings();
        let kept = found.iter().find(|f| f.report.gate == GATE).unwrap();
        assert!(!kept.is_failed(), "{lines:?}: {}", kept.report.evidence);
    }
    let mut elsewhere = shell(FIX, &["cd /srv/copy && rm -rf tests"]);
    elsewhere.turn.dir = Some("/project".into());
    elsewhere.is_silent(GATE, "");
    coding()
        .call(ToolKind::Edit, "Write", &["tests/a_test.py"], r#"{"content":"x"}"#)
        .ran("rm tests/a_test.py", 0, "")
        .is_silent(GATE, "");
}

#[test]
fn edits_of_several_places_and_patches_are_read() {
    let skip = "@pytest.mark.xfail\ndef test_add():\n";
    let several = json!({"file_path": "tests/test_a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "def test_add():\n", "new_string": skip}]});
    let made =
        |input: &serde_json::Value| coding().call(ToolKind::Edit, "edit", &["tests/test_a.py"], &input.to_string());
    made(&several).fails(GATE, "xfail");
    let patch =
        "*** Begin Patch\n*** Update File: tests/test_a.py\n@@\n+@pytest.mark.xfail\n def test_add():\n*** End Patch";
    made(&json!({"patch": patch})).fails(GATE, "xfail");
    made(&json!({"patch": "*** Begin Patch\n*** Delete File: tests/test_a.py\n*** End Patch"}))
        .fails(GATE, "was deleted");
    made(&json!({"file_path": "tests/test_a.py", "content": "\n"})).fails(GATE, "was emptied");
    let back = json!({"old_string": skip, "new_string": "def test_add():\n"});
    made(&several).call(ToolKind::Edit, "edit", &["tests/test_a.py"], &back.to_string()).passes(GATE, "");
    let mut asked = made(&several);
    asked.turn.task = "Skip the flaky test for now".to_owned();
    asked.asks_owner(GATE, "asks to skip");
    asked.turn.allow = vec![Allow::SkipTests];
    asked.is_silent(GATE, "the task allows it");
}

#[test]
fn scripts_that_may_take_tests_away_leave_it_open() {
    let session = |line: &str| coding().edit("a.py").ran(line, 0, "");
    for line in [
        "git clean -fdx tests",
        "python -c \"import cleanup; open('x','w').write('')\"",
        "find tests -name '*round*' -delete",
        "cat > tests/test_d.py <<'E'\ndef test_x(): pass\nE",
        "echo 'collect_ignore=[]' >> tests/conftest.py",
    ] {
        session(line).is_silent(GATE, "is not known");
    }
    session("python -c \"import os;os.remove('tests/test_d.py')\"").fails(GATE, "`tests/test_d.py` was deleted");
    session("rm -r tests/parser").fails(GATE, "`tests/parser` was deleted");
    session("sed -i '/def test_leap/,/^$/d' tests/test_d.py").fails(GATE, "are gone");
    session("sed -i 's/def test_leap/def _test_leap/' tests/test_d.py").fails(GATE, "are gone");
    session("rm -r tests/output").is_silent(GATE, "");
    session("git clean -n").is_silent(GATE, "no diff");
}

#[test]
fn tests_that_go_with_their_code_or_into_a_table_leave_it_open() {
    coding().ran("git rm src/xml.py tests/test_xml.py", 0, "").is_silent(GATE, "with the code that it tested");
    let table = "-def test_one():\n-    assert r(1)\n-def test_two():\n-    assert r(2)\n+@pytest.mark.parametrize('n', [1, 2])\n+def test_all(n):\n+    assert r(n)";
    changed("test_a.py", table).is_silent(GATE, "`test_one`, `test_two`");
    harms("test_a.py", "     x = 1\n-    assert f(2)\n+    pass", "holds always now");
}
