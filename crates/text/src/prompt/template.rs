//! Prompts as files: text with places to fill.

/// A prompt cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is nothing to put there.
    #[error("the prompt has a place `{{{{{name}}}}}` that nothing fills; known: {}", known.join(", "))]
    Unknown {
        /// The place.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A place has no end.
    #[error("the prompt has a `{{{{` without `}}}}` behind it: {beginning:?}")]
    Unclosed {
        /// What follows it.
        beginning: String,
    },
    /// There is no place for it.
    #[error("the prompt has no place `{{{{{name}}}}}`, so that the agent's work would be judged without it")]
    Unused {
        /// The value without a place.
        name: String,
    },
}

/// A prompt file with its places (`{{name}}`) filled, without its first line, which is a comment with the version.
///
/// What is put in is never looked at again, so that a place written in foreign text stays text.
///
/// # Errors
/// [`TemplateError`]: places and values must be the same.
///
/// ```
/// # use reflexion_text::prompt::fill;
/// let text = fill("<!-- greeting, version 1 -->\nHello {{name}}", &[("name", "{{you}}".to_owned())])?;
/// assert_eq!(text, "Hello {{you}}");
/// # Ok::<(), reflexion_text::prompt::TemplateError>(())
/// ```
pub fn fill(template: &str, values: &[(&str, String)]) -> Result<String, TemplateError> {
    let mut rest = body(template);
    let mut out = String::with_capacity(rest.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut used = vec![false; values.len()];
    while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        let place = &rest[open + 2..];
        let Some(close) = place.find("}}") else {
            return Err(TemplateError::Unclosed { beginning: place.chars().take(40).collect() });
        };
        let name = place[..close].trim();
        let Some(at) = values.iter().position(|(known, _)| *known == name) else {
            let known = values.iter().map(|(known, _)| (*known).to_owned()).collect();
            return Err(TemplateError::Unknown { name: name.to_owned(), known });
        };
        used[at] = true;
        out.push_str(&values[at].1);
        rest = &place[close + 2..];
    }
    out.push_str(rest);
    match used.iter().position(|used| !used) {
        Some(at) => Err(TemplateError::Unused { name: values[at].0.to_owned() }),
        None => Ok(out),
    }
}

/// The template without a first line that is a comment.
fn body(template: &str) -> &str {
    match template.split_once('\n') {
        Some((first, rest)) if first.starts_with("<!--") && first.trim_end().ends_with("-->") => rest,
        _ => template,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: Result<&str, &str>) {
        let said = fill(template, &[("a", "{{b}}".to_owned()), ("b", "B".to_owned())]);
        assert_eq!(said.map_err(|error| error.to_string()), expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn places_and_values_must_be_the_same() {
        check("<!-- v1 -->\n{\"x\": 1} {{a}} and {{ b }}", Ok("{\"x\": 1} {{b}} and B"));
        check("{{a}}", Err("the prompt has no place `{{b}}`, so that the agent's work would be judged without it"));
        check("{{a}} {{c}}", Err("the prompt has a place `{{c}}` that nothing fills; known: a, b"));
        check("{{a}} {{b", Err("the prompt has a `{{` without `}}` behind it: \"b\""));
    }
}
