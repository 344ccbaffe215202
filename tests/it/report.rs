//! `report` and `status` from outside: on a real run, on a made-up night, and on what is left of a journal that was cut off
//! anywhere. Neither ever says what is not so.

use super::made_up_night;
use super::made_up_night::Night;
use super::project::{Project, RIGHT, RIGHT_AT_TWO};
use jiff::tz::TimeZone;
use pulldown_cmark::{Event, Options, Parser, Tag};
use reflexion::domain::{JournalEntry, Life, LineProblem, MergeOutcome, RunId, RunLog, Timestamp};
use reflexion::report::night as told;
use reflexion::report::night::{NightState, Times};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

fn times() -> Times {
    Times { zone: TimeZone::get("Europe/Berlin").unwrap(), now: "2026-11-22T06:30:00Z".parse().unwrap() }
}

/// Every form of a report; all of them are made, whatever the journal.
fn forms(night: &told::Night) -> Vec<String> {
    let times = times();
    let json = serde_json::to_string(night).unwrap();
    vec![
        told::text(night, &times),
        told::markdown(night, &times),
        told::html(night, &times),
        told::status(night, &times),
        json,
    ]
}

/// A project with the journal of a made-up run.
fn with_journal(journal: &str) -> Project {
    let project = Project::new("true");
    project.write(&format!(".reflection/runs/{}/journal.jsonl", made_up_night::run()), journal);
    project
}

#[test]
fn a_real_run_is_told_in_every_form() {
    let project = Project::new(RIGHT_AT_TWO);
    project.run(&["run"]).exits(0);
    let text = project.run(&["report"]).exits(0).stdout.clone();
    for part in [
        "The run is over: 1 of 1 task confirmed on a branch of its own. Nothing needs you.",
        "confirmed at attempt 2; red turned green",
        "$ git merge reflexion/",
        "was in the prompt of attempt 2 of a (confirmed)",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    // What it changes is read from the repository.
    assert!(text.contains("changes 1 file (+1 −1 lines): `answer.txt`"), "{text}");
    let see = text.lines().find_map(|line| line.trim().strip_suffix("  # see the whole change")).unwrap();
    let see: Vec<&str> = see.strip_prefix("$ git ").unwrap().split(' ').collect();
    assert!(project.git(&see).contains("+right"), "{see:?}");
    let run = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().next().unwrap().unwrap().file_name();
    let run = run.into_string().unwrap();
    let path = project.run(&["report", &run[..12], "--html"]).exits(0).stdout.clone();
    assert!(path.trim_end().ends_with(&format!(".reflection/runs/{run}/report.html")), "{path}");
    let page = fs::read_to_string(path.trim_end()).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<span class=\"add\">+right\n</span>"), "{page}");
    let json: Value = serde_json::from_str(&project.run(&["report", "--json"]).exits(0).stdout.clone()).unwrap();
    assert_eq!((&json["v"], &json["run"], &json["counts"]["confirmed"]), (&1.into(), &run.clone().into(), &1.into()));
    assert_eq!(json["lessons"][0]["injectedInto"], serde_json::json!([1]));
    std::os::unix::fs::symlink(&project.out, project.dir.join("docs")).unwrap();
    project.run(&["report", "--md", "--out", "docs/night.md"]).exits(4).says("is a symbolic link");
    assert!(!project.out.join("night.md").exists());
    let markdown = project.run(&["report", "--md", "--out", "night.md"]).exits(0).stdout.clone();
    assert_eq!(markdown, "night.md\n");
    assert!(String::from_utf8(project.read("night.md")).unwrap().contains("## Needs you\n\nNothing."));
    assert!(project.run(&["report", "--html", "--out", "-"]).exits(0).stdout.clone().starts_with("<!DOCTYPE html>"));
    let status = project.run(&["status"]).exits(0).stdout.clone();
    assert!(status.contains("came to its end, today") && status.contains("1 of 1 task has a result"), "{status}");
}

