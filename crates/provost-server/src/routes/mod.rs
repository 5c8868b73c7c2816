//! The routes, one file per resource. Each handler takes the extractor of the right it needs.

mod actions;
mod approvals;
mod audit;
mod blobs;
mod daemon;
mod documents;
mod events;
mod governance;
mod log_archive;
mod login;
mod notebook_runtimes;
mod notebooks;
mod openai;
pub(crate) mod openapi;
mod projects;
mod runtime;
mod sessions;
mod sync;
mod terminal;
mod tokens;
mod usage;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use provost_gateway::{AuthorizedReader, GatewayError};
use provost_proto::{Code, Project, ProjectId};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api_error::ApiError;
use crate::middleware::request_guard;
use crate::{AppState, assets, preview};

/// The parts of the OpenAPI document that are not generated from handlers.
#[derive(OpenApi)]
#[openapi(
    info(title = "Provost", description = "The runtime authority for AI agents."),
    modifiers(&BearerScheme),
    security(("bearer" = [])),
    components(schemas(provost_proto::ErrorResponse, provost_proto::Event)),
)]
struct OpenApiDocument;

struct BearerScheme;

impl utoipa::Modify for BearerScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// The project, if the reader may see it. The error does not reveal whether it exists.
async fn find_visible_project(
    app: &AppState,
    reader: &AuthorizedReader,
    name: &str,
) -> Result<Project, ApiError> {
    let project = app.gateway.projects.get_project(name).await?;
    if reader.may_see(project.id) {
        Ok(project)
    } else {
        Err(GatewayError::ProjectNotFound(name.to_owned()).into())
    }
}

fn api_routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::with_openapi(OpenApiDocument::openapi())
        .routes(routes!(daemon::health))
        .routes(routes!(daemon::shutdown))
        .routes(routes!(daemon::metrics))
        .routes(routes!(openapi::show_document))
        .routes(routes!(login::log_in))
        .routes(routes!(login::create_link))
        .routes(routes!(projects::list, projects::open))
        .routes(routes!(projects::show, projects::close))
        .routes(routes!(projects::show_kernel))
        .routes(routes!(events::follow))
        .routes(routes!(documents::follow))
        .routes(routes!(audit::read_page))
        .routes(routes!(audit::verify))
        .routes(routes!(log_archive::archive))
        .routes(routes!(log_archive::list_segments))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(blobs::get))
        .routes(routes!(actions::submit_action))
        .routes(routes!(actions::show))
        .routes(routes!(actions::cancel))
        .routes(routes!(terminal::create_ticket))
        .routes(routes!(terminal::attach))
        .routes(routes!(governance::show_mode, governance::set_mode))
        .routes(routes!(governance::list_roles))
        .routes(routes!(governance::change_role))
        .routes(routes!(governance::trust_file))
        .routes(routes!(governance::show_policy))
        .routes(routes!(governance::explain_policy))
        .routes(routes!(governance::simulate_policy))
        .routes(routes!(approvals::list_all))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show, approvals::answer))
        .routes(routes!(approvals::list_grants))
        .routes(routes!(approvals::show_grant, approvals::revoke_grant))
        .routes(routes!(runtime::show_status))
        .routes(routes!(runtime::run_runtime_action))
        .routes(routes!(runtime::read_logs))
        .routes(routes!(runtime::create_preview_url))
        .merge(notebook_routes())
        .routes(routes!(sessions::list, sessions::open))
        .routes(routes!(sessions::start_tour))
        .routes(routes!(sessions::show, sessions::close))
        .routes(routes!(sessions::send_message))
        .routes(routes!(sessions::withdraw_message))
        .routes(routes!(sessions::cancel_message))
        .routes(routes!(sessions::cancel))
        .routes(routes!(sessions::continue_session))
        .routes(routes!(sessions::follow))
        .routes(routes!(usage::show_usage))
        .routes(routes!(usage::list_models))
        .routes(routes!(openai::list_models))
        .routes(routes!(openai::create_chat_completion))
}

fn notebook_routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(notebooks::list, notebooks::create))
        .routes(routes!(notebooks::show))
        .routes(routes!(notebooks::apply_commands))
        .routes(routes!(notebooks::import))
        .routes(routes!(notebooks::export))
        .routes(routes!(notebook_runtimes::list, notebook_runtimes::start))
        .routes(routes!(notebook_runtimes::stop))
        .routes(routes!(notebooks::get_artifact, notebooks::put_artifact))
        .routes(routes!(sync::create_ticket))
        .routes(routes!(sync::attach))
}

/// The OpenAPI document, generated from the handlers and their error codes.
pub use openapi::openapi;

/// The router of the API and the web UI.
pub(crate) fn build_router(app: Arc<AppState>) -> Router {
    let (api, _) = api_routes().split_for_parts();
    api.route("/", get(assets::serve_asset))
        .fallback(handle_fallback)
        .method_not_allowed_fallback(handle_wrong_method)
        .layer(CatchPanicLayer::custom(|_| {
            ApiError::new(Code::Internal, "internal error; see the daemon's log").into_response()
        }))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), request_guard::guard_request))
        .with_state(app)
}

/// The router of one project's preview listener.
pub(crate) fn build_preview_router(app: Arc<AppState>, project: ProjectId, port: u16) -> Router {
    let show = move |State(app): State<Arc<AppState>>, request: Request| async move {
        if let Err(error) = request_guard::check_host(&app.hosts, port, &request) {
            return error.into_response();
        }
        preview::handle_request(
            app,
            preview::PreviewSelector::ByPort { project, at: port },
            request,
        )
        .await
    };
    Router::new().fallback(show).with_state(app)
}

async fn handle_fallback(app: State<Arc<AppState>>, request: Request) -> Response {
    let path = request.uri().path();
    let is_api = path.starts_with("/api/") || path.starts_with("/v1/");
    if !is_api && matches!(request.method().as_str(), "GET" | "HEAD") {
        return assets::serve_asset(app, request.uri().clone(), request.headers().clone()).await;
    }
    ApiError::new(Code::NotFound, format!("no route {path}")).into_response()
}

async fn handle_wrong_method(request: Request) -> ApiError {
    let (method, path) = (request.method(), request.uri().path());
    ApiError::new(Code::MethodNotAllowed, format!("{path} does not take {method}"))
}

/// The result of a handler that responds with JSON.
pub(crate) type JsonResult<T> = Result<Json<T>, ApiError>;
