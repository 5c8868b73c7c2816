//! The bodies of the HTTP API, but for those of governance, runtime and sessions.

use expect_test::expect_file;
use provost_proto::kernel::ObservedChanges;
use provost_proto::terminal::TerminalTicket;
use provost_proto::{
    ActionResponse, ActionStatus, ActionView, Actor, AgentInput, ArchiveLogRequest,
    ArchiveLogResult, AuditPage, AuditReport, BlobRef, CancelActionResponse, Code, CorruptEvent,
    CreateTokenRequest, CreatedToken, ErrorResponse, Event, Health, KernelHealth, KernelStatus,
    KernelView, LogCursor, LogSegmentList, LoginLink, OpenProjectRequest, Project, ProjectList,
    ProjectStatus, RawJson, SubmitActionRequest, TokenClass, TokenList, TokenView,
};
use serde_json::{Value, json};

use crate::lists::{actors, streams};
use crate::samples::{AT, blob, faults, hash, id, log_segment, outcomes, params, text, texts};
use crate::{Golden, decodes_to};

pub(crate) fn projects() -> Vec<Project> {
    let project = |status| Project {
        id: id(1),
        name: text("Shop"),
        slug: text("shop"),
        path: text("/home/ann/shop"),
        status,
        opened_at: AT,
        opened_by: text("local:ann"),
    };
    vec![project(ProjectStatus::Open), project(ProjectStatus::Closed)]
}

