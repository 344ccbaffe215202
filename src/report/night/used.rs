//! What a run used: money, tokens, time, and what ended agent runs beside their work.

use super::block::{Item, Mark, SHOWN, Section, bare_section, section, text, ticked};
use super::value::{Fate, Limit, Night, WorkerTime};
use super::words::{Times, dollars, duration, foreign, joined, number, plural, usage};
use crate::domain::Usage;

pub(super) fn spend(night: &Night) -> Option<Section> {
    if night.attempts.is_empty() {
        return None;
    }
    let spend = &night.spend;
    let mut section = bare_section("spend", "What it used");
    let runs = plural(night.attempts.len(), "agent run");
    let tokens = spend.usage.tokens().map_or("no tokens reported".to_owned(), |n| format!("{} tokens", number(n)));
    let money = match (spend.reported_usd, spend.estimated_usd) {
        (None, None) => "no cost reported".to_owned(),
        (Some(reported), None) => format!("{} reported", dollars(reported)),
        (None, Some(estimated)) => format!("{} estimated from the price table", dollars(estimated)),
        (Some(reported), Some(estimated)) => {
            format!("{} reported and {} estimated from the price table", dollars(reported), dollars(estimated))
        }
    };
    section.lead.push(text(format!("{runs}: {tokens}, {money}.")));
    if spend.silent > 0 && spend.usage.tokens().is_some() {
        let silent = plural(spend.silent, "agent run");
        section.lead.push(text(format!("{silent} reported nothing, so the sums are lower bounds.")));
    }
    let cut = night.attempts.iter().filter(|attempt| attempt.fate == Fate::Cut).count();
    if cut > 0 {
        let cut = plural(cut, "agent run");
        section.lead.push(text(format!(
            "{cut} ended with its run, and said no more what it used, so the sums are lower bounds."
        )));
    }
    section.lead.extend(not_held(night).map(|words| ticked(&words)));
    let parts = [("judging", &spend.judging), ("reflections", &spend.reflecting)];
    let parts: Vec<String> =
        parts.iter().filter_map(|(name, part)| Some(format!("{} for {name}", usage(part)?))).collect();
    if !parts.is_empty() {
        section.lead.push(text(format!("Of this {}.", joined(&parts))));
    }
    section.items.extend(spend.agents.iter().take(SHOWN).map(|agent| {
        let used = usage(&agent.usage).unwrap_or_else(|| "reports neither tokens nor cost".to_owned());
        let words = format!("{}, {} of work; {used}", plural(agent.runs, "run"), duration(agent.agent_ms));
        plain_item(foreign(&agent.agent, 60), words)
    }));
    Some(section)
}

/// Agents that a budget could not hold, because they never say what it counts.
fn not_held(night: &Night) -> impl Iterator<Item = String> {
    let options = &night.plan.options;
    let agents = |is_silent: fn(&Usage) -> bool| {
        let agents = night.spend.agents.iter().filter(move |agent| is_silent(&agent.usage));
        agents.map(|agent| format!("`{}`", foreign(&agent.agent, 60))).collect::<Vec<_>>()
    };
    let silent = [
        (options.max_cost.is_some(), agents(|usage| usage.cost_usd.is_none()), "what its work costs", "--max-cost"),
        (
            options.max_tokens.is_some(),
            agents(|usage| usage.tokens().is_none()),
            "how many tokens it uses",
            "--max-tokens",
        ),
    ];
    silent.into_iter().filter(|(is_set, agents, ..)| *is_set && !agents.is_empty()).map(|(_, agents, what, flag)| {
        format!("Of {} it is not known {what}: `{flag}` did not hold that.", joined(&agents))
    })
}

fn plain_item(name: String, words: String) -> Item {
    Item {
        mark: Mark::Plain,
        name,
        title: String::new(),
        lines: vec![text(words)],
        chain: Vec::new(),
        change: None,
        commands: Vec::new(),
    }
}

pub(super) fn time(night: &Night) -> Option<Section> {
    let workers = &night.workers;
    if workers.is_empty() {
        return None;
    }
    let sum = |part: fn(&WorkerTime) -> u64| workers.iter().map(part).sum::<u64>();
    let mut section = bare_section("time", "Idle and waiting");
    let words = format!(
        "{}: {} at work, {} waiting for services, {} idle, summed over them.",
        plural(workers.len(), "worker"),
        duration(sum(|w| w.busy_ms)),
        duration(sum(|w| w.waiting_ms)),
        duration(sum(|w| w.idle_ms)),
    );
    section.lead.push(text(words));
    let away: u64 = super::notes::away(night).map(|gap| super::replay::millis(gap.end.duration_since(gap.start))).sum();
    if away > 0 {
        section.lead.push(text(format!("For {} no process worked on it.", duration(away))));
    }
    Some(section)
}

pub(super) fn limits(night: &Night, times: &Times) -> Option<Section> {
    if night.limits.is_empty() {
        return None;
    }
    let item = |limit: &Limit| {
        let when = if limit.times == 1 {
            format!("once, at {}", times.clock(limit.first_at))
        } else {
            format!("{} times, {} to {}", limit.times, times.clock(limit.first_at), times.clock(limit.last_at))
        };
        plain_item(foreign(&limit.agent, 60), format!("{}: {when}", ending(limit.ending)))
    };
    Some(section("limits", "Limits and faults", &night.limits, item))
}

pub(super) fn ending(word: &'static str) -> &'static str {
    match word {
        "rate_limited" => "rate limit",
        "quota" => "quota used up",
        "transient" => "passing fault of the model's service",
        "auth" => "not logged in, or the key was refused",
        "hang" => "no output for too long",
        "timeout" => "the time for one agent run was up",
        "permission" => "stopped by a permission",
        "budget" => "budget or turn limit",
        "crash" => "its process was ended by a signal",
        "context" => "context window full",
        "agent_error" => "the agent reported an error",
        other => other,
    }
}
