//! A unit test of your program on the test layers: no process, no file, no account.
//!
//! `cargo test --example unit_test` runs the tests; `cargo run --example unit_test` runs the program itself.

use reflexion::domain::SubtaskId;
use reflexion::layer::Svc;
use reflexion::services::{ReflectionError, ReflectionService};

/// Your program: shows the newest lesson of a task.
struct Dashboard {
    reflections: Svc<dyn ReflectionService>,
}

impl Dashboard {
    async fn headline(&self, task: &SubtaskId) -> Result<String, ReflectionError> {
        let newest = self.reflections.get_recent(task, 1).await?;
        Ok(newest
            .first()
            .map_or_else(|| format!("{task}: nothing learned yet"), |r| format!("{task}: {}", r.suggestion)))
    }
}

#[tokio::main]
async fn main() -> Result<(), reflexion::layer::BoxError> {
    let app = reflexion::runtime::test::reflection_service_test().build::<Svc<dyn ReflectionService>>().await?;
    let dashboard = Dashboard { reflections: app.clone() };
    println!("{}", dashboard.headline(&SubtaskId::new("fix-dates")?).await?);
    drop(dashboard);
    app.shutdown().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reflexion::domain::{FailureContext, Output, TaskId, Timestamp};
    use reflexion::runtime;
    use reflexion::services::{MockStorage, Storage, StorageError};

    #[tokio::test]
    async fn shows_the_newest_suggestion() {
        let layers = runtime::test::reflection_service_test_with_storage();
        let app = layers.build::<Svc<dyn ReflectionService>>().await.unwrap();
        let task = TaskId::new("fix-dates").unwrap();
        let mut failure = FailureContext::new(task.clone(), 1, Timestamp::UNIX_EPOCH);
        failure.output = Output::whole("error: something broke");
        let reflection = app.generate(&failure).await.unwrap();
        app.save(&reflection).await.unwrap();

        let dashboard = Dashboard { reflections: app.clone() };
        let headline = dashboard.headline(&SubtaskId::from(&task)).await.unwrap();
        assert_eq!(headline, format!("fix-dates: {}", reflection.suggestion));
        drop(dashboard);
        app.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn says_that_the_memory_is_broken() {
        let mut storage = MockStorage::new();
        storage.expect_recent().times(1).returning(|_| {
            Err(StorageError::Io { action: "read", path: "memory".into(), message: "disk on fire".to_owned() })
        });
        // One line swaps one service.
        let layers = runtime::test::reflection_service_test().with(Svc::<dyn Storage>::new(storage));
        let app = layers.build::<Svc<dyn ReflectionService>>().await.unwrap();

        let dashboard = Dashboard { reflections: app.clone() };
        let error = dashboard.headline(&SubtaskId::new("fix-dates").unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), "storage_error");
        drop(dashboard);
        app.shutdown().await.unwrap();
    }
}
