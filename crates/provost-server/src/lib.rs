//! The HTTP server of Provost: API, server-sent events, terminal WebSocket, previews, login and
//! the embedded web UI.
//!
//! It translates and never decides: requests become calls to the gateway and the runner, and
//! their results become JSON. It runs no SQL, starts no process and reads no configuration.
//!
//! - `middleware`: accept loop, checks of every request, authentication, bodies, metrics
//! - `routes`: one file per resource
//! - `stream`: following the log for a client
//! - `sync_socket`: the WebSocket of notebooks
//! - `terminal_socket`: the WebSocket of a terminal
//! - `preview`: the proxy to what projects serve

mod api_error;
mod assets;
mod error_page;
mod html;
mod middleware;
mod preview;
mod routes;
mod stream;
mod sync_socket;
mod terminal_socket;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use provost_gateway::Gateway;
use provost_runner::session::Runner;
use provost_runtimes::LocalRuntimes;
use tokio_util::sync::CancellationToken;

pub use middleware::bound_port::BoundPort;
pub use middleware::http_server::serve;
pub use middleware::server_metrics::ServerMetrics;
pub use preview::preview_ports;
pub use routes::openapi;

/// What the server makes available.
#[derive(Debug, Clone)]
pub struct ServedParts {
    /// Sessions with models, and the gateway.
    pub runner: Arc<Runner>,
    /// The runtimes of notebooks in this process.
    pub runtimes: Arc<LocalRuntimes>,
}

/// Names and further ports of the server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Further values of `Host` that are accepted, without a port.
    pub allowed_hosts: Vec<String>,
    /// Gives each project's preview a port of its own, for browsers that do not resolve
    /// `*.localhost`.
    pub previews: Option<PreviewPortSettings>,
    /// Whether a response that is not in the OpenAPI document is a panic. For tests.
    pub checks_responses: bool,
}

/// Ports of project previews.
#[derive(Debug, Clone)]
pub struct PreviewPortSettings {
    /// The address of the first port; further ones follow it.
    pub first: SocketAddr,
    /// The file that keeps each project's port across restarts of the daemon.
    pub file: PathBuf,
}

/// The state that handlers share.
#[derive(Debug)]
pub(crate) struct AppState {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) runtimes: Arc<LocalRuntimes>,
    pub(crate) meter: ServerMetrics,
    pub(crate) hosts: middleware::request_guard::AllowedHosts,
    pub(crate) previews: preview::PreviewHosts,
    pub(crate) cookie: String,
    /// The `Content-Security-Policy` of the UI's pages.
    pub(crate) ui_policy: String,
    /// Whether a response that is not in the OpenAPI document is a panic.
    pub(crate) checks_responses: bool,
    /// Cancelled when the daemon stops; ends every stream.
    pub(crate) closing: CancellationToken,
}

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
