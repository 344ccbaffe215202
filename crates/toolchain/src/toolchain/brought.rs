//! What a change only brings, and what it does with it: a test may ask whether a name is there, and of nothing that is behind it.

use super::earlier::opened;
use super::hunk::{CodeChange, Hunk};
use super::mutant::{code, takes_values};
use super::table::table;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a line of a change is that brings something by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    /// It is of what a function takes.
    Takes,
    /// It says what others can have of the file, or what a command line can have; or it imports something.
    Listed,
    /// It stands in a function or a class that is new.
    InNew,
    /// A value that is new, at the margin.
    Value,
}

/// A change of one file's code, apart: what it brings by new names (functions, classes, parameters, options, exports), and what it does in
/// code that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The file with what the change brings, and without what it does.
    pub text: String,
    /// The file with all that the change adds, and with what it replaces as it was.
    pub added: String,
    /// Whether it brings anything that a test can ask for by its name. Imports are no such thing.
    pub names: bool,
    /// Whether it does anything in code that was there, or at the margin of a new file.
    pub deeds: bool,
    /// Whether code is gone that does something, or another one stands in its place that has more or less than what came to it.
    pub removes: bool,
    /// What the lines of the file as changed are that bring something, from 1. All others that are new do something.
    pub lines: BTreeMap<usize, Brings>,
}

/// What a line begins, with what it goes over.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Begins {
    /// What a function takes, or the head of a class; and the lines of all of it.
    Block {
        head: Range<usize>,
        whole: Range<usize>,
        name: String,
        /// What it does begins in the line in which its head ends.
        in_line: bool,
    },
    Export {
        whole: Range<usize>,
        name: String,
    },
    Option(Range<usize>),
    Import,
    Value {
        whole: Range<usize>,
        name: String,
    },
}

impl CodeChange {
    /// What of it is names, and what is done.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::CodeChange;
    /// let (old, new) = ("def f(a):\n    return a\n", "def f(a, b=1):\n    a += b\n    return a\n");
    /// let brought = CodeChange::between("a.py", old, new).expect("it is code").brought("a.py");
    /// assert_eq!((brought.names, brought.deeds), (true, true));
    /// assert_eq!(brought.text, "def f(a, b=1):\n    return a\n");
    /// ```
    #[must_use]
    pub fn brought(&self, path: &str) -> Brought {
        let of = |lines: &[String]| -> Vec<String> { lines.iter().map(|line| code(path, line)).collect() };
        let (old, new) = (of(&self.old), of(&self.new));
        let mut apart = Apart {
            change: self,
            was: begins(path, &old),
            is: begins(path, &new),
            known: (0..old.len()).filter_map(|at| named(&old[at])).collect(),
            old,
            new,
            text: String::new(),
            added: String::new(),
            kinds: BTreeMap::new(),
            names: false,
            deeds: false,
            removes: false,
        };
        let mut at = 0;
        for hunk in &self.hunks {
            apart.same(at..hunk.new.start);
            apart.hunk(hunk);
            at = hunk.new.end;
        }
        apart.same(at..self.new.len());
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or_default();
        Brought {
            text: self.with_tests(&apart.text),
            added: self.with_tests(&apart.added),
            names: apart.names,
            deeds: apart.deeds,
            removes: apart.removes,
            lines: apart.kinds.iter().map(|(at, kind)| (number(*at), *kind)).collect(),
        }
    }
}

struct Apart<'a> {
    change: &'a CodeChange,
    /// The code of both, line by line.
    old: Vec<String>,
    new: Vec<String>,
    was: Vec<Option<Begins>>,
    is: Vec<Option<Begins>>,
    /// Names that had a value at the margin.
    known: BTreeSet<String>,
    text: String,
    added: String,
    kinds: BTreeMap<usize, Brings>,
    names: bool,
    deeds: bool,
    removes: bool,
}

