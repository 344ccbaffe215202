//! Whether a line is what another one was before it was changed.

use super::mutant::code;

/// Whether a line of a file is an earlier form of the one that stands at `number` in the file now, so that it is a mistake in what that one
/// does: both stand in the same function, assign to the same name if they assign, and give a value of the same kind, as far as that can be
/// seen. Equal code in other quotes is no mistake, and neither is a line that only breaks for a name that is gone.
///
/// ```
/// # use reflexion_toolchain::toolchain::is_earlier_form;
/// let is = |base: &str, now: &str| is_earlier_form("a.py", (now, 2), (base, base.lines().nth(1).unwrap()));
/// assert!(is("def total(items):\n    return sum(items)\n", "def total(items):\n    return sum(items) * 2\n"));
/// assert!(!is("def reset(items):\n    return 0\n", "def total(items):\n    return len(items) * 3\n"));
/// assert!(!is("def names(items):\n    return False\n", "def names(items):\n    return [str(i) for i in items]\n"));
/// assert!(!is("def head(name):\n    return '%s' % name\n", "def head(name):\n    return \"%s\" % name\n"));
/// assert!(!is("def net(rows):\n    n = len(rows)\n", "def net(rows):\n    count = len(rows)\n"));
/// ```
#[must_use]
pub fn is_earlier_form(path: &str, (now, number): (&str, usize), (base, was): (&str, &str)) -> bool {
    let lines: Vec<&str> = now.lines().collect();
    let Some(at) = number.checked_sub(1).filter(|at| *at < lines.len()) else { return false };
    let is = lines[at];
    let within = around(path, &lines, at);
    let old: Vec<&str> = base.lines().collect();
    let mut stood = (0..old.len()).filter(|at| old[*at].trim_end() == was.trim_end());
    let is_there = stood.any(|at| around(path, &old, at) == within);
    let names_gone = || {
        let known: Vec<String> = lines.iter().map(|line| code(path, line)).collect();
        let is_known = |name: &String| known.iter().any(|line| names(line).contains(&name.as_str()));
        !own_names(path, was).iter().all(is_known)
    };
    let (before, after) = (value(path, was), value(path, is));
    is_there && before.0 == after.0 && lends_its_kind(before.1, after.1) && !is_equal(is, was) && !names_gone()
}

/// The functions, classes and the like that a line stands in, the innermost first.
fn around(path: &str, lines: &[&str], at: usize) -> Vec<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut names, mut below) = (Vec::new(), depth(lines[at]));
    for line in lines[..at].iter().rev().filter(|line| !line.trim().is_empty()) {
        if below == 0 {
            break;
        }
        if depth(line) >= below {
            continue;
        }
        let code = code(path, line);
        let code = code.trim();
        if code.starts_with([')', ']', '}']) {
            // What it closes began at the same depth.
            below = depth(line) + 1;
            continue;
        }
        below = depth(line);
        names.extend(opened(code));
    }
    names
}

/// The name of what a line opens, if that is more than a step of the code.
pub(super) fn opened(code: &str) -> Option<String> {
    const STEPS: [&str; 24] = [
        "if", "elif", "elsif", "else", "for", "foreach", "while", "until", "unless", "switch", "case", "default",
        "match", "when", "try", "catch", "except", "finally", "rescue", "ensure", "with", "do", "loop", "begin",
    ];
    let first: &str = code.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    if STEPS.contains(&first) {
        return None;
    }
    // Go says first what a method is of: `func (c *Cart) Total() int {`.
    let code = code.strip_prefix("func (").and_then(|code| code.split_once(')')).map_or(code, |(_, code)| code);
    // `const total = (items) => {`, `def total(items):`, `sub total {`.
    let head = code.split(['(', '{', ':']).next().unwrap_or(code);
    let head = head.split('=').next().unwrap_or(head).trim();
    let name = head.rsplit(|c: char| c.is_whitespace()).next().unwrap_or(head);
    (!name.is_empty()).then(|| name.to_owned())
}

/// What a value is by its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Truth,
    Number,
    Text,
    Many,
    Unknown,
}

/// A value that stands there itself shows no mistake in one of another kind: whatever looks at the kind notices.
fn lends_its_kind(was: Kind, is: Kind) -> bool {
    was == Kind::Unknown || was != Kind::Nothing && was == is
}

