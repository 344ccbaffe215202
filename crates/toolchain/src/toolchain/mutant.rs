//! Small wrong changes of a line of code, to see whether a test notices.

use super::file::{Mutation, OtherValue};
use super::inline::inline_tests;
use super::remark::{remarks, with_examples};
use super::table::{ending, table};

/// A line of code with a small mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The kind of mistake, 0 for the one that tests notice most surely.
    pub rank: usize,
    /// The line with it.
    pub line: String,
    /// What it is called, where the line with it would not be read.
    pub called: Option<String>,
    /// In a function that was there before, it is the surest one: tests of what that did do not come here.
    pub in_old: bool,
    /// It is made in a function that was there before alone: of a new one, whatever looks at its result would notice.
    pub only_old: bool,
    /// The line is a condition, and what stands behind it is not done.
    pub is_branch: bool,
}

/// A line with a mistake: a condition that is turned round, a number that is one too large, another operation. At most one of each kind, the
/// surest first; none where nothing in it can be turned round like that, or it is no code by the look of it (a comment, an import).
///
/// The kinds are those that mutation testing has always had (*Hints on Test Data Selection*,
/// 1978); what is written instead of what is data, `[[mutations]]` in `config/toolchains/any.toml`.
///
/// ```
/// # use reflexion_toolchain::toolchain::mutants;
/// let first = |line: &str| mutants("src/cart.py", line).into_iter().next().map(|mutant| mutant.line);
/// assert_eq!(first("    if total >= 100:").as_deref(), Some("    if total < 100:"));
/// assert_eq!(first("    return total - 10").as_deref(), Some("    return total - 11"));
/// assert_eq!(first("    # at most 10"), None);
/// ```
#[must_use]
pub fn mutants(path: &str, line: &str) -> Vec<Mutant> {
    let code = code(path, line);
    if is_not_mutated(&code) {
        return Vec::new();
    }
    let mut made: Vec<Mutant> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for (rank, mutation) in table().mutations.iter().enumerate() {
        if mutation.one_of.as_deref().is_some_and(|kind| done.contains(&kind)) {
            continue;
        }
        if let Some(new) = mutated(path, (line, &code), mutation) {
            done.extend(mutation.one_of.as_deref());
            let Mutation { called, in_old, only_old, is_branch, .. } = mutation;
            let (in_old, only_old, is_branch) = (*in_old, *only_old, *is_branch);
            made.push(Mutant { rank, line: new, called: called.clone(), in_old, only_old, is_branch });
        }
    }
    made
}

/// A line with one mistake, where it can be made in it.
fn mutated(path: &str, (line, code): (&str, &str), mutation: &Mutation) -> Option<String> {
    let Mutation { from, to, only, called, repeats, .. } = mutation;
    let ending = ending(path);
    if !only.is_empty() && !ending.as_ref().is_some_and(|ending| only.contains(ending)) {
        return None;
    }
    let found = from.regex()?.captures(code)?;
    let whole = found.get(0)?;
    let of_code = |at: usize| found.get(at).map_or("", |group| group.as_str());
    if *repeats && !words(of_code(3)).any(|word| word == of_code(2)) {
        return None;
    }
    // A value that goes on in the next line has no end here.
    if called.is_some() && !is_whole(of_code(2)) {
        return None;
    }
    // Of the line itself: what stands in quotes is hidden in the code.
    let group = |at: usize| found.get(at).map_or("", |group| &line[group.range()]);
    let new = match to {
        Some(to) => {
            let to = if to.contains("$other") {
                let is_its = |other: &&OtherValue| ending.as_ref().is_some_and(|ending| other.only.contains(ending));
                to.replace("$other", &table().other_values.iter().find(is_its)?.is)
            } else {
                to.clone()
            };
            fill(&to, [group(1), group(2), group(3)])
        }
        None => one_more(&line[whole.range()])?,
    };
    Some(format!("{}{new}{}", &line[..whole.start()], &line[whole.end()..]))
}

