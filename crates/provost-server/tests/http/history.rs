//! A log with a history: sessions with commands, approvals and grants in a few projects.

use std::path::Path;

use futures::future::try_join_all;
use provost_proto::{Actor, Fact, Stream};
use provost_store::{
    AppendRequest, Clock, Durability, EventStore as _, NewEvent, SqliteStore, StoreOptions,
};
use serde_json::{Value, json};
use uuid::Uuid;

const N_PROJECTS: u64 = 3;

/// What a test needs to know of the log.
pub(crate) struct History {
    pub(crate) slug: String,
    /// A session in the middle of the log, and what happened in it.
    pub(crate) session: Uuid,
    pub(crate) action: Uuid,
    pub(crate) read: Uuid,
    pub(crate) approval: Uuid,
    pub(crate) grant: Uuid,
}

struct Writer<'a> {
    store: &'a SqliteStore,
    clock: Clock,
    waiting: Vec<AppendRequest>,
}

impl Writer<'_> {
    fn id(&self) -> Uuid {
        self.clock.new_id()
    }

    fn append(&mut self, stream: Stream, facts: &[(&str, Value)]) {
        let events = facts.iter().map(|(kind, body)| {
            let fact = Fact::from_kind_and_body(kind, body);
            NewEvent { stream, fact: fact.unwrap_or_else(|| panic!("{kind}: {body}")), cause: None }
        });
        self.waiting.push(AppendRequest {
            principal: "local:ann".to_owned(),
            actor: Actor::Ui,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Buffered,
            events: events.collect(),
        });
    }

    async fn flush(&mut self) {
        let appends = std::mem::take(&mut self.waiting).into_iter();
        try_join_all(appends.map(|append| self.store.append(append))).await.unwrap();
    }
}

/// Writes a log with this many sessions, of 19 events each.
pub(crate) async fn write(folder: &Path, data: &Path, n_sessions: u64) -> History {
    let clock = Clock::system();
    let options = StoreOptions { path: data.join("log.db"), clock: clock.clone() };
    let store = SqliteStore::open(options).unwrap();
    let mut writer = Writer { store: &store, clock, waiting: Vec::new() };
    let mut projects = Vec::new();
    for number in 0..N_PROJECTS {
        let slug = format!("p{number}");
        let path = folder.join(&slug);
        std::fs::create_dir_all(&path).unwrap();
        let project = writer.id();
        let body = json!({ "project": project, "name": slug, "slug": slug, "path": path });
        writer.append(Stream::Sys, &[("PROJECT_OPENED", body)]);
        projects.push((project, slug));
    }
    let mut middle = None;
    for number in 0..n_sessions {
        let (project, slug) = &projects[usize::try_from(number % N_PROJECTS).unwrap()];
        let found = write_session(&mut writer, *project, slug);
        if number == n_sessions / 2 {
            middle = Some(found);
        }
        writer.flush().await;
    }
    middle.unwrap()
}

