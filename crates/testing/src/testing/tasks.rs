//! A task file without a file.

use crate::domain::{Task, TaskId, TaskList, TaskMark};
use crate::services::{Tasks, TasksError};
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Tasks in memory; marks are kept and not interpreted.
#[derive(Debug, Default)]
pub struct MemoryTasks {
    tasks: Mutex<Vec<Task>>,
    edits: AtomicU64,
    marks: Mutex<Vec<TaskMark>>,
}

impl MemoryTasks {
    /// These tasks.
    #[must_use]
    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks: Mutex::new(tasks), edits: AtomicU64::new(0), marks: Mutex::default() }
    }

    /// Changes them as a person would, while a run goes on.
    pub fn edit(&self, change: impl FnOnce(&mut Vec<Task>)) {
        change(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        self.edits.fetch_add(1, Ordering::Relaxed);
    }

    /// What runs found out so far, in order.
    #[must_use]
    pub fn marks(&self) -> Vec<TaskMark> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Tasks for MemoryTasks {
    async fn load(&self) -> Result<TaskList, TasksError> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(TaskList { tasks, ..TaskList::default() })
    }

    fn edits(&self) -> u64 {
        self.edits.load(Ordering::Relaxed)
    }

    async fn mark(&self, marks: &[TaskMark]) -> Result<(), TasksError> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(marks);
        Ok(())
    }
}

/// A task with an id and a title, and nothing else; for scripts.
///
/// # Panics
/// If the id is not allowed.
#[must_use]
pub fn task(id: &str) -> Task {
    let id = TaskId::new(id).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_value(serde_json::json!({ "id": id, "title": id })).unwrap_or_else(|e| panic!("{e}"))
}
