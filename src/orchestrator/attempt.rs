//! One attempt: prompt, agent, recorded change, checks, verdict.

use super::judge;
use super::judge::Evidence;
use super::judge::Judgement;
use super::task::Prepared;
use super::task::TaskRun;
use super::task::TaskRunError;
use super::watch::Watching;
use crate::domain::AgentReport;
use crate::domain::Change;
use crate::domain::CheckReport;
use crate::domain::CheckScope;
use crate::domain::Ending;
use crate::domain::EndingEffect;
use crate::domain::EventKind;
use crate::domain::Expects;
use crate::domain::FailedCheck;
use crate::domain::FailureContext;
use crate::domain::FailureType;
use crate::domain::JournalEntry;
use crate::domain::Output;
use crate::domain::Reflection;
use crate::domain::ReflectionId;
use crate::domain::SessionId;
use crate::domain::TranscriptHead;
use crate::domain::TranscriptItem;
use crate::domain::TreeId;
use crate::domain::Usage;
use crate::prompt::AttemptPrompt;
use crate::prompt::LastFailure;
use crate::prompt::go_on;
use crate::services::AgentRequest;
use crate::services::AgentWatch;
use crate::services::Conversation;
use crate::services::Earlier;
use crate::services::Mode;
use crate::services::PromptSection;
use crate::services::SubagentError;
use crate::services::Workspace;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

/// How many more reflections are read than are injected: the same lesson written twice must not push out another one.
const READ_AHEAD: usize = 4;

/// An attempt that the machine asks for.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    /// The subtask, counted from 0.
    pub part: usize,
    /// From 1, over all runs.
    pub number: u32,
    /// The agent.
    pub agent: String,
    /// The recorded tree to start from.
    pub from: TreeId,
}

/// Where an agent stopped that a limit or a passing fault of its service ended: the same attempt goes on from there.
#[derive(Debug, Clone)]
pub(super) struct ResumePoint {
    part: usize,
    number: u32,
    agent: String,
    /// The files as it left them.
    tree: TreeId,
    ending: Ending,
    earlier: Earlier,
}

impl ResumePoint {
    fn is_of(&self, attempt: &Attempt) -> bool {
        self.part == attempt.part && self.number == attempt.number && self.agent == attempt.agent
    }
}

/// What came of it.
pub(super) enum AgentStop {
    /// The agent could not be started.
    NotStarted { because: String },
    /// It stopped for a reason that is not judged.
    Stopped { ending: Ending, detail: Option<String> },
    /// It was judged.
    Judged(Box<Judged>),
}

/// An agent that stopped by itself, before its checks.
struct Stopped {
    attempt: Attempt,
    session: SessionId,
    report: AgentReport,
    change: Change,
    tampered: Vec<String>,
}

/// A judged attempt.
pub(super) struct Judged {
    pub attempt: Attempt,
    pub session: SessionId,
    pub ending: Ending,
    pub usage: Usage,
    pub message: String,
    pub detail: Option<String>,
    pub change: Change,
    pub checks: Vec<CheckReport>,
    pub judgement: Judgement,
    pub reflection: Option<ReflectionId>,
    /// What writing it used.
    pub reflection_usage: Usage,
}

impl Judged {
    /// The check that the verdict rests on.
    pub fn failing(&self) -> Option<&CheckReport> {
        self.judgement.failing.map(|i| &self.checks[i])
    }

    /// The failing check, or the first red one where the verdict rests on something else (an empty change).
    fn shown(&self) -> Option<&CheckReport> {
        self.failing().or_else(|| self.checks.iter().find(|c| c.scope == CheckScope::Task && !c.passed()))
    }

    /// Equal texts are the same failure.
    pub fn signature(&self) -> String {
        let fingerprint = self.shown().map_or(self.judgement.because.as_str(), |c| c.signature.fingerprint.as_str());
        format!("{:?} {fingerprint}", self.judgement.failure)
    }
}

