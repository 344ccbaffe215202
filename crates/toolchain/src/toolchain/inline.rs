//! Tests that stand among the code of a file, and what a failure says that is about a name rather than about what code does.

use super::file::Inline;
use super::table::table;

/// The two parts of a file with tests in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// Everything else, in order.
    pub code: String,
    /// The tests, in order.
    pub tests: String,
    /// The number of each line of the code in the file, from 1.
    pub numbers: Vec<usize>,
}

impl Apart {
    /// One text again: the code, then the tests.
    #[must_use]
    pub fn together(code: &str, tests: &str) -> String {
        let line_end = if code.is_empty() || code.ends_with('\n') { "" } else { "\n" };
        format!("{code}{line_end}{tests}")
    }
}

/// Takes a file's tests out of its code; none if its language has no tests there, or if it is not laid out as the language's formatter
/// does it, so that the end of a test cannot be told.
///
/// ```
/// # use reflexion_toolchain::toolchain::inline_tests;
/// let text = "fn one() -> u8 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_one() {}\n}\n";
/// let apart = inline_tests("src/lib.rs", text).expect("it has tests");
/// assert_eq!(apart.code, "fn one() -> u8 {\n    1\n}\n\n");
/// assert!(apart.tests.starts_with("#[cfg(test)]\nmod tests {"));
/// assert_eq!(inline_tests("src/lib.py", text), None);
/// ```
#[must_use]
pub fn inline_tests(path: &str, text: &str) -> Option<Apart> {
    table().inline_of(path).find_map(|inline| apart(inline, text))
}

/// Whether the language of a file has tests among its code.
#[must_use]
pub fn has_inline_tests(path: &str) -> bool {
    table().inline_of(path).next().is_some()
}

fn apart(inline: &Inline, text: &str) -> Option<Apart> {
    let (mut code, mut tests, mut numbers) = (String::new(), String::new(), Vec::new());
    // Where the remarks and attributes begin that the next item has.
    let mut above = 0;
    let mut open = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim_end();
        if !open && inline.begins.is_match(trimmed) {
            open = true;
            let above = code.split_off(above);
            numbers.truncate(numbers.len() - above.split_inclusive('\n').count());
            tests.push_str(&above);
        }
        if open {
            tests.push_str(line);
            open = !inline.ends.is_match(trimmed);
            above = code.len();
            continue;
        }
        let belongs = trimmed.starts_with("///") || trimmed.starts_with("#[");
        code.push_str(line);
        numbers.push(at + 1);
        if !belongs {
            above = code.len();
        }
    }
    (!open).then_some(Apart { code, tests, numbers })
}

/// Whether a line of a failing check says that a name is missing or is used with other arguments than it takes: every test of new code
/// fails like that without the code, a good one as an empty one.
///
/// ```
/// # use reflexion_toolchain::toolchain::says_a_name_is_missing;
/// assert!(says_a_name_is_missing("ImportError: cannot import name 'total' from 'cart'"));
/// assert!(says_a_name_is_missing("error[E0425]: cannot find function `total` in this scope"));
/// assert!(!says_a_name_is_missing("AssertionError: 3 != 4"));
/// ```
#[must_use]
pub fn says_a_name_is_missing(line: &str) -> bool {
    table().missing_names.iter().any(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_ends_where_its_item_does() {
        let apart = |text: &str| inline_tests("a.rs", text).map(|apart| (apart.code, apart.tests));
        let two = "#[cfg(test)]\nuse x::y;\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let tests = "#[cfg(test)]\nuse x::y;\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(apart(two), Some(("fn a() {}\nfn c() {}\n".to_owned(), tests.to_owned())));
        assert_eq!(apart("#[cfg(test)]\nmod tests;\nfn a() {}\n").unwrap().0, "fn a() {}\n");
        assert_eq!(apart("#[test]\nfn a() {\n    b();\n}\n").unwrap().0, "");
        assert_eq!(
            apart("fn a() {}\n/// Words.\n#[allow(x)]\n#[cfg(test)]\nmod tests {\n    'x: {}\n}\n").unwrap().0,
            "fn a() {}\n"
        );
        assert_eq!(apart("#[cfg(test)]\nmod tests {\n    const A: char = '{';\n}\n").unwrap().0, "");
        assert_eq!(apart("#[cfg(test)]\nmod tests {\n"), None);
        assert_eq!(inline_tests("a.py", two), None);
        assert_eq!(Apart::together("a", "b\n"), "a\nb\n");
    }

    #[test]
    fn a_failure_about_a_name_is_none_about_what_code_does() {
        for line in [
            "E   NameError: name 'total' is not defined",
            "E   ModuleNotFoundError: No module named 'cart.total'",
            "E   AttributeError: module 'cart' has no attribute 'total'",
            "TypeError: total() takes 1 positional argument but 2 were given",
            "TypeError: total() takes <n> positional arguments but <n> were given",
            "AttributeError: 'Node' object has no attribute 'total'",
            "TypeError: cart.total is not a function",
            "ReferenceError: total is not defined",
            "SyntaxError: The requested module './cart.js' does not provide an export named 'total'",
            "Error: Cannot find module './total'",
            "error[E0599]: no method named `total` found for struct `Cart` in the current scope",
            "./cart_test.go:7:9: undefined: Total",
            "Cart.java:[3,9] cannot find symbol",
            "NoMethodError: undefined method `total' for nil",
            "Error: Call to undefined function total()",
            "error CS0103: The name 'Total' does not exist in the current context",
            "** (UndefinedFunctionError) function Cart.total/1 is undefined",
            "cart.c:3:5: error: implicit declaration of function 'total'",
        ] {
            assert!(says_a_name_is_missing(line), "{line}");
        }
        for line in [
            "E   AssertionError: assert 3 == 4",
            "AttributeError: 'NoneType' object has no attribute 'total'",
            "TypeError: Cannot read properties of undefined (reading 'total')",
            "assertion `left == right` failed",
            "Expected values to be strictly equal:",
            "cart_test.go:9: Total() = 3, want 4",
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        ] {
            assert!(!says_a_name_is_missing(line), "{line}");
        }
    }
}
