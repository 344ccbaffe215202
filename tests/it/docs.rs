//! The documents say what is so: generated ones are compared with their source, links lead somewhere, commands and
//! examples are understood by the program.
//!
//! `UPDATE_DOCS=1 cargo test --test it docs` writes the generated documents anew.

use assert_cmd::Command;
use reflexion::config;
use reflexion::domain::{
    AttemptRecord, Capture, Event, FailureContext, JournalEntry, LessonEvent, Reflection, Risk, RiskThreshold,
    RunReport, SelfReport, SessionVerdict, Task, TaskMark, TranscriptRecord,
};
use reflexion::prompt::parse_reply;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Compares a committed file with what the code says it should be, or writes it.
fn generated(file: &str, wanted: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(file), wanted).unwrap();
        return;
    }
    let found = fs::read_to_string(root().join(file)).unwrap_or_default();
    let differs = found.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| found.lines().count().min(wanted.lines().count())) + 1;
    assert!(
        found == wanted,
        "{file} is out of date from line {line} on; write it anew with `UPDATE_DOCS=1 cargo test --test it docs`"
    );
}

#[test]
fn the_configuration_reference_is_current() {
    generated("docs/configuration.md", &config::reference());
}

#[test]
fn the_schema_is_current() {
    generated("config/project.schema.json", &config::schema());
}

#[test]
fn the_schema_of_records_is_current() {
    generated("config/reflection.v1.schema.json", &config::capture_schema());
}

#[test]
fn the_command_line_reference_is_current() {
    generated("docs/cli.md", &reflexion::cli::reference());
}

/// A fenced block: the heading it stands under, its language, what it holds, and its first line's number.
struct Block {
    heading: String,
    language: String,
    text: String,
    line: usize,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut inside, mut heading) = (false, "");
    for (number, line) in document.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(language) => {
                inside = true;
                let (heading, language) = (heading.to_owned(), language.trim().to_owned());
                found.push(Block { heading, language, text: String::new(), line: number + 2 });
            }
            None if inside => {
                let block = found.last_mut().expect("a block was pushed when it began");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => heading = line.strip_prefix("## ").unwrap_or(heading),
        }
    }
    assert!(!inside, "a fenced block has no end");
    found
}

/// The words of a command line as a shell would see them: quotes group, `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let (mut found, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => found.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    found.extend(word);
    found
}

/// Every command in the shell blocks; `&&`, `|` and redirections end a command.
fn commands(blocks: &[Block]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for block in blocks.iter().filter(|b| matches!(b.language.as_str(), "sh" | "console")) {
        let prompted = block.language == "console";
        for line in block.text.lines() {
            let line = if prompted { line.strip_prefix("$ ").unwrap_or_default() } else { line };
            for part in words(line).split(|w| w == "&&" || w == "|" || w.starts_with('>') || w.starts_with('<')) {
                let assigned = |w: &&String| w.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
                found.push(part.iter().skip_while(assigned).cloned().collect::<Vec<_>>());
            }
        }
    }
    found.retain(|c| !c.is_empty());
    found
}

/// Asks the program for help on a command: wrong subcommands, flags and values are refused before help is given, and
/// nothing is done.
fn check_reflexion(args: &[String]) {
    let output = Command::cargo_bin("reflexion").unwrap().args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "`reflexion {}`: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
}