/// The last line of a transcript.
fn end_of(report: &AgentReport) -> TranscriptItem {
    TranscriptItem::End { ending: report.ending.clone(), usage: report.usage, unknown: report.unknown.clone() }
}

impl TaskRun {
    /// Lets an agent work, records what it changed, and judges it.
    pub async fn run_attempt(&mut self, prepared: &Prepared, attempt: Attempt) -> Result<AgentStop, TaskRunError> {
        let context = Arc::clone(&self.context);
        let workspace = &*prepared.workspace;
        let resume = self.resume.take().filter(|point| point.is_of(&attempt));
        let start = resume.as_ref().map_or(&attempt.from, |point| &point.tree);
        workspace.reset(start, &context.cancel).await?;
        let injected = self.recall(attempt.part).await;
        let request = self.request(prepared, &attempt, &injected, resume.as_ref());
        let session = request.session.clone();
        let watch = Arc::clone(&request.watch);
        context.services.journal.record(self.intent(&attempt, &request, &injected)).await?;
        workspace.guard().await?;
        self.publish(EventKind::AttemptStarted {
            subtask: self.parts[attempt.part].id.clone(),
            attempt: attempt.number,
            agent: attempt.agent.clone(),
            injected: injected.ids.len(),
        });
        let report = match self.run_agent(&attempt, request).await {
            Ok(report) => report,
            Err(error) => {
                self.restore(workspace).await?;
                self.drop_attempt(session, None, Usage::default()).await?;
                if resume.is_some() {
                    // The attempt begins anew; what was done before the limit is lost, which costs time and nothing else.
                    self.publish(EventKind::Warning { message: format!("the attempt begins anew: {error}") });
                    return Box::pin(self.run_attempt(prepared, attempt)).await;
                }
                self.publish(EventKind::Warning { message: error.to_string() });
                return Ok(AgentStop::NotStarted { because: error.to_string() });
            }
        };
        watch.step(end_of(&report), None);
        let tampered = self.restore(workspace).await?;
        let change = workspace.record(&attempt.from).await?;
        if !change.files.is_empty() {
            self.last_change = Some((attempt.part, change.tree.clone()));
        }
        self.usage += report.usage;
        self.report.endings.push(report.ending.clone());
        if report.ending.effect() != EndingEffect::Judge {
            let before = resume.map_or_else(Usage::default, |point| point.earlier.usage);
            self.resume = self.resume_point(&attempt, &report, &change, before);
            self.drop_attempt(session, Some(&report.ending), report.usage).await?;
            self.publish(EventKind::AgentEnded {
                ending: report.ending.clone(),
                files: change.files.len(),
                detail: report.detail.clone(),
            });
            let detail = report.detail.as_deref().map(first_line);
            return Ok(AgentStop::Stopped { ending: report.ending, detail });
        }
        self.report.reflections_injected += u32::try_from(injected.ids.len()).unwrap_or(u32::MAX);
        self.judge(prepared, Stopped { attempt, session, report, change, tampered }).await
    }

    /// Puts back what was changed in the user's repository beside the files, and says so.
    async fn restore(&self, workspace: &dyn Workspace) -> Result<Vec<String>, TaskRunError> {
        let tampered = workspace.restore_guarded().await?;
        if !tampered.is_empty() {
            self.publish(EventKind::Tampered { what: tampered.clone() });
        }
        Ok(tampered)
    }

    async fn drop_attempt(
        &self,
        session: SessionId,
        ending: Option<&Ending>,
        usage: Usage,
    ) -> Result<(), TaskRunError> {
        let (task, ending) = (self.task.id.clone(), ending.cloned());
        Ok(self.context.services.journal.record(JournalEntry::AttemptDropped { task, session, ending, usage }).await?)
    }

