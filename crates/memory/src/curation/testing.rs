//! Lessons and events for the tests of this module and of recall.

use crate::domain::{
    Category, LessonChange, LessonEvent, LessonWriter, Reflection, ReflectionId, SessionId, Timestamp,
};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn event(second: i64, lesson: &str, change: LessonChange, by: LessonWriter) -> LessonEvent {
    LessonEvent { at: at(second), by, lesson: ReflectionId::new(lesson), change, why: "because".to_owned(), v: 1 }
}

pub(crate) fn reflection(id: &str, task: &str) -> Reflection {
    Reflection {
        id: ReflectionId::new(id),
        session_id: SessionId::new("s"),
        task_id: task.to_owned(),
        subtask_id: task.to_owned(),
        attempt_number: 1,
        category: Category::RootCause,
        analysis: String::new(),
        suggestion: String::new(),
        action_items: Vec::new(),
        confidence: 0.5,
        created_at: at(0),
        v: 1,
        origin: None,
        already_tried: None,
        signature: None,
        failure: None,
        replaces: None,
        files: Vec::new(),
        foreign: false,
    }
}
