//! A line of JSON, read once and only as far as a description asks for.
//!
//! The paths of all rules form a tree ([`Shape`]); the parser walks the line along that tree and skips everything else
//! without building it, so that a line costs little more than finding its end. Texts without escapes stay where they
//! are, in the line.

use super::path::Path;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A text of a record is kept up to so many bytes, half from each end: enough for a closing message or a test run's
/// failures, and no line makes a transcript large.
pub(super) const TEXT_BYTES: usize = 16 * 1024;

/// What was wanted of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Doc<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Doc<'a>>),
    Map(Vec<(Cow<'a, str>, Doc<'a>)>),
}

impl<'a> Doc<'a> {
    /// The value at a path; none where the line has none, or `null`.
    pub fn at(&self, path: &Path) -> Option<&Doc<'a>> {
        let found = path.steps().iter().try_fold(self, |doc, step| doc.child(step))?;
        (*found != Doc::Null).then_some(found)
    }

    fn child(&self, step: &str) -> Option<&Doc<'a>> {
        match self {
            Doc::Map(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, value)| value),
            Doc::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// What a list or a map holds.
    pub fn items(&self) -> impl Iterator<Item = &Doc<'a>> {
        let (list, map) = match self {
            Doc::List(items) => (Some(items), None),
            Doc::Map(entries) => (None, Some(entries)),
            _ => (None, None),
        };
        list.into_iter().flatten().chain(map.into_iter().flatten().map(|(_, value)| value))
    }

    /// The words in it: a text, a number, the texts of content blocks (`[{"type":"text","text":"…"}]`) line by line, or
    /// what an object calls its `text` or `message`.
    pub fn words(&self) -> Option<Cow<'_, str>> {
        match self {
            Doc::Text(text) => Some(Cow::Borrowed(text)),
            Doc::Int(number) => Some(Cow::Owned(number.to_string())),
            Doc::Float(number) => Some(Cow::Owned(number.to_string())),
            Doc::List(items) => {
                let texts: Vec<_> = items.iter().filter_map(Doc::words).collect();
                (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
            }
            Doc::Map(_) => self.child("text").or_else(|| self.child("message")).and_then(Doc::words),
            Doc::Null | Doc::Bool(_) => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Doc::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Doc::Int(number) => Some(*number as f64),
            Doc::Float(number) => Some(*number),
            Doc::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A count; what is no whole number from 0 on is none.
    pub fn count(&self) -> Option<u64> {
        match self {
            Doc::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// As plain JSON, as long as `room` lasts; texts are cut to what is left of it.
    pub fn to_json(&self, room: &mut usize) -> serde_json::Value {
        use serde_json::Value;
        *room = room.saturating_sub(2);
        match self {
            Doc::Null => Value::Null,
            Doc::Bool(value) => Value::from(*value),
            Doc::Int(number) => Value::from(*number),
            Doc::Float(number) => Value::from(*number),
            Doc::Text(text) => {
                let cut = crate::prompt::excerpt(text, *room).into_owned();
                *room = room.saturating_sub(cut.len());
                Value::from(cut)
            }
            Doc::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    if *room == 0 {
                        break;
                    }
                    list.push(item.to_json(room));
                }
                Value::from(list)
            }
            Doc::Map(entries) => {
                let mut map = serde_json::Map::new();
                for (key, value) in entries {
                    if *room == 0 {
                        break;
                    }
                    *room = room.saturating_sub(key.len());
                    map.insert(key.clone().into_owned(), value.to_json(room));
                }
                Value::Object(map)
            }
        }
    }
}

/// Which parts of a line are wanted: a tree of all paths.
#[derive(Debug, Default)]
pub(super) struct Shape {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// Everything below is wanted.
    whole: bool,
    /// What is wanted of some entries, by key, or by index of a list.
    some: Vec<(String, usize)>,
    /// What is wanted of every entry.
    each: Option<usize>,
}

impl Shape {
    pub fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    /// Wants the value at `path` below `from` (0: the whole line), with everything in it; returns its node.
    pub fn want(&mut self, from: usize, path: &Path) -> usize {
        let node = self.reach(from, path);
        self.nodes[node].whole = true;
        node
    }

    /// Wants parts of each entry at `path` below `from`; the returned node stands for any of them.
    pub fn want_each(&mut self, from: usize, path: &Path) -> usize {
        let node = self.reach(from, path);
        if let Some(each) = self.nodes[node].each {
            return each;
        }
        let each = self.add();
        self.nodes[node].each = Some(each);
        each
    }

    fn reach(&mut self, from: usize, path: &Path) -> usize {
        let mut node = from;
        for step in path.steps() {
            let known = self.nodes[node].some.iter().find(|(key, _)| key == step).map(|(_, child)| *child);
            node = known.unwrap_or_else(|| {
                let child = self.add();
                self.nodes[node].some.push((step.clone(), child));
                child
            });
        }
        node
    }

    fn add(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is not JSON, or not UTF-8 where it is wanted.
    pub fn read<'a>(&'a self, line: &'a [u8]) -> Result<Doc<'a>, serde_json::Error> {
        let mut input = serde_json::Deserializer::from_slice(line);
        let doc = Part { shape: self, node: Some(0), whole: false }.deserialize(&mut input)?;
        input.end()?;
        Ok(doc)
    }
}

/// One place of a line, with what is wanted there.
#[derive(Clone, Copy)]
struct Part<'a> {
    shape: &'a Shape,
    node: Option<usize>,
    whole: bool,
}

impl<'a> Part<'a> {
    fn node(&self) -> Option<&'a Node> {
        self.node.map(|node| &self.shape.nodes[node])
    }

    /// What is wanted of an entry, with its key as the shape has it.
    fn entry(&self, key: &str) -> Option<(Option<&'a str>, Part<'a>)> {
        let node = self.node();
        let named = node.and_then(|node| node.some.iter().find(|(name, _)| name == key));
        let below = named.map(|(_, child)| *child).or_else(|| node.and_then(|node| node.each));
        if below.is_none() && !self.whole {
            return None;
        }
        let whole = self.whole || below.is_some_and(|below| self.shape.nodes[below].whole);
        Some((named.map(|(name, _)| name.as_str()), Part { shape: self.shape, node: below, whole }))
    }
}

