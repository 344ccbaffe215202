//! Keeping the beginning and the end of what a program prints.

use crate::domain::Output;
use std::collections::VecDeque;

/// Takes any number of bytes and keeps the first and the last `keep` of them.
#[derive(Debug)]
pub(super) struct Capture {
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn new(keep: usize) -> Self {
        Self { keep, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.keep - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    /// The kept bytes as text: invalid UTF-8 is replaced, and no character is split where something was left out.
    pub(super) fn finish(self) -> Output {
        let (head, tail) = (self.head, Vec::from(self.tail));
        if self.total == (head.len() + tail.len()) as u64 {
            return whole(head, &tail, self.total);
        }
        let head = &head[..head.len() - cut_off_at_end(&head)];
        let tail = &tail[cut_off_at_start(&tail)..];
        let (mut head, tail) = (lossy(head), lossy(tail));
        // A replacement character is longer than the byte it stands for.
        head.truncate(boundary(&head, self.keep));
        let from = tail.len().saturating_sub(self.keep);
        let from = (from..tail.len()).find(|at| tail.is_char_boundary(*at)).unwrap_or(tail.len());
        Output { head, tail: tail[from..].to_owned(), bytes: self.total }
    }
}

/// The last place not after `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Nothing was left out: one text, divided between two characters.
fn whole(mut head: Vec<u8>, tail: &[u8], bytes: u64) -> Output {
    let keep = head.len();
    head.extend_from_slice(tail);
    let mut head = lossy(&head);
    let tail = if tail.is_empty() { String::new() } else { head.split_off(boundary(&head, keep)) };
    Output { head, tail, bytes }
}

/// How many bytes at the end begin a character that does not end there.
fn cut_off_at_end(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let needs = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

/// How many bytes at the start end a character that does not begin there.
fn cut_off_at_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(keep: usize, chunks: &[&[u8]]) -> Output {
        let mut capture = Capture::new(keep);
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish()
    }

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let check = |keep, chunks: &[&[u8]], head: &str, tail: &str, omitted| {
            let output = captured(keep, chunks);
            assert_eq!((output.head.as_str(), output.tail.as_str()), (head, tail));
            assert_eq!(output.omitted(), omitted, "{output:?}");
        };
        check(4, &[b"ab", b"c"], "abc", "", 0);
        check(4, &[b"abcd"], "abcd", "", 0);
        check(4, &[b"abcdef", b"gh"], "abcd", "efgh", 0);
        check(4, &[b"abcdef", b"ghij"], "abcd", "ghij", 2);
        check(4, &[b"abcdefghijklmnop"], "abcd", "mnop", 8);
        check(0, &[b"abc"], "", "", 3);
    }

    #[test]
    fn characters_are_not_split() {
        let check = |keep, text: &str, head: &str, tail: &str| {
            for size in 1..5 {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let output = captured(keep, &chunks);
                assert_eq!((output.head.as_str(), output.tail.as_str()), (head, tail));
            }
        };
        check(3, "aéé", "aé", "é");
        check(4, "aéééééz", "aé", "éz");
        check(3, "€€€€", "€", "€");
        check(4, "a😀😀😀z", "a", "z");
    }

    #[test]
    fn invalid_bytes_are_replaced_within_the_cap() {
        assert_eq!(captured(8, &[b"a\xffb"]).head, "a\u{fffd}b");
        let output = captured(8, &[&[0xff; 1000]]);
        assert_eq!(output.bytes, 1000);
        assert!(output.head.len() <= 8 && output.tail.len() <= 8);
        assert!(output.omitted() > 0);
    }
}
