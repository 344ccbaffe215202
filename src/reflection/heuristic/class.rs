//! What kind of failure it is.

use crate::domain::{Ending, FailureContext, FailureType, Signature};

/// Kinds of failures that call for different advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing was changed.
    EmptyChange,
    /// No check is red, and something else refutes the attempt.
    Refuted,
    /// What the check needs is only where the agent worked.
    OnlyInWorkspace,
    /// The work could not be merged.
    MergeConflict,
    /// The agent ran into a limit: time, silence, budget, context.
    AgentLimit,
    /// The agent stopped because it was not allowed something.
    Permission,
    /// The agent itself failed.
    AgentFailed,
    /// The check ran into its time limit.
    CheckTimeout,
    /// The check ran out of memory.
    OutOfMemory,
    /// A program is not there or may not be run.
    MissingProgram,
    /// A module, package or file is not there.
    MissingModule,
    /// The code cannot be read.
    Syntax,
    /// The code does not compile or link.
    Compile,
    /// A linter or a type checker has found something.
    Finding,
    /// No test was found.
    NoTests,
    /// A test expected something else.
    Assertion,
    /// A test or a program broke at a value nobody thought of.
    EdgeCase,
    /// A test or a program broke.
    Crash,
    /// Something was printed, by a program nobody here knows.
    Said,
    /// An exit status and nothing else.
    Silent,
}

/// Decides by the strongest evidence: how the agent was cut off, what the runtime measured, then the signature.
pub(super) fn class(failure: &FailureContext) -> Class {
    match failure.failure_type {
        FailureType::EmptyChange => return Class::EmptyChange,
        FailureType::MergeConflict => return Class::MergeConflict,
        FailureType::OnlyInWorkspace => return Class::OnlyInWorkspace,
        FailureType::CheckFailed | FailureType::FalseDone | FailureType::Timeout | FailureType::AgentError => {}
    }
    match failure.ending {
        Ending::Timeout | Ending::Hang | Ending::Budget | Ending::Context => {
            return Class::AgentLimit;
        }
        Ending::Permission => return Class::Permission,
        _ => {}
    }
    match &failure.check {
        Some(check) if check.timed_out => Class::CheckTimeout,
        None if failure.failure_type == FailureType::Timeout => Class::AgentLimit,
        None if !failure.ending.claims_done() => Class::AgentFailed,
        None if !failure.ran.is_empty() || !failure.todo.is_empty() => Class::Refuted,
        Some(_) | None => match by_signature(&failure.signature) {
            // A check that is code has no signature, and says what it wants in its words.
            Class::Silent if !failure.output.text().trim().is_empty() => Class::Said,
            class => class,
        },
    }
}

fn by_signature(signature: &Signature) -> Class {
    let code = signature.code.as_deref().unwrap_or_default();
    let message = signature.message.as_deref().unwrap_or_default();
    let compiler = matches!(
        signature.tool.as_str(),
        "cargo" | "rustc" | "tsc" | "go build" | "gcc" | "clang" | "ld" | "javac" | "kotlinc" | "dotnet build"
    );
    // Errors of rustc's own have numbers; its lints and clippy's have names.
    let is_lint = matches!(signature.tool.as_str(), "cargo" | "rustc") && code.starts_with(char::is_lowercase);
    if signature.timed_out {
        Class::CheckTimeout
    } else if signature.out_of_memory {
        Class::OutOfMemory
    } else if matches!(code, "command not found" | "permission denied") || signature.exit_status == Some(127) {
        Class::MissingProgram
    } else if is_missing_module(code, message) {
        Class::MissingModule
    } else if matches!(
        code,
        "SyntaxError" | "IndentationError" | "TabError" | "syntax error" | "invalid-syntax" | "syntax"
    ) || message.starts_with("Parsing error")
        || code.starts_with("TS1") && code.len() == "TS1005".len()
        || signature.tool == "cargo" && code.is_empty() && message.contains("delimiter")
    {
        Class::Syntax
    } else if is_lint || matches!(signature.tool.as_str(), "mypy" | "eslint" | "ruff") {
        Class::Finding
    } else if compiler {
        Class::Compile
    } else if signature.tool == "pytest" && signature.exit_status == Some(5) {
        Class::NoTests
    } else if is_edge_case(code, message) {
        Class::EdgeCase
    } else if code.starts_with("Assertion")
        || matches!(code, "assert" | "ComparisonFailure")
        || message.starts_with("assertion ")
        || (!signature.tests.is_empty() && matches!(code, "" | "ERR_TEST_FAILURE"))
    {
        Class::Assertion
    } else if !code.is_empty() || signature.signal.is_some() || signature.exit_status.is_some_and(|status| status > 128)
    {
        Class::Crash
    } else if message.is_empty() {
        Class::Silent
    } else {
        Class::Said
    }
}

/// Whether what failed did so for want of a program or a module, which may be somewhere else.
///
/// ```
/// # use reflexion::domain::Signature;
/// let code = Some("ModuleNotFoundError".to_owned());
/// assert!(reflexion::reflection::lacks_something(&Signature { code, ..Signature::default() }));
/// ```
#[must_use]
pub fn lacks_something(signature: &Signature) -> bool {
    matches!(by_signature(signature), Class::MissingModule | Class::MissingProgram)
}

fn is_missing_module(code: &str, message: &str) -> bool {
    matches!(
        code,
        "ModuleNotFoundError"
            | "ImportError"
            | "E0432"
            | "E0433"
            | "MODULE_NOT_FOUND"
            | "ERR_MODULE_NOT_FOUND"
            | "TS2307"
            | "FileNotFoundError"
            | "ENOENT"
            | "LoadError"
            | "no such file or directory"
    ) || message.starts_with("no matching package")
        || message.starts_with("no required module provides")
        || message.starts_with("Cannot find module")
        || message.contains("does not provide an export named")
        || message.ends_with("No such file or directory") && code.is_empty()
}

/// Exceptions and words for a value at the edge: empty, missing, zero, out of range.
fn is_edge_case(code: &str, message: &str) -> bool {
    const EDGES: [&str; 12] = [
        "IndexError",
        "KeyError",
        "StopIteration",
        "RangeError",
        "Overflow",
        "ZeroDivision",
        "DivisionByZero",
        "DivideByZero",
        "Arithmetic",
        "NullPointer",
        "NullReference",
        "OutOfBounds",
    ];
    EDGES.iter().any(|edge| code.contains(edge))
        || [
            "on a `None` value",
            "index out of bounds",
            "index out of range",
            "out of range for slice",
            "attempt to divide by zero",
            "attempt to subtract with overflow",
            "nil pointer dereference",
            "entry in nil map",
            "'NoneType' object",
            "properties of undefined",
            "properties of null",
        ]
        .iter()
        .any(|words| message.contains(words))
}
