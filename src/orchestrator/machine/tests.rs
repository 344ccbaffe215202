use super::*;

fn plan() -> Plan {
    Plan {
        base: tree("base"),
        counts: vec![AttemptCount::default()],
        max_attempts: 3,
        agents: vec![Agent { name: "a".to_owned(), retry_from: RetryFrom::Change }],
        stronger: Vec::new(),
        escalate_after: 2,
        retry_start: RetryStart::Auto,
        limit_wait: LimitWait::On,
        patience: Patience::Short,
        landing: Landing::Branch,
        jitter: Duration::ZERO,
    }
}

fn tree(name: &str) -> TreeId {
    TreeId(name.to_owned())
}

fn judged(verdict: Verdict, to: &str, signature: &str) -> Input {
    let judgement = Judgement {
        verdict,
        proof: None,
        because: "red".to_owned(),
        failure: None,
        failing: None,
        person: Vec::new(),
        only_if: None,
        todo: Vec::new(),
        rule: None,
    };
    Input::Judged { judgement, tree: tree(to), signature: signature.to_owned() }
}

fn stop(ending: Ending) -> Input {
    Input::Stopped { ending, detail: None, at: Timestamp::UNIX_EPOCH }
}

/// Feeds the inputs and gives every effect in words.
fn play(plan: Plan, inputs: Vec<Input>) -> Vec<String> {
    let mut state = State::new(plan);
    let mut said = Vec::new();
    for input in inputs {
        let (next, effects) = step(state, input);
        state = next;
        said.extend(effects.iter().map(|effect| match effect {
            Effect::Attempt { part, number, agent, from } => {
                format!("attempt {part}#{number} {agent} from {}", from.0)
            }
            Effect::Reflect => "reflect".to_owned(),
            Effect::Wait { duration, .. } => format!("wait {}", duration.as_secs()),
            Effect::Commit { tree } => format!("commit {}", tree.0),
            Effect::Merge => "merge".to_owned(),
            Effect::Rebase => "rebase".to_owned(),
            Effect::End(end) => format!(
                "{} {}{}",
                end.status.as_str(),
                end.verdict.map_or("null", Verdict::as_str),
                end.cause.as_ref().map(|c| format!(": {c}")).unwrap_or_default()
            ),
        }));
    }
    said
}

fn check(plan: Plan, inputs: Vec<Input>, expected: &[&str]) {
    assert_eq!(play(plan, inputs), expected);
}

#[test]
fn a_failure_is_reflected_upon_and_retried_until_confirmed() {
    check(
        plan(),
        vec![Input::Ready, judged(Verdict::FalseDone, "t1", "x"), judged(Verdict::Confirmed, "t2", "")],
        &["attempt 0#1 a from base", "reflect", "attempt 0#2 a from t1", "commit t2", "closed confirmed"],
    );
}

#[test]
fn the_last_failure_is_reflected_upon_too() {
    let mut plan = plan();
    plan.max_attempts = 1;
    check(
        plan,
        vec![Input::Ready, judged(Verdict::Failed, "t1", "x")],
        &["attempt 0#1 a from base", "reflect", "blocked failed: not solved in 1 attempt; the last: red"],
    );
}

#[test]
fn auto_starts_fresh_after_the_same_failure_twice_and_for_agents_that_work_from_the_base() {
    let failing = || {
        vec![
            Input::Ready,
            judged(Verdict::Failed, "t1", "x"),
            judged(Verdict::Failed, "t2", "x"),
            judged(Verdict::Failed, "t3", "y"),
        ]
    };
    let starts = |plan: Plan| -> Vec<String> {
        let said = play(plan, failing());
        said.iter().filter_map(|s| Some(s.split_once(" from ")?.1.to_owned())).collect()
    };
    let with = |retry_start, retry_from| {
        let mut plan = plan();
        (plan.max_attempts, plan.retry_start, plan.agents[0].retry_from) = (9, retry_start, retry_from);
        plan
    };
    assert_eq!(starts(with(RetryStart::Auto, RetryFrom::Change)), ["base", "t1", "base", "t3"]);
    assert_eq!(starts(with(RetryStart::Auto, RetryFrom::Base)), ["base", "base", "base", "base"]);
    assert_eq!(starts(with(RetryStart::Continue, RetryFrom::Base)), ["base", "t1", "t2", "t3"]);
    assert_eq!(starts(with(RetryStart::Fresh, RetryFrom::Change)), ["base", "base", "base", "base"]);
}