/// What a line assigns to, or that it gives something back, and what kind of value that is.
fn value(path: &str, line: &str) -> (String, Kind) {
    let code = code(path, line);
    // In the code, what stands in quotes is hidden.
    let kind = |value: &str| kind(value.trim().trim_end_matches([';', ',']));
    match code
        .trim()
        .strip_prefix("return")
        .filter(|value| !value.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    {
        Some(value) => ("return".to_owned(), kind(value)),
        None => assigned(&code).map_or((String::new(), Kind::Unknown), |(to, value)| (to, kind(value))),
    }
}

fn assigned(code: &str) -> Option<(String, &str)> {
    let at = code.char_indices().find(|(at, c)| {
        let before = code[..*at].chars().next_back();
        *c == '='
            && !code[at + 1..].starts_with(['=', '>', '~'])
            && !before.is_some_and(|before| "=!<>:".contains(before))
    })?;
    let to = code[..at.0].trim();
    // Not an argument's name.
    let is_open = to.matches(['(', '[']).count() > to.matches([')', ']']).count();
    (!is_open).then(|| (to.to_owned(), &code[at.0 + 1..]))
}

fn kind(value: &str) -> Kind {
    let is_number =
        !value.is_empty() && value.trim_start_matches('-').chars().all(|c| c.is_ascii_digit() || "._".contains(c));
    let starts = |words: &[&str]| words.iter().any(|word| value.starts_with(word));
    match value {
        "None" | "null" | "nil" | "undef" | "undefined" | "()" | "" => Kind::Nothing,
        "True" | "False" | "true" | "false" => Kind::Truth,
        _ if is_number => Kind::Number,
        _ if [" == ", " != ", " < ", " > ", " <= ", " >= ", " in ", " is "].iter().any(|sign| value.contains(sign))
            && !value.contains([',', '?'])
            && ![" if ", " for "].iter().any(|word| value.contains(word)) =>
        {
            Kind::Truth
        }
        _ if starts(&["not ", "!"]) => Kind::Truth,
        _ if starts(&["[", "{", "list(", "dict(", "set(", "sorted("]) => Kind::Many,
        _ if starts(&["'", "\"", "`", "f\"", "f'"]) => Kind::Text,
        _ if [" * ", " / ", " // ", " ** ", " - "].iter().any(|sign| value.contains(sign)) => Kind::Number,
        _ if starts(&["len(", "sum(", "int(", "float(", "round("]) => Kind::Number,
        _ => Kind::Unknown,
    }
}

/// Whether two lines are the same but for their quotes and blanks.
fn is_equal(is: &str, was: &str) -> bool {
    let plain = |line: &str| {
        let line = line.chars().filter(|c| !c.is_whitespace());
        line.map(|c| if matches!(c, '\'' | '`') { '"' } else { c }).collect::<String>()
    };
    plain(is) == plain(was)
}

/// The words of code that may be names.
fn names(code: &str) -> Vec<&str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// The names in a line that it takes from around it, and that are no functions.
fn own_names(path: &str, line: &str) -> Vec<String> {
    const WORDS: [&str; 28] = [
        "and", "as", "await", "const", "else", "false", "False", "for", "if", "in", "is", "lambda", "let", "my", "new",
        "nil", "None", "not", "null", "or", "return", "self", "this", "true", "True", "undef", "var", "yield",
    ];
    let code = code(path, line);
    let mut found = Vec::new();
    let mut from = 0;
    for name in names(&code) {
        let at = from + code[from..].find(name).unwrap_or(0);
        from = at + name.len();
        let (before, after) = (code[..at].chars().next_back(), code[from..].trim_start().chars().next());
        let is_number = name.starts_with(|c: char| c.is_ascii_digit());
        let is_function = matches!(after, Some('(' | '!'));
        if before != Some('.') && !is_number && !is_function && !WORDS.contains(&name) {
            found.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(path: &str, base: &str, now: &str, was: &str, line: &str) -> bool {
        let number = now.lines().position(|of| of.trim() == line).unwrap() + 1;
        let was = base.lines().find(|of| of.trim() == was).unwrap();
        is_earlier_form(path, (now, number), (base, was))
    }

    #[test]
    fn the_line_of_another_function_is_no_earlier_form() {
        let class = |method: &str| format!("class Cart:\n    def {method}(self):\n        return self.a\n");
        let next = |method: &str| format!("class Cart:\n    def {method}(self, b=1):\n        return self.a + b\n");
        assert!(is("a.py", &class("size"), &next("size"), "return self.a", "return self.a + b"));
        assert!(!is("a.py", &class("is_locked"), &next("size"), "return self.a", "return self.a + b"));
        assert!(!is(
            "a.py",
            &class("size"),
            &next("size").replace("Cart", "Box"),
            "return self.a",
            "return self.a + b"
        ));
        // Steps of the code are no functions; what a function takes may go over several lines.
        let base = "def share(\n    all,\n):\n    if all:\n        return all[0]\n";
        let now =
            base.replace("    if all:", "    if len(all) > 1:\n        pass\n    else:").replace("all[0]", "all[1]");
        assert!(is("a.py", base, &now, "return all[0]", "return all[1]"));
        for (path, head) in [
            ("a.js", "const NAME = (a) => {"),
            ("a.js", "NAME(a) {"),
            ("a.rs", "pub fn NAME(a: u8) -> u8 {"),
            ("a.pl", "sub NAME {"),
            ("a.go", "func (c *Cart) NAME(a int) int {"),
        ] {
            let code = |name: &str, value: &str| format!("{}\n  return {value};\n}}\n", head.replace("NAME", name));
            let check =
                |name: &str| is(path, &code("total", "a(1)"), &code(name, "a(2)"), "return a(1);", "return a(2);");
            assert!(check("total") && !check("other"), "{head}");
        }
    }

    #[test]
    fn a_value_of_another_kind_and_a_name_that_is_gone_say_nothing() {
        let line = |was: &str, is_now: &str| {
            let code = |line: &str| format!("def f(a, b):\n    c = a\n    {line}\n    return a\n");
            is("a.py", &code(was), &code(is_now), was, is_now)
        };
        assert!(line("d = a + b", "d = a - c") && line("d = 'x'", "d = f'{a}'") && line("d = 0", "d = len(a)"));
        assert!(!line("d = None", "d = len(a)") && !line("d = False", "d = [a]") && !line("d = 0", "d = [a]"));
        assert!(!line("s = a + b", "d = a + c"), "another name");
        assert!(!line("d = a + t", "d = a + b"), "a name that nobody has");
        assert!(line("if a > b: pass", "if a >= b: pass") && line("a.sort()", "a.sort(key=b)"), "no values");
        assert!(!line("return", "return a") && !line("d = undef", "d = a"));
        assert!(line("d = max(a, b)", "d = min(a, b)"), "a function of the language");
    }
}
