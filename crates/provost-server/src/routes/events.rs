//! Following the log, and reading it in pages.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use provost_gateway::{AuditCursor, AuditFilter, AuthorizedReader, GatewayError};
use provost_proto::{Actor, AuditPage, Code, EventBodies, EventsPage, LogCursor, Stream, limits};
use provost_store::{EventFilter, EventMatcher, EventScope};
use serde::Deserialize;

use super::find_visible_project;
use super::sessions::parse_session_id;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireReaderLease;
use crate::middleware::extractors::Query;
use crate::stream::sse;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    stream: Option<Stream>,
    project: Option<String>,
    session: Option<String>,
    after: Option<String>,
    from: Option<LogCursor>,
    before: Option<LogCursor>,
    limit: Option<usize>,
    kind: Option<String>,
    actor: Option<String>,
    principal: Option<String>,
    text: Option<String>,
    #[serde(default)]
    bodies: EventBodies,
    /// The former name of `bodies=whole`.
    #[serde(default)]
    hydrate: bool,
}

impl EventsQuery {
    fn bodies(&self) -> EventBodies {
        if self.hydrate { EventBodies::Whole } else { self.bodies }
    }

    fn to_filter(&self) -> Result<AuditFilter, GatewayError> {
        Ok(AuditFilter {
            kinds: split_list(self.kind.as_deref()).map(str::to_uppercase).collect(),
            principal: self.principal.clone(),
            actors: parse_actors(self.actor.as_deref())?,
            words: EventFilter::split_words(self.text.as_deref().unwrap_or_default()),
            ..AuditFilter::default()
        })
    }

    /// The position to begin after; `start` is before the first event, `now` the end of the log.
    fn parse_after(&self, app: &AppState) -> Result<Option<LogCursor>, GatewayError> {
        match self.after.as_deref() {
            None => Ok(None),
            Some("start") => Ok(Some(LogCursor::START)),
            Some("now") => Ok(Some(app.gateway.store().head())),
            Some(text) => text.parse().map(Some).map_err(|_| GatewayError::InvalidField {
                field: "after",
                why: "must be the number of an event, `start` or `now`".to_owned(),
            }),
        }
    }

    fn wants_page(&self, headers: &HeaderMap) -> bool {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let asks_json = accept.contains("application/json") && !accept.contains("event-stream");
        self.before.is_some() || self.from.is_some() || self.limit.is_some() || asks_json
    }
}

/// The values of a list with commas.
pub(super) fn split_list(list: Option<&str>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split(',')).map(str::trim).filter(|one| !one.is_empty())
}

/// Parses a list of actors.
pub(super) fn parse_actors(list: Option<&str>) -> Result<Vec<Actor>, GatewayError> {
    let invalid = |actor: &str| GatewayError::InvalidField {
        field: "actor",
        why: format!("`{actor}` is no actor, such as `cli`, `daemon` or `agent:ROLE`"),
    };
    split_list(list).map(|actor| actor.parse().map_err(|_| invalid(actor))).collect()
}

/// The part of the log that a reader asks for and may see.
pub(super) async fn resolve_scope(
    app: &AppState,
    reader: &AuthorizedReader,
    stream: Option<Stream>,
    project: Option<&str>,
    session: Option<&str>,
) -> Result<EventScope, ApiError> {
    let n_named = usize::from(stream.is_some())
        + usize::from(project.is_some())
        + usize::from(session.is_some());
    if n_named > 1 {
        let why = "cannot be combined with `stream` or `session`; choose one".to_owned();
        return Err(GatewayError::InvalidField { field: "project", why }.into());
    }
    let stream = match (project, session) {
        (Some(project), _) => {
            let project = find_visible_project(app, reader, project).await?;
            return Ok(reader.project_scope(project.id)?);
        }
        (None, Some(session)) => Some(Stream::Session(parse_session_id(session)?)),
        (None, None) => stream,
    };
    Ok(reader.resolve_scope(stream)?)
}