#[test]
fn numbers_go_on_over_runs_and_used_attempts_count() {
    let mut later = plan();
    later.counts = vec![AttemptCount { last: 4, since_opened: 2 }];
    check(
        later.clone(),
        vec![Input::Ready, judged(Verdict::Failed, "t", "x")],
        &["attempt 0#5 a from base", "reflect", "blocked failed: not solved in 3 attempts; the last: red"],
    );
    later.counts[0].since_opened = 3;
    check(later, vec![Input::Ready], &["blocked null: all 3 attempts were used in earlier runs"]);
}

#[test]
fn a_limit_or_a_passing_fault_uses_no_attempt() {
    let reset = Timestamp::UNIX_EPOCH + Duration::from_secs(90);
    check(
        plan(),
        vec![
            Input::Ready,
            stop(Ending::RateLimited { resets_at: Some(reset) }),
            Input::Waited,
            stop(Ending::Transient),
            Input::Waited,
            stop(Ending::Transient),
            Input::Waited,
            stop(Ending::Transient),
        ],
        &[
            "attempt 0#1 a from base",
            "wait 90",
            "attempt 0#1 a from base",
            "wait 8",
            "attempt 0#1 a from base",
            "wait 22",
            "attempt 0#1 a from base",
            "open null: the model's service failed 3 times in a row",
        ],
    );
    let mut off = plan();
    off.limit_wait = LimitWait::Off;
    check(
        off,
        vec![Input::Ready, stop(Ending::RateLimited { resets_at: None })],
        &["attempt 0#1 a from base", "open null: rate limited, and nothing says until when"],
    );
}

#[test]
fn a_missing_or_refused_agent_hands_over_to_the_next_and_the_first_cause_is_kept() {
    let mut chain = plan();
    chain.agents.push(Agent { name: "b".to_owned(), retry_from: RetryFrom::Base });
    check(
        chain,
        vec![Input::Ready, Input::NotStarted { because: "no program".to_owned() }, stop(Ending::Auth)],
        &["attempt 0#1 a from base", "attempt 0#1 b from base", "open null: no program"],
    );
}

#[test]
fn subtasks_run_in_order_each_from_the_previous_result() {
    let mut parts = plan();
    parts.counts = vec![AttemptCount::default(); 3];
    check(
        parts,
        vec![
            Input::Ready,
            judged(Verdict::Unverifiable, "t1", ""),
            judged(Verdict::Failed, "t2", "x"),
            judged(Verdict::Confirmed, "t3", ""),
            judged(Verdict::Confirmed, "t4", ""),
        ],
        &[
            "attempt 0#1 a from base",
            "attempt 1#1 a from t1",
            "reflect",
            "attempt 1#2 a from t2",
            "attempt 2#1 a from t3",
            "commit t4",
            "closed confirmed",
        ],
    );
}

#[test]
fn a_part_that_is_done_is_no_verdict_on_the_task() {
    let mut parts = plan();
    parts.counts = vec![AttemptCount::default(); 2];
    check(
        parts,
        vec![Input::Ready, judged(Verdict::Confirmed, "t1", ""), stop(Ending::Cancelled)],
        &["attempt 0#1 a from base", "attempt 1#1 a from t1", "open null: the run was interrupted"],
    );
}

#[test]
fn what_only_a_person_can_do_ends_without_retry_or_reflection() {
    let Input::Judged { judgement, tree, signature } = judged(Verdict::FalseDone, "t", "x") else { unreachable!() };
    let judgement = Judgement { person: vec!["log in to the registry".to_owned()], ..judgement };
    check(
        plan(),
        vec![Input::Ready, Input::Judged { judgement, tree, signature }],
        &["attempt 0#1 a from base", "blocked false_done: waits for a person: log in to the registry"],
    );
}

#[test]
fn nothing_checkable_ends_without_retry_or_reflection() {
    check(
        plan(),
        vec![Input::Ready, judged(Verdict::Unverifiable, "t", "")],
        &["attempt 0#1 a from base", "blocked unverifiable: red"],
    );
}