#[test]
fn out_replaces_what_a_person_names_and_nothing_that_would_be_missed() {
    let project = Project::new(RIGHT_AT_TWO);
    project.run(&["run"]).exits(0);
    let read = |file: &str| String::from_utf8(project.read(file)).unwrap();
    let out = |format: &str, file: &str| project.run(&["report", format, "--out", file]);
    project.write("notes.txt", "mine");
    project.write("code.rs", "fn saved() {}");
    project.git(&["add", "code.rs"]);
    for file in ["notes.txt", "code.rs", "new.txt"] {
        out("--md", file).exits(0);
        assert!(read(file).starts_with("# Report of run "), "{file}");
    }
    // A report that is in git is made again and again.
    for (format, file) in [("--md", "night.md"), ("--html", "night.html"), ("--json", "night.json")] {
        project.write(file, "older");
        project.git(&["add", file]);
        out(format, file).exits(0);
        out(format, file).exits(0);
        assert!(read(file) != "older");
    }
    project.write("code.rs", "fn not_saved() {}");
    // Git's directory by another name, and another project's state.
    project.git(&["init", "-q", "--separate-git-dir", "../apart", "../other"]);
    for file in ["../other/.reflection/tasks.jsonl", "../other/memory/attempts.jsonl"] {
        project.write(file, "theirs");
    }
    for (file, words) in [
        ("code.rs", "changes that are not in git"),
        ("project.json", "reflexion reads its settings or tasks from it"),
        ("tasks.jsonl", "reflexion reads its settings or tasks from it"),
        ("memory/reflections.jsonl", "are reflexion's own"),
        (".reflection/tasks.jsonl", "are reflexion's own"),
        (".git/config", "in git's own directory"),
        ("../apart/config", "in git's own directory"),
        ("../other/.git", "in git's own directory"),
        ("../other/.reflection/tasks.jsonl", "are reflexion's own"),
        ("../other/memory/attempts.jsonl", "are reflexion's own"),
    ] {
        let before = project.read(file);
        out("--md", file).exits(4).says(&format!("{file}: failed to write it")).says(words);
        assert_eq!(project.read(file), before, "{file}");
    }
}

#[test]
fn a_run_that_was_not_begun_here_is_named_as_such() {
    let project = Project::new(RIGHT);
    project.run(&["run"]).exits(0);
    let said = |args: &[&str]| project.run(args).exits(0).stderr.clone();
    for args in [&["status"][..], &["report"], &["task", "list"]] {
        assert_eq!(said(args), "", "{args:?}");
    }
    // What a clone or an archive brings was written with another key.
    fs::remove_dir_all(project.out.with_file_name("home").join(".local/state/reflexion")).unwrap();
    for args in [&["status"][..], &["status", "--json"], &["report"]] {
        assert!(said(args).contains("was not begun by reflexion in this directory"), "{args:?}");
    }
    for args in [&["task", "list"][..], &["task", "ready"], &["task", "show", "a"]] {
        assert!(said(args).contains("of .reflection/tasks.jsonl not written by reflexion here"), "{args:?}");
    }
}

#[test]
fn what_is_not_there_or_cannot_be_read_is_said() {
    let project = Project::new("true");
    let check = |args: &[&str], code: i32, part: &str| {
        let ran = project.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    };
    check(&["report"], 2, "there is no run yet; `reflexion run` makes one");
    check(&["status"], 2, "there is no run yet");
    assert!(!project.dir.join(".reflection").exists(), "looking makes nothing");
    project.write(".reflection/runs/20260101-000000-aaaa/journal.jsonl", "garbage\nmore garbage\n");
    check(&["report", "2027"], 2, "there is no run `2027`; there are 20260101-000000-aaaa");
    check(&["report"], 4, "journal.jsonl: failed to read it; line 1: not JSON");
    check(&["report", "--md", "--json"], 2, "cannot be used with");
    fs::remove_file(project.dir.join(".reflection/runs/20260101-000000-aaaa/journal.jsonl")).unwrap();
    fs::create_dir(project.dir.join(".reflection/runs/20260101-000000-aaaa/journal.jsonl")).unwrap();
    check(&["status"], 4, "journal.jsonl: failed to read it");
    project.write(".reflection/runs/20260102-000000-aaaa/journal.jsonl", "");
    assert!(
        project
            .run(&["status"])
            .exits(0)
            .stdout
            .clone()
            .contains("left nothing that can be read, and no process works on it")
    );
    project.run(&["report"]).exits(0);
    let made_up = Night::new(2, 1);
    project.write(".reflection/runs/20260103-000000-aaaa/journal.jsonl", made_up.journal());
    check(&["report", "--out", "no/such/dir/file"], 4, "no/such/dir/file: failed to write it");
}

