//! How well failures are matched: `cargo bench --bench matching -- DIRECTORY`, on the logs that `benches/matching/plant.py` makes.
//!
//! Each log asks for the others as a new task would; right is another log of the same planted bug. Printed: how often the first answer is right,
//! beside BM25 over the whole raw logs, and how often what is called the same failure is one.

use reflexion::domain::{Category, CheckReport, FailureKey, Output, Reflection, ReflectionId, SessionId, Timestamp};
use reflexion::reflection::Signatures;
use reflexion::services::FailureReader;
use reflexion_memory::curation::State;
use reflexion_memory::recall::{Index, Lesson, Project, Same, failure_key};
use std::collections::{BTreeMap, HashMap};

struct Log {
    bug: String,
    tool: String,
    output: String,
    key: FailureKey,
}

fn read(path: &std::path::Path) -> Log {
    let text = std::fs::read_to_string(path).expect("a log");
    let log: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let word = |key: &str| log[key].as_str().unwrap_or_default().to_owned();
    let output = word("output");
    let report = serde_json::json!({"spec": {"name": "t", "run": "./t"}, "scope": "task", "status": {"is": "failed"},
        "exitStatus": log["exit"], "signal": null, "timedOut": false, "output": {"head": "", "tail": "", "bytes": 0}, "durationMs": 1, "signature": {}});
    let mut report: CheckReport = serde_json::from_value(report).expect("a report");
    report.output = Output::whole(&output);
    let signature = Signatures.read(&report);
    // One bug found by two tools is one bug.
    let bug = word("bug").trim_start_matches(word("tool").as_str()).to_owned();
    Log { bug, tool: word("tool"), key: failure_key(&signature, &output), output }
}

fn lesson(number: usize, log: &Log) -> Lesson {
    let reflection = Reflection {
        id: ReflectionId::new(format!("r{number}")),
        session_id: SessionId::new("s"),
        task_id: log.bug.clone(),
        subtask_id: log.bug.clone(),
        attempt_number: 1,
        category: Category::RootCause,
        analysis: String::new(),
        suggestion: String::new(),
        action_items: Vec::new(),
        confidence: 0.5,
        created_at: Timestamp::UNIX_EPOCH,
        v: 1,
        origin: None,
        already_tried: None,
        signature: None,
        failure: None,
        replaces: None,
        files: Vec::new(),
        foreign: false,
    };
    Lesson {
        reflection,
        failure: log.key.clone(),
        state: State::Probation,
        at_home: true,
        project: Project::Own,
        helps: None,
        seen: 1,
    }
}

#[derive(Default)]
struct Score {
    asked: usize,
    first: usize,
    raw_first: usize,
    same_right: usize,
    same_wrong: usize,
    wrong_f1: usize,
    similar_right: usize,
    similar_wrong: usize,
    pairs: usize,
}

fn main() {
    let directory =
        std::env::args().skip(1).find(|argument| !argument.starts_with("--")).expect("a directory with logs");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).expect("the directory").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let logs: Vec<Log> = paths.iter().map(|path| read(path)).collect();
    let lessons: Vec<Lesson> = logs.iter().enumerate().map(|(number, log)| lesson(number, log)).collect();
    let index = Index::of(&lessons);
    let raw = Raw::of(&logs);
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let show = std::env::var_os("SHOW").is_some();
    for (asks, log) in logs.iter().enumerate() {
        let right = |other: usize| logs[other].bug == log.bug;
        let others = logs.iter().enumerate().filter(|(other, _)| *other != asks && right(*other)).count();
        let found = index.like(&log.key, |doc| doc != asks);
        for score in [scores.entry(log.tool.as_str()).or_default()] {
            for pair in &found {
                let (right, wrong) = (usize::from(right(pair.lesson)), usize::from(!right(pair.lesson)));
                if pair.same.is_some() {
                    score.same_right += right;
                    score.same_wrong += wrong;
                    score.wrong_f1 += wrong * usize::from(pair.same == Some(Same::Structure));
                    if wrong > 0 && show && asks < pair.lesson {
                        println!(
                            "WRONG {:?}\n   {} {:?}\n   {} {:?}\n   {:?}",
                            pair.same,
                            log.bug,
                            log.key.lines.first(),
                            logs[pair.lesson].bug,
                            logs[pair.lesson].key.lines.first(),
                            log.key.tests
                        );
                    }
                } else if pair.is_similar() {
                    score.similar_right += right;
                    score.similar_wrong += wrong;
                    if show {
                        println!("SIMILAR {right} {} lines {:.2} words {:.2}", log.tool, pair.lines, pair.words);
                    }
                }
            }
            score.pairs += others;
            if others > 0 {
                score.asked += 1;
                score.first += usize::from(found.first().is_some_and(|first| right(first.lesson)));
                score.raw_first += usize::from(raw.best(asks).is_some_and(right));
                if show && !found.first().is_some_and(|first| right(first.lesson)) {
                    println!(
                        "MISSED {} -> {:?}",
                        log.bug,
                        found.first().map(|f| (&logs[f.lesson].bug, f.same, f.lines, f.words))
                    );
                }
            }
        }
    }
    report(&scores, logs.len());
}