impl Apart<'_> {
    /// What stands between two hunks.
    fn same(&mut self, lines: Range<usize>) {
        for line in &self.change.new[lines] {
            self.text.push_str(line);
            self.added.push_str(line);
        }
    }

    /// Takes one hunk apart: its names stay where they are, before what stood there.
    fn hunk(&mut self, hunk: &Hunk) {
        let (mut at, mut old) = (hunk.new.start, hunk.old.clone());
        let (before, removes) = (self.text.len(), std::mem::take(&mut self.removes));
        while at < hunk.new.end {
            at = self.line(at, hunk, &mut old);
        }
        self.keep(old);
        match self.added(hunk) {
            Some((added, replaces)) => {
                self.added.push_str(&added);
                self.removes &= replaces;
            }
            None => self.added.push_str(&self.text[before..]),
        }
        self.removes |= removes;
    }

    /// The hunk with the lines that it adds, and with what stood in the place of others; and whether there are such. None where a line that
    /// stood there has nothing like it any more.
    fn added(&self, hunk: &Hunk) -> Option<(String, bool)> {
        let (mut text, mut at, mut replaces) = (String::new(), hunk.new.start, false);
        for was in &self.change.old[hunk.old.clone()] {
            let is = (at..hunk.new.end).find(|is| is_form_of(&self.change.new[*is], was))?;
            text.extend(self.change.new[at..is].iter().map(String::as_str));
            let is_gained = gained(self.change.new[is].trim_end(), was.trim_end()).is_some();
            replaces |= !is_gained;
            text.push_str(if is_gained { &self.change.new[is] } else { was });
            at = is + 1;
        }
        text.extend(self.change.new[at..hunk.new.end].iter().map(String::as_str));
        Some((text, replaces))
    }

    /// Takes a line apart, with what goes on from it, and says which is next.
    fn line(&mut self, at: usize, hunk: &Hunk, old: &mut Range<usize>) -> usize {
        let within = |range: &Range<usize>| range.start.max(at)..range.end.min(hunk.new.end);
        // What stands above a function belongs to it.
        let marks = (at..hunk.new.end).take_while(|at| is_mark(&self.new[*at])).count();
        if marks > 0
            && let Some(Begins::Block { name, .. }) = self.is.get(at + marks).and_then(Option::as_ref)
            && at + marks < hunk.new.end
            && self.old_block(name, hunk).is_none()
        {
            return self.brings(at..at + marks, Brings::InNew);
        }
        match self.is[at].clone() {
            Some(Begins::Block { head, whole, name, in_line }) => match self.old_block(&name, hunk) {
                None if in_line => self.brings(within(&whole), Brings::InNew),
                None => {
                    let (head, whole) = (within(&head), within(&whole));
                    let body = head.end.min(whole.end)..whole.end;
                    self.brings(head, Brings::Takes);
                    self.brings(body, Brings::InNew)
                }
                Some(was) => {
                    // What stood before it was something else.
                    let before = old.start..was.start.max(old.start);
                    let after = was.end.min(old.end).max(old.start);
                    self.keep(before);
                    *old = after..old.end;
                    let head = within(&head);
                    let takes_more = takes(&self.new[head.clone()]) > takes(&self.old[was.clone()]);
                    if takes_more && !in_line {
                        self.brings(head, Brings::Takes)
                    } else if takes_more {
                        // What it does with that stands in the same line.
                        (self.names, self.deeds, self.removes) = (true, true, true);
                        self.text.extend(self.change.new[head.clone()].iter().map(String::as_str));
                        head.end
                    } else if in_line {
                        (self.deeds, self.removes) = (true, true);
                        self.text.extend(self.change.old[was].iter().map(String::as_str));
                        head.end
                    } else {
                        (self.deeds, self.removes) = (true, true);
                        self.text.extend(self.change.old[was].iter().map(String::as_str));
                        self.kinds.extend(head.clone().map(|at| (at, Brings::Takes)));
                        head.end
                    }
                }
            },
            Some(Begins::Export { whole, name }) => {
                self.leave_old(old, &|begins| matches!(begins, Begins::Export { name: was, .. } if *was == name));
                self.brings(within(&whole).start..at + 1, Brings::Listed)
            }
            Some(Begins::Option(whole)) if !self.has_old(hunk, &|begins| matches!(begins, Begins::Option(_))) => {
                self.brings(within(&whole), Brings::Listed)
            }
            Some(Begins::Import) => {
                self.leave_old(old, &|begins| *begins == Begins::Import);
                self.kinds.insert(at, Brings::Listed);
                self.text.push_str(&self.change.new[at]);
                at + 1
            }
            Some(Begins::Value { whole, name }) if !self.known.contains(&name) => {
                self.brings(within(&whole), Brings::Value)
            }
            _ => self.other(at, hunk),
        }
    }

    /// A line that begins nothing: of what a function takes, of a list of exports, or of what is done.
    fn other(&mut self, at: usize, hunk: &Hunk) -> usize {
        let around = self.is[..at].iter().rev().flatten().find_map(|begins| match begins {
            Begins::Block { head, .. } if head.contains(&at) => Some(Brings::Takes),
            Begins::Export { whole, .. } if whole.contains(&at) => Some(Brings::Listed),
            _ => None,
        });
        match around {
            Some(Brings::Takes) if hunk.new.len() > hunk.old.len() => self.brings(at..at + 1, Brings::Takes),
            Some(Brings::Listed) if is_listed(&self.new[at]) => self.brings(at..at + 1, Brings::Listed),
            _ => {
                if around == Some(Brings::Takes) {
                    self.kinds.insert(at, Brings::Takes);
                }
                self.deeds |= says_something(&self.new[at]);
                if self.new[at].trim().is_empty() {
                    self.text.push_str(&self.change.new[at]);
                }
                at + 1
            }
        }
    }

    /// These lines stay.
    fn brings(&mut self, lines: Range<usize>, what: Brings) -> usize {
        self.names = true;
        self.kinds.extend(lines.clone().map(|at| (at, what)));
        self.text.extend(self.change.new[lines.clone()].iter().map(String::as_str));
        lines.end
    }

    /// What stood there is there again.
    fn keep(&mut self, lines: Range<usize>) {
        let is_gone = lines.clone().any(|at| says_something(&self.old[at]));
        self.removes |= is_gone;
        self.deeds |= is_gone;
        self.text.extend(self.change.old[lines].iter().map(String::as_str));
    }

    /// The head of a function of this name that stood where a hunk is.
    fn old_block(&self, name: &str, hunk: &Hunk) -> Option<Range<usize>> {
        hunk.old.clone().find_map(|at| match &self.was[at] {
            Some(Begins::Block { head, name: was, .. }) if was == name => Some(head.start..head.end.min(hunk.old.end)),
            _ => None,
        })
    }

    fn has_old(&self, hunk: &Hunk, is_it: &dyn Fn(&Begins) -> bool) -> bool {
        hunk.old.clone().any(|at| self.was[at].as_ref().is_some_and(is_it))
    }

    /// Leaves out what others stand in the place of.
    fn leave_old(&mut self, old: &mut Range<usize>, is_it: &dyn Fn(&Begins) -> bool) {
        let last = old.clone().rev().find(|at| self.was[*at].as_ref().is_some_and(is_it));
        let Some(last) = last else { return };
        let kept: Vec<usize> = (old.start..=last).filter(|at| !self.was[*at].as_ref().is_some_and(is_it)).collect();
        for at in kept {
            self.keep(at..at + 1);
        }
        *old = last + 1..old.end;
    }
}