#[test]
fn a_journal_that_was_cut_anywhere_is_told_as_far_as_it_goes() {
    let made_up = Night::new(20, 3);
    let all = made_up.entries.len();
    for cut in 0..=all {
        let log = made_up.log(cut);
        let merged: BTreeSet<&str> = log
            .entries
            .iter()
            .filter_map(|entry| match &entry.entry {
                JournalEntry::MergeEnded { task, outcome: MergeOutcome::Merged { .. }, .. } => Some(task.as_str()),
                _ => None,
            })
            .collect();
        let ended = log.entries.iter().filter(|e| matches!(e.entry, JournalEntry::TaskEnded { .. })).count();
        for life in [Life::Gone, Life::Alive] {
            let night = told::Night::of(&log, life);
            let counts = night.counts;
            let what = format!("cut after {cut} entries, {life:?}: {counts:?}");
            assert_eq!(counts.merged, merged.len(), "{what}");
            assert!(counts.confirmed + counts.failed + counts.blocked <= ended, "{what}");
            let parts =
                counts.merged + counts.confirmed + counts.failed + counts.blocked + counts.open + counts.working;
            assert_eq!(parts, counts.tasks, "{what}");
            let expected = match (cut == all, life) {
                (true, _) => NightState::Deadline,
                (false, Life::Alive | Life::Stopped { .. }) => NightState::Running,
                (false, Life::Gone | Life::Superseded) => NightState::Dead,
            };
            assert_eq!(night.state, expected, "{what}");
            assert!(counts.working == 0 || night.state == NightState::Running, "{what}");
            for form in forms(&night) {
                assert!(!form.contains("is over"), "{what}");
            }
            let status = told::status(&night, &times());
            assert_eq!(
                status.contains("overnight --resume"),
                life == Life::Gone && counts.tasks > 0 || cut == all,
                "{what}\n{status}"
            );
        }
    }
}

#[test]
fn a_line_that_was_torn_anywhere_is_said() {
    let made_up = Night::new(3, 2);
    let journal = made_up.journal();
    let lines: Vec<&str> = journal.lines().collect();
    let before = lines[..lines.len() - 2].join("\n");
    let project = with_journal("");
    let file = project.dir.join(format!(".reflection/runs/{}/journal.jsonl", made_up_night::run()));
    for cut in [1, 40, lines[lines.len() - 2].len() - 1] {
        fs::write(&file, format!("{before}\n{}", &lines[lines.len() - 2][..cut])).unwrap();
        let status = project.run(&["status"]).exits(0).stdout.clone();
        assert!(
            status.contains("1 line of its journal could not be read (the last one was not written to its end)"),
            "{status}"
        );
        assert!(status.contains("broke off: no process works on it, and its last sign is of "), "{status}");
        let text = project.run(&["report"]).exits(0).stdout.clone();
        assert!(
            text.contains("1 line of the journal could not be read (the last one was not written to its end)"),
            "{text}"
        );
    }
    // A kind of entry that a later version may write.
    fs::write(&file, journal.replace("\"wait_started\"", "\"dreamt\"").replace("\"merge_started\"", "\"dreamt\""))
        .unwrap();
    let text = project.run(&["report"]).exits(0).stdout.clone();
    assert!(
        text.contains("of the journal could not be read; line ") && text.contains("unknown variant `dreamt`"),
        "{text}"
    );
}

