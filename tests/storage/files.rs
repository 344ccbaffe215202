//! One process and what may stand in its file.

use super::{all, line, of, recent, reflection};
use reflexion::domain::{Status, Timestamp};
use reflexion::services::{MockClock, RecentQuery, Storage, StorageError, Tasks};
use reflexion::storage::{FileTasks, InMemoryStorage, JsonlStorage};
use reflexion::testing::storage_contract;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::sync::Arc;

#[tokio::test]
async fn the_memory_store_keeps_the_contract() {
    storage_contract(|| Arc::new(InMemoryStorage::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_store_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let stores = Cell::new(0);
    storage_contract(|| {
        stores.set(stores.get() + 1);
        let path = dir.path().join(format!("{}/deep/memory.jsonl", stores.get()));
        Arc::new(JsonlStorage::open(path))
    })
    .await;
}

#[tokio::test]
async fn reading_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = JsonlStorage::open(dir.path().join("memory/reflections.jsonl"));
    assert_eq!(recent(&store, &of("s")).await, [""; 0]);
    store.prune(Timestamp::MAX, &BTreeSet::new()).await.unwrap();
    store.check().await.unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_torn_tail_costs_only_itself_at_every_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let front = line(&reflection("a", "s", 1)) + &line(&reflection("b", "s", 1));
    let torn = line(&reflection("torn-é", "s", 1));
    for cut in 0..=torn.len() {
        fs::write(&path, [front.as_bytes(), &torn.as_bytes()[..cut]].concat()).unwrap();
        let store = JsonlStorage::open(&path);
        let whole = cut >= torn.len() - 1;
        let before: &[&str] = if whole { &["torn-é", "b", "a"] } else { &["b", "a"] };
        assert_eq!(recent(&store, &of("s")).await, before, "cut at {cut}");

        store.append(&[reflection("new", "s", 1)]).await.unwrap();
        let after = [&["new"], before].concat();
        assert_eq!(recent(&store, &of("s")).await, after, "remembered, cut at {cut}");
        assert_eq!(all(&path).await, after, "read afresh, cut at {cut}");
        let unreadable = usize::from(!whole && cut > 0);
        assert_eq!(store.check().await.unwrap().unreadable, unreadable);
    }
}

#[tokio::test]
async fn a_line_in_the_making_is_not_remembered_as_unreadable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let store = JsonlStorage::open(&path);
    store.append(&[reflection("a", "s", 1)]).await.unwrap();
    let coming = line(&reflection("b", "s", 1));
    for cut in 1..coming.len() {
        let before = fs::read(&path).unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&coming.as_bytes()[..cut]).unwrap();
        let half = recent(&store, &of("s")).await;
        file.write_all(&coming.as_bytes()[cut..]).unwrap();
        assert_eq!(recent(&store, &of("s")).await[..2], ["b", "a"], "cut at {cut}");
        let whole = cut == coming.len() - 1;
        assert_eq!(half.len(), if whole { 2 } else { 1 }, "cut at {cut}");
        // Cut off and written over, as after a failed append: no growth.
        file.set_len(before.len() as u64).unwrap();
        file.write_all(line(&reflection("longer-than-b", "s", 1)).as_bytes()).unwrap();
        assert_eq!(recent(&store, &of("s")).await[0], "longer-than-b");
        fs::write(&path, before).unwrap();
        assert_eq!(recent(&store, &of("s")).await, ["a"]);
    }
}

