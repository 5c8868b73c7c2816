//! What happens in a project: turns of sessions with commands, reads and approvals, dev servers.

use provost_proto::{Actor, SessionId, Stream};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::history::{HistoryWriter, RARE_WORD};

/// How many tools a turn calls.
const CALLS_PER_TURN: usize = 4;
/// The rare word is in one of this many messages.
const RARE_EVERY: usize = 4096;
const ROLE: &str = "coder";
const MODELS: [&str; 2] = ["anthropic/large", "local/small"];
const FILES: [&str; 6] =
    ["src/lib.rs", "src/main.rs", "Cargo.toml", "web/app.ts", "docs/guide.md", "tests/it.rs"];
const COMMANDS: [&str; 5] =
    ["cargo test --workspace", "npm run build", "git status --short", "rg TODO src", "make check"];
const LINES: [&str; 5] = [
    "   Compiling shop v0.1.0\n",
    "test orders::total ... ok\n",
    "warning: unused variable `price`\n",
    "    Finished `dev` profile in 2.31s\n",
    "error[E0308]: mismatched types\n",
];

/// A project of the log.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Project {
    pub(crate) id: Uuid,
    pub(crate) slug: String,
}

impl Project {
    fn stream(&self) -> Stream {
        Stream::Project(self.id.into())
    }
}

fn agent() -> Actor {
    Actor::Agent(ROLE.to_owned())
}

fn principal(session: SessionId) -> String {
    format!("session:{}", session.uuid())
}

/// A person logs in with a browser, and an earlier login ends.
pub(crate) async fn log_in(writer: &mut HistoryWriter<'_>) {
    let token = writer.new_id();
    let digest = format!("{:064x}", writer.random.next());
    let expires = writer.now() + 30 * 86_400_000_000;
    let body = json!({
        "token": token, "class": "operator", "project": null, "role": null,
        "holder": "local:ann", "label": "browser", "digest": digest, "expiresAt": expires,
    });
    writer.append_by_person(Stream::Sys, &[("TOKEN_CREATED", body)]).await;
    writer.append_by_person(Stream::Sys, &[("TOKEN_REVOKED", json!({ "token": token }))]).await;
}

pub(crate) async fn open_session(writer: &mut HistoryWriter<'_>, project: &Project) -> SessionId {
    let session = SessionId::new(writer.new_id());
    let model = writer.random.pick(&MODELS);
    let body = json!({
        "session": session, "project": project.id, "role": ROLE, "model": model, "budget": {},
        "depth": 0,
    });
    writer.append_by_person(Stream::Session(session), &[("SESSION_OPENED", body)]).await;
    session
}

/// A turn: a message, a few tool calls, an answer. Returns an action that needed an approval.
pub(crate) async fn write_turn(
    writer: &mut HistoryWriter<'_>,
    project: &Project,
    session: SessionId,
    number: usize,
) -> Option<Uuid> {
    let turn = Turn {
        project: project.clone(),
        session,
        id: writer.new_id(),
        first_item: number * (2 + 2 * CALLS_PER_TURN),
    };
    let message = writer.new_id();
    let text = message_text(writer);
    let added = turn.message(message, turn.first_item, None, "user", &text);
    let started =
        json!({ "session": session, "turn": turn.id, "message": message, "item": turn.first_item });
    let facts = [("MESSAGE_ADDED", added), ("TURN_STARTED", started)];
    writer.append_by_person(Stream::Session(session), &facts).await;
    let mut asked = None;
    for call in 0..CALLS_PER_TURN {
        asked = turn.call_tool(writer, turn.first_item + 1 + 2 * call).await.or(asked);
    }
    let (message, text) = (writer.new_id(), message_text(writer));
    let last = turn.first_item + 1 + 2 * CALLS_PER_TURN;
    let facts = [
        ("MESSAGE_ADDED", turn.message(message, last, Some(turn.id), "assistant", &text)),
        ("USAGE_RECORDED", turn.usage(writer)),
        ("TURN_FINISHED", json!({ "session": session, "turn": turn.id, "reason": "done" })),
    ];
    writer.append(&principal(session), agent(), Stream::Session(session), &facts).await;
    asked
}

fn message_text(writer: &mut HistoryWriter<'_>) -> String {
    let file = writer.random.pick(&FILES);
    let mut text = format!("Please look at {file}: the total of an order is wrong when ");
    text += &"a discount applies to some of its lines and not to others. ".repeat(3);
    if writer.random.below(RARE_EVERY) == 0 {
        text += RARE_WORD;
    }
    text
}

