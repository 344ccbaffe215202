//! Changing a settings file in the shape that Claude Code, Codex and Gemini CLI share:
//! `{"hooks": {EVENT: [{"matcher"?, "hooks": [{"type": "command", "command", "timeout"}]}]}}`.
//!
//! The text is edited as a concrete syntax tree, so that order, spacing, comments and keys that nobody here knows stay.

use super::agent::is_ours;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};

/// A file that cannot be changed safely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct EditError {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// A hook that is to be there.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The agent's event.
    pub event: String,
    /// The tools that it is called for; for all where there is none.
    pub matcher: Option<String>,
    /// The command line.
    pub command: String,
    /// In the agent's own unit.
    pub timeout: u64,
}

/// Comments and trailing commas are what editors and people leave; everything else that is no JSON is a mistake.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The text with exactly these hooks of ours: others are kept, older ones of ours replaced.
pub(super) fn install(text: &str, entries: &[Entry]) -> Result<String, EditError> {
    if is_all_ours(text) && entries.iter().any(|entry| !text.contains(&quoted(&entry.command))) {
        return Ok(fresh(entries));
    }
    let (mark, text) = without_mark(text);
    Ok(format!("{mark}{}", with(text, entries)?))
}

fn with(text: &str, entries: &[Entry]) -> Result<String, EditError> {
    let (root, object) = parse(text)?;
    if entries.iter().all(|entry| holds(&object, entry)) && ours(&object).len() == entries.len() {
        return Ok(text.to_owned());
    }
    remove_ours(&object);
    let place = Place { text };
    let hooks = match object.get("hooks") {
        Some(prop) => prop.object_value().ok_or_else(|| place.wrong("hooks", "an object"))?,
        None => object.object_value_or_set("hooks"),
    };
    for entry in entries {
        let groups = match hooks.get(&entry.event) {
            Some(prop) => prop.array_value().ok_or_else(|| place.wrong(&entry.event, "a list"))?,
            None => hooks.array_value_or_set(&entry.event),
        };
        groups.ensure_multiline();
        let matcher = entry.matcher.iter().map(|tools| ("matcher".to_owned(), CstInputValue::String(tools.clone())));
        let hooks = (
            "hooks".to_owned(),
            CstInputValue::Array(vec![CstInputValue::Object(vec![
                ("type".to_owned(), CstInputValue::String("command".to_owned())),
                ("command".to_owned(), CstInputValue::String(entry.command.clone())),
                ("timeout".to_owned(), CstInputValue::Number(entry.timeout.to_string())),
            ])]),
        );
        groups.append(CstInputValue::Object(matcher.chain([hooks]).collect()));
    }
    Ok(ended(root.to_string(), text))
}

/// The text without hooks of ours, and without what would be empty for that.
pub(super) fn uninstall(text: &str) -> Result<String, EditError> {
    let (mark, plain) = without_mark(text);
    let (root, object) = parse(plain)?;
    if ours(&object).is_empty() {
        return Ok(text.to_owned());
    }
    remove_ours(&object);
    Ok(format!("{mark}{root}"))
}