#[tokio::test]
async fn whatever_stands_between_records_is_skipped_counted_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let record = |id: &str, created| line(&reflection(id, "s", created)).into_bytes();
    let mut future = serde_json::to_value(reflection("future", "s", 1)).unwrap();
    future["v"] = 2.into();
    let huge = format!("{{\"taskId\":\"{}\"}}\n", "x".repeat(2 << 20)).into_bytes();
    let crlf = [record("crlf", 9).strip_suffix(b"\n").unwrap(), b"\r\n"].concat();
    let parts: &[(Vec<u8>, bool)] = &[
        ([b"\xEF\xBB\xBF", &record("bom", 9)[..]].concat(), true),
        (record("old-1", 1), false),
        (b"\n".to_vec(), true),
        (b"\0\0\0\0\n".to_vec(), true),
        ([b"\0\0\0", &record("after-nul", 9)[..]].concat(), true),
        (b"\xFF\xFE\"s\"\n".to_vec(), true),
        (huge.clone(), true),
        (record("old-2", 2), false),
        (crlf, true),
        (format!("{future}\n").into_bytes(), true),
        (b"{\"v\":3,\"subtaskId\":\"s\",\"what\":\"else\"}\n".to_vec(), true),
        (huge, true),
        (b"not json, but \"s\"\n".to_vec(), true),
        (record("last", 9), true),
        (b"{\"id\":\"torn\",\"subtaskId\":\"s\"".to_vec(), true),
    ];
    let whole: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    fs::write(&path, &whole).unwrap();
    let kept: Vec<u8> = parts.iter().filter(|p| p.1).flat_map(|(bytes, _)| bytes.clone()).collect();

    let store = JsonlStorage::open(&path);
    let found = ["last", "crlf", "old-2", "after-nul", "old-1", "bom"];
    assert_eq!(recent(&store, &of("s")).await, found);
    assert_eq!(recent(&store, &RecentQuery::default()).await, found);
    let report = store.check().await.unwrap();
    assert_eq!((report.reflections, report.unreadable), (6, 7));
    let lines: Vec<_> = report.problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [6, 7, 10, 11, 12, 13, 15]);
    assert!(report.problems[2].message.contains("version 2"), "{report:?}");
    assert!(report.problems[3].message.contains("version 3"), "{report:?}");

    let pruned = store.prune(Timestamp::from_second(5).unwrap(), &BTreeSet::new()).await.unwrap();
    assert_eq!((pruned.removed, pruned.kept, pruned.unreadable), (2, 4, 7));
    assert!(fs::read(&path).unwrap() == kept, "kept byte for byte");
    assert_eq!(recent(&store, &of("s")).await, ["last", "crlf", "after-nul", "bom"]);
}

#[tokio::test]
async fn prune_keeps_permissions_and_leaves_no_file_behind() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    fs::write(&path, line(&reflection("old", "s", 1)) + &line(&reflection("new", "s", 9))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    fs::write(dir.path().join(".reflexion-replacing-0.tmp"), "of a killed prune").unwrap();

    let store = JsonlStorage::open(&path);
    store.prune(Timestamp::from_second(5).unwrap(), &BTreeSet::new()).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o664);
    assert_eq!(all(&path).await, ["new"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_memory_or_its_directory_that_is_a_link_is_refused_and_what_is_above_may_be_one() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    fs::create_dir_all(at("real/memory")).unwrap();
    fs::write(at("real/memory/m.jsonl"), line(&reflection("old", "s", 1))).unwrap();
    fs::create_dir(at("other")).unwrap();
    std::os::unix::fs::symlink(at("real"), at("door")).unwrap();
    std::os::unix::fs::symlink(at("real/memory"), at("memory")).unwrap();
    std::os::unix::fs::symlink(at("real/memory/m.jsonl"), at("other/m.jsonl")).unwrap();
    for (path, link) in [("memory/m.jsonl", "memory"), ("other/m.jsonl", "other/m.jsonl")] {
        let store = JsonlStorage::open(at(path));
        let refused = [
            store.append(&[reflection("a", "s", 1)]).await.unwrap_err(),
            store.recent(&of("s")).await.unwrap_err(),
            store.prune(Timestamp::from_second(5).unwrap(), &BTreeSet::new()).await.unwrap_err(),
            store.check().await.unwrap_err(),
        ];
        for refused in refused {
            let said = format!("`{}` is a symbolic link", at(link).display());
            assert!(refused.to_string().contains(&said), "{refused}");
        }
    }
    let store = JsonlStorage::open(at("door/memory/m.jsonl"));
    store.append(&[reflection("a", "s", 1)]).await.unwrap();
    assert_eq!(recent(&store, &of("s")).await, ["a", "old"]);
}

#[tokio::test]
async fn a_writer_that_waited_for_a_replaced_file_writes_to_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let store = JsonlStorage::open(&path);
    store.append(&[reflection("a", "s", 1)]).await.unwrap();
    let old = fs::File::open(&path).unwrap();
    old.lock().unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.append(&[reflection("b", "s", 1)]).await }
    });
    tokio::task::yield_now().await;
    fs::write(dir.path().join("new"), "").unwrap();
    fs::rename(dir.path().join("new"), &path).unwrap();
    drop(old);
    waiting.await.unwrap().unwrap();
    assert_eq!(recent(&store, &of("s")).await, ["b"]);
    // Gone with its directory, and made again.
    fs::remove_file(&path).unwrap();
    assert_eq!(recent(&store, &of("s")).await, [""; 0]);
    store.append(&[reflection("c", "s", 1)]).await.unwrap();
    assert_eq!(recent(&store, &of("s")).await, ["c"]);
}

