//! The grammar of a command line: words and quotes, pipes, lists, groups, substitutions, heredocs.
//!
//! Our own, because nothing that is kept fits: `yash-syntax` is under the GPL; `brush-parser` (0.4, MIT) reads a whole
//! script or refuses it, recurses as deep as its input and brings `peg`, `cached`, `bon` and `insta`; `tree-sitter-bash`
//! compiles C; `conch-parser` rests since 2019; and `shlex` and `shell-words` split words but cannot tell `'&&'` from
//! `&&`. This one never refuses, reads every byte once, and gives up on what is nested deeper than [`MAX_DEPTH`].
//! Grammar: POSIX.1-2024, XCU 2.10, and of bash `[[`, `((`, `&>`, `|&`, `<<<`, `<( )`, `$'…'` and `function`.

use std::mem;

/// Groups and substitutions are followed so deep; what is deeper is not read, nor what follows it. Nobody writes that.
pub(super) const MAX_DEPTH: usize = 24;

/// Words that end a list where a command could begin.
const CLOSERS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// A list of commands.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) items: Vec<Item>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Join, Pipeline)>,
    /// It ends with `&`.
    pub(super) background: bool,
}

/// How a pipeline follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) negated: bool,
    pub(super) commands: Vec<Command>,
}

/// A command with its redirections.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) body: Body,
    pub(super) redirects: Vec<Redirect>,
}

/// What a command consists of.
#[derive(Debug)]
pub(super) enum Body {
    Simple(Simple),
    /// `{ … }`
    Group(Script),
    /// `( … )`
    Subshell(Script),
    /// `if`, `case`: conditions and branches in order.
    Branches(Vec<Script>),
    /// `for`, `while`, `until`: what it loops over, then the body.
    Loop(Vec<Script>),
    Function(String, Box<Command>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Simple(Simple::default())
    }
}

/// Words, with the assignments before them and the scripts of substitutions in them.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) assigns: Vec<(String, String)>,
    pub(super) words: Vec<String>,
    pub(super) inner: Vec<Script>,
}

/// Where input comes from or output goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Into a file.
    Out(String),
    /// The text of a heredoc, by its number in [`Parsed::bodies`].
    Here(usize),
    /// `<<<`
    HereString(String),
}

/// A line, read.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) script: Script,
    /// The texts of its heredocs.
    pub(super) bodies: Vec<String>,
}

/// Reads a line as far as it can be read.
pub(super) fn parse(text: &str) -> Parsed {
    let mut parser = Parser { text, at: 0, depth: 0, pending: Vec::new(), bodies: Vec::new() };
    let script = parser.whole();
    Parsed { script, bodies: parser.bodies }
}
/// A heredoc whose text begins after the next newline.
struct Pending {
    body: usize,
    end: String,
    tabs: bool,
}

/// Where reading stands.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    pending: Vec<Pending>,
    bodies: Vec<String>,
}

impl<'a> Parser<'a> {
    /// Everything, also behind something that closes what nobody opened.
    fn whole(&mut self) -> Script {
        let mut script = self.list();
        while self.at < self.text.len() {
            let closer = self.closer().map_or(1, str::len);
            self.at = self.text.ceil_char_boundary(self.at + closer);
            script.items.append(&mut self.list().items);
        }
        script
    }

    /// Another text that stands within this one, one level down.
    pub(super) fn nested(&mut self, code: &str) -> Script {
        self.deeper(|outer| {
            let bodies = mem::take(&mut outer.bodies);
            let mut parser = Parser { text: code, at: 0, depth: outer.depth, pending: Vec::new(), bodies };
            let script = parser.whole();
            outer.bodies = parser.bodies;
            script
        })
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn starts(&self, with: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(with.as_bytes())
    }

    pub(super) fn eat(&mut self, what: &str) -> bool {
        let found = self.starts(what);
        if found {
            self.at += what.len();
        }
        found
    }

    /// Goes one level down, or gives up.
    pub(super) fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.at = self.text.len();
            return T::default();
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.starts("\\\n") => self.at += 2,
                Some(b'#') => {
                    self.at += memchr::memchr(b'\n', self.rest().as_bytes()).unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and newlines, with the heredocs that begin there.
    pub(super) fn space(&mut self) {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return;
            }
            self.at += 1;
            for pending in mem::take(&mut self.pending) {
                self.heredoc(&pending);
            }
        }
    }

    fn heredoc(&mut self, pending: &Pending) {
        let start = self.at;
        loop {
            let rest = self.rest();
            let line_end = memchr::memchr(b'\n', rest.as_bytes());
            let line = &rest[..line_end.unwrap_or(rest.len())];
            let bare = if pending.tabs { line.trim_start_matches('\t') } else { line };
            let end = self.at;
            self.at += line_end.map_or(rest.len(), |n| n + 1);
            if bare.trim_end_matches('\r') == pending.end || line_end.is_none() {
                let end = if bare.trim_end_matches('\r') == pending.end { end } else { self.text.len() };
                self.bodies[pending.body] = self.text[start..end].to_owned();
                return;
            }
        }
    }

