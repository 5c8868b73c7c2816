//! Forwards a request to the project's server and streams the response back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderValue, StatusCode, Version};
use axum::response::{IntoResponse as _, Response};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use provost_gateway::{Gateway, TokenLease};
use provost_proto::runtime::{ListeningPort, RuntimeView};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::proxy_headers::{self, ProxyEndpoints};
use super::{request_host, status_page};
use crate::AppState;
use crate::html::accepts_html;

/// Time limit for connecting to a server on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit until the response starts; its body may take any time.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(5);

/// Forwards a request to the port `open` and returns the response.
pub(super) async fn forward_request(
    app: &AppState,
    view: &RuntimeView,
    open: &ListeningPort,
    mut request: Request,
    lease: TokenLease,
) -> Response {
    let host = request_host(&request);
    let ends = ProxyEndpoints { host: &host, port: open.port };
    let as_page = accepts_html(request.method(), request.headers());
    let failed = |reason: &str| status_page::respond_bad_gateway(view, open.port, reason, as_page);
    let stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(connect_address(open))).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return failed(&format!("it does not accept connections: {error}")),
        Err(_) => return failed("it does not accept connections in time"),
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY on a connection to a preview");
    }
    let (mut sender, connection) = match http1::handshake(TokioIo::new(stream)).await {
        Ok(both) => both,
        Err(error) => return failed(&format!("it does not speak HTTP: {error}")),
    };
    drop(tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::trace!(%error, "a connection to a preview ended");
        }
    }));
    let browser = hyper::upgrade::on(&mut request);
    let upgrade = prepare_request(app, &mut request, ends);
    let mut response = match timeout(RESPONSE_TIMEOUT, sender.send_request(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return failed(&format!("it closed the connection: {error}")),
        Err(_) => return failed("it does not respond in time"),
    };
    let switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let server = hyper::upgrade::on(&mut response);
    let protocol = proxy_headers::strip_hop_headers(response.headers_mut());
    proxy_headers::rewrite_response_headers(response.headers_mut(), ends);
    if switched {
        let Some(protocol) = protocol.filter(|_| upgrade) else {
            return failed("it switched protocols without a request to do so");
        };
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        response.headers_mut().insert(UPGRADE, protocol);
        let until = wait_until_revoked(Arc::clone(&app.gateway), lease, app.closing.clone());
        drop(tokio::spawn(copy_upgraded(browser, server, until)));
    }
    response.map(Body::new).into_response()
}

/// Rewrites a request for the project's server; returns whether it asks for an upgrade.
fn prepare_request(app: &AppState, request: &mut Request, ends: ProxyEndpoints<'_>) -> bool {
    let upgrade = proxy_headers::strip_hop_headers(request.headers_mut());
    proxy_headers::rewrite_request_headers(request.headers_mut(), &app.gateway, ends);
    // An origin server expects a path as target; only a proxy expects a URL.
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = Version::HTTP_11;
    let Some(protocol) = upgrade else { return false };
    request.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    request.headers_mut().insert(UPGRADE, protocol);
    true
}

/// Returns when the token is revoked or the daemon stops.
async fn wait_until_revoked(
    gateway: Arc<Gateway>,
    mut lease: TokenLease,
    closing: CancellationToken,
) {
    tokio::select! {
        () = gateway.auth.wait_lease_end(&mut lease) => {}
        () = closing.cancelled() => {}
    }
}

/// Copies both ways until one end closes or `until` completes.
async fn copy_upgraded(browser: OnUpgrade, server: OnUpgrade, until: impl Future<Output = ()>) {
    let (Ok(browser), Ok(server)) = tokio::join!(browser, server) else {
        tracing::debug!("the upgrade of a preview connection failed");
        return;
    };
    let (mut browser, mut server) = (TokioIo::new(browser), TokioIo::new(server));
    tokio::select! {
        copied = tokio::io::copy_bidirectional(&mut browser, &mut server) => {
            if let Err(error) = copied {
                tracing::trace!(%error, "a preview connection ended");
            }
        }
        () = until => {}
    }
}

fn connect_address(open: &ListeningPort) -> SocketAddr {
    let address = match open.address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other @ (IpAddr::V4(_) | IpAddr::V6(_)) => other,
    };
    SocketAddr::new(address, open.port)
}
