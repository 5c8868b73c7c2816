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
use provost_proto::session::{OpenSession, SessionView};
use provost_proto::{Code, Fact, Problem, Project, ProjectStatus};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::Door;
use crate::auth::Op;
use crate::body::JsonBody;
use crate::problem::Failure;
use crate::talk::{Ended, Talk};

const SESSION: HeaderName = HeaderName::from_static("x-provost-session");

/// What is asked. Fields that mean nothing here are not looked at.
#[derive(Deserialize)]
pub(crate) struct Completion {
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
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
            let name = name.unwrap_or_default();
            (door.runner.view(super::sessions::id(name)?).await?, last_said(&value.messages)?)
        }
        None => (session_for(&door, &by, &value.model).await?, transcript(&value.messages)?),
    };
    let after = *door.gateway.store().head().borrow();
    let sent = door.runner.send(&by, session.id, text, command).await?;
    let talk = Talk::new(&door, after, &sent);
    let name = [(SESSION, session.id.uuid().to_string())];
    if value.stream {
        return Ok((name, chunks(door, talk, value.model)).into_response());
    }
    Ok((name, whole(door, talk, session, value.model).await?).into_response())
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
    let (mut text, mut used) = (String::new(), None);
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
            used = Some(usage.usage);
        }
        match said.end {
            None => {}
            Some(Ended::Badly(problem)) => return Ok(refusal(&problem)),
            Some(Ended::Well) => break,
        }
    }
    let usage = used.unwrap_or_default();
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
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.total(),
        },
    }))
    .into_response())
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

fn chunks(door: Arc<Door>, talk: Talk, model: String) -> Response {
    let created = door.gateway.clock().now() / 1_000_000;
    let chunk = move |delta: Value, finish: Option<&str>| {
        let chunk = json!({
            "id": "chatcmpl-provost",
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        format!("data: {chunk}\n\n")
    };
    let pieces = stream::unfold((talk, door, chunk), |(mut talk, door, chunk)| async move {
        let said = tokio::select! {
            () = door.closing.cancelled() => return None,
            said = talk.next() => said.ok()??,
        };
        let mut piece = match &said.fact {
            Some(Fact::TextDelta(delta)) => chunk(json!({ "content": delta.text }), None),
            Some(Fact::ReasoningDelta(delta)) => {
                chunk(json!({ "reasoning_content": delta.text }), None)
            }
            Some(Fact::AttemptRestarted(_)) => {
                chunk(json!({ "content": "\n\n[the answer begins anew]\n\n" }), None)
            }
            Some(Fact::ToolCalled(_)) => chunk(json!({ "content": "\n\n" }), None),
            Some(_) | None => String::new(),
        };
        match said.end {
            None => {}
            Some(Ended::Well) => {
                piece.push_str(&chunk(json!({}), Some("stop")));
                piece.push_str("data: [DONE]\n\n");
            }
            Some(Ended::Badly(problem)) => {
                let told = told(&problem).to_string();
                piece.extend(["data: ", &told, "\n\ndata: [DONE]\n\n"]);
            }
        }
        Some((Ok::<_, Infallible>(Bytes::from(piece)), (talk, door, chunk)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}
