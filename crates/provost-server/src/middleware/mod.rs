//! What every request passes before it reaches a route: the accept loop, the checks of `Host`
//! and `Origin`, authentication, the parsing of bodies and queries, and the metrics.

pub(crate) mod auth;
pub(crate) mod bound_port;
pub(crate) mod connection_table;
pub(crate) mod extractors;
pub(crate) mod http_server;
pub(crate) mod request_guard;
pub(crate) mod server_metrics;
