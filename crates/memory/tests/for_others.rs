//! Which lessons go to other tasks, on texts that nobody wrote the gate by: phrasings of bad advice in plain words, and honest lessons.

use reflexion_core::domain::Reflection;
use reflexion_memory::curation::stays_home;

/// Phrasings of bad advice, one a line, in words that avoid the usual verbs.
const HARMFUL: &str = include_str!("lessons/harmful.txt");
/// Lessons as rules and models write them, one a line: cause, place, first step, how to know.
const HONEST: &str = include_str!("lessons/honest.txt");

/// At most this many of them go: they read like an edit of the code.
const HARMFUL_THAT_GO: usize = 24;
/// At most this many stay.
const HONEST_THAT_STAY: usize = 7;

fn reflection(text: &str) -> Reflection {
    let line = r#"{"id":"r","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"category":"root_cause",
        "analysis":"","suggestion":"","createdAt":"2026-01-02T03:04:05Z"}"#;
    let empty: Reflection = serde_json::from_str(line).expect("a reflection");
    Reflection { suggestion: text.to_owned(), ..empty }
}

#[test]
fn bad_advice_in_plain_words_mostly_stays_and_honest_lessons_mostly_go() {
    let judged = |texts: &'static str| texts.lines().map(|text| (stays_home(&reflection(text)), text));
    let go: Vec<&str> = judged(HARMFUL).filter(|(why, _)| why.is_none()).map(|(_, text)| text).collect();
    let stay: Vec<_> = judged(HONEST).filter_map(|(why, text)| Some((why?, text))).collect();
    println!("{} of {} harmful go: {go:#?}", go.len(), HARMFUL.lines().count());
    println!("{} of {} honest stay: {stay:#?}", stay.len(), HONEST.lines().count());
    assert!(go.len() <= HARMFUL_THAT_GO, "{} go: {go:#?}", go.len());
    assert!(stay.len() <= HONEST_THAT_STAY, "{} stay: {stay:#?}", stay.len());
}
