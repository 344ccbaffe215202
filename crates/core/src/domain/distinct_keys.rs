//! JSON that a person wrote, without a key that is named twice.

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::HashSet;
use std::fmt;

/// Any JSON in which no object names a key twice, whatever else it says.
///
/// Readers of JSON take the last of two values without a word, and whoever wrote both may have meant the first: read what
/// a person wrote as this one before it is read as what it is. The error says which key it is, and where.
///
/// ```
/// use reflexion_core::domain::DistinctKeys;
/// assert!(serde_json::from_str::<DistinctKeys>(r#"[{"a": 1}, {"a": 2, "b": {"a": 3}}]"#).is_ok());
/// let error = serde_json::from_str::<DistinctKeys>(r#"{"run": "make", "run": "true"}"#).unwrap_err();
/// assert!(error.to_string().starts_with("the key `run` stands twice at line 1 "));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Values)
    }
}

/// Goes through a value and everything in it.
struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = DistinctKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DistinctKeys, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` stands twice")));
            }
            keys.insert(key);
            map.next_value::<DistinctKeys>()?;
        }
        Ok(DistinctKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DistinctKeys, A::Error> {
        while list.next_element::<DistinctKeys>()?.is_some() {}
        Ok(DistinctKeys)
    }

    fn visit_unit<E>(self) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }
}
