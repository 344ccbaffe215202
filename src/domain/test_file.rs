//! Which files are tests, by the conventions of the usual languages and runners.

/// Whether a path is a test's, by the conventions of the usual runners.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let in_tests = dirs.split('/').any(|d| matches!(d, "test" | "tests" | "__tests__" | "spec" | "specs" | "e2e"));
    let named = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || (stem.len() > 4
            && (stem.ends_with("test") || stem.ends_with("tests"))
            && matches!(extension, "java" | "kt" | "cs" | "php" | "swift" | "scala"))
        || stem == "tests"
        || stem == "test"
        || extension.split('.').any(|part| matches!(part, "test" | "spec" | "cy"))
        || extension == "bats";
    is_code(name) && (named || in_tests)
}

/// Whether a path is a source file's, by its extension.
#[must_use]
pub fn is_code(path: &str) -> bool {
    const CODE: [&str; 26] = [
        "rs", "py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "go", "java", "kt", "kts", "scala", "rb",
        "php", "cs", "swift", "ex", "exs", "c", "cc", "cpp", "sh", "bats",
    ];
    path.rsplit_once('.').is_some_and(|(_, extension)| CODE.contains(&extension.to_ascii_lowercase().as_str()))
}
