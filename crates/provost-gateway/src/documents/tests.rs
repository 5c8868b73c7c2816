//! A page that follows documents has what a new page would be sent, however it was disconnected.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use provost_proto::{
    Actor, AppendedPart, DocumentChange, DocumentContent, DocumentCursor, Fact, LogCursor,
    ProjectId, SessionId, Stream,
};
use provost_store::{AppendRequest, Durability, Idempotency};
use serde_json::{Value, json};
use uuid::Uuid;

use super::follower::{DocumentFollower, DocumentMessage};
use super::selection::DocumentSelection;
use crate::event_log::EventLog;
use crate::live_drafts::{DraftPart, DraftWriter, LiveDrafts};
use crate::test_support::open_log;
use crate::{GatewayConfig, GatewayError};

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// What a page has.
#[derive(Debug, Default, Clone)]
struct ClientPage {
    documents: BTreeMap<(String, Uuid), Value>,
    commands: Vec<String>,
    cursor: Option<DocumentCursor>,
    n_resyncs: usize,
    is_live: bool,
}

impl ClientPage {
    fn apply(&mut self, message: DocumentMessage) {
        match message {
            DocumentMessage::Resync => {
                self.documents.clear();
                self.n_resyncs += 1;
                self.is_live = false;
            }
            DocumentMessage::Snapshot(documents) => {
                for change in documents {
                    self.apply_change(change);
                }
            }
            DocumentMessage::Live(cursor) => {
                self.cursor = Some(cursor);
                self.is_live = true;
            }
            DocumentMessage::Changes(changes, cursor) => {
                changes.changes.into_iter().for_each(|change| self.apply_change(change));
                self.commands.extend(changes.commands);
                self.cursor = cursor.or(self.cursor);
                self.check_messages("after changes");
            }
        }
    }

    fn apply_change(&mut self, change: DocumentChange) {
        let key = (change.view, change.key);
        match change.content {
            DocumentContent::Document(Some(document)) => {
                self.documents.insert(key, document);
            }
            DocumentContent::Document(None) => {
                self.documents.remove(&key);
            }
            DocumentContent::Append(texts) => {
                let document = self.documents.get_mut(&key).expect("text for a known document");
                for text in texts {
                    let target = match text.kind {
                        AppendedPart::Text | AppendedPart::Output => &mut document["text"],
                        AppendedPart::Reasoning => &mut document["reasoning"],
                        AppendedPart::Tool => panic!("no tool is streamed here"),
                    };
                    *target = json!(format!("{}{}", target.as_str().unwrap(), text.text));
                }
                if key.0 == "drafts" {
                    document["retrying"] = Value::Null;
                }
            }
        }
    }

    /// The page shows either what is being written, or the message that it became.
    fn check_messages(&self, at: &str) {
        let draft = self.documents.iter().find(|((view, _), _)| view == "drafts");
        let Some(text) = draft.and_then(|(_, draft)| draft["text"].as_str()) else { return };
        for (_, page) in self.documents.iter().filter(|((view, _), _)| view == "pages") {
            for item in page["items"].as_array().into_iter().flatten() {
                let message = item["content"]["parts"][0]["text"].as_str();
                assert!(text.is_empty() || message != Some(text), "{at}: {text} is shown twice");
            }
        }
    }

    /// Reads until the page is live and nothing more happened.
    async fn read_all(&mut self, follower: &mut DocumentFollower) {
        while !self.is_live || !follower.is_at_head() {
            for message in follower.next().await.unwrap() {
                self.apply(message);
            }
        }
    }
}

/// A log, and the drafts beside it.
struct TestLog {
    log: Arc<EventLog>,
    drafts: LiveDrafts,
}

impl std::ops::Deref for TestLog {
    type Target = EventLog;

    fn deref(&self) -> &EventLog {
        &self.log
    }
}

async fn open(folder: &Path) -> TestLog {
    let log = Arc::new(open_log(folder, &GatewayConfig::default()).await);
    let drafts = LiveDrafts::new(Arc::clone(&log), folder.join("drafts"));
    TestLog { log, drafts }
}

async fn follow(
    log: &TestLog,
    selection: &DocumentSelection,
    bound: Option<ProjectId>,
    after: Option<DocumentCursor>,
) -> Result<DocumentFollower, GatewayError> {
    let selection = selection.clone().restrict_to(bound)?;
    DocumentFollower::start(Arc::clone(&log.log), &log.drafts, selection, after).await
}