#[test]
fn a_run_that_died_twice_and_a_clock_that_went_back_are_told() {
    let made_up = Night::new(4, 2);
    let mut log = made_up.log(made_up.entries.len() / 2);
    let last = log.entries.last().unwrap().at;
    let minutes = |n: i64| jiff::SignedDuration::from_mins(n);
    let resumed = |at: Timestamp| reflexion::domain::LoggedEntry {
        at,
        entry: JournalEntry::RunResumed {
            run: made_up_night::run(),
            pid: 1,
            boot: None,
            tasks: Vec::new(),
            until: None,
            seen: None,
            plan: None,
            head: None,
        },
    };
    log.entries.push(resumed(last + minutes(60)));
    log.entries.push(resumed(last + minutes(90)));
    // An hour back: what follows is later all the same.
    log.entries.push(resumed(last + minutes(30)));
    log.entries.push(resumed(last + minutes(40)));
    let night = told::Night::of(&log, Life::Gone);
    let gaps: Vec<i64> = night.gaps.iter().map(|gap| gap.end.duration_since(gap.start).as_mins()).collect();
    assert_eq!((gaps, night.clock_set_back_ms), (vec![60, 30, 10], 3_600_000));
    assert!(night.spans.iter().all(|span| span.end >= span.start));
    let text = told::text(&night, &times());
    assert!(text.contains("The clock was set back by 1 h 00 min while it went on"), "{text}");
    assert!(text.contains("For 1 h 00 min, "), "{text}");
    let busiest = night.workers.iter().map(|w| w.busy_ms + w.waiting_ms + w.idle_ms).max().unwrap();
    let span = night.last_sign_at.unwrap().duration_since(night.started_at.unwrap()).as_millis();
    assert!(i128::from(busiest) <= span - 100 * 60_000, "dead time is nobody's idle time: {:?}", night.workers);
}

#[test]
fn entries_in_any_order_never_break_it() {
    let made_up = Night::new(12, 3);
    let mut log = made_up.log(made_up.entries.len());
    for seed in 1..60_u64 {
        let mut state = seed;
        for i in (1..log.entries.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            log.entries.swap(i, (state >> 33) as usize % (i + 1));
        }
        log.entries.truncate(log.entries.len().saturating_sub(2));
        let night = told::Night::of(&log, if seed % 2 == 0 { Life::Alive } else { Life::Gone });
        assert!(night.spans.iter().all(|span| span.end >= span.start));
        forms(&night);
    }
}

#[test]
fn an_empty_or_unreadable_journal_claims_nothing() {
    let problems = vec![LineProblem { line: 1, message: "not JSON".to_owned() }];
    let run = RunId::new("r").unwrap();
    let log = RunLog { run, entries: Vec::new(), problems, unreadable: 1, alive: None, torn: true };
    let night = told::Night::of(&log, Life::Gone);
    let forms = forms(&night);
    assert!(forms[0].contains("Its journal holds nothing that can be read."), "{}", forms[0]);
    assert!(forms[3].contains("left nothing that can be read"), "{}", forms[3]);
    let alive = told::status(&told::Night::of(&log, Life::Alive), &times());
    assert!(alive.contains("has just begun"), "{alive}");
}

#[test]
fn a_night_of_ten_thousand_attempts_fits_a_page() {
    let made_up = Night::new(7_000, 4);
    let night = told::Night::of(&made_up.log(made_up.entries.len()), Life::Gone);
    assert!(night.attempts.len() > 9_000, "{}", night.attempts.len());
    let html = told::html(&night, &times());
    assert!(html.len() < 2 << 20, "{} bytes", html.len());
    assert!(told::text(&night, &times()).len() < 1 << 20);
}

#[test]
fn no_word_from_outside_is_markup() {
    let hostile = "*a* _b_ `c` [link](http://x.y) ![i](z) <script>1</script> <b> | # h http://evil.example www.evil.example \
                   ~~d~~ &lt; \\* - 1. > q ``` end\u{202e}\u{7}";
    let shown = "*a* _b_ `c` [link](http://x.y) ![i](z) <script>1</script> <b> | # h http://evil.example www.evil.example \
                 ~~d~~ &lt; \\* - 1. > q ``` end";
    let markdown = |title: Option<&str>| {
        let made_up = Night::titled(20, 2, title);
        let lessons = made_up.lessons.iter().map(|lesson| (lesson.id.clone(), lesson.clone())).collect();
        told::markdown(
            &told::Night::of(&made_up.log(made_up.entries.len()), Life::Gone).with_lessons(lessons),
            &times(),
        )
    };
    let (ours, theirs) = (markdown(None), markdown(Some(hostile)));
    // Emphasis and code are ours alone, so there is as much of it; and the words come out as they were.
    let shape = |text: &str| {
        let mut found = (0, 0, 0, String::new());
        for event in Parser::new_ext(text, Options::all()) {
            match event {
                Event::Start(Tag::Heading { .. }) => found.0 += 1,
                Event::Start(Tag::Item) => found.1 += 1,
                Event::Start(Tag::Strong) => found.2 += 1,
                Event::Text(words) | Event::Code(words) => found.3.push_str(&words),
                Event::Start(Tag::Paragraph | Tag::List(None) | Tag::BlockQuote(None)) | Event::End(_) => {}
                Event::SoftBreak => found.3.push(' '),
                other => panic!("{other:?} in\n{text}"),
            }
        }
        found
    };
    let (ours, theirs) = (shape(&ours), shape(&theirs));
    assert_eq!((ours.0, ours.1, ours.2), (theirs.0, theirs.1, theirs.2));
    // What stands between backticks is shown as code, without them.
    let (shown, told) = (shown.replace('`', ""), theirs.3.replace('`', ""));
    assert!(told.contains(&shown), "{shown}\n is not in\n{told}");
}