/// A text with groups in the place of `$1` to `$3`; what stands in a group stays as it is.
fn fill(to: &str, groups: [&str; 3]) -> String {
    let mut parts = to.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let at = part.chars().next().and_then(|c| c.to_digit(10)).and_then(|at| at.checked_sub(1));
        match at.and_then(|at| groups.get(at as usize)) {
            Some(group) => text.extend([*group, &part[1..]]),
            None => text.extend(["$", part]),
        }
    }
    text
}

/// Whether all brackets are closed that code opens.
fn is_whole(code: &str) -> bool {
    let mut open = Vec::new();
    for c in code.chars() {
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' if !matches!((open.pop(), c), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}')) => {
                return false;
            }
            _ => {}
        }
    }
    open.is_empty()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
}

fn is_not_mutated(code: &str) -> bool {
    table().not_mutated.iter().any(|pattern| pattern.is_match(code.trim()))
}

/// Whether a line may have another one in its place that says something else: both are code, at the same depth.
///
/// ```
/// # use reflexion_toolchain::toolchain::lends_itself;
/// assert!(lends_itself("a.py", "    return a + b", "    return a"));
/// assert!(!lends_itself("a.py", "    return a  # all", "    return a"));
/// assert!(!lends_itself("a.py", "import b", "import a"));
/// ```
#[must_use]
pub fn lends_itself(path: &str, is: &str, other: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let is_code = |line: &str| {
        let code = code(path, line);
        !code.trim().is_empty() && !is_not_mutated(&code)
    };
    let said = |line: &str| blanked(path, line, Blank::Remarks).trim_end().to_owned();
    depth(is) == depth(other) && is_code(is) && is_code(other) && said(is) != said(other)
}

/// What a file's code does that a mistake could turn against somebody although it is kept from writing outside of its directory, if anything:
/// it starts or ends programs, or talks to servers and databases. Remarks do nothing, and tests among the code are none of it.
///
/// ```
/// # use reflexion_toolchain::toolchain::effect;
/// assert_eq!(effect("a.py", "x = 1\nos.kill(pid)\n").as_deref(), Some("kill("));
/// assert_eq!(effect("a.py", "x = 1  # os.kill(pid)\n"), None);
/// ```
#[must_use]
pub fn effect(path: &str, text: &str) -> Option<String> {
    let apart = inline_tests(path, text);
    let text = apart.as_ref().map_or(text, |apart| &apart.code);
    let code = text.lines().zip(remarks(path, text)).filter(|(_, is_remark)| !is_remark);
    code.into_iter().find_map(|(line, _)| {
        let code = blanked(path, line, Blank::Remarks);
        table().effects.iter().find_map(|pattern| pattern.found_in(&code).map(str::to_owned))
    })
}

/// The text of a file with another line `number`, from 1. None where that line is not `is`, where it stands in a test or in a remark, and
/// where the file [has effects](effect).
#[must_use]
pub fn with_line(path: &str, text: &str, number: usize, (is, becomes): (&str, &str)) -> Option<String> {
    let is_remark = || with_examples(path, text).get(number.wrapping_sub(1)).is_some_and(|is_remark| *is_remark);
    if effect(path, text).is_some() || is_remark() {
        return None;
    }
    let mut lines: Vec<&str> = text.split('\n').collect();
    let line = lines.get_mut(number.checked_sub(1)?)?;
    let end = if line.ends_with('\r') { "\r" } else { "" };
    if line.trim_end_matches('\r') != is {
        return None;
    }
    let new = format!("{becomes}{end}");
    *line = &new;
    let new = lines.join("\n");
    let tests = |text: &str| inline_tests(path, text).map(|apart| apart.tests);
    (tests(text) == tests(&new)).then_some(new)
}

