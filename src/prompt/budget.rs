pub fn excerpt(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}
pub fn tail(text: &str, max: usize) -> &str {
    let mut i = text.len().saturating_sub(max);
    while !text.is_char_boundary(i) {
        i += 1
    }
    &text[i..]
}