fn check_cargo(args: &[String]) {
    let (own, passed) = match args.iter().position(|a| a == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    assert!(["run", "test", "bench", "install", "doc"].contains(&own[0].as_str()), "`cargo {}`", own[0]);
    let value_of = |flag: &str| own.iter().position(|a| a == flag).map(|at| own[at + 1].as_str());
    for (flag, place) in [("--example", "examples"), ("--bench", "benches")] {
        if let Some(name) = value_of(flag) {
            assert!(root().join(place).join(format!("{name}.rs")).exists(), "there is no {place}/{name}.rs");
        }
    }
    if own[0] == "run" && !own.contains(&"--example".to_owned()) {
        check_reflexion(passed);
    }
}

#[test]
fn the_commands_of_the_readme_are_understood() {
    let commands = commands(&blocks(&read("README.md")));
    assert!(commands.len() >= 10, "the README shows how to use it: {commands:?}");
    for command in commands {
        match command[0].as_str() {
            "reflexion" => check_reflexion(&command[1..]),
            "cargo" => check_cargo(&command[1..]),
            script if script.starts_with(".ci/") => assert!(root().join(script).exists(), "{script}"),
            "python3" => assert!(root().join(&command[1]).exists(), "{}", command[1]),
            "git" | "cd" | "cat" => {}
            other => panic!("the README asks for `{other}`, which nobody checks"),
        }
    }
}

#[test]
fn the_quick_start_is_two_commands() {
    let readme = read("README.md");
    let start: Vec<Block> = blocks(&readme).into_iter().filter(|b| b.heading == "Quick start").collect();
    assert_eq!(commands(&start), [words("cargo run -- run --trust"), words("cargo test")]);
}

#[test]
fn the_code_of_the_readme_is_that_of_the_examples() {
    let examples: String = ["batch", "own_loop", "unit_test"].map(|e| read(&format!("examples/{e}.rs"))).concat();
    let known: Vec<&str> = examples.lines().map(str::trim).collect();
    for block in blocks(&read("README.md")).iter().filter(|b| b.language == "rust") {
        // `// …` stands for what was left out.
        for line in block.text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("// …")) {
            assert!(known.contains(&line), "no example has this line of README.md: {line}");
        }
    }
}

/// Targets of `[…](target)`, without those outside the repository.
fn links(document: &str) -> Vec<String> {
    let prose: String = document.split("```").step_by(2).collect();
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    let mut documents: Vec<PathBuf> = fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()).collect();
    documents.push(root().join("README.md"));
    assert!(links(&read("README.md")).contains(&"docs/formats.md".to_owned()), "links are found at all");
    for document in documents.iter().filter(|d| d.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for link in links(&text) {
            let (file, heading) = link.split_once('#').map_or((link.as_str(), None), |(f, h)| (f, Some(h)));
            let target = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} does not exist", document.display());
            if let Some(heading) = heading {
                let text = fs::read_to_string(&target).unwrap();
                let found =
                    text.lines().filter(|l| l.starts_with('#')).any(|l| anchor(l.trim_start_matches('#')) == heading);
                assert!(found, "{}: {link} names no heading", document.display());
            }
        }
    }
}

/// The two things of JSON Schema that keep a project file from being read: unknown keys and wrong types.
fn check_against_schema(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = &root["$defs"][name.trim_start_matches("#/$defs/")];
        return check_against_schema(root, target, value, path);
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let fits = choices.iter().any(|c| check_against_schema(root, c, value, path).is_ok());
        return if fits { Ok(()) } else { Err(format!("`{path}` is none of what is allowed")) };
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        return Err(format!("`{path}` is not {}", schema["const"]));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    if !allowed.is_empty() && !allowed.contains(&kind) {
        return Err(format!("`{path}` is {kind}, and not {}", allowed.join(" or ")));
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let known = &schema["properties"][key];
        match (known, &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return Err(format!("`{path}` is unknown")),
            (Value::Null, others) => check_against_schema(root, others, inner, &path)?,
            (known, _) => check_against_schema(root, known, inner, &path)?,
        }
    }
    value.as_array().into_iter().flatten().try_for_each(|i| check_against_schema(root, &schema["items"], i, path))
}

#[test]
fn project_files_follow_the_shipped_schema() {
    let schema: Value = serde_json::from_str(&read("config/project.schema.json")).unwrap();
    let check = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        check_against_schema(&schema, &schema, &value, "project.json")
    };
    check(&read("project.json")).unwrap();
    assert!(check(r#"{"maxAttempt": 3}"#).is_err());
    assert!(check(r#"{"agents": {"claude": {"type": "telepathy"}}}"#).is_err());
    assert!(check(r#"{"reflexion": {"enabled": "yes"}}"#).is_err());
    load(&read("project.json"));
}

/// Reads a `project.json` as the program does.
fn load(text: &str) -> config::Effective {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("project.json"), text).unwrap();
    let inputs = config::Inputs { dir: dir.path().to_owned(), ..config::Inputs::default() };
    config::load(&inputs).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_settings_that_documents_show_exist() {
    let readme = read("README.md");
    let settings = ["docs/configuration.md", "docs/agents.md"].map(|document| blocks(&read(document)));
    let all = blocks(&readme).into_iter().chain(settings.into_iter().flatten());
    let examples: Vec<Block> = all.filter(|b| b.language == "json").collect();
    assert_eq!(examples.len(), 8);
    for Block { text, line, .. } in &examples {
        // A reflection is the other thing of which the README shows the JSON.
        if parse::<Value>(text, *line)["analysis"].is_string() {
            parse::<Reflection>(text, *line);
        } else {
            load(text);
        }
    }
    // Keys in the text are written as `reflexion.enabled`, `retry.start`, `maxAttempts`.
    let known: Value = serde_json::from_str(&config::schema()).unwrap();
    let reference = config::reference();
    let sections: Vec<&String> = known["properties"].as_object().unwrap().keys().collect();
    for word in readme.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2)) {
        let is_path = word.split('.').all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_alphabetic()));
        let Some((section, _)) = word.split_once('.').filter(|_| is_path) else { continue };
        if sections.iter().any(|s| *s == section) && section != "agents" && section != "project" && section != "tasks" {
            assert!(reference.contains(&format!("`{word}`")), "README names the key `{word}`, which does not exist");
        }
    }
}

fn parse<T: DeserializeOwned>(text: &str, line: usize) -> T {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("the example in line {line}: {e}\n{text}"))
}