/// Whether a line imports all that another one does, from the same place, and more.
///
/// ```
/// # use reflexion_toolchain::toolchain::imports_more;
/// assert!(imports_more("from shop import add, sub", "from shop import add, half, sub"));
/// assert!(imports_more("const { add } = require('../shop')", "const { add, half } = require('../shop')"));
/// assert!(!imports_more("from shop import add", "from fake import add, half"));
/// assert!(!imports_more("from shop import add", "from shop import add as sub"));
/// assert!(!imports_more("assert add(1, 2) == 3", "assert add(1, 2) == 3 or True"));
/// ```
#[must_use]
pub fn imports_more(old: &str, new: &str) -> bool {
    let words = |line: &'_ str| -> Vec<String> {
        line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '{' | '}' | '(' | ')'))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (old, new) = (words(old), words(new));
    let begins = |line: &[String], words: &[&str]| line.first().is_some_and(|first| words.contains(&first.as_str()));
    let is_import = |line: &[String]| {
        let calls = |name: &str| line.iter().any(|word| word == name);
        begins(line, &["import", "from", "use", "using"])
            || begins(line, &["const", "let", "var"]) && (calls("require") || calls("import"))
    };
    let mut rest = new.iter();
    let has_all = old.iter().all(|word| rest.any(|other| other == word));
    let is_name = |word: &String| word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) && word != "as";
    is_import(&old) && is_import(&new) && has_all && new.iter().filter(|word| !old.contains(word)).all(is_name)
}

/// Whether a line of a failing test says that what was asserted does not hold, and not only that something broke.
///
/// ```
/// # use reflexion_toolchain::toolchain::says_an_assertion_failed;
/// assert!(says_an_assertion_failed("AssertionError: 3 != 4"));
/// assert!(!says_an_assertion_failed("IndexError: list index out of range"));
/// ```
#[must_use]
pub fn says_an_assertion_failed(line: &str) -> bool {
    table().assertions.iter().any(|pattern| pattern.is_match(line))
}

/// Whether a line of code gives up: it raises an error, or ends the program.
///
/// ```
/// # use reflexion_toolchain::toolchain::gives_up;
/// assert!(gives_up("cart.py", "    raise ValueError('no number')"));
/// assert!(!gives_up("cart.py", "    return 'raise'"));
/// ```
#[must_use]
pub fn gives_up(path: &str, line: &str) -> bool {
    let code = code(path, line);
    table().gives_up.iter().any(|pattern| pattern.is_match(code.trim()))
}

/// Whether a function begins in a line, with what it takes.
///
/// ```
/// # use reflexion_toolchain::toolchain::takes_values;
/// assert!(takes_values("a.py", "def add(a, b=1):"));
/// assert!(takes_values("a.js", "const add = (a, b = 1) => {"));
/// assert!(!takes_values("a.py", "    return add(a, b=1)"));
/// ```
#[must_use]
pub fn takes_values(path: &str, line: &str) -> bool {
    let code = code(path, line);
    table().takes_values.iter().any(|pattern| pattern.is_match(code.trim()))
}

/// Whether a line of a failing check says that the system kept a program from something.
///
/// ```
/// # use reflexion_toolchain::toolchain::says_it_was_denied;
/// assert!(says_it_was_denied("PermissionError: [Errno 13] Permission denied: '/tmp/log'"));
/// assert!(!says_it_was_denied("AssertionError: 3 != 4"));
/// ```
#[must_use]
pub fn says_it_was_denied(line: &str) -> bool {
    table().denied.iter().any(|pattern| pattern.is_match(line))
}

/// The whole number that stands in a text, and one more, with what is around it.
fn one_more(text: &str) -> Option<String> {
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let end = text[digits..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| digits + end);
    let more = text[digits..end].parse::<u64>().ok()?.checked_add(1)?;
    Some(format!("{}{more}{}", &text[..digits], &text[end..]))
}

