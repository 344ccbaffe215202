//! Tokens, as agents report them at the end of a turn.

use crate::domain::Usage;
use serde_json::Value;

/// What the reply to a prompt says was used, in our convention: what came from a cache is part of the input.
///
/// The protocol counts cached tokens beside the others (`totalTokens` is the sum of all); an agent whose total shows
/// that it counts them within is believed. gemini-cli has its numbers in `_meta`. Zeros, which opencode sends for a
/// cancelled turn, say nothing.
pub fn tokens(reply: &Value) -> Usage {
    let number = |record: &Value, key: &str| record[key].as_u64();
    let usage = &reply["usage"];
    let quota = &reply["_meta"]["quota"]["token_count"];
    let (Some(input), Some(output)) = (number(usage, "inputTokens"), number(usage, "outputTokens")) else {
        let (input, output) = (number(quota, "input_tokens"), number(quota, "output_tokens"));
        return Usage { input, output, ..Usage::default() };
    };
    let cached = number(usage, "cachedReadTokens");
    let thoughts = number(usage, "thoughtTokens");
    let beside = cached.unwrap_or(0) + number(usage, "cachedWriteTokens").unwrap_or(0);
    let total = number(usage, "totalTokens");
    if total.unwrap_or(input + output + beside) == 0 {
        return Usage::default();
    }
    let cache_within = total.is_some_and(|total| total < input + output + beside);
    let thoughts_beside =
        thoughts.filter(|thoughts| total.is_some_and(|total| total >= input + output + beside + thoughts));
    Usage {
        input: Some(if cache_within { input } else { input + beside }),
        cached,
        output: Some(output + thoughts_beside.unwrap_or(0)),
        reasoning: thoughts,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let usage = |input, cached, output, reasoning| Usage {
            input: Some(input),
            cached,
            output: Some(output),
            reasoning,
            ..Usage::default()
        };
        let table = [
            (
                json!({"inputTokens": 100, "outputTokens": 5, "cachedReadTokens": 30, "cachedWriteTokens": 7, "totalTokens": 142}),
                usage(137, Some(30), 5, None),
            ),
            (
                json!({"inputTokens": 100, "outputTokens": 5, "cachedReadTokens": 30, "totalTokens": 105}),
                usage(100, Some(30), 5, None),
            ),
            (
                json!({"inputTokens": 100, "outputTokens": 5, "thoughtTokens": 20, "totalTokens": 125}),
                usage(100, None, 25, Some(20)),
            ),
            (
                json!({"inputTokens": 100, "outputTokens": 25, "thoughtTokens": 20, "totalTokens": 125}),
                usage(100, None, 25, Some(20)),
            ),
            (json!({"inputTokens": 100, "outputTokens": 5}), usage(100, None, 5, None)),
            (json!({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}), Usage::default()),
            (Value::Null, Usage::default()),
        ];
        for (record, expected) in table {
            assert_eq!(tokens(&json!({"usage": record})), expected, "{record}");
        }
        let gemini = json!({"_meta": {"quota": {"token_count": {"input_tokens": 9, "output_tokens": 2}}}});
        assert_eq!(tokens(&gemini), usage(9, None, 2, None));
    }
}