impl<'de> DeserializeSeed<'de> for Part<'de> {
    type Value = Doc<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Doc<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'de> {
    type Value = Doc<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Doc<'de>, E> {
        Ok(Doc::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Doc<'de>, E> {
        Ok(Doc::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Doc<'de>, E> {
        Ok(Doc::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Doc<'de>, E> {
        Ok(i64::try_from(value).map_or(Doc::Float(value as f64), Doc::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Doc<'de>, E> {
        Ok(Doc::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Doc<'de>, E> {
        Ok(Doc::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Doc<'de>, E> {
        Ok(Doc::Text(Cow::Owned(crate::prompt::excerpt(value, TEXT_BYTES).into_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Doc<'de>, A::Error> {
        let mut items = Vec::new();
        if self.whole || self.node().is_some_and(|node| node.each.is_some() || !node.some.is_empty()) {
            loop {
                let next = match self.entry(&items.len().to_string()) {
                    Some((_, part)) => list.next_element_seed(part)?,
                    None => list.next_element::<IgnoredAny>()?.map(|_| Doc::Null),
                };
                match next {
                    Some(item) => items.push(item),
                    None => return Ok(Doc::List(items)),
                }
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Doc::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Doc<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(Key(self))? {
            match key {
                Some((key, part)) => entries.push((key, map.next_value_seed(part)?)),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Doc::Map(entries))
    }
}

/// A key, and what is wanted of its value.
struct Key<'a>(Part<'a>);

impl<'de> DeserializeSeed<'de> for Key<'de> {
    type Value = Option<(Cow<'de, str>, Part<'de>)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'de> {
    type Value = Option<(Cow<'de, str>, Part<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let Some((name, part)) = self.0.entry(key) else { return Ok(None) };
        Ok(Some((name.map_or_else(|| Cow::Owned(key.to_owned()), Cow::Borrowed), part)))
    }
}