    /// Where the same attempt can go on, if its agent keeps conversations and will be asked again.
    fn resume_point(
        &self,
        attempt: &Attempt,
        report: &AgentReport,
        change: &Change,
        before: Usage,
    ) -> Option<ResumePoint> {
        let again = matches!(report.ending.effect(), EndingEffect::AwaitReset | EndingEffect::BackOff);
        let agent = self.context.services.subagents.get(&attempt.agent).ok()?;
        let mut usage = before;
        usage += report.usage;
        let agent_session = report.agent_session.clone().filter(|_| again && agent.abilities().resume)?;
        Some(ResumePoint {
            part: attempt.part,
            number: attempt.number,
            agent: attempt.agent.clone(),
            tree: change.tree.clone(),
            ending: report.ending.clone(),
            earlier: Earlier { agent_session, usage },
        })
    }

    /// Where the agent's steps go.
    fn watch(&self, attempt: &Attempt, session: &SessionId, dir: PathBuf) -> Arc<dyn AgentWatch> {
        let services = &self.context.services;
        let transcript = services.transcripts.begin(TranscriptHead {
            run: self.context.run.clone(),
            session: session.clone(),
            task: self.task.id.clone(),
            subtask: self.parts[attempt.part].id.clone(),
            attempt: attempt.number,
            agent: attempt.agent.clone(),
        });
        Arc::new(Watching {
            transcript,
            events: Arc::clone(&services.events),
            clock: Arc::clone(&services.clock),
            task: self.task.id.clone(),
            dir,
            so_far: Mutex::default(),
        })
    }

    fn intent(&self, attempt: &Attempt, request: &AgentRequest, injected: &PromptSection) -> JournalEntry {
        JournalEntry::AttemptStarted {
            task: self.task.id.clone(),
            subtask: self.parts[attempt.part].id.clone(),
            attempt: attempt.number,
            session: request.session.clone(),
            agent: attempt.agent.clone(),
            start: attempt.from.clone(),
            injected: injected.ids.clone(),
            resumes: match &request.conversation {
                Conversation::Resume(earlier) => Some(earlier.agent_session.clone()),
                Conversation::New | Conversation::Fork(_) => None,
            },
        }
    }

    async fn run_agent(&self, attempt: &Attempt, request: AgentRequest) -> Result<AgentReport, SubagentError> {
        self.context.services.subagents.get(&attempt.agent)?.run(request).await
    }

    async fn judge(&mut self, prepared: &Prepared, stopped: Stopped) -> Result<AgentStop, TaskRunError> {
        let workspace = &*prepared.workspace;
        let Stopped { attempt, session, report, change, mut tampered } = stopped;
        self.publish(EventKind::AgentEnded {
            ending: report.ending.clone(),
            files: change.files.len(),
            detail: report.detail.clone(),
        });
        // A check runs what the agent wrote, so it is watched as the agent was.
        workspace.guard().await?;
        let checks = self.verify(workspace, self.checks_of(attempt.part)).await;
        tampered.extend(self.restore(workspace).await?);
        if self.context.cancel.is_cancelled() {
            self.drop_attempt(session, Some(&Ending::Cancelled), report.usage).await?;
            return Ok(AgentStop::Stopped { ending: Ending::Cancelled, detail: None });
        }
        for check in &checks {
            self.publish(EventKind::Checked { name: check.spec.name.clone(), status: check.status.clone() });
        }
        let protected = self.protected(&change, &workspace.prefix());
        let last_part = attempt.part + 1 == self.parts.len();
        let judgement = judge::judge(&Evidence {
            checks: &checks,
            baseline: &prepared.baseline,
            change: &change,
            part: if last_part { judge::Part::Last } else { judge::Part::Earlier },
            // A part before the last must change something; what the task expects is decided at its end.
            expects: if last_part { self.task.expects } else { Expects::Change },
            ending: &report.ending,
            protected: &protected,
            tampered: &tampered,
        });
        let judgement = match (&report.detail, judgement.failure) {
            // The agent itself is what has to be mended; a red check would hide that.
            (Some(detail), failure) if change.no_op && matches!(failure, Some(FailureType::AgentError) | None) => {
                let because = format!("{}; nothing was changed; {}", first_line(detail), judgement.because);
                judge::Judgement { because, ..judgement }
            }
            _ => judgement,
        };
        self.report.attempts += 1;
        self.report.verdict = Some(judgement.verdict);
        self.publish(EventKind::AttemptJudged {
            attempt: attempt.number,
            verdict: judgement.verdict,
            because: judgement.because.clone(),
        });
        let AgentReport { ending, message, detail, usage, .. } = report;
        let judged = Judged {
            attempt,
            session,
            ending,
            usage,
            message,
            detail,
            change,
            checks,
            judgement,
            reflection: None,
            reflection_usage: Usage::default(),
        };
        self.remember_failure(&judged);
        Ok(AgentStop::Judged(Box::new(judged)))
    }