/// Follow the log: all events after a position, then live. `Last-Event-ID` overrides `after`,
/// since a browser that reconnects sends both. With `before`, `from`, `limit` or `Accept:
/// application/json`, read one page instead: the newest events first, or the oldest first with
/// `after` and with `from`, whose event is on the page. `text` are words that all occur in the event, in any case.
#[utoipa::path(get, path = "/api/events", params(("stream" = Option<String>, Query), ("project" = Option<String>, Query, description = "id or short name; its stream, and events of others that name it"), ("session" = Option<String>, Query, description = "its stream"), ("after" = Option<String>, Query, description = "a position, `start` or `now`"), ("from" = Option<u64>, Query, description = "a position; a page that begins with its event"), ("before" = Option<u64>, Query), ("limit" = Option<usize>, Query, description = "at most 200"), ("kind" = Option<String>, Query, description = "one or more, with commas"), ("actor" = Option<String>, Query, description = "one or more, with commas"), ("principal" = Option<String>, Query), ("text" = Option<String>, Query), ("bodies" = Option<String>, Query, description = "large bodies and output: `stored` as a reference, `whole`, or `short` with their size only"), ("hydrate" = Option<bool>, Query, description = "the same as `bodies=whole`"), ("Last-Event-ID" = Option<u64>, Header)), responses((status = 200, content((provost_proto::Event = "text/event-stream"), (EventsPage = "application/json")))))]
pub(crate) async fn follow(
    State(app): State<Arc<AppState>>,
    RequireReaderLease(reader, lease): RequireReaderLease,
    Query(which): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (project, session) = (which.project.as_deref(), which.session.as_deref());
    let scope = resolve_scope(&app, &reader, which.stream, project, session).await?;
    if which.wants_page(&headers) {
        return Ok(Json(read_page(&app, scope, &which).await?).into_response());
    }
    let last = parse_last_event_id(&headers)?;
    let after = last.or(which.parse_after(&app)?).unwrap_or_default();
    let matcher = EventMatcher::new(which.to_filter()?.to_event_filter());
    let bodies = which.bodies();
    let selection = sse::EventSelection { scope, matcher, bodies, draft_of: None };
    Ok(sse::stream_events(app, lease, selection, after))
}

async fn read_page(
    app: &AppState,
    scope: EventScope,
    which: &EventsQuery,
) -> Result<EventsPage, ApiError> {
    let head = app.gateway.store().head();
    let from = match (which.parse_after(app)?, which.from, which.before) {
        (Some(after), None, None) => AuditCursor::After(after),
        (None, Some(at), None) => AuditCursor::At(at),
        (None, None, before) => AuditCursor::Before(before.unwrap_or(LogCursor::END)),
        (after, _, before) => {
            let field = if before.is_some() { "before" } else { "from" };
            let other = if after.is_some() { "after" } else { "from" };
            let why = format!("cannot be combined with `{other}`; choose one direction");
            return Err(GatewayError::InvalidField { field, why }.into());
        }
    };
    let most = limits::MAX_EVENT_PAGE_EVENTS;
    let limit = which.limit.unwrap_or(most).clamp(1, most);
    let page = app.gateway.audit.search(scope, from, limit, &which.to_filter()?).await?;
    let AuditPage { events, next } = app.gateway.log.with_bodies(page, which.bodies()).await?;
    Ok(EventsPage { events, next, head })
}

/// The last event that a reconnecting client has.
pub(super) fn parse_last_event_id(headers: &HeaderMap) -> Result<Option<LogCursor>, ApiError> {
    Ok(match headers.get("last-event-id").map(|value| value.to_str().map(str::trim)) {
        None | Some(Ok("")) => None,
        Some(text) => {
            Some(text.ok().and_then(|text| text.parse::<LogCursor>().ok()).ok_or_else(|| {
                ApiError::new(
                    Code::InvalidRequest,
                    "`Last-Event-ID` must be the number of an event",
                )
            })?)
        }
    })
}