async fn read_new_page(log: &TestLog, selection: &DocumentSelection) -> ClientPage {
    let mut page = ClientPage::default();
    let mut follower = follow(log, selection, None, None).await.unwrap();
    page.read_all(&mut follower).await;
    page
}

async fn append(log: &EventLog, stream: Stream, command: Option<u32>, kind: &str, body: Value) {
    let fact = Fact::from_kind_and_body(kind, &body).unwrap_or_else(|| panic!("{kind} {body}"));
    let actor =
        if kind == "ACTION_REQUESTED" { Actor::Agent("dev".to_owned()) } else { Actor::Cli };
    let mut request = AppendRequest::single_event("local:ann", actor, stream, fact);
    request.durability = Durability::Buffered;
    request.command = command.map(|number| Idempotency {
        key: format!("command-{number}"),
        request: provost_proto::Hash::ZERO,
    });
    log.append(request).await.unwrap();
}

/// A deterministic generator: a failing walk can be repeated.
struct EventWalk {
    state: u64,
    /// The actions that were requested, with their projects: an id is used once.
    actions: Vec<(Uuid, Uuid)>,
    /// What the models of the two sessions are writing.
    writers: [Option<DraftWriter>; 2],
    /// A draft whose message is in the log, and that is not over yet.
    closing: Option<(DraftWriter, LogCursor)>,
}

impl EventWalk {
    fn new(seed: u64) -> Self {
        Self { state: seed, actions: Vec::new(), writers: [None, None], closing: None }
    }

    /// One of the last actions.
    fn pick_action(&mut self) -> (Uuid, Uuid) {
        let back = usize::try_from(self.pick(6)).unwrap();
        let last = self.actions.iter().rev().nth(back).or(self.actions.last());
        last.copied().unwrap_or((id(5), id(1)))
    }

    fn finish_draft(&mut self) {
        if let Some((writer, appended)) = self.closing.take() {
            writer.finish(Some(appended)).unwrap();
        }
    }

    /// One step of a model that writes: it begins, says something, tries again or ends.
    async fn write_draft(&mut self, log: &TestLog, number: u32) {
        self.finish_draft();
        let which = usize::try_from(self.pick(2)).unwrap();
        let (session, turn) = (id(10 + which as u128), id(100 + u128::from(self.pick(3))));
        let stream = Stream::Session(session.into());
        let step = self.pick(12);
        let Some(writer) = &mut self.writers[which] else {
            let message = id(10_000 + u128::from(number)).into();
            let writer = log.drafts.begin(session.into(), turn.into(), message).unwrap();
            self.writers[which] = Some(writer);
            return;
        };
        match step {
            0 => {
                let body = json!({ "session": session, "turn": turn, "attempt": 2 });
                append(log, stream, None, "ATTEMPT_RESTARTED", body).await;
                let since = log.store().head();
                writer.restart(2, since).unwrap();
            }
            1 => {
                let body = json!({ "session": session, "turn": turn, "attempt": 2, "retryInMs": 1, "why": "busy" });
                let fact = Fact::from_kind_and_body("ATTEMPT_FAILED", &body).unwrap();
                let Fact::AttemptFailed(failed) = fact else { unreachable!() };
                writer.fail_attempt(&failed, 1).unwrap();
            }
            2 => {
                let mut writer = self.writers[which].take().unwrap();
                writer.close().unwrap();
                writer.finish(None).unwrap();
            }
            3 | 4 => {
                let mut writer = self.writers[which].take().unwrap();
                writer.close().unwrap();
                let draft = log.drafts.follow(session.into()).current().unwrap();
                let text = draft.to_document().0.text;
                let body = json!({ "session": session, "item": number, "message": writer.message(), "turn": turn, "from": "assistant", "parts": [{ "type": "text", "text": text }] });
                append(log, stream, None, "MESSAGE_ADDED", body).await;
                let appended = log.store().head();
                // A page may look before the draft is over.
                if self.pick(2) == 0 {
                    writer.finish(Some(appended)).unwrap();
                } else {
                    self.closing = Some((writer, appended));
                }
            }
            5 => writer.push_text(DraftPart::Reasoning, &format!("({number})")).unwrap(),
            _ => writer.push_text(DraftPart::Text, &format!("<{number}>")).unwrap(),
        }
    }

