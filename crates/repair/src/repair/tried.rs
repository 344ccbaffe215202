//! What was tried, as the closing message carries it from attempt to attempt.

use super::edits::Edit;
use super::source::Source;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;

/// An edit's name: the first 24 bits of a hash over path, place, old and new text. Two of some thousand edits may share a
/// name; then one of them is left out.
pub(super) type Name = [u8; 3];

pub(super) fn name(source: &Source, edit: &Edit) -> Name {
    let mut hash = Sha256::new();
    hash.update(source.path.as_bytes());
    hash.update([0]);
    hash.update(edit.start.to_be_bytes());
    hash.update(&source.text.as_bytes()[edit.start..edit.end]);
    hash.update([0]);
    hash.update(edit.new.as_bytes());
    let digest = hash.finalize();
    [digest[0], digest[1], digest[2]]
}

/// The list's share of the 1,000 bytes that are kept of a closing message.
const LIST_BYTES: usize = 740;
/// As hexadecimal words as long as they fit: 7 bytes each.
const WORDS: usize = 100;
/// Packed: 4 bytes each; older ones than these are forgotten.
const PACKED: usize = 178;
const MARK: &str = "Tried so far";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The edits tried so far, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tried(Vec<Name>);

impl Tried {
    /// Reads the lists out of closing messages, newest message first. A message whose head was cut off still counts.
    pub(super) fn read(messages: &[&str]) -> Self {
        let mut names: Vec<Name> = Vec::new();
        let mut seen = BTreeSet::new();
        for message in messages.iter().rev() {
            let list = message.rfind(MARK).map_or(*message, |at| &message[at..]);
            for name in list.split_whitespace().flat_map(names_of) {
                if seen.insert(name) {
                    names.push(name);
                }
            }
        }
        Self(names)
    }

    pub(super) fn contains(&self, name: Name) -> bool {
        self.0.contains(&name)
    }

    pub(super) fn add(&mut self, name: Name) {
        self.0.push(name);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The list for a closing message, at most 740 bytes.
    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{MARK} ({}):", self.0.len());
        if self.0.len() <= WORDS {
            for [a, b, c] in &self.0 {
                let _ = write!(text, " {a:02x}{b:02x}{c:02x}");
            }
        } else {
            let newest = &self.0[self.0.len().saturating_sub(PACKED)..];
            text.push_str(" =");
            text.extend(newest.iter().flat_map(|name| packed(*name)));
        }
        debug_assert!(text.len() <= LIST_BYTES, "the list of {} edits has {} bytes", self.len(), text.len());
        text
    }
}

/// The edits that a word of a list names: six hexadecimal digits, or `=` and four digits of base 64 each.
fn names_of(word: &str) -> Vec<Name> {
    if let Some(packed) = word.strip_prefix('=') {
        return packed.as_bytes().chunks_exact(4).filter_map(unpacked).collect();
    }
    let value = (word.len() == 6 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
        .then(|| u32::from_str_radix(word, 16).ok())
        .flatten();
    value
        .map(|v| {
            let [_, a, b, c] = v.to_be_bytes();
            [a, b, c]
        })
        .into_iter()
        .collect()
}

fn packed([a, b, c]: Name) -> [char; 4] {
    let value = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| char::from(DIGITS[(value >> shift & 63) as usize]))
}

fn unpacked(digits: &[u8]) -> Option<Name> {
    let mut value = 0u32;
    for digit in digits {
        let position = DIGITS.iter().position(|d| d == digit)?;
        value = value << 6 | u32::try_from(position).ok()?;
    }
    let [_, a, b, c] = value.to_be_bytes();
    Some([a, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(count: u32) -> Tried {
        Tried(
            (0..count)
                .map(|n| {
                    let [_, a, b, c] = (n * 77_777).to_be_bytes();
                    [a, b, c]
                })
                .collect(),
        )
    }

    #[test]
    fn a_list_comes_back_from_its_text() {
        for count in [0, 1, 7, 100, 101, 178] {
            let list = tried(count);
            let text = list.to_text();
            assert!(text.len() <= LIST_BYTES, "{count}: {} bytes", text.len());
            assert_eq!(Tried::read(&[&format!("Changed a.py. {text}")]), list, "{count}");
        }
    }

    #[test]
    fn the_newest_stay_when_the_list_is_full() {
        let text = tried(500).to_text();
        assert!(text.len() <= LIST_BYTES, "{}", text.len());
        assert_eq!(Tried::read(&[&text]).0, tried(500).0[500 - PACKED..]);
    }

    #[test]
    fn messages_are_joined_oldest_first_and_a_cut_head_does_no_harm() {
        let read = Tried::read(&["Tried so far (2): 000001 000002", "001 0000ff 000001"]);
        assert_eq!(read.0, [[0, 0, 255], [0, 0, 1], [0, 0, 2]]);
    }
}
