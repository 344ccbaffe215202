//! A tower layer of your own around every agent: here it counts the agent runs of the whole loop.
//!
//! `cargo run --example own_layer` shows it on scripted doubles; the same line works on `runtime::live()`.

use reflexion::domain::Task;
use reflexion::layer::{BoxError, Svc};
use reflexion::services::{AgentRequest, Orchestrator, RunRequest, Subagents, Tasks, Verifier, Workspaces};
use reflexion::{runtime, testing};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

/// Your layer. Its services share what it counts.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl<S> tower::Layer<S> for Count {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { inner, count: self.clone() }
    }
}

#[derive(Clone)]
struct Counting<S> {
    inner: S,
    count: Count,
}

impl<S: tower::Service<AgentRequest>> tower::Service<AgentRequest> for Counting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: AgentRequest) -> S::Future {
        self.count.0.fetch_add(1, Ordering::Relaxed);
        self.inner.call(request)
    }
}

/// Runs one task, whose agent is wrong at first, and says how often an agent was run.
async fn count_runs() -> Result<u32, BoxError> {
    let files = testing::MemoryWorkspaces::new([("answer.txt", "")]);
    let agent =
        testing::ScriptedSubagent::new().writes(&files, "answer.txt", "wrong").writes(&files, "answer.txt", "right");
    let seen = files.clone();
    let verifier =
        testing::ScriptedVerifier::new(move |_, dir| match seen.read(dir, Path::new("answer.txt")).as_deref() {
            Some("right") => Ok(()),
            other => Err(format!("the answer is {other:?}")),
        });
    let checks = vec![serde_json::from_str(r#"{"name":"answer","run":"./check"}"#)?];
    let tasks = testing::MemoryTasks::new(vec![Task { checks, ..testing::task("answer") }]);

    let count = Count::default();
    let layer = count.clone();
    let app = runtime::test::test()
        .with(Svc::<dyn Workspaces>::new(files))
        .with(Svc::<dyn Tasks>::new(tasks))
        .with(Svc::<dyn Verifier>::new(verifier))
        .with(Svc::<dyn Subagents>::new(agent))
        .wrap::<dyn Subagents>(move |agents| runtime::layer_agents(agents, layer.clone()))
        .build::<Svc<dyn Orchestrator>>()
        .await?;
    app.run(RunRequest::everything(runtime::new_run_id())).await?;
    app.shutdown().await?;
    Ok(count.0.load(Ordering::Relaxed))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    println!("{} agent runs", count_runs().await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn each_attempt_goes_through_the_layer() {
        assert_eq!(super::count_runs().await.unwrap(), 2);
    }
}