#[test]
fn an_older_night_is_not_offered_to_be_resumed() {
    let made_up = Night::new(20, 2);
    let broken = made_up.log(made_up.entries.len() / 2);
    let check = |life: Life, command: &str| {
        let night = told::Night::of(&broken, life);
        assert_eq!(night.next.last().unwrap().command, command);
    };
    check(Life::Gone, "reflexion overnight --resume");
    check(Life::Superseded, "reflexion overnight");
    let lines: Vec<String> = made_up.journal().lines().take(1).map(str::to_owned).collect();
    let mut project = Project::new("touch \"$OUT/works\"; sleep 20");
    let mut night = project.start(&["overnight"]);
    project.await_told("works");
    night.kill();
    assert!(project.run(&["status"]).exits(0).stdout.contains("`reflexion overnight --resume`"));
    // Whatever `reflexion run` did since, the night goes on; a newer night takes its place.
    let began = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().flatten().next().unwrap().file_name();
    let began = began.to_str().unwrap().to_owned();
    project.write(".reflection/runs/20991122-000000-aaaa/journal.jsonl", lines[0].replace("overnight", "run"));
    let older = project.run(&["status", &began]).exits(0).stdout.clone();
    assert!(older.contains("Go on with `reflexion overnight --resume`."), "{older}");
    project.write(".reflection/runs/20991122-000001-aaaa/journal.jsonl", &lines[0]);
    let older = project.run(&["status", &began]).exits(0).stdout.clone();
    assert!(older.contains("Go on with `reflexion overnight`."), "{older}");
    // Nor one that was not begun in this directory: it was moved there, or copied.
    fs::remove_dir_all(project.dir.join(".reflection/runs/20991122-000001-aaaa")).unwrap();
    let moved = project.dir.with_file_name("moved");
    fs::rename(&project.dir, &moved).unwrap();
    project.dir = moved;
    let moved = project.run(&["status", &began]).exits(0).stdout.clone();
    assert!(moved.contains("Go on with `reflexion overnight`."), "{moved}");
}

#[test]
fn every_key_of_the_json_is_documented() {
    let night = told::Night::of(&Night::new(1, 1).log(1), Life::Gone);
    let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.md")).unwrap();
    for key in serde_json::to_value(&night).unwrap().as_object().unwrap().keys() {
        assert!(document.contains(&format!("`{key}`")) || key == "v", "{key} is not in docs/report.md");
    }
}

#[test]
fn work_done_without_a_change_is_neither_merged_nor_on_a_branch() {
    let project = Project::new("true");
    project.tasks(&[json!({"id": "a", "title": "Say what the answer is", "expects": "nothing", "checks": [{"name": "c", "run": "true"}]})]);
    project.run(&["overnight"]).exits(0);
    let night = project.run(&["report", "--json"]).json();
    assert_eq!((&night["counts"]["unchanged"], &night["counts"]["merged"]), (&json!(1), &json!(0)), "{night:#}");
    let report = project.run(&["report"]).stdout;
    assert!(report.contains("1 of 1 task done without a change. Nothing needs you."), "{report}");
    assert!(report.contains("$ reflexion transcript show a#1") && !report.contains("merged as"), "{report}");
    assert!(!project.git(&["branch", "--all"]).contains("/a"), "no branch of the task");
}
