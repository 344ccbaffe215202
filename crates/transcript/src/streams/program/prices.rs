//! What models cost, from the dated table `config/prices.json`: an estimate, used where an agent does not say it.

use crate::domain::{CostSource, Usage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    cached: f64,
    output: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prices {
    #[serde(rename = "checked")]
    _checked: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "note")]
    _note: String,
    models: BTreeMap<String, Price>,
}

static PRICES: LazyLock<Prices> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/prices.json"));
    // It is part of the program, and a test reads it.
    serde_json::from_str(text).expect("config/prices.json can be read")
});

/// `usage` with an estimated cost, where it has none, tokens are known, and the table has a price for the model.
///
/// A model is found under its own name, without a provider before it (`openai/gpt-5`) and without a date behind it
/// (`claude-sonnet-4-5-20250929`). An unknown model has no cost.
///
/// ```
/// # use reflexion_core::domain::{CostSource, Usage};
/// # use reflexion_transcript::streams::program::with_estimate;
/// let usage = Usage { input: Some(1_000_000), output: Some(0), ..Usage::default() };
/// assert_eq!(with_estimate(usage, "gpt-5").cost_source, Some(CostSource::Estimated));
/// assert_eq!(with_estimate(usage, "my-own-model").cost_usd, None);
/// ```
#[must_use]
pub fn with_estimate(usage: Usage, model: &str) -> Usage {
    if usage.cost_usd.is_some() || usage.tokens().is_none() {
        return usage;
    }
    let Some(price) = price(model) else { return usage };
    let input = usage.input.unwrap_or(0);
    let cached = usage.cached.unwrap_or(0).min(input);
    let dollars = (input - cached) as f64 * price.input
        + cached as f64 * price.cached
        + usage.output.unwrap_or(0) as f64 * price.output;
    Usage { cost_usd: Some(dollars / 1e6), cost_source: Some(CostSource::Estimated), ..usage }
}

fn price(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let undated = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '@');
    let prices = &PRICES.models;
    // The longest beginning that is a model, as long as only a date is left over.
    (undated.len()..=name.len()).rev().find_map(|end| {
        let rest = name.get(end..)?;
        let dated = rest.is_empty() || rest.starts_with(['-', '@']) && rest.len() >= 9;
        if dated { prices.get(&name[..end]).copied() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_date_may_follow_a_models_name() {
        let check = |model: &str, known: bool| assert_eq!(price(model).is_some(), known, "{model}");
        check("claude-sonnet-4-5", true);
        check("claude-sonnet-4-5-20250929", true);
        check("anthropic/claude-sonnet-4-5@20250929", true);
        check("claude-sonnet-4-5-1", false);
        check("gpt-5-2025-08-07", true);
        check("gpt-5x", false);
        check("", false);
    }

    #[test]
    fn cached_tokens_are_within_the_input_and_cheaper() {
        let usage =
            |cached| Usage { input: Some(2_000_000), cached: Some(cached), output: Some(1000), ..Usage::default() };
        let cost = |cached| with_estimate(usage(cached), "gpt-5").cost_usd.unwrap();
        assert!((cost(0) - 2.51).abs() < 1e-9, "{}", cost(0));
        assert!((cost(2_000_000) - 0.26).abs() < 1e-9, "{}", cost(2_000_000));
        // A record that counts more cached tokens than tokens is no reason for a negative price.
        assert!(cost(9_000_000) > 0.0);
    }

    #[test]
    fn what_the_agent_reports_stays() {
        let reported =
            Usage { input: Some(1), cost_usd: Some(0.5), cost_source: Some(CostSource::Reported), ..Usage::default() };
        assert_eq!(with_estimate(reported, "gpt-5"), reported);
        assert_eq!(with_estimate(Usage::default(), "gpt-5"), Usage::default());
    }
}
