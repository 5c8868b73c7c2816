//! Governed agents behind the Chat Completions API of `OpenAI`.
//!
//! A model is a role: `role/<name>`, or `role/<name>@<project>` if several projects are open. A
//! request is a turn in a session of its own, or in the session that `X-Provost-Session` names.
//! The agent calls its own tools, and approvals wait for a person as everywhere. If the client
//! disconnects, its turn is cancelled.

mod completion_listener;
mod completion_request;
mod completion_response;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use provost_gateway::Operator;
use provost_proto::session::{OpenSessionRequest, SessionView};
use provost_proto::{Code, Project, ProjectStatus};
use provost_runner::session::TurnPrompt;
use serde_json::{Value, json};

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireOperator;
use crate::middleware::extractors::JsonBody;
use completion_listener::CompletionListener;
use completion_request::{ChatCompletionRequest, ValidatedCompletionRequest};
use completion_response::{ChunkEncoder, CompletionCollector, OpenAiError};

const SESSION_HEADER: HeaderName = HeaderName::from_static("x-provost-session");

async fn list_open_projects(app: &AppState) -> Result<Vec<Project>, ApiError> {
    let mut projects = app.gateway.projects.list_projects().await?;
    projects.retain(|project| project.status == ProjectStatus::Open);
    Ok(projects)
}

/// List the roles, as models.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = Object)))]
pub(crate) async fn list_models(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
) -> JsonResult<Value> {
    let projects = list_open_projects(&app).await?;
    let mut data = Vec::new();
    for project in &projects {
        for role in app.gateway.sessions.list_session_roles(project).await? {
            let id = match projects.len() {
                1 => format!("role/{}", role.name),
                _ => format!("role/{}@{}", role.name, project.slug),
            };
            let created = project.opened_at / 1_000_000;
            data.push(
                json!({ "id": id, "object": "model", "created": created, "owned_by": "provost" }),
            );
        }
    }
    Ok(Json(json!({ "object": "list", "data": data })))
}

/// Request a completion from a governed agent.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = Object, responses((status = 200, content((Object = "application/json"), (Object = "text/event-stream")))))]
pub(crate) async fn create_chat_completion(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    headers: HeaderMap,
    body: Result<JsonBody<ChatCompletionRequest>, ApiError>,
) -> Result<Response, OpenAiError> {
    let request = body?.value.validate()?;
    let (session, text) = match headers.get(&SESSION_HEADER).map(|value| value.to_str()) {
        Some(name) => {
            let session = super::sessions::parse_session_id(name.unwrap_or_default())?;
            let session = app.runner.load_session(session).await.map_err(ApiError::from)?;
            check_session_role(&app, &session, &request.model).await?;
            (session, request.last_user_text()?)
        }
        None => {
            (open_session_for_model(&app, &by, &request.model).await?, request.format_transcript()?)
        }
    };
    let prompt = TurnPrompt { text, command: None, max_output_tokens: request.max_output_tokens };
    let listener = CompletionListener::send_and_listen(&app, by, session.id, prompt).await?;
    let name = [(SESSION_HEADER, session.id.uuid().to_string())];
    if request.stream {
        return Ok((name, respond_streaming(app, listener, &request)).into_response());
    }
    Ok((name, respond_whole(app, listener, &request).await?).into_response())
}

/// Checks that the session belongs to the role that the client names as its model.
async fn check_session_role(
    app: &AppState,
    session: &SessionView,
    model: &str,
) -> Result<(), ApiError> {
    let projects = app.gateway.projects.list_projects().await?;
    let slug = projects.into_iter().find(|project| project.id == session.project);
    let slug = slug.map(|project| project.slug).unwrap_or_default();
    let role = format!("role/{}", session.role);
    if model == role || model == format!("{role}@{slug}") {
        return Ok(());
    }
    let why = format!(
        "this session belongs to `{role}@{slug}`, not to `{model}`; use that model, or omit \
        `X-Provost-Session` to open a new session"
    );
    Err(ApiError::new(Code::InvalidRequest, why))
}

async fn open_session_for_model(
    app: &AppState,
    by: &Operator,
    model: &str,
) -> Result<SessionView, ApiError> {
    let unknown = || {
        let why = format!("unknown model `{model}`; use `role/<name>`, see /v1/models");
        ApiError::new(Code::UnknownModel, why)
    };
    let name = model.strip_prefix("role/").ok_or_else(unknown)?;
    let (role, project) = match name.split_once('@') {
        Some((role, project)) => (role, project.to_owned()),
        None => match &list_open_projects(app).await?[..] {
            [only] => (name, only.id.uuid().to_string()),
            [] => return Err(ApiError::new(Code::ProjectNotFound, "no project is open")),
            _ => {
                let why = "several projects are open; use `role/<name>@<project>`";
                return Err(ApiError::new(Code::UnknownModel, why));
            }
        },
    };
    let wanted = OpenSessionRequest { project, role: role.to_owned(), model: None, budget: None };
    Ok(app.runner.open_session(by, wanted, None).await?)
}

async fn respond_whole(
    app: Arc<AppState>,
    mut listener: CompletionListener,
    request: &ValidatedCompletionRequest,
) -> Result<Json<Value>, OpenAiError> {
    let mut collector = CompletionCollector::new(request.max_output_tokens);
    loop {
        let next = tokio::select! {
            () = app.closing.cancelled() => None,
            next = listener.next() => next.map_err(|error| collector.to_openai_error(error.into()))?,
        };
        let Some(event) = next else {
            let error = ApiError::new(Code::Unavailable, "the daemon is stopping");
            return Err(collector.to_openai_error(error));
        };
        if let Some(reason) = collector.apply_event(event)? {
            let created = app.gateway.clock().now() / 1_000_000;
            return Ok(Json(collector.into_json(
                &listener.completion_id(),
                &request.model,
                created,
                reason,
            )));
        }
    }
}

fn respond_streaming(
    app: Arc<AppState>,
    listener: CompletionListener,
    request: &ValidatedCompletionRequest,
) -> Response {
    let created = app.gateway.clock().now() / 1_000_000;
    let encoder = ChunkEncoder::new(listener.completion_id(), created, request);
    let state = (listener, app, encoder);
    let chunks = stream::unfold(state, |(mut listener, app, mut encoder)| async move {
        let next = tokio::select! {
            () = app.closing.cancelled() => return None,
            next = listener.next() => next.ok()??,
        };
        let chunk = encoder.encode_event(&next);
        Some((Ok::<_, Infallible>(Bytes::from(chunk)), (listener, app, encoder)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(chunks)).into_response()
}