struct Turn {
    project: Project,
    session: SessionId,
    id: Uuid,
    first_item: usize,
}

impl Turn {
    fn message(&self, id: Uuid, item: usize, turn: Option<Uuid>, from: &str, text: &str) -> Value {
        json!({
            "session": self.session, "item": item, "message": id, "turn": turn, "from": from,
            "parts": [{ "type": "text", "text": text }],
        })
    }

    fn usage(&self, writer: &mut HistoryWriter<'_>) -> Value {
        let usage = json!({
            "input": 9000 + writer.random.below(5000), "output": 200 + writer.random.below(500),
            "cachedInput": 8000, "cacheWrite": 0, "reasoning": 0,
        });
        json!({
            "session": self.session, "project": self.project.id, "turn": self.id,
            "model": writer.random.pick(&MODELS), "day": writer.now() / 86_400_000_000,
            "purpose": "answer", "usage": usage, "cost": 12_000_000,
        })
    }

    /// The model asks for a tool, which runs and returns. Returns its action if a person had to
    /// approve it.
    async fn call_tool(&self, writer: &mut HistoryWriter<'_>, item: usize) -> Option<Uuid> {
        let (action, message) = (writer.new_id(), writer.new_id());
        let call = format!("call_{:016x}", writer.random.next());
        let is_read = writer.random.below(2) == 0;
        let needs_approval = !is_read && writer.random.below(6) == 0;
        let (tool, params) = if is_read {
            ("fs.readFile", json!({ "path": writer.random.pick(&FILES) }))
        } else {
            ("terminal.runCommand", json!({ "command": writer.random.pick(&COMMANDS) }))
        };
        let called = json!({
            "session": self.session, "turn": self.id, "item": item + 1, "call": call, "tool": tool,
            "arguments": params.to_string(), "action": action,
        });
        let thought = "I read the code first and then run the tests.";
        let facts = [
            ("MESSAGE_ADDED", self.message(message, item, Some(self.id), "assistant", thought)),
            ("TOOL_CALLED", called),
            ("USAGE_RECORDED", self.usage(writer)),
        ];
        let by = principal(self.session);
        writer.append(&by, agent(), Stream::Session(self.session), &facts).await;
        let request = self.request(action, tool, &params);
        if is_read {
            self.read(writer, request).await;
        } else {
            self.run_command(writer, action, request, needs_approval).await;
        }
        let returned = json!({
            "session": self.session, "turn": self.id, "item": item + 1, "call": call,
            "status": "ok", "output": LINES.concat(),
        });
        let facts = [("TOOL_RETURNED", returned)];
        writer.append(&by, agent(), Stream::Session(self.session), &facts).await;
        needs_approval.then_some(action)
    }

    fn request(&self, action: Uuid, name: &str, params: &Value) -> Value {
        json!({
            "action": action, "project": self.project.id, "name": name, "params": params,
            "what": format!("{name} {params}"), "actionHash": "5".repeat(64), "role": ROLE,
            "session": self.session,
        })
    }

    async fn read(&self, writer: &mut HistoryWriter<'_>, mut request: Value) {
        request["why"] = json!({ "kind": "mode", "mode": "auto" });
        request["outcome"] = outcome(3);
        let facts = [("ACTION_READ", request)];
        writer.append(&principal(self.session), agent(), self.project.stream(), &facts).await;
    }

