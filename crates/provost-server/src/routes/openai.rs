//! Governed agents, as a client of the Chat Completions of `OpenAI` sees them.
//!
//! A model is a role: `role/<name>`, or `role/<name>@<project>` where several
//! projects are open. A request is a turn in a session of its own; one that names a
//! session in `X-Provost-Session` goes on in it. The agent calls its own tools; what
//! asks a person waits for that person, as everywhere.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use provost_gateway::Operator;
use provost_proto::session::{OpenSession, SessionView, TokenUsage};
use provost_proto::{Code, Fact, Problem, Project, ProjectStatus};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::Door;
use crate::auth::Op;
use crate::body::JsonBody;
use crate::problem::Failure;
use crate::talk::{Ended, Said, Talk};

const SESSION: HeaderName = HeaderName::from_static("x-provost-session");

/// What is asked. Fields that mean nothing here are not looked at.
#[derive(Deserialize)]
pub(crate) struct Completion {
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

impl Message {
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        }
    }
}

async fn open_projects(door: &Door) -> Result<Vec<Project>, Failure> {
    let mut projects = door.gateway.all_projects().await?;
    projects.retain(|project| project.status == ProjectStatus::Open);
    Ok(projects)
}

/// List the roles as models.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = Object), (status = 401, body = Problem)))]
pub(crate) async fn models(State(door): State<Arc<Door>>, Op(_): Op) -> Answer<Value> {
    let projects = open_projects(&door).await?;
    let mut data = Vec::new();
    for project in &projects {
        for part in door.gateway.parts(project).await? {
            let id = match projects.len() {
                1 => format!("role/{}", part.name),
                _ => format!("role/{}@{}", part.name, project.slug),
            };
            let created = project.opened_at / 1_000_000;
            data.push(
                json!({ "id": id, "object": "model", "created": created, "owned_by": "provost" }),
            );
        }
    }
    Ok(Json(json!({ "object": "list", "data": data })))
}

/// Ask a governed agent, as a client of Chat Completions does.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = Object, responses((status = 200, body = Object), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn complete(
    State(door): State<Arc<Door>>,
    Op(by): Op,
    headers: HeaderMap,
    JsonBody { value, command }: JsonBody<Completion>,
) -> Result<Response, Failure> {
    let (session, text) = match headers.get(&SESSION).map(|value| value.to_str()) {
        Some(name) => {
            let session = super::sessions::id(name.unwrap_or_default())?;
            let session = door.runner.view(session).await?;
            is_of(&door, &session, &value.model).await?;
            (session, last_said(&value.messages)?)
        }
        None => (session_for(&door, &by, &value.model).await?, transcript(&value.messages)?),
    };
    let after = *door.gateway.store().head().borrow();
    let sent = door.runner.send(&by, session.id, text, command).await?;
    let talk = Talk::new(&door, after, &sent);
    let name = [(SESSION, session.id.uuid().to_string())];
    if value.stream {
        let id = format!("chatcmpl-{}", sent.message.uuid());
        let chunks = Chunks::new(&door, id, &value);
        return Ok((name, streamed(door, talk, chunks)).into_response());
    }
    Ok((name, whole(door, talk, session, value.model).await?).into_response())
}

/// A client that asks for one role must not speak with another.
async fn is_of(door: &Door, session: &SessionView, model: &str) -> Result<(), Failure> {
    let projects = door.gateway.all_projects().await?;
    let slug = projects.into_iter().find(|project| project.id == session.project);
    let slug = slug.map(|project| project.slug).unwrap_or_default();
    let role = format!("role/{}", session.role);
    if model == role || model == format!("{role}@{slug}") {
        return Ok(());
    }
    let why = format!(
        "this session is of `{role}@{slug}`, not of `{model}`; name that, or begin another \
         without `X-Provost-Session`"
    );
    Err(Failure::new(Code::InvalidRequest, why))
}

async fn session_for(door: &Door, by: &Operator, model: &str) -> Result<SessionView, Failure> {
    let unknown = || {
        let why = format!("`{model}` is no role here; name it as `role/<name>`, see /v1/models");
        Failure::new(Code::UnknownModel, why)
    };
    let name = model.strip_prefix("role/").ok_or_else(unknown)?;
    let (role, project) = match name.split_once('@') {
        Some((role, project)) => (role, project.to_owned()),
        None => match &open_projects(door).await?[..] {
            [only] => (name, only.id.uuid().to_string()),
            [] => return Err(Failure::new(Code::ProjectNotFound, "no project is open")),
            _ => {
                let why = "several projects are open; name one, as `role/<name>@<project>`";
                return Err(Failure::new(Code::UnknownModel, why));
            }
        },
    };
    let wanted = OpenSession { project, role: role.to_owned(), model: None, budget: None };
    Ok(door.runner.open_session(by, wanted, None).await?)
}

fn last_said(messages: &[Message]) -> Result<String, Failure> {
    let nothing = || Failure::new(Code::InvalidRequest, "`messages` ends with one of the user");
    let last = messages.last().filter(|message| message.role == "user");
    last.map(Message::text).ok_or_else(nothing)
}

