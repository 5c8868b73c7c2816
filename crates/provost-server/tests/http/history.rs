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
const SESSION_EVENTS: u64 = 19;

/// What a test needs to know of the log.
pub(crate) struct SeededHistory {
    pub(crate) slug: String,
    /// A session in the middle of the log, and what happened in it.
    pub(crate) session: Uuid,
    pub(crate) action: Uuid,
    pub(crate) read: Uuid,
    pub(crate) approval: Uuid,
    pub(crate) grant: Uuid,
}

struct SeedWriter<'a> {
    store: &'a SqliteStore,
    clock: Clock,
    waiting: Vec<AppendRequest>,
}

impl SeedWriter<'_> {
    fn id(&self) -> Uuid {
        self.clock.new_id()
    }

    fn append(&mut self, stream: Stream, facts: &[(&str, Value)]) {
        let events = facts.iter().map(|(kind, body)| {
            let fact = Fact::from_kind_and_body(kind, body).ok_or((kind, body)).unwrap();
            NewEvent { stream, fact, cause: None }
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

/// Writes a log with this many sessions.
pub(crate) async fn write(folder: &Path, data: &Path, n_sessions: u64) -> SeededHistory {
    let clock = Clock::system();
    let options = StoreOptions { path: data.join("log.db"), clock: clock.clone() };
    let store = SqliteStore::open(options).unwrap();
    let mut writer = SeedWriter { store: &store, clock, waiting: Vec::new() };
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

/// The ids of one session and what happens in it.
struct SessionWriter<'w, 'a> {
    writer: &'w mut SeedWriter<'a>,
    project: Uuid,
    turn: Uuid,
    ids: SeededHistory,
}

fn write_session(writer: &mut SeedWriter<'_>, project: Uuid, slug: &str) -> SeededHistory {
    let turn = writer.id();
    let ids = SeededHistory {
        slug: slug.to_owned(),
        session: writer.id(),
        action: writer.id(),
        read: writer.id(),
        approval: writer.id(),
        grant: writer.id(),
    };
    let mut session = SessionWriter { writer, project, turn, ids };
    session.begin_turn();
    session.ask_and_answer();
    session.run_command();
    session.end_turn();
    session.ids
}

impl SessionWriter<'_, '_> {
    fn append_to_session(&mut self, facts: &[(&str, Value)]) {
        self.writer.append(Stream::Session(self.ids.session.into()), facts);
    }

    fn append_to_project(&mut self, facts: &[(&str, Value)]) {
        self.writer.append(Stream::Project(self.project.into()), facts);
    }

    fn message(&self, message: Uuid, item: u32, turn: Option<Uuid>, from: &str) -> Value {
        let parts = json!([{ "type": "text", "text": "Look at the tests." }]);
        json!({
            "session": self.ids.session, "item": item, "message": message, "turn": turn,
            "from": from, "parts": parts,
        })
    }

    fn request(&self, id: Uuid, name: &str) -> Value {
        json!({
            "action": id, "project": self.project, "name": name, "params": {}, "what": name,
            "actionHash": "5".repeat(64), "role": "dev", "session": self.ids.session,
        })
    }

    fn begin_turn(&mut self) {
        let (session, turn, message) = (self.ids.session, self.turn, self.writer.id());
        let opened = json!({
            "session": session, "project": self.project, "role": "dev", "model": "m",
            "budget": {}, "depth": 0,
        });
        self.append_to_session(&[("SESSION_OPENED", opened)]);
        let added = self.message(message, 0, None, "user");
        let started = json!({ "session": session, "turn": turn, "message": message, "item": 0 });
        self.append_to_session(&[("MESSAGE_ADDED", added), ("TURN_STARTED", started)]);
        let called = json!({
            "session": session, "turn": turn, "item": 1, "call": "c1",
            "tool": "terminal.runCommand", "arguments": "{}", "action": self.ids.action,
        });
        self.append_to_session(&[("TOOL_CALLED", called)]);
    }

    /// A read, and a command that needs an approval.
    fn ask_and_answer(&mut self) {
        let (project, session, hash) = (self.project, self.ids.session, "5".repeat(64));
        let SeededHistory { action, approval, grant, .. } = self.ids;
        let mut looked = self.request(self.ids.read, "fs.readFile");
        looked["why"] = json!({ "kind": "mode", "mode": "auto" });
        looked["outcome"] = outcome();
        self.append_to_project(&[("ACTION_READ", looked)]);
        let question = json!({
            "name": "terminal.runCommand", "params": {}, "what": "run", "why": "the mode asks",
            "demands": [], "cwd": ".", "diff": null, "profile": "command", "network": false,
            "rules": [], "gate": null, "pins": [], "choices": [], "trust": null,
        });
        let asked = json!({
            "approval": approval, "project": project, "action": action, "actionHash": hash,
            "class": "agent", "role": "dev", "session": session, "question": question,
            "expiresAt": 1,
        });
        let requested = self.request(action, "terminal.runCommand");
        let waiting = json!({ "action": action, "approval": approval });
        let facts = [
            ("ACTION_REQUESTED", requested),
            ("APPROVAL_ASKED", asked),
            ("ACTION_WAITING", waiting),
        ];
        self.append_to_project(&facts);
        let answered = json!({
            "approval": approval, "project": project, "actionHash": hash, "decision": "allow",
            "scope": "session", "message": null,
        });
        let granted = json!({
            "grant": grant, "project": project, "approval": approval, "grantee": "local:ann",
            "role": null, "session": session, "pins": [], "what": "run", "until": null,
            "covers": { "kind": "exact", "name": "n", "params": hash },
        });
        let why = json!({ "kind": "approval", "approval": approval });
        let allowed = json!({ "action": action, "by": "a person", "why": why });
        let facts = [
            ("APPROVAL_ANSWERED", answered),
            ("GRANT_CREATED", granted),
            ("ACTION_ALLOWED", allowed),
        ];
        self.append_to_project(&facts);
    }

    fn run_command(&mut self) {
        let (action, project) = (self.ids.action, self.project);
        let report = |number: u64, more: Value| {
            let mut body = json!({ "action": action, "project": project, "report": number });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let begun = report(1, json!({ "pid": 7, "profile": "command", "layers": {} }));
        let data = json!({ "text": "ok\n" });
        let output = json!({ "stream": "stdout", "offset": 0, "dropped": 0, "data": data });
        let printed = report(2, json!({ "output": output }));
        let finished = report(3, json!({ "outcome": outcome() }));
        let facts =
            [("ACTION_STARTED", begun), ("ACTION_OUTPUT", printed), ("ACTION_FINISHED", finished)];
        self.append_to_project(&facts);
        let revoked = json!({ "grant": self.ids.grant, "project": project });
        self.append_to_project(&[("GRANT_REVOKED", revoked)]);
    }

    fn end_turn(&mut self) {
        let (session, turn) = (self.ids.session, self.turn);
        let returned = json!({
            "session": session, "turn": turn, "item": 1, "call": "c1", "status": "ok",
            "output": "ok",
        });
        let usage =
            json!({ "input": 9, "output": 2, "cachedInput": 0, "cacheWrite": 0, "reasoning": 0 });
        let used = json!({
            "session": session, "project": self.project, "turn": turn, "model": "m",
            "day": 20_000, "purpose": "answer", "usage": usage, "cost": 1,
        });
        let said = self.message(self.writer.id(), 2, Some(turn), "assistant");
        let ended = json!({ "session": session, "turn": turn, "reason": "done" });
        let facts = [
            ("TOOL_RETURNED", returned),
            ("MESSAGE_ADDED", said),
            ("USAGE_RECORDED", used),
            ("TURN_FINISHED", ended),
        ];
        self.append_to_session(&facts);
    }
}

fn outcome() -> Value {
    json!({ "exitCode": 0, "signal": null, "durationMs": 3, "fault": null, "summary": {} })
}

/// Waits until all complete blocks of the log are indexed for searches.
pub(crate) async fn await_search_file(data: &Path, n_sessions: u64) {
    let n_blocks = (N_PROJECTS + n_sessions * SESSION_EVENTS) / 512;
    let path = data.join("log.db-search");
    let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while size() < n_blocks * (32 * 1024 + 32) {
        assert!(std::time::Instant::now() < deadline, "the search file is not continued");
        tokio::task::yield_now().await;
    }
}
