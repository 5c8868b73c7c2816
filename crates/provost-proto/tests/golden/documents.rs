//! The documents that a page is sent, and pages of the log.

use expect_test::expect_file;
use provost_proto::session::SessionTurn;
use provost_proto::{
    Actor, AgentInputLog, AppendedPart, ApprovalDocument, CommandOutput, DaemonStatus, DaemonView,
    DocumentAppend, DocumentChange, DocumentChanges, DocumentContent, DocumentCursor,
    DocumentSnapshot, DocumentsLive, Event, EventsPage, GovernanceChanges, LogCursor, Stream,
    TypedInput,
};
use serde_json::json;
use uuid::Uuid;

use crate::governance::approvals;
use crate::samples::{AT, hash, id, text};
use crate::session_views::turns;
use crate::{Golden, every};

fn at(seq: u64) -> LogCursor {
    LogCursor::from_seq(seq)
}

fn parts() -> [AppendedPart; 4] {
    every!(AppendedPart { Text, Reasoning, Tool, Output })
}

fn appends() -> Vec<DocumentAppend> {
    let append = |(kind, part)| DocumentAppend {
        kind,
        part,
        tool: (kind == AppendedPart::Tool).then(|| text("fs.readFile")),
        text: text("gr\u{fc}n\n"),
    };
    parts().into_iter().zip(0..).map(append).collect()
}

fn changes() -> Vec<DocumentChange> {
    let contents = [
        ("projects", DocumentContent::Document(Some(json!({ "id": id::<Uuid>(1) })))),
        ("approvals", DocumentContent::Document(None)),
        ("drafts", DocumentContent::Append(appends())),
    ];
    let kinds: Vec<_> = contents.iter().map(|(_, content)| content.clone()).collect();
    crate::assert_every_variant!(kinds, DocumentContent { Document, Append });
    let change =
        |(view, content)| DocumentChange { view: text(view), key: id(1), up_to: at(7), content };
    contents.into_iter().map(change).collect()
}

fn messages(golden: &mut Golden) {
    golden.section("appended part", &parts());
    golden.section("append", &appends());
    golden.section("change", &changes());
    golden.section("snapshot", &[DocumentSnapshot { documents: changes() }]);
    let changed = |changes, commands| DocumentChanges { changes, commands };
    golden.section("changes", &[changed(changes(), vec![text("key-1")]), changed(vec![], vec![])]);
    let cursor = DocumentCursor { at: at(123_456), hash: 0x9f3a_77c0, selection: 7 };
    golden.section("live", &[DocumentsLive { cursor }]);
    golden.heading("cursor");
    golden.line(&cursor.to_string());
    assert_eq!(cursor.to_string().parse(), Ok(cursor));
}

fn daemons() -> Vec<DaemonView> {
    let [started, stopped] = every!(DaemonStatus { Started, Stopped });
    let version = Some(text("0.1.0"));
    vec![
        DaemonView { status: started, at: AT, pid: Some(43), version, reason: None },
        DaemonView {
            status: stopped,
            at: AT,
            pid: None,
            version: None,
            reason: Some(text("SIGTERM")),
        },
    ]
}

fn typed() -> Vec<TypedInput> {
    let typed = |role| TypedInput {
        action: id(4),
        actor: Actor::Agent(text("tester")),
        role,
        text: text("ls\n"),
        at: AT,
    };
    vec![typed(Some(text("tester"))), typed(None)]
}

fn documents(golden: &mut Golden) {
    golden.section("daemon", &daemons());
    let approvals = approvals().into_iter().zip([true, false]);
    let approvals: Vec<_> =
        approvals.map(|(approval, truncated)| ApprovalDocument { approval, truncated }).collect();
    golden.section("approval", &approvals);
    let governance =
        |project| GovernanceChanges { project, roles_changed: at(7), policy_changed: at(8) };
    golden.section("governance", &[governance(Some(id(1))), governance(None)]);
    golden.section("agent input", &[AgentInputLog { project: id(1), typed: typed() }]);
    golden.section("typed input", &typed());
    let turns: Vec<_> =
        turns().into_iter().map(|turn| SessionTurn { session: id(2), turn }).collect();
    golden.section("turn", &turns);
    let output =
        CommandOutput { action: id(4), project: id(1), text: text("ok\n"), omitted: 70_000 };
    golden.section("output", &[output]);
}

fn events_pages() -> Vec<EventsPage> {
    let event = Event {
        seq: 7,
        stream: Stream::Project(id(1)),
        version: 3,
        id: id(70),
        at: AT,
        principal: text("local:ann"),
        actor: Actor::Ui,
        command: Some(text("key-1")),
        cause: None,
        kind: text("PROJECT_CLOSED"),
        body: json!({ "project": id::<Uuid>(1) }),
        prev: hash(0xa1),
        hash: hash(0xa2),
    };
    let page = |events, next| EventsPage { events, next, head: at(9) };
    vec![page(vec![event], Some(at(7))), page(Vec::new(), None)]
}

#[test]
fn documents_keep_their_fields() {
    let mut golden = Golden::default();
    messages(&mut golden);
    documents(&mut golden);
    golden.section("page of events", &events_pages());
    golden.check(&expect_file!["files/documents.txt"]);
}