/// Stands for each byte of a text in quotes: no pattern means it.
const IN_TEXT: char = '\u{1}';

/// A line of which comments are blank, and of which texts in quotes say nothing, at the same places.
pub(super) fn code(path: &str, line: &str) -> String {
    blanked(path, line, Blank::RemarksAndTexts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    Remarks,
    RemarksAndTexts,
}

fn blanked(path: &str, line: &str, what: Blank) -> String {
    // There, a single quote begins a lifetime as well.
    let quotes = if path.ends_with(".rs") { &['"'][..] } else { &['"', '\'', '`'] };
    // In other languages these are something else: `this.#rows`, `#define`, `a // b`.
    let begins = |mark: &str| table().begins_remark(path, mark);
    let (has_hash, has_slashes) = (begins("#"), begins("//"));
    let (mut open, mut escaped, mut before) = (None, false, ' ');
    let mut comment = false;
    let keep = |c: char| {
        let hidden = comment || open.is_some() && what == Blank::RemarksAndTexts;
        if escaped {
            escaped = false;
        } else if c == '\\' && open.is_some() {
            escaped = true;
        } else if open == Some(c) {
            open = None;
        } else if open.is_none() && quotes.contains(&c) {
            open = Some(c);
        } else if open.is_none() && (c == '#' && has_hash || c == '/' && before == '/' && has_slashes) && !comment {
            comment = true;
        }
        before = c;
        match (comment, hidden) {
            (true, _) => " ".repeat(c.len_utf8()),
            // No blank: a text at the end of an expression belongs to that.
            (_, true) => IN_TEXT.to_string().repeat(c.len_utf8()),
            _ => c.to_string(),
        }
    };
    line.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(path: &str, line: &str) -> Option<Mutant> {
        mutants(path, line).into_iter().next()
    }

    #[test]
    fn conditions_numbers_and_operations_are_turned_round() {
        let check = |path: &str, line: &str, expected: Option<&str>| {
            assert_eq!(mutant(path, line).map(|mutant| mutant.line).as_deref(), expected, "{line}");
        };
        check("a.py", "    if a < b and c:", Some("    if a >= b and c:"));
        check("a.js", "  if (a === b) return 1;", Some("  if (a !== b) return 1;"));
        check("a.rs", "    if a != b && c {", Some("    if a == b && c {"));
        check("a.py", "    if a and c:", Some("    if a or c:"));
        check("a.py", "    if not a:", Some("    if a:"));
        check("a.js", "  if (!done) {", Some("  if (done) {"));
        check("a.py", "    if loud:", Some("    if False and (loud):"));
        check("a.py", "    elif loud and is_on(1):", Some("    elif loud or is_on(1):"));
        check("a.py", "    end = '!' if loud else ''", Some("    end = '!' if False and (loud) else ''"));
        check("a.py", "    return [x for x in xs if x]", Some("    return [x for x in xs if not (x)]"));
        let first_in_old = |path: &str, line: &str, expected: &str| {
            let made = mutants(path, line).into_iter().find(|mutant| mutant.in_old).map(|mutant| mutant.line);
            assert_eq!(made.as_deref(), Some(expected), "{line}");
        };
        first_in_old("a.py", "    if end is None:", "    if True or (end is None):");
        first_in_old("a.py", "    raise ValueError('no x')", "    raise ValueError(\"?\")");
        first_in_old("a.ts", "  if (end === undefined) {", "  if (true || end === undefined) {");
        first_in_old("a.py", "    if a < b:", "    if False and (a < b):");
        check("a.py", "    if end is None:", Some("    if end is not None:"));
        check("a.py", "    if end is not None:", Some("    if end is None:"));
        check("a.ts", "  if (isLoud(a)) return b;", Some("  if (false && (isLoud(a))) return b;"));
        check("a.ts", "  } else if (loud) {", Some("  } else if (false && (loud)) {"));
        check("a.ts", "  const end = loud ? up(x) : x;", Some("  const end = false && loud ? up(x) : x;"));
        check("a.ts", "type A<T> = T extends B ? C : D;", None);
        check("a.go", "\tif loud {", Some("\tif false && (loud) {"));
        check("a.rs", "    if self.loud {", Some("    if false && (self.loud) {"));
        check("a.rs", "    if let Some(x) = y {", None);
        // A name keeps the value that it had.
        check("a.py", "    text = text.upper()", Some("    pass"));
        check("a.py", "    text = between.join(text)", Some("    pass"));
        check("a.py", "    total += price", Some("    total += price; total += price"));
        check("a.py", "    flags |= price", Some("    pass"));
        check("a.ts", "  text = text.trim();", Some("  ;"));
        check("a.py", "    done = True", Some("    done = False"));
        check("a.go", "\treturn n + 1", Some("\treturn n + 2"));
        check("a.py", "    return a * b", Some("    return a + b"));
        check("a.py", "    return a // 3", Some("    return a // 4"));
        check("a.py", "    return max(0, x)", Some("    return max(1, x)"));
        // The result of another kind would be noticed by whatever looks at its type.
        for (file, line, ends) in [
            ("a.py", "    return list(x)", "((list(x)))"),
            ("a.ts", "  return keys(o);", "((keys(o)));"),
            ("a.py", "    return f\"{x}!\"  # loud", "((f\"{x}!\"))  # loud"),
            ("a.py", "    return 'no ' + x + 'y'", "(('no ' + x + 'y'))"),
            ("a.js", "  return `Hi ${name}; bye}`;", "((`Hi ${name}; bye}`));"),
            ("a.js", "  return \"Hello\";", "((\"Hello\"));"),
            ("a.js", "  return { ...a, b }", "(({ ...a, b }))"),
            ("a.js", "f((a) => { return a })", "((a)) })"),
            ("a.py", "    yield x.upper()", "((x.upper()))"),
            ("a.py", "    yield from x", "((x))"),
            ("a.py", "    text = read(x)", "((read(x)))"),
            ("a.py", "    text = (text or \"\").strip()", "(\"\")).strip()"),
            ("a.py", "    end = end or '!'", "('!')"),
            ("a.py", " , end=end ", "(end)) "),
            ("a.py", "    return a if b else (c, d)", "((c, d))"),
        ] {
            let mutant = mutants(file, line).into_iter().find(|mutant| mutant.called.is_some()).expect(line);
            assert!(mutant.line.ends_with(ends), "{mutant:?}");
        }
        for (file, line) in [
            ("a.js", "  return {"),
            ("a.js", "  return f(() => {"),
            ("a.py", "    x = f("),
            ("a.go", "\treturn keys(o)"),
        ] {
            assert!(mutants(file, line).iter().all(|mutant| mutant.called.is_none()), "{line}");
        }
        // A call whose result nobody takes may be missing.
        check("a.py", "    stack.clear(x)", Some("    pass"));
        check("a.js", "  stack.pop(x);", Some("  ;"));
        // What adds something does it twice, so that there is something in any case.
        check("a.py", "    stack.append(x)", Some("    stack.append(x); stack.append(x)"));
        check("a.js", "  this.#words.push(x)", Some("  this.#words.push(x); this.#words.push(x)"));
        assert!(
            mutants("a.py", "    stack.append(x)").iter().all(|mutant| mutant.called.as_deref() != Some("nothing"))
        );
        check("a.py", "stack.append(x)", None);
        let kinds: Vec<usize> = mutants("a.py", "    return xs[0] + 1").iter().map(|mutant| mutant.rank).collect();
        assert!(kinds.len() > 2 && kinds.is_sorted(), "{kinds:?}");
        // Generics and arrows compare nothing.
        check("a.rs", "fn f(a: Vec<u8>) -> u8 {", None);
        check("a.ts", "const f = (a: Map<string, b>) => g(a);", None);
    }

    #[test]
    fn what_is_no_code_stays() {
        for (path, line) in [
            ("a.py", "# if a == b"),
            ("a.rs", "// if a == b"),
            ("a.rs", "    /// `a == b`"),
            ("a.py", "print(\"a == b\")"),
            ("a.js", "log(`1 == 2`);"),
            ("a.py", "from x1 import y2"),
            ("a.py", "import numpy as n"),
            ("a.rs", "use std::u8;"),
            ("a.rs", "    name.trim()"),
            ("a.py", "x1 = y2z"),
            ("a.py", "version = '1.2'"),
            ("a.js", " * 1 thing"),
        ] {
            assert_eq!(mutant(path, line), None, "{line}");
        }
        assert_eq!(mutant("a.py", "    x = 'a' if b == 1 else c  # b == 2").unwrap().line.matches("!=").count(), 1);
    }

    #[test]
    fn a_line_is_replaced_where_it_is_code() {
        let text = "fn one() -> u8 {\r\n    1\r\n}\n#[cfg(test)]\nmod tests {\n    const A: u8 = 1;\n}\n";
        let with = |number, is, becomes| with_line("a.rs", text, number, (is, becomes));
        assert_eq!(with(2, "    1", "    2").unwrap(), text.replacen("    1\r", "    2\r", 1));
        assert_eq!(with(6, "    const A: u8 = 1;", "    const A: u8 = 2;"), None, "a test");
        assert_eq!((with(1, "    1", "2"), with(0, "", ""), with(99, "", "")), (None, None, None));
        assert_eq!(with_line("a.py", "def f():\n  '''x == 1\n  '''\n", 2, ("  '''x == 1", "  '''x != 1")), None);
        assert_eq!(with_line("a.py", "os.kill(a)\nx = 1\n", 2, ("x = 1", "x = 2")), None);
    }

    #[test]
    fn code_with_effects_is_known() {
        for (path, text) in [
            ("a.py", "subprocess.run(['rm'])"),
            ("a.py", "os.kill(pid, 9)"),
            ("a.py", "cursor.execute(sql)"),
            ("a.py", "db.run('DELETE FROM a')"),
            ("a.py", "requests.delete(url)"),
            ("a.js", "await fetch(url)"),
            ("a.js", "  this.#db.query(sql)"),
            ("a.rb", "system \"rm x\""),
            ("a.sh", "docker rm x"),
            ("a.rs", "Command::new(\"rm\")"),
        ] {
            assert!(effect(path, text).is_some(), "{text}");
        }
        // What it writes stays in its room.
        for (path, text) in [
            ("a.py", "def add(a, b):\n    return a + b\n"),
            ("a.py", "    os.unlink(p)"),
            ("a.py", "# Copyright (c) 2013\n# open(x) and subprocess.run(x)"),
            ("a.py", "\"\"\"According to the system platform\"\"\""),
            ("a.py", "def f():\n    '''It may\n    subprocess.run(x).\n    '''\n"),
            ("a.js", "map.delete(key); fs.rmSync(dir)"),
            ("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { Command::new(c); }\n}\n"),
        ] {
            assert_eq!(effect(path, text), None, "{text}");
        }
    }

    #[test]
    fn an_assertion_is_told_from_a_crash() {
        for line in [
            "AssertionError: assert 1 == 2",
            "assertion `left == right` failed",
            "Expected values to be strictly equal:",
            "expect(received).toBe(expected)",
            "cart_test.go:9: Total() = 3, want 4",
            "Failed asserting that 3 matches expected 4.",
        ] {
            assert!(says_an_assertion_failed(line), "{line}");
        }
        for line in ["TypeError: unsupported operand", "panic: runtime error: index out of range", "Segmentation fault"]
        {
            assert!(!says_an_assertion_failed(line), "{line}");
        }
    }
}