#[test]
fn work_that_does_not_merge_is_a_failed_attempt_and_is_done_again_on_what_was_merged() {
    let mut night = plan();
    (night.landing, night.max_attempts) = (Landing::Integration, 2);
    let rebased = || Input::Rebased { base: tree("merged") };
    let conflict = |n: u32| MergeOutcome::Conflict { files: vec!["a.py".to_owned()], kept: format!("kept@{n}") };
    let not_merged = |n: u32| Input::NotMerged { outcome: conflict(n) };
    let confirmed = |to: &str| judged(Verdict::Confirmed, to, "");
    check(
        night.clone(),
        vec![Input::Ready, confirmed("t1"), not_merged(1), rebased(), confirmed("t2"), Input::Merged],
        &[
            "attempt 0#1 a from base",
            "commit t1",
            "merge",
            "rebase",
            "attempt 0#2 a from merged",
            "commit t2",
            "merge",
            "closed confirmed",
        ],
    );
    let lost = vec![Input::Ready, confirmed("t1"), not_merged(1), rebased(), confirmed("t2"), not_merged(2)];
    assert_eq!(
        play(night.clone(), lost).last().unwrap(),
        "blocked failed: attempt 1 was confirmed and conflicts in a.py with what was merged before it (kept on `kept@1`); \
         attempt 2, on top of what was merged, was confirmed and conflicts in a.py with what was merged before it (kept on `kept@2`)"
    );
    let red = || judged(Verdict::FalseDone, "t2", "x");
    assert_eq!(
        play(night.clone(), vec![Input::Ready, confirmed("t1"), not_merged(1), rebased(), red()]).last().unwrap(),
        "blocked false_done: attempt 1 was confirmed and conflicts in a.py with what was merged before it (kept on `kept@1`); \
         attempt 2, on top of what was merged, failed: red"
    );
    night.counts = vec![AttemptCount::default(); 2];
    let parts = vec![
        Input::Ready,
        judged(Verdict::Unverifiable, "t1", ""),
        confirmed("t2"),
        not_merged(1),
        rebased(),
        judged(Verdict::Unverifiable, "t3", ""),
    ];
    assert_eq!(
        play(night, parts)[4..],
        ["rebase", "attempt 0#2 a from merged", "attempt 1#2 a from t3"],
        "every part is done again, and none twice under one number"
    );
}

#[test]
fn a_night_puts_up_with_passing_faults_until_it_ends() {
    let mut night = plan();
    night.patience = Patience::Night;
    let inputs = (0..10).flat_map(|_| [stop(Ending::Transient), Input::Waited]);
    let said = play(night, std::iter::once(Input::Ready).chain(inputs).collect());
    let waits: Vec<&str> = said.iter().filter_map(|s| s.strip_prefix("wait ")).collect();
    assert_eq!(waits, ["8", "22", "60", "120", "240", "480", "900", "900", "900", "900"]);
}

#[test]
fn a_limit_is_asked_again_a_little_after_its_reset_and_a_minute_later_without_one() {
    let mut night = plan();
    (night.patience, night.jitter) = (Patience::Night, Duration::from_secs(3));
    let limit = |resets_at| stop(Ending::RateLimited { resets_at });
    let reset = Timestamp::UNIX_EPOCH + Duration::from_secs(90);
    let mut inputs = vec![Input::Ready, limit(Some(reset)), Input::Waited];
    inputs.extend([limit(None), Input::Waited]);
    let said = play(night, inputs);
    let waits: Vec<&str> = said.iter().filter_map(|s| s.strip_prefix("wait ")).collect();
    assert_eq!(waits, ["93", "63"]);
}

#[test]
fn an_interruption_leaves_the_task_open() {
    check(
        plan(),
        vec![Input::Ready, stop(Ending::Cancelled)],
        &["attempt 0#1 a from base", "open null: the run was interrupted"],
    );
}

#[test]
fn a_stronger_agent_steps_in_when_failures_look_the_same() {
    let agents = |effects: Vec<String>| -> Vec<String> {
        effects.iter().filter_map(|s| Some(s.strip_prefix("attempt ")?.split(' ').nth(1)?.to_owned())).collect()
    };
    let ladder = || {
        let stronger = |name: &str| Agent { name: name.to_owned(), retry_from: RetryFrom::Base };
        Plan { max_attempts: 9, stronger: vec![stronger("b"), stronger("c")], ..plan() }
    };
    let failed = |signature: &str| judged(Verdict::Failed, "t", signature);
    let inputs = vec![Input::Ready, failed("x"), failed("x"), failed("x"), failed("x"), failed("x")];
    assert_eq!(agents(play(ladder(), inputs)), ["a", "a", "b", "b", "c", "c"]);
    let inputs = vec![Input::Ready, failed("x"), failed("y"), failed("x"), failed("y")];
    assert_eq!(agents(play(ladder(), inputs)), ["a", "a", "a", "a", "a"], "it gets on, however slowly");
    let missing = Input::NotStarted { because: "no program".to_owned() };
    let inputs = vec![Input::Ready, failed("x"), failed("x"), missing, failed("x"), failed("x")];
    assert_eq!(agents(play(ladder(), inputs)), ["a", "a", "b", "a", "c", "c"], "who is missing is passed over");
}