#[tokio::test]
async fn writers_that_wait_share_one_sync() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    fs::write(&path, "").unwrap();
    let other = fs::File::open(&path).unwrap();
    other.lock().unwrap();
    let store = JsonlStorage::open(&path);
    let writers: Vec<_> = (0..64)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move { store.append(&[reflection(&n.to_string(), "s", 1)]).await })
        })
        .collect();
    // One turn of the only worker is enough for each of them to queue.
    tokio::task::yield_now().await;
    drop(other);
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(all(&path).await.len(), 64);
    assert!(store.syncs() <= 64 / 16, "{} syncs", store.syncs());
}

#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_and_works_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory/reflections.jsonl");
    fs::write(dir.path().join("memory"), "a file where the directory should be").unwrap();
    let store = JsonlStorage::open(&path);
    let refused = store.append(&[reflection("a", "s", 1)]).await.unwrap_err();
    let StorageError::Io { action, path: named, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!((*action, named), ("append to", &path));
    assert!(refused.to_string().starts_with("failed to append to "), "{refused}");
    fs::remove_file(dir.path().join("memory")).unwrap();
    store.append(&[reflection("b", "s", 1)]).await.unwrap();
    assert_eq!(recent(&store, &of("s")).await, ["b"]);

    let directory = JsonlStorage::open(dir.path());
    assert!(directory.append(&[reflection("a", "s", 1)]).await.is_err());
    assert!(directory.recent(&of("s")).await.is_err());
    assert!(directory.check().await.is_err());
}

#[tokio::test]
async fn a_read_only_directory_is_a_typed_error() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let memory = dir.path().join("memory");
    fs::create_dir(&memory).unwrap();
    fs::set_permissions(&memory, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(memory.join("probe"), "").is_ok() {
        eprintln!("SKIPPED: permissions do not bind this user (root)");
        return;
    }
    let store = JsonlStorage::open(memory.join("m.jsonl"));
    let refused = store.append(&[reflection("a", "s", 1)]).await;
    assert!(matches!(refused, Err(StorageError::Io { .. })), "{refused:?}");
    fs::set_permissions(&memory, fs::Permissions::from_mode(0o755)).unwrap();
    store.append(&[reflection("b", "s", 1)]).await.unwrap();
    assert_eq!(recent(&store, &of("s")).await, ["b"]);
}

#[tokio::test]
async fn a_device_is_refused() {
    let full = JsonlStorage::open("/dev/full");
    let refused = full.append(&[reflection("a", "s", 1)]).await.unwrap_err();
    assert!(refused.to_string().contains("is a device where a file belongs"), "{refused}");
}

#[tokio::test]
async fn people_who_edit_at_the_same_time_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let add = |n: u8| {
        let mut clock = MockClock::new();
        clock.expect_now().returning(Timestamp::default);
        let path = dir.path().join("tasks.jsonl");
        let tasks = FileTasks::open(path, dir.path().join("overlay"), Arc::new(clock));
        let keys = serde_json::json!({"id": format!("a{n}"), "title": "t"});
        let keys = keys.as_object().unwrap().clone();
        tokio::spawn(async move {
            tasks.add(keys).await.unwrap();
            let list = tasks.load().await.unwrap();
            assert!(list.tasks.iter().any(|t| t.id.as_str() == format!("a{n}")));
            tasks.set_status(&format!("a{n}"), Status::Closed).await.unwrap();
            tasks
        })
    };
    let people: Vec<_> = (0..16).map(add).collect();
    let mut last = None;
    for person in people {
        last = Some(person.await.unwrap());
    }
    let list = last.unwrap().load().await.unwrap();
    assert_eq!((list.tasks.len(), list.problems.len()), (16, 0));
    assert!(list.tasks.iter().all(|t| t.status == Status::Closed));
}
