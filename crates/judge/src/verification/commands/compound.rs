//! Commands made of commands: groups, `if`, `case`, loops, functions, `[[ … ]]`.

use super::syntax::{Body, Parser, Simple};

impl Parser<'_> {
    /// What follows a word that opens such a command.
    pub(super) fn compound(&mut self, word: &str) -> Body {
        match word {
            "{" => {
                let script = self.list();
                self.close("}");
                Body::Group(script)
            }
            "if" => {
                let mut parts = vec![self.list()];
                while let Some(next @ ("then" | "elif" | "else")) = self.closer() {
                    self.at += next.len();
                    parts.push(self.list());
                }
                self.close("fi");
                Body::Branches(parts)
            }
            "case" => self.case(),
            "[[" => self.condition(),
            "function" => {
                self.blanks();
                let name = self.word(&mut Vec::new());
                self.blanks();
                self.parentheses();
                self.function(name)
            }
            "while" | "until" => {
                let mut parts = vec![self.list()];
                self.close("do");
                parts.push(self.list());
                self.close("done");
                Body::Loop(parts)
            }
            _ => self.each(),
        }
    }

    /// Consumes what was to come; a line that has something else there is broken, and read on.
    fn close(&mut self, word: &'static str) {
        if self.reserved(&[word]).is_some() {
            self.at += word.len();
        }
    }

    pub(super) fn function(&mut self, name: String) -> Body {
        self.space();
        let body = self.deeper(Self::command);
        Body::Function(name, Box::new(body))
    }

    /// `for x in a b; do … done`, after `for`.
    fn each(&mut self) -> Body {
        let mut parts = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';') => break,
                Some(b'(') => self.parentheses(),
                _ if self.reserved(&["do"]).is_some() => break,
                Some(b'&' | b'|' | b')' | b'<' | b'>') => self.at += 1,
                _ => {
                    self.word(&mut parts);
                }
            }
        }
        self.eat(";");
        self.space();
        self.close("do");
        parts.push(self.list());
        self.close("done");
        Body::Loop(parts)
    }

    /// `case x in a|b) …;; esac`, after `case`.
    fn case(&mut self) -> Body {
        let mut parts = Vec::new();
        self.blanks();
        self.word(&mut parts);
        self.space();
        if self.reserved(&["in"]).is_some() {
            self.at += 2;
        }
        loop {
            self.space();
            if self.peek().is_none() || self.reserved(&["esac"]).is_some() {
                break;
            }
            let before = self.at;
            self.eat("(");
            while self.peek().is_some_and(|byte| byte != b')' && byte != b'\n') {
                if self.peek().is_some_and(|byte| b" \t|;&<>(".contains(&byte)) {
                    self.at += 1;
                } else {
                    self.word(&mut parts);
                }
            }
            self.eat(")");
            parts.push(self.list());
            let _ = self.eat(";;&") || self.eat(";;") || self.eat(";&");
            if self.at == before || self.closer().is_some_and(|word| word != "esac") {
                break;
            }
        }
        self.close("esac");
        Body::Branches(parts)
    }

    /// `[[ … ]]`, after `[[`: its `&&` and `<` are no operators of the shell.
    fn condition(&mut self) -> Body {
        let mut simple = Simple { words: vec!["[[".to_owned()], ..Simple::default() };
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                _ if self.reserved(&["]]"]).is_some() => {
                    self.at += 2;
                    break;
                }
                Some(b'\n' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' | b';') => self.at += 1,
                _ => {
                    self.word(&mut simple.inner);
                }
            }
        }
        Body::Simple(simple)
    }
}