    fn pick(&mut self, n: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }
}

fn question() -> Value {
    json!({
        "name": "fs.writeFile", "params": { "path": "a" }, "what": "write a", "why": "the mode",
        "demands": [], "cwd": "", "diff": null, "notes": [], "profile": "build", "network": false,
        "rules": [], "gate": null, "pins": [], "choices": [], "trust": null,
    })
}

/// One plausible event about two projects and two sessions.
#[expect(clippy::too_many_lines, reason = "a table of events")]
async fn append_any(log: &TestLog, walk: &mut EventWalk, number: u32) {
    let project = id(1 + u128::from(walk.pick(2)));
    let session = id(10 + u128::from(walk.pick(2)));
    // A turn belongs to one session.
    let turn = id(session.as_u128() * 10 + u128::from(walk.pick(3)));
    let other = id(30 + u128::from(walk.pick(6)));
    let (of_project, of_session) =
        (Stream::Project(project.into()), Stream::Session(session.into()));
    let (action, actions_project) = walk.pick_action();
    let hash = "00".repeat(32);
    let zero =
        json!({ "input": 1, "output": 1, "cachedInput": 0, "cacheWrite": 0, "reasoning": 0 });
    let delta = json!({ "session": session, "turn": turn, "text": format!("<{number}>") });
    let (stream, kind, body) = match walk.pick(22) {
        0 => {
            (Stream::Sys, "DAEMON_STARTED", json!({ "pid": number, "version": "1", "listen": "" }))
        }
        1 => (
            Stream::Sys,
            "PROJECT_OPENED",
            json!({ "project": project, "name": "p", "slug": "p", "path": "/p" }),
        ),
        2 => (
            of_project,
            "MODE_CHANGED",
            json!({ "project": project, "mode": "auto", "until": null }),
        ),
        3 => (
            of_project,
            "KERNEL_STARTED",
            json!({ "project": project, "boot": other, "pid": 7, "version": "1" }),
        ),
        4 => (of_project, "KERNEL_UNRESPONSIVE", json!({ "project": project, "boot": other })),
        5 => (
            of_project,
            "APPROVAL_ASKED",
            json!({ "approval": other, "project": project, "action": other, "actionHash": hash, "class": "agent", "role": null, "session": null, "question": question(), "expiresAt": 9 }),
        ),
        6 => (of_project, "APPROVAL_EXPIRED", json!({ "approval": other, "project": project })),
        7 => (
            of_project,
            "ACTION_REQUESTED",
            json!({ "action": id(1000 + u128::from(number)), "project": project, "name": "pty.write", "params": { "text": format!("ls {number}") }, "what": "type", "actionHash": hash, "session": session }),
        ),
        8 => (
            of_project,
            "ACTION_OUTPUT",
            json!({ "action": action, "project": actions_project, "report": number, "output": { "stream": "stdout", "offset": 0, "data": { "text": format!("[{number}]") }, "dropped": 0 } }),
        ),
        9 => (
            of_project,
            "ACTION_FINISHED",
            json!({ "action": action, "project": actions_project, "report": number, "outcome": { "exitCode": 0, "durationMs": 1, "summary": {}, "fault": null } }),
        ),
        // A session is opened once.
        10 => (
            Stream::Session(id(2000 + u128::from(number)).into()),
            "SESSION_OPENED",
            json!({ "session": id(2000 + u128::from(number)), "project": project, "role": "dev", "model": "m", "budget": {}, "depth": 0 }),
        ),
        11 => (
            of_session,
            "TURN_STARTED",
            json!({ "session": session, "turn": turn, "message": null, "item": null }),
        ),
        // Earlier versions recorded deltas.
        12 => (of_session, "TEXT_DELTA", delta),
        13..=17 => return walk.write_draft(log, number).await,
        18 => (of_session, "TURN_CANCELLED", json!({ "session": session, "turn": turn })),
        19 => (
            of_session,
            "TOOL_CALLED",
            json!({ "session": session, "turn": turn, "item": number, "call": "c", "tool": "t", "arguments": "{}", "action": action }),
        ),
        20 => (
            of_session,
            "MESSAGE_ADDED",
            json!({ "session": session, "item": number, "message": other, "turn": turn, "from": "assistant", "parts": [{ "type": "text", "text": "hi" }], "answer": { "secret": 1 } }),
        ),
        _ => (
            of_session,
            "USAGE_RECORDED",
            json!({ "session": session, "project": project, "turn": turn, "model": "m", "day": 1, "usage": zero, "cost": 1, "purpose": "answer" }),
        ),
    };
    if kind == "ACTION_REQUESTED" {
        walk.actions.push((id(1000 + u128::from(number)), project));
    }
    append(log, stream, Some(number), kind, body).await;
}

