//! The words of the format: error codes with their status, and all enumerations.

use std::fmt::Write as _;

use expect_test::expect_file;
use provost_proto::kernel::OutputStream;
use provost_proto::notebook::{
    CellKind, ExecutionOutcome, ExecutionStatus, NotebookView, ResyncReason, RuntimeEndReason,
    RuntimeLocation, RuntimeSessionStatus, StreamName,
};
use provost_proto::runtime::{
    BuildFailureCause, BuildStatus, CrashPhase, DiagnosticSeverity, PortSource, PreviewStatus,
    RunCause, RuntimeStatus, StopCause, TerminalStatus,
};
use provost_proto::session::{
    CompletionPurpose, FinishReason, MessageAuthor, SessionStatus, ToolCallStatus, TurnStatus,
};
use provost_proto::{
    ActionId, ActionStatus, Actor, AnswerScope, ApprovalAnswer, ApprovalId, ApprovalStatus, CellId,
    Code, EventId, ExecutionId, GovernanceFileKind, GrantId, KernelStatus, MessageId, NotebookId,
    OutputId, ProjectId, ProjectMode, ProjectStatus, RuntimeSessionId, SessionId, Stream,
    TokenClass, TokenId, TurnId,
};

use crate::samples::{id, text};
use crate::{Golden, every};

#[test]
fn error_codes_keep_their_text_and_status() {
    let mut lines = String::new();
    for code in Code::ALL {
        writeln!(lines, "{} {}", code.status(), serde_json::to_string(code).unwrap()).unwrap();
    }
    expect_file!["files/codes.txt"].assert_eq(&lines);
}

#[test]
fn words_of_enumerations_keep_their_spelling() {
    let mut golden = Golden::default();
    governance_words(&mut golden);
    runtime_words(&mut golden);
    session_words(&mut golden);
    notebook_words(&mut golden);
    golden.check(&expect_file!["files/words.txt"]);
}

fn governance_words(golden: &mut Golden) {
    golden.section("project status", &every!(ProjectStatus { Open, Closed }));
    golden.section(
        "action status",
        &every!(ActionStatus { Requested, Waiting, Denied, Allowed, Running, Finished }),
    );
    golden
        .section("kernel status", &every!(KernelStatus { Connected, Unresponsive, Stopped, Lost }));
    golden.section("token class", &every!(TokenClass { Operator, Agent, Runtime, Viewer }));
    golden.section("mode", &every!(ProjectMode { Sandbox, Auto, Full }));
    golden.section("governing file", &every!(GovernanceFileKind { Role, Policy, Runtime }));
    golden.section("answer scope", &every!(AnswerScope { Once, Session, Until, Always }));
    golden.section(
        "approval status",
        &every!(ApprovalStatus { Pending, Allowed, Denied, Expired, Withdrawn }),
    );
    golden.section("answer", &every!(ApprovalAnswer { Allow, Deny }));
    golden.section("output stream", &every!(OutputStream { Stdout, Stderr }));
}

fn runtime_words(golden: &mut Golden) {
    golden.section("severity", &every!(DiagnosticSeverity { Error, Warning }));
    golden.section("run cause", &every!(RunCause { Run, Restart, Crash }));
    golden.section("stop cause", &every!(StopCause { Stop, Restart, Exit, Shutdown }));
    golden.section("crash phase", &every!(CrashPhase { Starting, Building, Running }));
    golden.section("build end", &every!(BuildFailureCause { Failed, Stopped, NotStarted }));
    golden.section("port found by", &every!(PortSource { Output, Configured, Listener }));
    golden.section(
        "runtime status",
        &every!(RuntimeStatus { Stopped, Starting, Building, Running, Stopping, Crashed }),
    );
    golden.section(
        "build status",
        &every!(BuildStatus { None, Running, Succeeded, Failed, Stopped }),
    );
    golden.section("preview status", &every!(PreviewStatus { None, Detected, Ready, Lost }));
    golden.section("terminal status", &every!(TerminalStatus { None, Live, Exited }));
}

fn session_words(golden: &mut Golden) {
    golden.section("author", &every!(MessageAuthor { User, Assistant }));
    golden.section("tool status", &every!(ToolCallStatus { Ok, Error, Denied, Cancelled }));
    golden.section("finish reason", &every!(FinishReason { Done, MaxTokens, Refused }));
    golden.section("purpose", &every!(CompletionPurpose { Answer, Summary }));
    golden.section("session status", &every!(SessionStatus { Idle, Running, Interrupted, Closed }));
    golden.section(
        "turn status",
        &every!(TurnStatus { Running, Finished, Failed, Cancelled, Interrupted }),
    );
}

fn notebook_words(golden: &mut Golden) {
    golden.section("cell kind", &every!(CellKind { Code, Markdown, Raw, Sql, Ai }));
    golden.section(
        "execution status",
        &every!(ExecutionStatus { Queued, Assigned, Running, Finished }),
    );
    golden.section("execution outcome", &every!(ExecutionOutcome { Ok, Error, Cancelled, Lost }));
    golden.section("runtime place", &every!(RuntimeLocation { Native, Browser, Remote }));
    golden.section(
        "runtime session status",
        &every!(RuntimeSessionStatus { Starting, Ready, Busy, Restarting, Unresponsive, Ended }),
    );
    golden.section(
        "runtime session end",
        &every!(RuntimeEndReason { Shutdown, Restart, Error, Timeout, Displaced }),
    );
    golden.section("stream name", &every!(StreamName { Stdout, Stderr }));
    golden.section("resync reason", &every!(ResyncReason { Behind, Diverged }));
    golden.section(
        "notebook view",
        &every!(NotebookView {
            Notebooks,
            Cells,
            Executions,
            OutputPages,
            Displays,
            RuntimeSessions,
            Artifacts
        }),
    );
}

pub(crate) fn actors() -> Vec<Actor> {
    let actors = vec![
        Actor::Ui,
        Actor::Cli,
        Actor::Agent(text("tester")),
        Actor::Runtime(text("nb")),
        Actor::Kernel,
        Actor::Daemon,
    ];
    crate::assert_every_variant!(actors, Actor { Ui, Cli, Agent, Runtime, Kernel, Daemon });
    actors
}

pub(crate) fn streams() -> Vec<Stream> {
    let streams =
        vec![Stream::Sys, Stream::Project(id(1)), Stream::Session(id(2)), Stream::Notebook(id(3))];
    crate::assert_every_variant!(streams, Stream { Sys, Project, Session, Notebook });
    streams
}

#[test]
fn names_keep_both_of_their_forms() {
    let mut golden = Golden::default();
    golden.section("actors", &actors());
    golden.section("streams", &streams());
    macro_rules! shown {
        ($($type:ty),+) => {$(
            let value: $type = id(1);
            golden.line(&format!("{value} {}", serde_json::to_string(&value).unwrap()));
        )+};
    }
    golden.heading("ids");
    shown!(EventId, ProjectId, SessionId, TurnId, MessageId, NotebookId, ActionId, ApprovalId);
    shown!(GrantId, TokenId, CellId, ExecutionId, OutputId, RuntimeSessionId);
    golden.check(&expect_file!["files/names.txt"]);
}