    async fn run_command(
        &self,
        writer: &mut HistoryWriter<'_>,
        action: Uuid,
        request: Value,
        needs_approval: bool,
    ) {
        let (stream, project) = (self.project.stream(), self.project.id);
        let allowed = |why: Value| json!({ "action": action, "by": "a person", "why": why });
        let by = principal(self.session);
        if needs_approval {
            let approval = writer.new_id();
            let asked = self.approval(writer, approval, &request);
            let waiting = json!({ "action": action, "approval": approval });
            let facts = [
                ("ACTION_REQUESTED", request),
                ("APPROVAL_ASKED", asked),
                ("ACTION_WAITING", waiting),
            ];
            writer.append(&by, agent(), stream, &facts).await;
            let answered = json!({
                "approval": approval, "project": project, "actionHash": "5".repeat(64),
                "decision": "allow", "scope": "once", "message": null,
            });
            let why = json!({ "kind": "approval", "approval": approval });
            let facts = [("APPROVAL_ANSWERED", answered), ("ACTION_ALLOWED", allowed(why))];
            writer.append_by_person(stream, &facts).await;
        } else {
            let why = json!({ "kind": "mode", "mode": "auto" });
            let facts = [("ACTION_REQUESTED", request), ("ACTION_ALLOWED", allowed(why))];
            writer.append(&by, agent(), stream, &facts).await;
        }
        let report = |kind: &'static str, number: u64, key: &str, value: Value| {
            let mut body = json!({ "action": action, "project": project, "report": number });
            body[key] = value;
            (kind, body)
        };
        let mut started = report("ACTION_STARTED", 1, "pid", json!(4000));
        started.1["profile"] = json!("command");
        started.1["layers"] = json!({ "landlock": 4, "seccomp": true });
        let mut facts = vec![started];
        for number in 0..3 {
            let text = (0..8).map(|_| writer.random.pick(&LINES)).collect::<String>();
            let data = json!({
                "stream": "stdout", "offset": number * 300, "dropped": 0, "data": { "text": text },
            });
            facts.push(report("ACTION_OUTPUT", 2 + number, "output", data));
        }
        facts.push(report("ACTION_FINISHED", 5, "outcome", outcome(1800)));
        writer.append("system", Actor::Kernel, stream, &facts).await;
    }

    fn approval(&self, writer: &HistoryWriter<'_>, approval: Uuid, request: &Value) -> Value {
        let argv = json!(["cargo", "test", "--workspace"]);
        let effect = json!({
            "kind": "run", "argv": argv, "through": [], "program": "/usr/bin/cargo", "hosts": [],
        });
        let question = json!({
            "name": request["name"], "params": request["params"], "what": request["what"],
            "why": "the mode asks", "demands": [effect], "cwd": ".", "diff": null,
            "profile": "command", "network": false, "rules": [], "gate": null, "pins": [],
            "choices": [{ "scope": "once", "remembers": "nothing" }], "trust": null,
        });
        json!({
            "approval": approval, "project": self.project.id, "action": request["action"],
            "actionHash": "5".repeat(64), "class": "agent", "role": ROLE, "session": self.session,
            "question": question, "expiresAt": writer.now() + 3_600_000_000,
        })
    }
}

fn outcome(milliseconds: u64) -> Value {
    json!({
        "exitCode": 0, "signal": null, "durationMs": milliseconds, "fault": null,
        "summary": { "stdoutBytes": 900 },
    })
}

/// A dev server starts, is ready and is stopped.
pub(crate) async fn run_dev_server(writer: &mut HistoryWriter<'_>, project: &Project) {
    let (run, command) = (writer.new_id(), "npm run dev");
    let request = json!({
        "action": run, "project": project.id, "name": "runtime.run", "params": {},
        "what": "run the project", "actionHash": "6".repeat(64),
    });
    let allowed = json!({ "action": run, "by": "a person", "why": { "kind": "operator" } });
    let facts = [("ACTION_REQUESTED", request), ("ACTION_ALLOWED", allowed)];
    writer.append_by_person(project.stream(), &facts).await;
    let report = |kind: &'static str, number: u64, key: &str, value: Value| {
        let mut body = json!({ "action": run, "project": project.id, "report": number });
        body[key] = value;
        (kind, body)
    };
    let starting = json!({ "command": command, "why": "a script", "cause": "run", "restarts": 0 });
    let started = json!({
        "pid": 51, "command": command, "profile": "serve", "cause": "run", "restarts": 0,
    });
    let port = json!({ "port": 5173, "address": "127.0.0.1", "pid": 51, "http": true });
    let ready = json!({ "port": 5173, "by": "output", "ports": [port] });
    let stopped = json!({ "cause": "stop", "exitCode": null, "signal": 15 });
    let facts = [
        report("RUNTIME_STARTING", 10, "run", starting),
        report("RUNTIME_STARTED", 11, "run", started),
        report("PREVIEW_READY", 12, "preview", ready),
        report("ACTION_FINISHED", 13, "outcome", outcome(40)),
        report("RUNTIME_STOPPED", 14, "run", stopped),
    ];
    writer.append("system", Actor::Kernel, project.stream(), &facts).await;
}