/// Compares with what a new page is sent; a page that was open longer may have more.
async fn check_page(log: &TestLog, selection: &DocumentSelection, page: &ClientPage, at: &str) {
    let fresh = read_new_page(log, selection).await;
    for (key, document) in &fresh.documents {
        let mut known = page.documents.get(key).cloned();
        if key.0 == "outputs" {
            // A page appends; a document holds the end only.
            known = known.map(|mut known| {
                known["omitted"] = document["omitted"].clone();
                known
            });
        }
        assert_eq!(known.as_ref(), Some(document), "{at}: {key:?}");
    }
    assert!(
        !page.documents.keys().any(|key| key.0 == "drafts" && !fresh.documents.contains_key(key)),
        "{at}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_disconnected_anywhere_has_what_a_new_page_gets() {
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let log = open(folder.path()).await;
        let mut walk = EventWalk::new(seed);
        let session = Some(SessionId::from(id(10)));
        let selection = DocumentSelection { session, ..DocumentSelection::default() };
        for project in [1, 2] {
            let body = json!({ "project": id(project), "name": "p", "slug": "p", "path": "/p" });
            append(&log, Stream::Sys, None, "PROJECT_OPENED", body).await;
        }
        let body = json!({ "session": id(10), "project": id(1), "role": "dev", "model": "m", "budget": {}, "depth": 0 });
        append(&log, Stream::Session(id(10).into()), None, "SESSION_OPENED", body).await;
        let mut page = ClientPage::default();
        let mut follower = follow(&log, &selection, None, None).await.unwrap();
        for number in 1..400 {
            append_any(&log, &mut walk, number).await;
            match walk.pick(12) {
                0 => {
                    // Reads a part only, then the connection breaks.
                    for message in follower.next().await.unwrap() {
                        page.apply(message);
                    }
                    page.is_live = false;
                    follower = follow(&log, &selection, None, page.cursor).await.unwrap();
                    if page.cursor.is_none() {
                        page = ClientPage::default();
                    }
                }
                1 | 2 => page.read_all(&mut follower).await,
                _ => {}
            }
        }
        page.read_all(&mut follower).await;
        check_page(&log, &selection, &page, &format!("walk {seed}")).await;
        walk.finish_draft();
        assert_eq!(page.n_resyncs, 0, "walk {seed}");
    }
}

#[tokio::test]
async fn commands_are_named_with_the_changes_of_their_events() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let selection = DocumentSelection::default();
    let mut follower = follow(&log, &selection, None, None).await.unwrap();
    let mut page = ClientPage::default();
    page.read_all(&mut follower).await;
    let body = json!({ "project": id(1), "name": "p", "slug": "p", "path": "/p" });
    append(&log, Stream::Sys, Some(7), "PROJECT_OPENED", body).await;
    page.read_all(&mut follower).await;
    assert_eq!(page.commands, ["command-7"]);
    assert_eq!(page.documents[&("projects".to_owned(), id(1))]["name"], "p");
}

#[tokio::test]
async fn a_cursor_of_another_log_of_the_future_or_of_other_documents_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let selection = DocumentSelection::default();
    for number in 0..5 {
        let body = json!({ "pid": number, "version": "1", "listen": "" });
        append(&log, Stream::Sys, None, "DAEMON_STARTED", body).await;
    }
    let cursor = read_new_page(&log, &selection).await.cursor.unwrap();
    let resumed = |cursor, selection: DocumentSelection| {
        let log = &log;
        async move {
            let mut page = ClientPage::default();
            let mut follower = follow(log, &selection, None, Some(cursor)).await.unwrap();
            page.read_all(&mut follower).await;
            (page.n_resyncs, page.documents.len())
        }
    };
    assert_eq!(resumed(cursor, selection.clone()).await, (0, 0), "nothing happened since");
    let diverged = DocumentCursor { hash: cursor.hash ^ 1, ..cursor };
    assert_eq!(resumed(diverged, selection.clone()).await, (1, 1), "a restored backup");
    let future = DocumentCursor { at: LogCursor::END, ..cursor };
    assert_eq!(resumed(future, selection.clone()).await, (1, 1), "a longer log");
    let views = Some(vec!["daemon".to_owned()]);
    let others = DocumentSelection { views, ..selection };
    assert_eq!(resumed(cursor, others).await, (1, 1), "other documents");
}

