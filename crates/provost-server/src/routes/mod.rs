//! The routes. One file per thing; each handler takes the right it needs.

mod actions;
mod approvals;
mod audit;
mod blobs;
mod daemon;
mod events;
mod governance;
mod login;
mod openai;
mod projects;
mod runtime;
mod sessions;
mod terminal;
mod tokens;
mod usage;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use provost_proto::{Code, ProjectId};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::Failure;
use crate::{Door, assets, guard, preview};

/// The parts of the OpenAPI document that no handler states.
#[derive(OpenApi)]
#[openapi(
    info(title = "Provost", description = "The runtime authority for AI agents."),
    modifiers(&Bearer),
    security(("bearer" = [])),
    components(schemas(provost_proto::ErrorResponse, provost_proto::Event)),
)]
struct Document;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

fn api() -> OpenApiRouter<Arc<Door>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(daemon::health))
        .routes(routes!(daemon::shutdown))
        .routes(routes!(daemon::metrics))
        .routes(routes!(login::log_in))
        .routes(routes!(login::create_link))
        .routes(routes!(projects::list, projects::open))
        .routes(routes!(projects::show, projects::close))
        .routes(routes!(events::follow))
        .routes(routes!(audit::page))
        .routes(routes!(audit::verify))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(blobs::get))
        .routes(routes!(actions::ask))
        .routes(routes!(actions::show))
        .routes(routes!(actions::cancel))
        .routes(routes!(actions::kernel))
        .routes(routes!(terminal::ticket))
        .routes(routes!(terminal::attach))
        .routes(routes!(governance::mode, governance::set_mode))
        .routes(routes!(governance::roles))
        .routes(routes!(governance::change_role))
        .routes(routes!(governance::trust))
        .routes(routes!(governance::policy))
        .routes(routes!(governance::explain))
        .routes(routes!(governance::simulate))
        .routes(routes!(approvals::everywhere))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show, approvals::answer))
        .routes(routes!(approvals::grants))
        .routes(routes!(approvals::revoke))
        .routes(routes!(runtime::status))
        .routes(routes!(runtime::act))
        .routes(routes!(runtime::logs))
        .routes(routes!(runtime::preview_url))
        .routes(routes!(sessions::list, sessions::open))
        .routes(routes!(sessions::tour))
        .routes(routes!(sessions::show, sessions::close))
        .routes(routes!(sessions::say))
        .routes(routes!(sessions::take_back))
        .routes(routes!(sessions::cancel_one))
        .routes(routes!(sessions::cancel))
        .routes(routes!(sessions::go_on))
        .routes(routes!(sessions::follow))
        .routes(routes!(usage::report))
        .routes(routes!(usage::models))
        .routes(routes!(openai::models))
        .routes(routes!(openai::complete))
}

/// The OpenAPI document, made from the handlers.
pub fn openapi() -> utoipa::openapi::OpenApi {
    api().into_openapi()
}

/// Everything that can be asked for.
pub(crate) fn router(door: Arc<Door>) -> Router {
    let (api, document) = api().split_for_parts();
    let document = axum::body::Bytes::from(document.to_json().unwrap_or_default());
    let show = move |_: crate::auth::Look| {
        let answer = ([(CONTENT_TYPE, "application/json")], document.clone());
        async move { answer }
    };
    api.route("/api/openapi.json", get(show))
        .route("/", get(assets::asset))
        .fallback(fallback)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(|_| {
            Failure::new(Code::Internal, "this request met a fault in Provost; see its log")
                .into_response()
        }))
        .layer(middleware::from_fn_with_state(Arc::clone(&door), guard::guard))
        .with_state(door)
}

/// What the listener of one project's preview answers.
pub(crate) fn preview(door: Arc<Door>, project: ProjectId, at: u16) -> Router {
    let show = move |State(door): State<Arc<Door>>, request: Request| async move {
        if let Err(failure) = guard::named(&door.hosts, at, &request) {
            return failure.into_response();
        }
        preview::answer(door, preview::Place::Own { project, at }, request).await
    };
    Router::new().fallback(show).with_state(door)
}

async fn fallback(door: State<Arc<Door>>, request: Request) -> Response {
    let path = request.uri().path();
    let called = path.starts_with("/api/") || path.starts_with("/v1/");
    let page = !called && matches!(request.method().as_str(), "GET" | "HEAD");
    if page {
        return assets::asset(door, request.uri().clone(), request.headers().clone()).await;
    }
    Failure::new(Code::NotFound, format!("there is no route {path}")).into_response()
}

async fn wrong_method(request: Request) -> Failure {
    let (method, path) = (request.method(), request.uri().path());
    Failure::new(Code::MethodNotAllowed, format!("{path} does not take {method}"))
}

/// What a handler answers with.
pub(crate) type Answer<T> = Result<Json<T>, Failure>;