/// A file that was not there: nobody else would write one that looks like this.
pub(super) fn fresh(entries: &[Entry]) -> String {
    let event = |entry: &Entry| {
        let Entry { event, matcher, command, timeout } = entry;
        let hook = format!(r#"{{ "type": "command", "command": {}, "timeout": {timeout} }}"#, quoted(command));
        let matcher = matcher.as_ref().map(|tools| format!("\"matcher\": {}, ", quoted(tools))).unwrap_or_default();
        format!("    {}: [\n      {{ {matcher}\"hooks\": [{hook}] }}\n    ]", quoted(event))
    };
    let events: Vec<String> = entries.iter().map(event).collect();
    format!("{{\n  \"hooks\": {{\n{}\n  }}\n}}\n", events.join(",\n"))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether the file was made by us and nobody wrote to it since.
pub(super) fn is_all_ours(text: &str) -> bool {
    let entry = |ours: Ours| {
        let timeout = ours.hook.as_object()?.get("timeout")?.value()?.to_string().parse().ok()?;
        Some(Entry { event: ours.event, matcher: ours.matcher, command: ours.command, timeout })
    };
    let entries: Vec<Entry> =
        parse(text).map(|(_, object)| ours(&object)).unwrap_or_default().into_iter().filter_map(entry).collect();
    !entries.is_empty() && fresh(&entries) == text
}

/// Whether one of our hooks is called with this word.
pub(super) fn has_word(text: &str, flag: &str) -> bool {
    let ours = parse(without_mark(text).1).map(|(_, object)| ours(&object)).unwrap_or_default();
    ours.iter().any(|ours| ours.command.split(' ').any(|word| word == flag))
}

/// What some editors put before a text (U+FEFF), which is no JSON, and the text.
fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// A new file ends as files do.
fn ended(new: String, old: &str) -> String {
    if old.trim().is_empty() && !new.ends_with('\n') { new + "\n" } else { new }
}

fn parse(text: &str) -> Result<(CstRootNode, CstObject), EditError> {
    let wrong = |line, column, message: String| EditError { line, column, message };
    if text.trim().is_empty() {
        return parse("{}");
    }
    let root = CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| wrong(error.line_display(), error.column_display(), error.kind().to_string()))?;
    let object = root.object_value().ok_or_else(|| wrong(1, 1, "the settings are no object".to_owned()))?;
    Ok((root, object))
}

/// Where a key stands in a text, for errors.
struct Place<'a> {
    text: &'a str,
}

impl Place<'_> {
    fn wrong(&self, key: &str, expected: &str) -> EditError {
        let quoted = format!("\"{key}\"");
        let at = self.text.find(&quoted).unwrap_or(0);
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        EditError { line, column, message: format!("`{key}` is not {expected}, as hooks need it") }
    }
}

/// One hook of ours, with the list that holds it and that list's group and event.
struct Ours {
    hook: CstNode,
    command: String,
    event: String,
    matcher: Option<String>,
}

/// Every hook of ours; what has another shape than hooks have is not looked into.
fn ours(object: &CstObject) -> Vec<Ours> {
    let mut found = Vec::new();
    let Some(hooks) = object.object_value("hooks") else { return found };
    for event in hooks.properties() {
        let name = event.decoded_name().unwrap_or_default();
        let of_groups = event.array_value().iter().flat_map(groups).collect::<Vec<_>>();
        let all =
            of_groups.iter().flat_map(|(group, hooks)| hooks.elements().into_iter().map(move |hook| (group, hook)));
        for (group, hook) in all {
            let Some(fields) = hook.as_object() else { continue };
            let Some(command) = text(&fields, "command").filter(|command| is_ours(&name, command)) else { continue };
            found.push(Ours { hook, command, event: name.clone(), matcher: text(group, "matcher") });
        }
    }
    found
}

/// The groups of an event that hold hooks.
fn groups(event: &CstArray) -> Vec<(CstObject, CstArray)> {
    let group = |node: CstNode| {
        let group = node.as_object()?;
        let hooks = group.array_value("hooks")?;
        Some((group, hooks))
    };
    event.elements().into_iter().filter_map(group).collect()
}

fn text(object: &CstObject, key: &str) -> Option<String> {
    object.get(key)?.value()?.as_string_lit()?.decoded_value().ok()
}

fn holds(object: &CstObject, entry: &Entry) -> bool {
    ours(object).iter().any(|ours| {
        // A timeout of the user's own is kept.
        ours.event == entry.event && ours.command == entry.command && ours.matcher == entry.matcher
    })
}