fn tokens() -> Vec<TokenView> {
    let full = TokenView {
        id: id(5),
        class: TokenClass::Agent,
        project: Some(id(1)),
        role: Some(text("tester")),
        holder: Some(text("local:ann")),
        label: text("CI"),
        digest: hash(0x44),
        page: Some(hash(0x45)),
        notebook: None,
        created_by: text("local:ann"),
        created_at: AT,
        expires_at: Some(AT + 1),
        revoked_at: Some(AT + 2),
    };
    let bare = TokenView {
        project: None,
        role: None,
        holder: None,
        page: None,
        expires_at: None,
        revoked_at: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn actions() -> Vec<ActionView> {
    let full = ActionView {
        id: id(4),
        project: id(1),
        name: text("fs.readFile"),
        what: text("read a"),
        principal: text("token:x"),
        status: ActionStatus::Finished,
        role: Some(text("tester")),
        approval: Some(id(8)),
        action_hash: hash(0x55),
        requested_at: AT,
        finished_at: Some(AT + 1),
        outcome: Some(outcomes().remove(0)),
        input: Some(AgentInput { actor: Actor::Agent(text("tester")), text: text("ls") }),
        result: Some(json!({ "content": "a" })),
        gone: Some(faults().remove(0)),
    };
    let bare = ActionView {
        role: None,
        approval: None,
        finished_at: None,
        outcome: None,
        input: None,
        result: None,
        gone: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn project_bodies(golden: &mut Golden) {
    golden.section("open project", &[OpenProjectRequest { path: text("~/shop") }]);
    golden.section("project", &projects());
    golden.section("projects", &[ProjectList { projects: projects() }]);
    golden.section(
        "kernel",
        &[KernelView {
            project: id(1),
            boot: id(6),
            pid: 43,
            version: text("0.1.0"),
            status: KernelStatus::Connected,
            reached: 9,
            why: None,
        }],
    );
}

fn token_bodies(golden: &mut Golden) {
    let create = |class, project, role, label, ttl_minutes| CreateTokenRequest {
        class,
        project,
        role,
        notebook: None,
        label,
        ttl_minutes,
    };
    let bare = create(TokenClass::Operator, None, None, None, None);
    let some = |word| Some(text(word));
    let full = create(TokenClass::Agent, some("shop"), some("tester"), some("CI"), Some(60));
    decodes_to(r#"{"class":"operator"}"#, &bare);
    golden.section("create token", &[full, bare]);
    golden.section("token", &tokens());
    let entry = tokens().remove(0);
    golden.section("created token", &[CreatedToken { token: text("pvt_secret"), entry }]);
    golden.section("tokens", &[TokenList { tokens: tokens() }]);
    golden.section("login link", &[LoginLink { path: text("/login?code=x"), minutes: 5 }]);
    golden.section("terminal ticket", &[TerminalTicket { ticket: text("once") }]);
}

fn action_bodies(golden: &mut Golden) {
    let request = |params, role, session_id| SubmitActionRequest {
        action: text("fs.readFile"),
        params,
        role,
        session_id,
    };
    let bare = request(Value::Null, None, None);
    decodes_to(r#"{"action":"fs.readFile"}"#, &bare);
    golden.section("request action", &[request(params(), Some(text("tester")), Some(id(2))), bare]);
    let answer = |status, approval_id, result| ActionResponse {
        action_id: id(4),
        action_hash: hash(0x55),
        status,
        approval_id,
        result,
    };
    let result = Some(RawJson::new(&json!({ "content": "a" })).unwrap());
    golden.section(
        "action answer",
        &[
            answer(ActionStatus::Finished, None, result),
            answer(ActionStatus::Waiting, Some(id(8)), None),
        ],
    );
    golden.section(
        "action cancelled: response",
        &[true, false].map(|stopping| CancelActionResponse { stopping }),
    );
    golden.section(
        "kernel process",
        &[
            KernelHealth::None,
            KernelHealth::Connected { pid: 7, heartbeat_ms: 2 },
            KernelHealth::Unresponsive { pid: 7 },
        ],
    );
    golden.section("action", &actions());
    golden.section("outcome", &outcomes());
    let changes = |changed, folders, more| ObservedChanges { changed, folders, more };
    golden.section(
        "changes while a command ran",
        &[changes(texts(["a.txt"]), texts(["."]), true), changes(Vec::new(), Vec::new(), false)],
    );
}

fn audit_bodies(golden: &mut Golden) {
    let event = Event {
        seq: 1,
        stream: streams()[0],
        version: 1,
        id: id(70),
        at: AT,
        principal: text("local:ann"),
        actor: actors().remove(0),
        command: None,
        cause: None,
        kind: text("A_LATER_KIND"),
        body: serde_json::to_value(blob()).unwrap(),
        prev: hash(0),
        hash: hash(0xa1),
    };
    let page =
        |events, next: Option<u64>| AuditPage { events, next: next.map(LogCursor::from_seq) };
    golden.section("audit page", &[page(vec![event], Some(1)), page(Vec::new(), None)]);
    let report =
        |bad, views| AuditReport { events: 7, head: hash(0xa1), bad, views, database: None };
    let damaged = AuditReport { database: Some(text("an index is damaged")), ..report(None, None) };
    let bad = CorruptEvent { seq: 3, why: text("its hash is another") };
    golden.section(
        "audit report",
        &[report(Some(bad), Some(text("runtimes differ"))), report(None, None), damaged],
    );
    golden.section::<BlobRef>("body in the blob store", &[blob()]);
    golden.section("archive of the log: request", &[ArchiveLogRequest { before: AT }]);
    let result = ArchiveLogResult { segments: vec![log_segment()], left: 7, log_bytes: 4096 };
    golden.section("archive of the log: result", &[result]);
    let segments = vec![log_segment()];
    let list = LogSegmentList { segments, log_events: 9, log_bytes: 4096 };
    golden.section("segments of the log", &[list]);
}

#[test]
fn bodies_of_the_http_api_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("health", &[Health { status: text("ok"), version: text("0.1.0") }]);
    project_bodies(&mut golden);
    token_bodies(&mut golden);
    action_bodies(&mut golden);
    audit_bodies(&mut golden);
    golden.check(&expect_file!["files/api.txt"]);
}

#[test]
fn error_bodies_keep_their_fields() {
    let mut golden = Golden::default();
    let problem = |code: Code, details| ErrorResponse {
        error: text("what to do"),
        code,
        status: code.status(),
        details,
    };
    golden.section(
        "with details",
        &[problem(Code::BuildFailed, Some(json!({ "errors": [{ "line": 3 }] })))],
    );
    let every: Vec<_> = Code::ALL.iter().map(|code| problem(*code, None)).collect();
    golden.section("every code", &every);
    golden.check(&expect_file!["files/errors.txt"]);
}
