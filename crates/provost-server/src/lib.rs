//! The doors of Provost: HTTP, server-sent events, login, the embedded web UI.
//!
//! It translates and never decides: requests become calls to the gateway, and
//! whatever the gateway answers becomes JSON. It runs no SQL, starts no process
//! and reads no configuration.

mod api_error;
mod assets;
mod middleware;
mod preview;
mod routes;
mod stream;
mod terminal_socket;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use provost_gateway::Gateway;
use provost_runner::session::Runner;
use tokio_util::sync::CancellationToken;

pub use middleware::http_server::serve;
pub use middleware::server_metrics::ServerMetrics;
pub use routes::openapi;

/// How the door is set up.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Further names under which it may be called, as in `Host`, without a port.
    pub allowed_hosts: Vec<String>,
    /// From where on each project's preview has a port of its own, for browsers that
    /// do not know `*.localhost`.
    pub previews: Option<PreviewPortSettings>,
}

/// The ports of the projects' previews.
#[derive(Debug, Clone)]
pub struct PreviewPortSettings {
    /// The first of them, and where they are listened at.
    pub first: SocketAddr,
    /// The file that says which project has which, from one daemon to the next.
    pub file: PathBuf,
}

/// What every request can reach.
#[derive(Debug)]
pub(crate) struct AppState {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) meter: ServerMetrics,
    pub(crate) hosts: middleware::request_guard::AllowedHosts,
    pub(crate) previews: preview::PreviewHosts,
    pub(crate) cookie: String,
    /// What the pages of the UI may do.
    pub(crate) ui_policy: String,
    /// Cancelled when the daemon stops; ends every stream.
    pub(crate) closing: CancellationToken,
}

/// The version of this Provost.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
