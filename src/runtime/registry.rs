//! The ports that layers may ask for, registered once.

crate::service!(
    crate::services::Settings,
    crate::services::Clock,
    crate::services::CommandRunner,
    crate::services::Workspaces,
    crate::services::Tasks,
    crate::services::Subagents,
    crate::services::Transcripts,
    crate::services::Models,
    crate::services::Verifier,
    crate::services::FailureReader,
    crate::services::Generator,
    crate::services::ReflectionService,
    crate::services::Storage,
    crate::services::Journal,
    crate::services::RunLock,
    crate::services::EventSink,
    crate::services::Orchestrator,
);
