//! Marks in the sources of tests: which switch a test off, leave only some, or run one for many cases.

/// A test that is run for many cases.
pub(super) fn takes_cases(line: &str) -> bool {
    const MARKS: [&str; 12] = [
        "@pytest.mark.parametrize",
        "@parameterized",
        "it.each",
        "test.each",
        "describe.each",
        "#[rstest",
        "#[case",
        "#[test_case",
        "@ParameterizedTest",
        "[Theory",
        "t.Run(",
        "with self.subTest(",
    ];
    let line = line.trim();
    MARKS.iter().any(|mark| line.starts_with(mark))
}

/// Marks that keep a test from being run.
pub(super) const OFF: [&str; 32] = [
    "@tag :skip",
    "@tag skip:",
    "@moduletag :skip",
    "$this->markTestSkipped(",
    "throw XCTSkip(",
    "raise unittest.SkipTest",
    "pytestmark = pytest.mark.skip",
    "#[ignore",
    "@pytest.mark.skip",
    "@pytest.mark.xfail",
    "pytest.skip(",
    "pytest.xfail(",
    "@unittest.skip",
    "self.skipTest(",
    "@unittest.expectedFailure",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "it.todo(",
    "test.todo(",
    "t.Skip(",
    "t.SkipNow(",
    "t.Skipf(",
    "@Disabled",
    "@Ignore",
    "[Ignore",
    "(Skip =",
    "it.fails(",
    "test.fails(",
];
/// Marks that keep every other test from being run.
pub(super) const ONLY: [&str; 5] = ["it.only(", "test.only(", "describe.only(", "fit(", "fdescribe("];

/// A mark stands where a statement or a decorator begins, not somewhere in a text.
pub(super) fn has_mark(line: &str, mark: &str) -> bool {
    line.starts_with(mark) || (mark.starts_with("(Skip") && line.starts_with('[') && line.contains(mark))
}
