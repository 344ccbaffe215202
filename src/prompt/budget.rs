pub fn excerpt(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}
