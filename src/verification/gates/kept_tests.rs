//! What in a source is a test, and what an assertion: by the conventions of the usual languages and runners.

/// The name of the test that a line opens, whatever the language; Rust's, Java's and C#'s stand below an attribute.
pub(super) fn opens_test<'d>(line: &'d str, below_attribute: bool) -> Option<&'d str> {
    let line = line.trim();
    let word = |rest: &'d str| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        Some(&rest[..end]).filter(|name| !name.is_empty())
    };
    let python = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ").filter(|r| r.starts_with("test"));
    let go = line.strip_prefix("func ").filter(|r| r.starts_with("Test") && r.contains("testing."));
    if let Some(name) = python.or(go).and_then(word) {
        return Some(name);
    }
    const CALLS: [&str; 8] = ["it(", "test(", "it.each", "test.each", "specify(", "it \"", "it '", "test \""];
    if let Some(call) = CALLS.iter().find(|call| line.starts_with(**call)) {
        let rest = &line[call.len() - 1..];
        let start = rest.find(['"', '\'', '`'])?;
        let quote = rest[start..].chars().next()?;
        return rest[start + 1..].split(quote).next().filter(|name| !name.is_empty());
    }
    if !below_attribute {
        return None;
    }
    let fun = line.find("fn ").map(|at| &line[at + 3..]).or_else(|| line.find("fun ").map(|at| &line[at + 4..]));
    fun.and_then(word).or_else(|| {
        let before = &line[..line.find('(')?];
        let name = before.rsplit([' ', '\t']).next()?;
        (before.contains(' ') && !name.is_empty()).then_some(name)
    })
}

pub(super) fn is_test_attribute(line: &str) -> bool {
    let line = line.trim();
    let rust = line.starts_with("#[") && (line.contains("test]") || line.contains("test(") || line.contains("rstest"));
    rust || ["@Test", "@ParameterizedTest", "[Fact", "[Test", "[Theory"].iter().any(|mark| line.starts_with(mark))
}

/// The tests that the chosen lines of a file open.
pub(super) fn tests_in<'d>(lines: impl Iterator<Item = &'d str>) -> Vec<&'d str> {
    let (mut below, mut names) = (false, Vec::new());
    for line in lines {
        if is_test_attribute(line) {
            below = true;
        } else if let Some(name) = opens_test(line, below) {
            names.push(name);
            below = false;
        } else if !line.trim().starts_with(['#', '@', '[', '/']) {
            below = false;
        }
    }
    names
}

pub(super) fn is_assertion(line: &str) -> bool {
    const STARTS: [&str; 14] = [
        "assert",
        "debug_assert",
        "prop_assert",
        "expect(",
        "expect ",
        "self.assert",
        "this.assert",
        "t.Error",
        "t.Fatal",
        "require.",
        "should",
        "XCTAssert",
        "Assert.",
        "cy.should",
    ];
    STARTS.iter().any(|start| line.starts_with(start)) || line.contains(".should(")
}

/// Assertions that hold whatever the code does.
pub(super) fn is_trivial(line: &str) -> bool {
    let line: String = line.trim().trim_end_matches(';').chars().filter(|c| !c.is_whitespace()).collect();
    const TRIVIAL: [&str; 20] = [
        "assert!(true)",
        "assertTrue",
        "assert1",
        "assert1==1",
        "assert(true)",
        "assert.ok(true)",
        "assert.equal(1,1)",
        "expect(true).toBe(true)",
        "expect(true).toBeTruthy()",
        "expect(true).toEqual(true)",
        "expect(1).toBe(1)",
        "expect(1).toEqual(1)",
        "assertTrue(true)",
        "self.assertTrue(True)",
        "assert.True(t,true)",
        "require.True(t,true)",
        "Assert.True(true)",
        "Assert.IsTrue(true)",
        "assert!(1==1)",
        "assertTrue==True",
    ];
    if TRIVIAL.contains(&line.as_str()) || line.starts_with("assert!(true,") || line.starts_with("assertTrue,") {
        return true;
    }
    let sides = line.strip_prefix("assert_eq!(").or_else(|| line.strip_prefix("assertEquals("));
    let sides = sides.or_else(|| line.strip_prefix("self.assertEqual(")).and_then(|rest| rest.strip_suffix(')'));
    sides.and_then(|s| s.split_once(',')).is_some_and(|(a, b)| a == b)
        || line.strip_prefix("assert").and_then(|s| s.split_once("==")).is_some_and(|(a, b)| a == b && !a.contains('('))
        || line.contains("||true)") && is_assertion(&line)
        || line.ends_with("orTrue") && is_assertion(&line)
}