#[test]
fn the_record_that_is_shown_is_one() {
    let text = read("docs/hooks.md");
    let shown: Vec<Block> = blocks(&text).into_iter().filter(|b| b.language == "json").collect();
    let record: Capture = parse(&shown[0].text, shown[0].line);
    assert_eq!(record.risk, Risk::of(&record.files_changed, RiskThreshold::default()));
    SelfReport::read(shown[1].text.as_bytes(), &[&record.session_id]).unwrap();
    for words in blocks(&text).iter().filter(|b| b.language == "sh").flat_map(|b| b.text.lines()) {
        if let Some(command) = words.strip_prefix("reflexion ") {
            check_reflexion(&self::words(command));
        }
    }
}

/// A line of the journal.
#[derive(Deserialize)]
struct JournalLine {
    v: u32,
    #[serde(flatten)]
    _entry: JournalEntry,
}

#[test]
fn the_examples_of_the_formats_are_read() {
    let document = read("docs/formats.md");
    let mut seen = Vec::new();
    for Block { heading, text, line, .. } in blocks(&document).iter().filter(|b| b.language == "json") {
        let each = || text.lines().filter(|l| !l.is_empty());
        match heading.as_str() {
            "Task file" => each().for_each(|l| drop(parse::<Task>(l, *line))),
            "What runs found out" => each().for_each(|l| drop(parse::<TaskMark>(l, *line))),
            "Reflections" => each().for_each(|l| drop(parse::<Reflection>(l, *line))),
            "Journal" => each().for_each(|l| assert_eq!(parse::<JournalLine>(l, *line).v, 1)),
            "Events" => each().for_each(|l| {
                let event = parse::<Event>(l, *line);
                assert_eq!(serde_json::to_string(&event).unwrap(), l, "as it would be written");
            }),
            "Attempts" => each().for_each(|l| {
                let attempt = parse::<AttemptRecord>(l, *line);
                assert_eq!(serde_json::to_string(&attempt).unwrap(), l, "as it would be written");
            }),
            "What becomes of lessons" => each().for_each(|l| {
                let event = parse::<LessonEvent>(l, *line);
                assert_eq!(serde_json::to_string(&event).unwrap(), l, "as it would be written");
            }),
            "Transcripts" => each().for_each(|l| assert_eq!(parse::<TranscriptRecord>(l, *line).v, 1)),
            "Verdicts" => each().for_each(|l| assert_eq!(parse::<SessionVerdict>(l, *line).v, 1)),
            "Judged transcripts" => {
                let reading = reflexion::reading::read(text.as_bytes(), None).expect("the plain form");
                assert_eq!((reading.trace.calls, reading.unread.total()), (3, 0));
            }
            "Command generator" if text.contains("\"failureType\"") => drop(parse::<FailureContext>(text, *line)),
            "Command generator" => drop(parse_reply(text).expect("the answer of a generator")),
            "The report of a run" => drop(parse::<RunReport>(text, *line)),
            other => panic!("line {line}: nobody reads the example under `{other}`"),
        }
        seen.push(heading.clone());
    }
    seen.dedup();
    let wanted = [
        "Task file",
        "What runs found out",
        "Reflections",
        "Journal",
        "Events",
        "Attempts",
        "What becomes of lessons",
        "Transcripts",
        "Verdicts",
        "Judged transcripts",
        "Command generator",
        "The report of a run",
    ];
    assert_eq!(seen, wanted);
}