/// What a line has gained in one place, as bytes of it: of `{"a": 1, "b": 2}` that was `{"a": 1}`, `, "b": 2`. None where something of it is gone.
///
/// ```
/// # use reflexion_toolchain::toolchain::gained;
/// assert_eq!(gained("f(a, b)", "f(a)"), Some(3..6));
/// assert_eq!(gained("f(b)", "f(a)"), None);
/// ```
#[must_use]
pub fn gained(is: &str, was: &str) -> Option<Range<usize>> {
    let before = is.bytes().zip(was.bytes()).take_while(|(a, b)| a == b).count();
    let after = is.bytes().rev().zip(was.bytes().rev()).take_while(|(a, b)| a == b).count();
    let after = after.min(was.len() - before).min(is.len() - before);
    let range = before..is.len() - after;
    (before + after == was.len() && is.get(range.clone()).is_some()).then_some(range)
}

/// Whether a line may be another one as it is now: most of it stands there still.
fn is_form_of(is: &str, was: &str) -> bool {
    const MOST: f32 = 2.0 / 3.0;
    let (is, was) = (is.trim(), was.trim());
    is == was || !was.is_empty() && TextDiff::from_chars(was, is).ratio() >= MOST
}

fn says_something(code: &str) -> bool {
    code.chars().any(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{1}'))
}

/// A decorator, or an attribute.
fn is_mark(code: &str) -> bool {
    code.trim_start().starts_with(['@', '#'])
}

/// A name, or a text, alone in a list: `bold,`, `bold: bold,`, `'bold',`.
fn is_listed(code: &str) -> bool {
    let is_of = |word: &str| word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ' '));
    let line = code.trim().trim_end_matches(',');
    let is_text = line.starts_with(['"', '\'']) && line[1..].chars().all(|c| c == '\u{1}');
    is_text || line.split(':').all(is_of)
}

