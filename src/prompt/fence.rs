pub fn fence(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{text}\n</{tag}>")
}