    /// The globs are relative to the project, the files to the repository.
    fn protected(&self, change: &Change, prefix: &Path) -> Vec<String> {
        let matches =
            |file: &&String| Path::new(file).strip_prefix(prefix).is_ok_and(|f| self.context.protect.is_match(f));
        change.files.iter().filter(matches).cloned().collect()
    }

    /// The section of reflections for a part; empty when reflexion is off. Memory that cannot be read costs the lesson,
    /// never the attempt.
    async fn recall(&self, part: usize) -> PromptSection {
        let services = &self.context.services;
        let policy = services.settings.reflexion();
        if !policy.enabled {
            return PromptSection::default();
        }
        match self.recent(part, policy.max_reflections_per_retry.saturating_mul(READ_AHEAD)).await {
            Ok(found) => services.reflections.format_for_prompt(&found),
            Err(error) => {
                self.publish(EventKind::Warning { message: format!("reflections could not be read: {error}") });
                PromptSection::default()
            }
        }
    }

    /// The part's own reflections, newest first; for a decomposed task then those of its other parts.
    async fn recent(&self, part: usize, limit: usize) -> Result<Vec<Reflection>, crate::services::ReflectionError> {
        let service = &self.context.services.reflections;
        let own = &self.parts[part].id;
        if self.parts.len() == 1 {
            return service.get_recent(own, limit).await;
        }
        // Another task may have a part of the same name, so a part's reflections are looked for among its task's.
        let all = service.get_for_task(&self.task.id).await?;
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|r| r.subtask_id == own.as_str());
        Ok(own.into_iter().take(limit).chain(others.into_iter().take(limit)).collect())
    }

    fn request(
        &self,
        prepared: &Prepared,
        attempt: &Attempt,
        injected: &PromptSection,
        resume: Option<&ResumePoint>,
    ) -> AgentRequest {
        let services = &self.context.services;
        let part = &self.parts[attempt.part];
        let checks: Vec<_> = self.checks_of(attempt.part).into_iter().map(|(_, spec)| spec).collect();
        // What of the project was red before is nobody's task, unless a fix is asked for and nothing else is red.
        let red = |scope: CheckScope| prepared.baseline.iter().find(move |c| c.scope == scope && !c.passed());
        let fix = self.task.expects == Expects::Fix;
        let baseline = red(CheckScope::Task).or_else(|| red(CheckScope::Project).filter(|_| fix));
        let known_red = |c: &&CheckReport| c.scope == CheckScope::Project && !c.passed() && !fix;
        let known_red: Vec<&str> = prepared.baseline.iter().filter(known_red).map(|c| c.spec.name.as_str()).collect();
        let last_failure = match &self.last_failure {
            Some(last) if last.part == attempt.part => Some(LastFailure {
                attempt: Some(last.number),
                because: &last.because,
                check: last.check.as_ref(),
                files: &last.files,
            }),
            _ => baseline.map(|check| LastFailure { attempt: None, because: "", check: Some(check), files: &[] }),
        };
        let prompt = AttemptPrompt {
            task: &self.task,
            part,
            checks: &checks,
            known_red: &known_red,
            last_failure,
            reflections: &injected.text,
        }
        .render();
        let prompt = match resume {
            Some(point) => go_on(point.ending.as_str(), &prompt),
            None => prompt,
        };
        let session = SessionId::new(services.clock.new_id());
        let run_dir = services.settings.project().run_dir(&self.context.run);
        AgentRequest {
            run: self.context.run.clone(),
            task: self.task.id.clone(),
            subtask: part.id.clone(),
            attempt: attempt.number,
            prompt,
            prompt_file: run_dir.join("prompts").join(format!("{}+{}+{}.md", self.task.id, part.id, attempt.number)),
            dir: prepared.workspace.dir(),
            mode: Mode::Work,
            env: prepared.workspace.env(),
            conversation: resume.map_or(Conversation::New, |point| Conversation::Resume(point.earlier.clone())),
            protect: services.settings.run().protect.clone(),
            watch: self.watch(attempt, &session, prepared.workspace.dir()),
            cancel: self.context.cancel.clone(),
            session,
        }
    }

    fn remember_failure(&mut self, judged: &Judged) {
        self.last_failure = judged.judgement.failure.map(|_| PastFailure {
            part: judged.attempt.part,
            number: judged.attempt.number,
            because: judged.judgement.because.clone(),
            check: judged.shown().cloned(),
            files: judged.change.files.clone(),
        });
    }

    /// What is known of a failed attempt, for the generator.
    pub async fn failure_context(&self, judged: &Judged) -> FailureContext {
        let services = &self.context.services;
        let part = &self.parts[judged.attempt.part];
        let check = judged.shown();
        let limit = services.settings.reflexion().max_reflections_per_retry;
        // Without them the lesson may repeat an earlier one; that is no reason to have none.
        let mut previous = self.recent(judged.attempt.part, limit).await.unwrap_or_default();
        previous.retain(|r| r.subtask_id == part.id.as_str());
        FailureContext {
            v: 1,
            id: format!("fc-{}", services.clock.new_id()),
            session_id: judged.session.clone(),
            task_id: self.task.id.clone(),
            subtask_id: part.id.clone(),
            subtask_description: format!("{}\n\n{}", part.title, part.description).trim().to_owned(),
            acceptance_criteria: self.task.acceptance_criteria.clone(),
            attempt_number: judged.attempt.number,
            failure_type: judged.judgement.failure.unwrap_or(FailureType::CheckFailed),
            ending: judged.ending.clone(),
            check: check.map(|c| FailedCheck {
                name: c.spec.name.clone(),
                run: c.spec.run.clone(),
                exit_status: c.exit_status,
                signal: c.signal,
                timed_out: c.timed_out,
            }),
            output: check.map_or_else(|| agent_output(judged), |c| c.output.clone()),
            signature: check.map(|c| c.signature.clone()).unwrap_or_default(),
            files_changed: judged.change.files.clone(),
            diff_hash: judged.change.diff_hash.clone(),
            agent_message: judged.message.clone(),
            previous_reflections: previous,
            created_at: services.clock.now(),
        }
    }
}

/// What is known where no check is red: why the attempt is refuted, and what went wrong with the agent.
fn agent_output(judged: &Judged) -> Output {
    let detail = judged.detail.as_deref().unwrap_or_default();
    Output::whole(format!("{}\n{detail}", judged.judgement.because).trim().to_owned())
}

/// The first two lines of what an agent failed with: how it ended, and what it said.
fn first_line(detail: &str) -> String {
    detail
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(2)
        .collect::<Vec<_>>()
        .join(": ")
        .chars()
        .take(300)
        .collect()
}

/// The last failure of this run, for the next prompt.
pub(super) struct PastFailure {
    part: usize,
    number: u32,
    because: String,
    check: Option<CheckReport>,
    files: Vec<String>,
}