/// The whole conversation as one message, since the client keeps it.
fn transcript(messages: &[Message]) -> Result<String, Failure> {
    let last = last_said(messages)?;
    let before: Vec<_> = messages.iter().take(messages.len().saturating_sub(1)).collect();
    if before.is_empty() {
        return Ok(last);
    }
    let told = before.iter().map(|message| format!("[{}]\n{}\n\n", message.role, message.text()));
    Ok(format!("What was said before:\n\n{}[user]\n{last}", told.collect::<String>()))
}

async fn whole(
    door: Arc<Door>,
    mut talk: Talk,
    session: SessionView,
    model: String,
) -> Result<Response, Failure> {
    let (mut text, mut used) = (String::new(), TokenUsage::default());
    loop {
        let said = tokio::select! {
            () = door.closing.cancelled() => None,
            said = talk.next() => said?,
        };
        let Some(said) = said else {
            return Err(Failure::new(Code::Unavailable, "the daemon is stopping"));
        };
        if let Some(Fact::TextDelta(delta)) = &said.fact {
            text.push_str(&delta.text);
        } else if let Some(Fact::AttemptRestarted(_) | Fact::ToolCalled(_)) = &said.fact {
            // What is said before a call is not the answer.
            text.clear();
        } else if let Some(Fact::UsageRecorded(usage)) = said.fact {
            used = used.plus(usage.usage);
        }
        match said.end {
            None => {}
            Some(Ended::Badly(problem)) => return Ok(refusal(&problem)),
            Some(Ended::Well) => break,
        }
    }
    Ok(Json(json!({
        "id": format!("chatcmpl-{}", session.id.uuid()),
        "object": "chat.completion",
        "created": door.gateway.clock().now() / 1_000_000,
        "model": model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text },
            "finish_reason": "stop",
        }],
        "usage": tokens(used),
    }))
    .into_response())
}

fn tokens(usage: TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
    })
}

/// An error as such clients read it, and as ours do.
fn refusal(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(told(problem))).into_response()
}

fn told(problem: &Problem) -> Value {
    let Problem { error, code, status, .. } = problem;
    json!({ "error": { "message": error, "type": "provost_error", "code": code, "status": status } })
}

/// What makes the pieces of one answer.
struct Chunks {
    id: String,
    model: String,
    created: u64,
    /// Whether the tokens are told at the end.
    counts: bool,
    used: TokenUsage,
    has_begun: bool,
}

impl Chunks {
    fn new(door: &Door, id: String, asked: &Completion) -> Self {
        Self {
            id,
            model: asked.model.clone(),
            created: door.gateway.clock().now() / 1_000_000,
            counts: asked.stream_options.include_usage,
            used: TokenUsage::default(),
            has_begun: false,
        }
    }

    /// What the client is sent for this.
    fn of(&mut self, said: &Said) -> String {
        let mut piece = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            piece.push_str(&self.delta(&json!({ "role": "assistant", "content": "" }), None));
        }
        if let Some(fact) = &said.fact {
            piece.push_str(&self.fact(fact));
        }
        match &said.end {
            None => {}
            Some(Ended::Well) => {
                piece.push_str(&self.delta(&json!({}), Some("stop")));
                if self.counts {
                    piece.push_str(&self.chunk(&json!([]), &tokens(self.used)));
                }
                piece.push_str("data: [DONE]\n\n");
            }
            Some(Ended::Badly(problem)) => {
                let told = told(problem).to_string();
                piece.extend(["data: ", &told, "\n\ndata: [DONE]\n\n"]);
            }
        }
        piece
    }

    fn fact(&mut self, fact: &Fact) -> String {
        if let Fact::TextDelta(delta) = fact {
            self.delta(&json!({ "content": delta.text }), None)
        } else if let Fact::ReasoningDelta(delta) = fact {
            self.delta(&json!({ "reasoning_content": delta.text }), None)
        } else if let Fact::AttemptRestarted(_) = fact {
            self.delta(&json!({ "content": "\n\n[the answer begins anew]\n\n" }), None)
        } else if let Fact::ToolCalled(_) = fact {
            self.delta(&json!({ "content": "\n\n" }), None)
        } else {
            if let Fact::UsageRecorded(usage) = fact {
                self.used = self.used.plus(usage.usage);
            }
            String::new()
        }
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.chunk(&choices, &Value::Null)
    }

    fn chunk(&self, choices: &Value, usage: &Value) -> String {
        let chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    }
}

fn streamed(door: Arc<Door>, talk: Talk, chunks: Chunks) -> Response {
    let pieces = stream::unfold((talk, door, chunks), |(mut talk, door, mut chunks)| async move {
        let said = tokio::select! {
            () = door.closing.cancelled() => return None,
            said = talk.next() => said.ok()??,
        };
        let piece = chunks.of(&said);
        Some((Ok::<_, Infallible>(Bytes::from(piece)), (talk, door, chunks)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}