fn write_session(writer: &mut Writer<'_>, project: Uuid, slug: &str) -> History {
    let (session, turn, message) = (writer.id(), writer.id(), writer.id());
    let (action, read, approval, grant) = (writer.id(), writer.id(), writer.id(), writer.id());
    let talk = Stream::Session(session.into());
    let work = Stream::Project(project.into());
    let hash = "5".repeat(64);
    let text = |message: Uuid, item: u32, turn: Option<Uuid>, from: &str| {
        let parts = json!([{ "type": "text", "text": "Look at the tests." }]);
        json!({ "session": session, "item": item, "message": message, "turn": turn, "from": from, "parts": parts })
    };
    let opened = json!({ "session": session, "project": project, "role": "dev", "model": "m", "budget": {}, "depth": 0 });
    writer.append(talk, &[("SESSION_OPENED", opened)]);
    let started = json!({ "session": session, "turn": turn, "message": message, "item": 0 });
    writer.append(
        talk,
        &[("MESSAGE_ADDED", text(message, 0, None, "user")), ("TURN_STARTED", started)],
    );
    let called = json!({ "session": session, "turn": turn, "item": 1, "call": "c1", "tool": "terminal.runCommand", "arguments": "{}", "action": action });
    writer.append(talk, &[("TOOL_CALLED", called)]);
    let request = |id: Uuid, name: &str| json!({ "action": id, "project": project, "name": name, "params": {}, "what": name, "actionHash": hash, "role": "dev", "session": session });
    let outcome =
        json!({ "exitCode": 0, "signal": null, "durationMs": 3, "fault": null, "summary": {} });
    let mut looked = request(read, "fs.readFile");
    looked["why"] = json!({ "kind": "mode", "mode": "auto" });
    looked["outcome"] = outcome.clone();
    writer.append(work, &[("ACTION_READ", looked)]);
    let question = json!({
        "name": "terminal.runCommand", "params": {}, "what": "run", "why": "the mode asks",
        "demands": [], "cwd": ".", "diff": null, "profile": "command", "network": false,
        "rules": [], "gate": null, "pins": [], "choices": [], "trust": null,
    });
    let asked = json!({ "approval": approval, "project": project, "action": action, "actionHash": hash, "class": "agent", "role": "dev", "session": session, "question": question, "expiresAt": 1 });
    let waiting = json!({ "action": action, "approval": approval });
    writer.append(
        work,
        &[
            ("ACTION_REQUESTED", request(action, "terminal.runCommand")),
            ("APPROVAL_ASKED", asked),
            ("ACTION_WAITING", waiting),
        ],
    );
    let answered = json!({ "approval": approval, "project": project, "actionHash": hash, "decision": "allow", "scope": "session", "message": null });
    let granted = json!({ "grant": grant, "project": project, "approval": approval, "grantee": "local:ann", "role": null, "session": session, "covers": { "kind": "exact", "name": "n", "params": hash }, "pins": [], "what": "run", "until": null });
    let allowed = json!({ "action": action, "by": "a person", "why": { "kind": "approval", "approval": approval } });
    writer.append(
        work,
        &[("APPROVAL_ANSWERED", answered), ("GRANT_CREATED", granted), ("ACTION_ALLOWED", allowed)],
    );
    let report = |number: u64| json!({ "action": action, "project": project, "report": number });
    let mut begun = report(1);
    (begun["pid"], begun["profile"], begun["layers"]) = (json!(7), json!("command"), json!({}));
    let mut printed = report(2);
    printed["output"] =
        json!({ "stream": "stdout", "offset": 0, "dropped": 0, "data": { "text": "ok\n" } });
    let mut finished = report(3);
    finished["outcome"] = outcome;
    writer.append(
        work,
        &[("ACTION_STARTED", begun), ("ACTION_OUTPUT", printed), ("ACTION_FINISHED", finished)],
    );
    writer.append(work, &[("GRANT_REVOKED", json!({ "grant": grant, "project": project }))]);
    let returned = json!({ "session": session, "turn": turn, "item": 1, "call": "c1", "status": "ok", "output": "ok" });
    let usage =
        json!({ "input": 9, "output": 2, "cachedInput": 0, "cacheWrite": 0, "reasoning": 0 });
    let used = json!({ "session": session, "project": project, "turn": turn, "model": "m", "day": 20_000, "purpose": "answer", "usage": usage, "cost": 1 });
    let said = text(writer.id(), 2, Some(turn), "assistant");
    let ended = json!({ "session": session, "turn": turn, "reason": "done" });
    writer.append(
        talk,
        &[
            ("TOOL_RETURNED", returned),
            ("MESSAGE_ADDED", said),
            ("USAGE_RECORDED", used),
            ("TURN_FINISHED", ended),
        ],
    );
    let slug = slug.to_owned();
    History { slug, session, action, read, approval, grant }
}

/// Waits until all complete blocks of the log are indexed for searches.
pub(crate) async fn await_search_file(data: &Path, store: &SqliteStore) {
    let n_blocks = store.watch_head().borrow().seq() / 512;
    let path = data.join("log.db-search");
    let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while size() < n_blocks * (32 * 1024 + 32) {
        assert!(std::time::Instant::now() < deadline, "the search file is not continued");
        tokio::task::yield_now().await;
    }
}
