//! Any bytes between records.

use super::{block_on, line, of, recent, reflection};
use proptest::prelude::*;
use reflexion::domain::{ReflectionId, Timestamp};
use reflexion::services::{RecentQuery, Storage};
use reflexion::storage::JsonlStorage;
use std::collections::BTreeSet;
use std::fs;

/// Good records with anything between them; a newline ends the garbage so that it cannot be a record's front.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        "[{}\\[\\]\":,a-z0-9\\\\]{0,80}".prop_map(String::into_bytes),
        Just(vec![0; 5000]),
        (1..200_000usize).prop_map(|n| vec![b'x'; n]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn good_lines_are_found_among_any_bytes(
        parts in proptest::collection::vec((garbage(), "\\PC{0,12}"), 1..8),
        tail in garbage(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.jsonl");
        let mut bytes = Vec::new();
        for (n, (garbage, subtask)) in parts.iter().enumerate() {
            bytes.extend(garbage);
            bytes.push(b'\n');
            bytes.extend(line(&reflection(&format!("good-{n}"), subtask, 1)).into_bytes());
        }
        bytes.extend(&tail);
        fs::write(&path, &bytes).unwrap();
        let store = JsonlStorage::open(&path);
        let expected: Vec<_> = (0..parts.len()).rev().map(|n| format!("good-{n}")).collect();
        block_on(async {
            assert_eq!(recent(&store, &RecentQuery::default()).await, expected);
            for (n, (_, subtask)) in parts.iter().enumerate() {
                let id = format!("good-{n}");
                assert!(recent(&store, &of(subtask)).await.contains(&id));
                store.get(&ReflectionId::new(&id)).await.unwrap();
            }
            assert_eq!(store.check().await.unwrap().reflections, parts.len());
            store.append(&[reflection("new", "s", 1)]).await.unwrap();
            assert_eq!(recent(&store, &RecentQuery::default()).await[0], "new");
            store.prune(Timestamp::MAX, &BTreeSet::new()).await.unwrap();
            assert_eq!(recent(&store, &RecentQuery::default()).await, [""; 0]);
        });
    }
}