/// How many values the head of a function takes.
fn takes(head: &[String]) -> usize {
    let head = head.concat();
    let Some((_, given)) = head.split_once('(') else { return 0 };
    let is_empty = given.trim_start().starts_with(')');
    let commas = given.replace(",)", ")").matches(',').count();
    if is_empty { 0 } else { commas + 1 }
}

/// Whether what a function does begins in the line in which its head ends.
fn has_body(path: &str, head: &str) -> bool {
    let mut open = 0_i32;
    let closes = head.char_indices().find(|(_, c)| {
        open += i32::from(*c == '(') - i32::from(*c == ')');
        *c == ')' && open == 0
    });
    let rest = closes.map_or(head, |(at, _)| &head[at + 1..]);
    let begins = if path.ends_with(".py") { ":" } else { "{" };
    let body = head.split_once("=>").or_else(|| head.split_once("lambda")).or_else(|| rest.split_once(begins));
    body.is_some_and(|(_, body)| says_something(body))
}

/// The name that gets a value at the margin: `LIMIT = 5`, `const LIMIT = 5`.
fn named(code: &str) -> Option<String> {
    if !code.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
        return None;
    }
    let (name, value) = code.split_once('=')?;
    let is_more = name.ends_with(['+', '-', '*', '/', '|', '&', '!', '<', '>', ':']) || value.starts_with(['=', '>']);
    let name = name.split(':').next().unwrap_or(name).trim();
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_word = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    (!is_more && words.len() <= 4 && words.iter().all(is_word)).then(|| words.last().map(|&name| name.to_owned()))?
}

/// What each line begins.
fn begins(path: &str, code: &[String]) -> Vec<Option<Begins>> {
    let is_one =
        |patterns: &[super::pattern::Pattern], line: &str| patterns.iter().any(|pattern| pattern.is_match(line.trim()));
    let of = |at: usize| -> Option<Begins> {
        let line = &code[at];
        if line.trim().is_empty() {
            return None;
        }
        if is_one(&table().exports, line) {
            let name = opened(line.trim()).unwrap_or_default();
            return Some(Begins::Export { whole: closed(code, at), name });
        }
        if is_one(&table().options, line) {
            return Some(Begins::Option(closed(code, at)));
        }
        if is_one(&table().imports, line) {
            return Some(Begins::Import);
        }
        if (takes_values(path, line) || is_one(&table().opens_block, line))
            && let Some(name) = opened(line.trim())
        {
            let head = at..closed_head(code, at);
            let in_line = has_body(path, &code[head.clone()].concat());
            return Some(Begins::Block { head, whole: block(code, at), name, in_line });
        }
        named(line).map(|name| Begins::Value { whole: closed(code, at), name })
    };
    (0..code.len()).map(of).collect()
}