/// Removes our hooks, and the groups, events and `hooks` that only held them.
fn remove_ours(object: &CstObject) {
    for ours in ours(object) {
        ours.hook.remove();
        let Some(hooks) = object.object_value("hooks") else { continue };
        let Some(event) = hooks.get(&ours.event) else { continue };
        let Some(list) = event.array_value() else { continue };
        for (group, _) in groups(&list).into_iter().filter(|(_, hooks)| hooks.elements().is_empty()) {
            group.remove();
        }
        if list.elements().is_empty() {
            event.remove();
        }
        if hooks.properties().is_empty()
            && let Some(hooks) = object.get("hooks")
        {
            hooks.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> [Entry; 2] {
        let entry = |event: &str, what: &str| Entry {
            event: event.to_owned(),
            matcher: None,
            command: format!("reflexion hook {what} --agent claude"),
            timeout: 30,
        };
        [entry("SessionStart", "session-start"), entry("Stop", "stop")]
    }

    const FULL: &str = r#"{
  // what I like
  "model": "opus", /* not sonnet */
  "zzz": 1,
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say done", "async": true } ] }, // mine
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check hook stop"}]}]
  },
  "aaa": [1, 2,
    3]
}
"#;

    #[test]
    fn what_is_there_stays_byte_for_byte() {
        let check = |old: &str| {
            let new = install(old, &entries()).unwrap();
            assert_ne!(new, old);
            assert_eq!(install(&new, &entries()).unwrap(), new, "the second time nothing changes");
            let gone = uninstall(&new).unwrap();
            let compact =
                |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}").replace(",]", "]");
            // What was empty before is as good as not there.
            let old_kept = old.replace("\"hooks\":{}", "").replace("\"hooks\":{\"Stop\":[]},", "");
            assert_eq!(compact(&gone), compact(&old_kept), "{new}\n---\n{gone}");
            let value = CstRootNode::parse(&new, &OPTIONS).unwrap().to_serde_value().unwrap();
            for (event, what) in [("SessionStart", "session-start"), ("Stop", "stop")] {
                let last = value["hooks"][event].as_array().unwrap().last().unwrap()["hooks"][0].clone();
                assert_eq!(last["command"], format!("reflexion hook {what} --agent claude"), "{new}");
                assert_eq!((&last["type"], &last["timeout"]), (&"command".into(), &30.into()));
            }
            for line in old.lines().filter(|line| line.contains("//") || line.contains("/*") || line.contains("zzz")) {
                assert!(new.contains(line), "{line} is not in\n{new}");
            }
        };
        check(FULL);
        check("{}");
        check("{\"hooks\":{}}");
        check("{\"hooks\":{\"Stop\":[]},\"x\":{\"y\":[]}}");
        check("\t{\n\t\t\"a\": 1\n\t}\n\n");
        check("{\r\n  \"a\": 1\r\n}\r\n");
    }

    #[test]
    fn a_file_of_our_own_making_is_known_from_one_that_was_there() {
        let gated =
            entries().map(|entry| Entry { command: entry.command.replace(" --agent", " --verify --agent"), ..entry });
        let ours = fresh(&entries());
        assert!(is_all_ours(&ours) && !has_word(&ours, "--verify"));
        let value: serde_json::Value = serde_json::from_str(&ours).unwrap();
        assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "reflexion hook stop --agent claude");
        assert_eq!(install(&ours, &entries()).unwrap(), ours);
        let judging = install(&ours, &gated).unwrap();
        assert!(is_all_ours(&judging) && has_word(&judging, "--verify"), "{judging}");
        assert!(is_all_ours(&ours.replace("30", "90")), "a timeout of the user's own");
        for there in ["", "{}", "{}\n", "{\n}\n", "{\"hooks\":{}}", "{\n  \"hooks\": {\n  }\n}\n"] {
            let new = install(there, &entries()).unwrap();
            assert!(!is_all_ours(&new), "{there}: {new}");
            assert!(!is_all_ours(there), "{there}");
        }
    }

    #[test]
    fn a_byte_order_mark_stays() {
        let new = install("\u{feff}{\"a\": 1}\n", &entries()).unwrap();
        assert!(new.starts_with("\u{feff}{") && new.contains("\"a\": 1") && new.contains("hook stop"), "{new}");
        assert_eq!(install(&new, &entries()).unwrap(), new);
        let gone = uninstall(&new).unwrap();
        assert_eq!(gone.split_whitespace().collect::<String>(), "\u{feff}{\"a\":1}");
    }

    #[test]
    fn an_older_hook_of_ours_is_replaced() {
        let old = install(FULL, &entries()).unwrap().replace("\"reflexion hook", "\"'/old path/bin/reflexion' hook");
        let new = install(&old, &entries()).unwrap();
        assert_eq!(new.matches("reflexion").count(), 2, "{new}");
        assert_eq!(new.matches("say done").count(), 1);
        assert!(uninstall(&old).unwrap().contains("say done"));
    }

    #[test]
    fn a_timeout_of_the_users_own_stays() {
        let own = install("", &entries()).unwrap().replacen("30", "90", 1);
        assert_eq!(install(&own, &entries()).unwrap(), own);
    }

    #[test]
    fn a_new_file_is_readable() {
        let new = install("", &entries()).unwrap();
        assert!(new.ends_with("}\n") && new.lines().count() > 10, "{new}");
        assert_eq!(uninstall(&new).unwrap().trim(), "{}");
        assert_eq!(uninstall("{\"a\":1}").unwrap(), "{\"a\":1}");
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        let check = |text: &str, line: usize, words: &str| {
            let error = install(text, &entries()).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.message.contains(words), "{error}");
        };
        check("{\n  \"a\": 1\n  \"b\": 2\n}", 2, "comma");
        check("{\n  \"a\": [1,\n", 2, "");
        check("[]", 1, "no object");
        check("{\n \"x\": 1,\n \"hooks\": []}", 3, "`hooks` is not an object");
        check("{\n \"hooks\": {\n  \"Stop\": {} }}", 3, "`Stop` is not a list");
        check("{} {}", 1, "");
        check("{'a': 1}", 1, "");
    }

    #[test]
    fn only_our_own_commands_are_ours() {
        for ours in [
            "reflexion hook stop",
            "reflexion hook stop --verify --agent claude",
            "/usr/local/bin/reflexion hook session-start --agent codex",
            "'/with space/reflexion' hook stop",
            r"'/it'\''s here/reflexion' hook stop --agent claude",
            "\"/old path/reflexion\" hook session-start --verify --agent claude",
            "reflexion hook stop --project /x",
            "/opt/reflexion-0.1.0 hook stop --agent claude",
            "/opt/reflexion-x86_64-linux hook stop --agent claude",
            "rfx hook stop --verify --agent codex",
            "'/with space/rfx' hook stop --agent claude",
        ] {
            assert!(is_ours("Stop", ours), "{ours}");
        }
        for others in [
            "say hook stop",
            "reflexion-old hook stop",
            "reflexion hook stopwatch",
            "reflexion run",
            "hook stop",
            "other-tool hook stop",
            "other-tool hook stop --agent all",
            "other-tool hook stop --agent claude --quiet",
            "other-tool run hook stop --agent claude",
            "other-tool hook session-start --agent claude",
            "other-tool hook stop --agent gemini",
        ] {
            assert!(!is_ours("Stop", others), "{others}");
        }
        for others in [
            "reflexion hook stop --agent claude && notify-send done",
            "reflexion hook stop; say done",
            "reflexion hook stop|tee x",
            "reflexion hook stop > log",
            "reflexion hook stop --agent $(whoami)",
            "reflexion hook stop --agent",
            "reflexion hook stop --agent claude --mine",
            "REFLECTION_MODE=solo reflexion hook stop",
            "echo hi; reflexion hook stop",
            "reflexion hook stop 'unclosed",
        ] {
            assert!(!is_ours("Stop", others), "{others}");
        }
    }
}