fn report(scores: &BTreeMap<&str, Score>, logs: usize) {
    println!("{logs} logs");
    let mut all = Score::default();
    for (tool, score) in scores {
        line(tool, score);
        all.asked += score.asked;
        all.first += score.first;
        all.raw_first += score.raw_first;
        all.same_right += score.same_right;
        all.same_wrong += score.same_wrong;
        all.wrong_f1 += score.wrong_f1;
        all.similar_right += score.similar_right;
        all.similar_wrong += score.similar_wrong;
        all.pairs += score.pairs;
    }
    line("all", &all);
}

fn line(name: &str, score: &Score) {
    let share = |part: usize, all: usize| if all == 0 { f64::NAN } else { part as f64 / all as f64 };
    println!(
        "{name:12} asked {:4}: first right {:.3}, raw BM25 {:.3}; same: precision {:.4} ({} wrong, {} by F1), recall {:.3}; similar beside: precision {:.3} ({} right)",
        score.asked,
        share(score.first, score.asked),
        share(score.raw_first, score.asked),
        share(score.same_right, score.same_right + score.same_wrong),
        score.same_wrong,
        score.wrong_f1,
        share(score.same_right, score.pairs),
        share(score.similar_right, score.similar_right + score.similar_wrong),
        score.similar_right,
    );
}

/// BM25 over all words of the whole logs, as a plain search engine has it.
struct Raw {
    logs: Vec<HashMap<String, f64>>,
    rarity: HashMap<String, f64>,
    mean: f64,
}

impl Raw {
    fn of(logs: &[Log]) -> Self {
        let words = |log: &Log| {
            let mut counts: HashMap<String, f64> = HashMap::new();
            for word in log.output.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
                *counts.entry(word.to_lowercase()).or_default() += 1.0;
            }
            counts
        };
        let logs: Vec<_> = logs.iter().map(words).collect();
        let mut docs: HashMap<String, f64> = HashMap::new();
        for word in logs.iter().flat_map(HashMap::keys) {
            *docs.entry(word.clone()).or_default() += 1.0;
        }
        let all = logs.len() as f64;
        let rarity =
            docs.into_iter().map(|(word, docs)| (word, (1.0 + (all - docs + 0.5) / (docs + 0.5)).ln())).collect();
        let mean = logs.iter().map(|log| log.values().sum::<f64>()).sum::<f64>() / all;
        Self { logs, rarity, mean }
    }

    fn best(&self, asks: usize) -> Option<usize> {
        let length = |log: &HashMap<String, f64>| log.values().sum::<f64>();
        let mut query: Vec<&String> = self.logs[asks].keys().collect();
        query.sort();
        let score = |log: &HashMap<String, f64>| -> f64 {
            let norm = 1.2 * (0.25 + 0.75 * length(log) / self.mean);
            query
                .iter()
                .filter_map(|word| Some(self.rarity[*word] * log.get(*word)? * 2.2 / (log.get(*word)? + norm)))
                .sum()
        };
        let others = (0..self.logs.len()).filter(|other| *other != asks);
        others.max_by(|a, b| score(&self.logs[*a]).total_cmp(&score(&self.logs[*b])))
    }
}