/// From a line to the one in which all brackets are closed again that it opens.
fn closed(code: &[String], at: usize) -> Range<usize> {
    at..end_of(code, at, &['(', '[', '{'], &[')', ']', '}'])
}

/// The same of the brackets around what a function takes.
fn closed_head(code: &[String], at: usize) -> usize {
    end_of(code, at, &['('], &[')'])
}

fn end_of(code: &[String], at: usize, opens: &[char], closes: &[char]) -> usize {
    let mut open = 0_i32;
    for (line, code) in code.iter().enumerate().skip(at) {
        open += code.chars().map(|c| i32::from(opens.contains(&c)) - i32::from(closes.contains(&c))).sum::<i32>();
        if open <= 0 {
            return line + 1;
        }
    }
    code.len()
}

/// The lines of a function, a class or the like, by how deep they stand.
fn block(code: &[String], at: usize) -> Range<usize> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let outer = depth(&code[at]);
    let closes = |line: &str| {
        let line = line.trim();
        line.starts_with(['}', ')', ']', '{']) || line == "end" || line.starts_with("end ")
    };
    let (mut end, mut has_closed) = (closed_head(code, at), false);
    for (line, code) in code.iter().enumerate().skip(end) {
        if code.trim().is_empty() {
            continue;
        }
        let is_in = depth(code) > outer || depth(code) == outer && closes(code);
        if has_closed || !is_in {
            break;
        }
        // `) {` opens it.
        has_closed = depth(code) == outer && !code.trim_end().ends_with(['{', ':', '(', '[']);
        end = line + 1;
    }
    at..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brought(path: &str, old: &str, new: &str) -> Brought {
        CodeChange::between(path, old, new).unwrap().brought(path)
    }

    #[test]
    fn names_stay_and_what_is_done_goes() {
        let check = |path: &str, (old, new): (&str, &str), (names, deeds): (bool, bool), text: &str| {
            let found = brought(path, old, new);
            assert_eq!((found.names, found.deeds, found.text.as_str()), (names, deeds, text), "{new}");
        };
        let old = "def f(a):\n    return a\n";
        let new = "def f(a, b=False):\n    if b:\n        a = a.lower()\n    return a\n";
        check("a.py", (old, new), (true, true), "def f(a, b=False):\n    return a\n");
        // A default that is another one does something.
        let other = ("def f(a=1):\n    return a\n", "def f(a=2):\n    return a\n");
        check("a.py", other, (false, true), other.0);
        let added = format!("{old}\n\n@x\ndef g(\n    b,\n):\n    return b\n");
        check("a.py", (old, &added), (true, false), &added);
        let both = "import re\n\n\ndef g(b):\n    return b\n\n\ndef f(a):\n    return g(a)\n";
        check(
            "a.py",
            (old, both),
            (true, true),
            "import re\n\n\ndef g(b):\n    return b\n\n\ndef f(a):\n    return a\n",
        );
        let (was, is) =
            ("def m():\n    p.add_argument(\"t\")\n    go(p)\n", "    p.add_argument(\n        \"--u\",\n    )\n");
        let with = was.replace("    go(p)\n", &format!("{is}    go(p)\n    x()\n"));
        check("a.py", (was, &with), (true, true), &was.replace("    go(p)\n", &format!("{is}    go(p)\n")));
        let js = "function f (a) {\n  return a\n}\n\nmodule.exports = { f }\n";
        let more = "function f (a) {\n  return a\n}\n\nfunction g (a) {\n  return a\n}\n\nmodule.exports = { f, g }\n";
        check("a.js", (js, more), (true, false), more);
        let class = "class A {\n  f () {\n    return 1\n  }\n}\n";
        let method = class.replace("class A {\n", "class A {\n  get n () {\n    return 2\n  }\n\n");
        check("a.js", (class, &method), (true, false), &method);
        let list = "export default {\n  f,\n};\n";
        check(
            "a.ts",
            (list, &list.replace("  f,\n", "  f,\n  g,\n")),
            (true, false),
            "export default {\n  f,\n  g,\n};\n",
        );
        check("a.py", ("A = 1\n", "A = 1\nB = 2\n"), (true, false), "A = 1\nB = 2\n");
        check("a.py", ("A = 1\n", "A = 3\n"), (false, true), "A = 1\n");
        check("a.py", (old, "import re\ndef f(a):\n    return re.f(a)\n"), (false, true), &format!("import re\n{old}"));
        check("a.py", (old, &old.replace("    return", "    if a:\n        a = 2\n    return")), (false, true), old);
        assert!(brought("a.py", other.0, other.1).removes && !brought("a.py", old, new).removes);
        assert!(brought("a.py", old, both).removes && !brought("a.js", js, more).removes);
    }

    #[test]
    fn what_is_added_is_told_from_what_is_replaced() {
        let old = "class A:\n    a = 1\n\n    def f(self):\n        return self.a\n";
        let adds = old.replace("    a = 1\n", "    a = 1\n    b = 2\n");
        let both = brought("a.py", old, &adds.replace("return self.a", "return self.b"));
        assert_eq!((both.added.as_str(), both.removes), (adds.as_str(), true));
        // In one hunk, too.
        let beside = brought("a.py", old, &old.replace("    a = 1\n", "    a = 3\n    b = 2\n"));
        assert_eq!((beside.added.as_str(), beside.removes), (adds.as_str(), true));
        let other = brought("a.py", old, &old.replace("    a = 1\n", "    x = f()\n    b = 2\n"));
        assert_eq!((other.added.as_str(), other.removes), (old, true));
        let gains = brought("a.py", "R = {'a': f}\n", "R = {'a': f, 'b': g}\n");
        assert_eq!((gains.added.as_str(), gains.removes), ("R = {'a': f, 'b': g}\n", false));
    }

    #[test]
    fn what_a_line_does_with_what_it_takes_is_done_in_it() {
        let of = |path: &str, old: &str, new: &str| {
            let brought = brought(path, old, new);
            (brought.names, brought.deeds, brought.lines.get(&1).copied())
        };
        let old = "def f(a): return a\n";
        assert_eq!(of("a.py", old, "def f(a): return a + 1\n"), (false, true, None));
        assert_eq!(of("a.py", old, "def f(a, b=1): return a + b\n"), (true, true, None));
        let new = (true, false, Some(Brings::InNew));
        assert_eq!(of("a.js", "", "const f = (a) => a.trim()\n"), new);
        assert_eq!(of("a.js", "", "function f (a) { return a }\n"), new);
        assert_eq!(of("a.py", "", "def f(a) -> int: return g(a)\n"), new);
        assert_eq!(of("a.ts", "", "function f (a): number {\n  return a\n}\n").2, Some(Brings::Takes));
    }

    #[test]
    fn lines_are_known_for_what_they_bring() {
        let old = "def f(a):\n    return a\n";
        let new = "def f(a, b=1):\n    a += b\n    return a\n\n\ndef g(\n    b,\n):\n    return b\nC = 1\n";
        let lines = brought("a.py", old, new).lines;
        let of = |line: usize| lines.get(&line).copied();
        assert_eq!(
            [1, 2, 3, 6, 7, 8, 9, 10].map(of),
            [
                Some(Brings::Takes),
                None,
                None,
                Some(Brings::Takes),
                Some(Brings::Takes),
                Some(Brings::Takes),
                Some(Brings::InNew),
                Some(Brings::Value)
            ]
        );
    }
}