#[tokio::test]
async fn a_page_that_is_too_far_behind_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let selection = DocumentSelection::default();
    let mut follower = follow(&log, &selection, None, None).await.unwrap();
    let mut page = ClientPage::default();
    page.read_all(&mut follower).await;
    for number in 0..5100 {
        let body = json!({ "pid": number, "version": "1", "listen": "" });
        append(&log, Stream::Sys, None, "DAEMON_STARTED", body).await;
    }
    page.read_all(&mut follower).await;
    assert_eq!(page.n_resyncs, 1);
    assert_eq!(page.documents[&("daemon".to_owned(), Uuid::nil())]["pid"], 5099);
}

#[tokio::test]
async fn a_reader_of_one_project_gets_nothing_of_others_and_no_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let mut walk = EventWalk::new(3);
    let only = Some(ProjectId::from(id(1)));
    let selection = DocumentSelection::default();
    let mut live = ClientPage::default();
    let mut follower = follow(&log, &selection, only, None).await.unwrap();
    for number in 1..500 {
        append_any(&log, &mut walk, number).await;
        live.read_all(&mut follower).await;
    }
    let mut fresh = ClientPage::default();
    let mut follower = follow(&log, &selection, only, None).await.unwrap();
    fresh.read_all(&mut follower).await;
    for page in [live, fresh] {
        assert!(page.documents.len() > 3, "{page:?}");
        for ((view, key), document) in &page.documents {
            let owner = document.get("project").or_else(|| document.get("id")).unwrap();
            assert_eq!(owner, &json!(id(1)), "{view} {key}: {document}");
            assert!(
                !["daemon", "sessions", "pages", "drafts", "turns"].contains(&&**view),
                "{view}"
            );
        }
    }
    let other = DocumentSelection { project: Some(id(2).into()), ..selection.clone() };
    let session = DocumentSelection { session: Some(id(10).into()), ..selection.clone() };
    let views = DocumentSelection { views: Some(vec!["sessions".to_owned()]), ..selection };
    for refused in [other, session, views] {
        let error = follow(&log, &refused, only, None).await.unwrap_err();
        assert!(matches!(error, GatewayError::BoundToOtherProject), "{refused:?}: {error}");
    }
}

#[tokio::test]
async fn a_snapshot_holds_all_pending_approvals_and_the_last_resolved_ones() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).await;
    let body = json!({ "project": id(1), "name": "p", "slug": "p", "path": "/p" });
    append(&log, Stream::Sys, None, "PROJECT_OPENED", body).await;
    let mut facts = Vec::new();
    for number in 0..10_000_u128 {
        let body = json!({
            "approval": id(100 + number), "project": id(1), "action": id(5),
            "actionHash": "00".repeat(32), "class": "agent", "role": null, "session": null,
            "question": question(), "expiresAt": 9,
        });
        facts.extend(Fact::from_kind_and_body("APPROVAL_ASKED", &body));
        let body = json!({ "approval": id(100 + number), "project": id(1) });
        facts.extend(Fact::from_kind_and_body("APPROVAL_EXPIRED", &body).filter(|_| number >= 5));
    }
    for facts in facts.chunks(1000) {
        log.record_project_events(id(1).into(), Actor::Daemon, facts.to_vec()).await.unwrap();
    }
    let page = read_new_page(&log, &DocumentSelection::default()).await;
    let keys: Vec<_> = page.documents.keys().filter(|key| key.0 == "approvals").collect();
    let expected: Vec<_> = (100..105).chain(10_070..10_100).map(id).collect();
    assert_eq!(keys.iter().map(|key| key.1).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn an_unknown_view_is_refused_with_the_names_of_all() {
    let views = Some(vec!["tokens".to_owned()]);
    let selection = DocumentSelection { views, ..DocumentSelection::default() };
    let error = selection.restrict_to(None).unwrap_err().to_string();
    assert!(error.contains("no view `tokens`; there are daemon, projects"), "{error}");
}
