//! The editor that a person has chosen, and the text that it is given.

use super::super::exit::UsageError;
use crate::domain::policy::Project;
use crate::files::Place;
use crate::runtime;
use crate::services::RunError;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// A longer text is not read: a lesson has room for a quarter of it.
const MOST_BYTES: u64 = 64 * 1024;
/// What to do without an editor.
const FLAGS: &str = "`--analysis`, `--suggestion` and `--action-item` change a lesson without an editor";

/// An editor, found and not started yet.
pub(super) struct Editor {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Editor {
    /// The editor that `VISUAL` or, without that, `EDITOR` names.
    ///
    /// # Errors
    /// If none of both does, or what they name cannot be started.
    pub(super) fn chosen() -> anyhow::Result<Self> {
        let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
            let value = std::env::var(name).ok()?;
            (!value.trim().is_empty()).then_some((name, value))
        });
        let Some((name, value)) = named else {
            return Err(UsageError(format!(
                "neither VISUAL nor EDITOR names an editor: set one, such as `EDITOR=nano`; {FLAGS}"
            ))
            .into());
        };
        let words = words(&value).map_err(|why| UsageError(format!("{name}: {why}; {FLAGS}")))?;
        let (first, arguments) =
            words.split_first().ok_or_else(|| UsageError(format!("{name} names no program; {FLAGS}")))?;
        let program = found(first)
            .ok_or_else(|| UsageError(format!("{name}: `{first}` is no program that can be started; {FLAGS}")))?;
        Ok(Self { program, arguments: arguments.to_vec() })
    }

    /// Lets a person change a text, and says what it has become and where it still lies.
    ///
    /// # Errors
    /// If the editor fails, or what it leaves cannot be read; what a person has written stays where it is then.
    pub(super) async fn change(self, text: &str, project: &Project, name: &str) -> anyhow::Result<(String, Draft)> {
        let draft = Draft::new(project, name);
        draft.0.create_private(text.as_bytes())?;
        let (path, name) = (draft.0.path().to_owned(), self.program.display().to_string());
        let ended = tokio::task::spawn_blocking(move || runtime::edit(&self.program, &self.arguments, &path)).await?;
        let why = match (ended, draft.read()) {
            (Err(error), _) => format!("{name} could not be started: {error}"),
            (Ok(status), _) if !status.success() => format!("{name} failed ({status})"),
            (Ok(_), Ok(text)) => return Ok((text, draft)),
            (Ok(_), Err(Unread::Gone)) => format!("{name} removed the text"),
            (Ok(_), Err(Unread::Because(why))) => format!("what {name} left cannot be read: {why}"),
        };
        Err(RunError::Environment(format!("{why}; nothing was changed{}", draft.left_of(text))).into())
    }
}

/// Why a text cannot be read.
enum Unread {
    /// There is no file any more.
    Gone,
    /// In words.
    Because(String),
}

/// The file with the text in a person's hands: outside of every project, and readable by that person alone.
pub(super) struct Draft(Place);

impl Draft {
    fn new(project: &Project, name: &str) -> Self {
        Self(Place::new(project.user_state(), PathBuf::from("edits").join(format!("{name}.txt"))))
    }

    fn read(&self) -> Result<String, Unread> {
        let mut bytes = Vec::new();
        let read = self.0.open_file().and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Unread::Gone,
            _ => Unread::Because(error.to_string()),
        })?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Unread::Because(format!("it is longer than {MOST_BYTES} bytes")));
        }
        String::from_utf8(bytes).map_err(|_| Unread::Because("it is not UTF-8".to_owned()))
    }

    /// Says where a person's words are, if there are any beside the text that was given; else nothing is left.
    fn left_of(&self, given: &str) -> String {
        match self.read() {
            Ok(text) if text == given => {
                self.remove();
                String::new()
            }
            Err(Unread::Gone) => String::new(),
            Ok(_) | Err(Unread::Because(_)) => format!(", and the text is in {self}"),
        }
    }

    /// Nobody needs it any more. One that stays is no harm.
    pub(super) fn remove(&self) {
        let _ = self.0.remove();
    }
}

impl std::fmt::Display for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.path().display().fmt(f)
    }
}

/// The file that a name stands for. What `PATH` has that begins at the current directory is left out: that is the project's.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    runtime::find_program(program, &std::env::current_dir().ok()?, &std::env::join_paths(dirs).ok()?)
}

/// The words of a command line: divided at blanks, where `'…'` and `"…"` hold blanks together and a `\` takes the next character as it is. Nothing else means
/// anything: no variable, no `~`, no `;` and no `|`, because no shell reads it.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = chars.next().ok_or("it ends with a `\\`")?;
                word.get_or_insert_default().push(next);
            }
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("a {open} is not closed")),
        None => Ok(words.into_iter().chain(word).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_divided_at_blanks_and_read_by_no_shell() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).unwrap(), expected, "{line}");
        check("vim", &["vim"]);
        check("  code  --wait ", &["code", "--wait"]);
        check(r#""/opt/my editor/ed" -c 'set tw=72' a\ b"#, &["/opt/my editor/ed", "-c", "set tw=72", "a b"]);
        check(r#"ed "" x"#, &["ed", "", "x"]);
        check("ed $HOME; rm ~ | cat `x`", &["ed", "$HOME;", "rm", "~", "|", "cat", "`x`"]);
        check(r#"ed "a\"b" 'c\d'"#, &["ed", "a\"b", r"c\d"]);
        check("", &[]);
        for (line, why) in
            [("ed 'x", "a ' is not closed"), ("ed \"x", "a \" is not closed"), ("ed \\", "it ends with a `\\`")]
        {
            assert_eq!(words(line).unwrap_err(), why);
        }
    }
}