    /// A reserved word that stands here, whole and unquoted.
    pub(super) fn reserved(&self, words: &[&'static str]) -> Option<&'static str> {
        let ends = |byte: Option<&u8>| byte.is_none_or(|b| b" \t\r\n;&|()<>".contains(b));
        words.iter().find(|w| self.starts(w) && ends(self.text.as_bytes().get(self.at + w.len()))).copied()
    }

    /// What ends a list here.
    pub(super) fn closer(&self) -> Option<&'static str> {
        match self.peek()? {
            b')' => Some(")"),
            b';' if self.starts(";;") || self.starts(";&") => Some(";;"),
            _ => self.reserved(&CLOSERS),
        }
    }

    pub(super) fn list(&mut self) -> Script {
        let mut items = Vec::new();
        loop {
            self.space();
            if self.peek().is_none() || self.closer().is_some() {
                return Script { items };
            }
            let before = self.at;
            let mut item = self.item();
            self.blanks();
            if self.peek() == Some(b'&') {
                self.at += 1;
                item.background = true;
            } else if self.peek() == Some(b';') && self.closer().is_none() {
                self.at += 1;
            }
            if self.at == before {
                // A stray `|`.
                self.at += 1;
            }
            items.push(item);
        }
    }

    fn item(&mut self) -> Item {
        let first = self.pipeline();
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Item { first, rest, background: false };
            };
            self.space();
            rest.push((join, self.pipeline()));
        }
    }

    fn pipeline(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::default();
        while let Some(word) = self.reserved(&["!", "time"]) {
            pipeline.negated ^= word == "!";
            self.at += word.len();
            self.blanks();
            if word == "time" && self.reserved(&["-p"]).is_some() {
                self.at += 2;
                self.blanks();
            }
        }
        loop {
            let command = self.command();
            pipeline.commands.push(command);
            self.blanks();
            if self.peek() != Some(b'|') || self.starts("||") {
                return pipeline;
            }
            self.at += 1;
            self.eat("&");
            self.space();
        }
    }

    pub(super) fn command(&mut self) -> Command {
        const OPENERS: [&str; 9] = ["{", "if", "while", "until", "for", "select", "case", "function", "[["];
        let body = match (self.peek(), self.reserved(&OPENERS)) {
            (Some(b'('), _) if self.starts("((") && self.is_arithmetic() => {
                self.parentheses();
                Body::Simple(Simple { words: vec!["((".to_owned()], ..Simple::default() })
            }
            (Some(b'('), _) => {
                self.at += 1;
                let script = self.deeper(Self::list);
                self.eat(")");
                Body::Subshell(script)
            }
            (_, Some(word)) => {
                self.at += word.len();
                self.deeper(|parser| parser.compound(word))
            }
            _ => return self.simple(),
        };
        let mut command = Command { body, redirects: Vec::new() };
        let mut inner = Vec::new();
        self.blanks();
        while self.redirect(&mut command.redirects, &mut inner) {
            self.blanks();
        }
        command
    }

    fn simple(&mut self) -> Command {
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if self.redirect(&mut redirects, &mut simple.inner) {
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    let mut after = self.rest()[1..].bytes().skip_while(|byte| b" \t".contains(byte));
                    if simple.words.len() == 1 && simple.assigns.is_empty() && after.next() == Some(b')') {
                        self.parentheses();
                        let name = simple.words.swap_remove(0);
                        return Command { body: self.function(name), redirects };
                    }
                    break;
                }
                _ => {
                    let name = if simple.words.is_empty() { self.assigned() } else { None };
                    if let Some(name) = name {
                        self.at += name.len();
                        self.at += if self.starts("+=") { 2 } else { 1 };
                        let value = if self.peek() == Some(b'(') {
                            self.parentheses();
                            String::new()
                        } else {
                            self.word(&mut simple.inner)
                        };
                        simple.assigns.push((name.to_owned(), value));
                    } else {
                        let word = self.word(&mut simple.inner);
                        simple.words.push(word);
                    }
                }
            }
        }
        Command { body: Body::Simple(simple), redirects }
    }

    /// The name before `=` or `+=`, if an assignment stands here.
    fn assigned(&self) -> Option<&'a str> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if !bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
            return None;
        }
        let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        (bytes[end] == b'=' || bytes[end..].starts_with(b"+=")).then(|| &rest[..end])
    }

    /// One redirection, if one stands here.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>, inner: &mut Vec<Script>) -> bool {
        const OPERATORS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">"];
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let start = self.at;
        self.at += digits;
        let operator = OPERATORS.iter().find(|o| self.starts(o) && !(digits > 0 && o.starts_with('&'))).copied();
        let Some(operator) = operator.filter(|_| !self.starts("<(") && !self.starts(">(")) else {
            self.at = start;
            return false;
        };
        self.at += operator.len();
        self.blanks();
        let target = match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b')' | b'(') => String::new(),
            Some(b'<' | b'>') if !self.starts("<(") && !self.starts(">(") => String::new(),
            _ => self.word(inner),
        };
        match operator {
            "<<" | "<<-" => {
                self.pending.push(Pending { body: self.bodies.len(), end: target, tabs: operator == "<<-" });
                redirects.push(Redirect::Here(self.bodies.len()));
                self.bodies.push(String::new());
            }
            "<<<" => redirects.push(Redirect::HereString(target)),
            "<" | "<&" => {}
            ">&" if target == "-" || target.bytes().all(|byte| byte.is_ascii_digit()) => {}
            _ if target.is_empty() => {}
            _ => redirects.push(Redirect::Out(target)),
        }
        true
    }
}
