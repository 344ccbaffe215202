//! OpenCode's plugin: a whole file of ours, which a person may have added lines to.
//!
//! The last line is a digest of the others. A file that fits its digest is as some version of this program wrote it, and may be written
//! anew or removed; any other one holds something of a person's, and is left alone.

use super::EditError;
use super::agent::{Learn, Left};
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/plugins/opencode.js"));
/// How a plugin of ours begins, also one that a person has changed.
const BEGINNING: &str = "// Written by `reflexion hook install opencode`";
const DIGEST: &str = "// As it was written: sha256 ";
const PROGRAM: &str = "const PROGRAM = ";
const LEARNS: &str = "const LEARNS = ";
/// Plugins that were written without a digest, as they were for the program `reflexion` and without lessons.
const WITHOUT_DIGEST: [&str; 2] = [
    "e7a3a80d85a82ed661cb1a64aeb4e28221b5b03ee1924faec5797190bf43b206",
    "82ee765008070200ed081d005fd3337f47e6557555195479eee7b4eefffb57b7",
];

/// The file's new text; none if it has it already.
///
/// # Errors
/// If somebody else wrote the file, or wrote to it.
pub(super) fn install(program: &str, learn: Learn, old: Option<&str>) -> Result<Option<String>, EditError> {
    if let Some(old) = old.filter(|old| !old.trim().is_empty()) {
        if !old.starts_with(BEGINNING) {
            return Err(EditError { line: 1, column: 1, message: "this file is somebody else's plugin".to_owned() });
        }
        ensure_as_written(old)?;
    }
    let new = written(&quoted(program), learn == Learn::On);
    Ok(Some(new).filter(|new| Some(new.as_str()) != old))
}

/// What is left of the file without the plugin.
///
/// # Errors
/// If somebody wrote to it.
pub(super) fn uninstall(old: &str) -> Result<Left, EditError> {
    if !old.starts_with(BEGINNING) {
        return Ok(Left::Same);
    }
    ensure_as_written(old)?;
    Ok(Left::Nothing)
}

/// Whether the plugin gives lessons.
pub(super) fn learns(text: &str) -> bool {
    line_value(text, LEARNS) == Some("true")
}

fn written(program: &str, learns: bool) -> String {
    let body = with_values(TEMPLATE, program, learns);
    let digest = hex(&body);
    format!("{body}{DIGEST}{digest}\n")
}

fn ensure_as_written(text: &str) -> Result<(), EditError> {
    // A checkout may have other ends of lines.
    let text = text.replace("\r\n", "\n");
    let as_written = match text.rsplit_once(DIGEST) {
        Some((body, digest)) => digest.trim_end() == hex(body),
        None => WITHOUT_DIGEST.contains(&hex(&with_values(&text, "\"reflexion\"", false)).as_str()),
    };
    if as_written {
        return Ok(());
    }
    let message = "somebody has changed this plugin after it was installed (move those lines to a plugin of your own beside it, and delete this file)";
    Err(EditError { line: first_changed(&text), column: 1, message: message.to_owned() })
}

/// The first line that this version would not have written, from 1.
fn first_changed(text: &str) -> usize {
    let program = line_value(text, PROGRAM).unwrap_or("\"reflexion\"");
    let ours = written(program, learns(text));
    text.lines().zip(ours.lines()).take_while(|(theirs, ours)| theirs == ours).count() + 1
}

/// The text with these values where a plugin of ours has its own.
fn with_values(text: &str, program: &str, learns: bool) -> String {
    let line = |line: &str| {
        // Only a text is a program's name.
        let named = line.strip_prefix(PROGRAM).is_some_and(|value| serde_json::from_str::<String>(value).is_ok());
        match line.strip_prefix(LEARNS) {
            Some("true" | "false") => format!("{LEARNS}{learns}\n"),
            _ if named => format!("{PROGRAM}{program}\n"),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

fn line_value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn quoted(program: &str) -> String {
    serde_json::Value::from(program).to_string()
}

fn hex(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second version, from the template of today.
    #[test]
    fn what_was_written_without_a_digest_is_known() {
        let (from, to) = (TEMPLATE.find("      const tool_response").unwrap(), TEMPLATE.find("      try {").unwrap());
        let call = "      const said = call(\"after-tool\", input.sessionID, { tool_response: output.output })\n";
        let template = format!("{}{call}{}", &TEMPLATE[..from], &TEMPLATE[to..]);
        for program in ["reflexion", "/opt/it's \"mine\"/reflexion"] {
            let old = with_values(&template, &quoted(program), true);
            assert_eq!(uninstall(&old).unwrap(), Left::Nothing);
            assert!(learns(&install(program, Learn::On, Some(&old)).unwrap().unwrap()));
            assert!(uninstall(&format!("{old}// mine\n")).is_err());
        }
    }

    #[test]
    fn a_digest_knows_every_version_and_every_change() {
        let other = "// Written by `reflexion hook install opencode`; some day\nexport const Reflexion = 1\n";
        let other = format!("{other}{DIGEST}{}\n", hex(other));
        assert_eq!(uninstall(&other).unwrap(), Left::Nothing);
        assert_eq!(uninstall(&other.replace('\n', "\r\n")).unwrap(), Left::Nothing);
        for changed in [other.replace("= 1", "= 2"), format!("{other}export const Mine = 1\n")] {
            assert!(uninstall(&changed).is_err() && install("reflexion", Learn::Off, Some(&changed)).is_err());
        }
    }
}
