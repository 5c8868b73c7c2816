//! The accept loop and its orderly shutdown.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::bound_port::BoundPort;
use super::connection_table::{ConnectionGuard, ConnectionTable, track_request};
use super::request_guard;
use crate::{AppState, ServedParts, ServerMetrics, ServerSettings, assets, preview, routes};

/// Time limit for reading the headers of a request, also of the next one on a connection.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);

/// How long requests may continue after shutdown starts.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How often collected samples are aggregated.
const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(10);

/// Serves until `closing` is cancelled, then lets running requests finish.
pub async fn serve(
    port: BoundPort,
    ServedParts { runner, runtimes }: ServedParts,
    settings: ServerSettings,
    closing: CancellationToken,
) -> io::Result<()> {
    let meter = ServerMetrics::default();
    let (listen, listeners) = (port.address(), to_listeners(port)?);
    let port = listen.port();
    let (preview_listeners, new_listeners) =
        settings.previews.map(preview::PreviewListeners::new).unzip();
    let previews = preview::PreviewHosts::new(port, preview_listeners);
    let app = Arc::new(AppState {
        gateway: Arc::clone(runner.gateway()),
        runner,
        runtimes,
        meter: meter.clone(),
        hosts: request_guard::AllowedHosts::new(listen, &settings.allowed_hosts),
        ui_policy: assets::content_security_policy(&previews),
        checks_responses: settings.checks_responses,
        previews,
        // Browsers share cookies between ports of a host, so the name contains the port.
        cookie: format!("provost_{port}"),
        closing: closing.clone(),
    });
    let table = Arc::new(ConnectionTable::default());
    let preview_loop =
        accept_preview_connections(Arc::clone(&app), new_listeners, Arc::clone(&table));
    let main_loop =
        accept_connections(&listeners, routes::build_router(app), Arc::clone(&table), &closing);
    let upkeep = async {
        let mut upkeep = tokio::time::interval(METRICS_UPKEEP_INTERVAL);
        loop {
            tokio::select! {
                () = closing.cancelled() => return Ok(()),
                _ = upkeep.tick() => meter.run_upkeep(),
            }
        }
    };
    tokio::try_join!(main_loop, preview_loop, upkeep)?;
    if tokio::time::timeout(SHUTDOWN_GRACE, table.wait_until_empty()).await.is_err() {
        tracing::debug!("some requests did not finish in time and were aborted");
    }
    Ok(())
}

/// Accepts connections on the preview listeners as they are created.
async fn accept_preview_connections(
    app: Arc<AppState>,
    new_listeners: Option<mpsc::Receiver<preview::NewPreviewListener>>,
    table: Arc<ConnectionTable>,
) -> io::Result<()> {
    let Some(mut new_listeners) = new_listeners else { return Ok(()) };
    let closing = app.closing.clone();
    let mut listeners = JoinSet::new();
    loop {
        let preview::NewPreviewListener { port, project } = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            Some(new) = new_listeners.recv() => new,
            Some(_) = listeners.join_next() => continue,
        };
        let number = port.address().port();
        let accepting = to_listeners(port)?;
        let router = routes::build_preview_router(Arc::clone(&app), project, number);
        let (table, closing) = (Arc::clone(&table), closing.clone());
        listeners
            .spawn(async move { accept_connections(&accepting, router, table, &closing).await });
    }
    while listeners.join_next().await.is_some() {}
    Ok(())
}

fn to_listeners(port: BoundPort) -> io::Result<Vec<TcpListener>> {
    port.into_listeners().into_iter().map(TcpListener::from_std).collect()
}

/// The next connection on any of the listeners.
async fn accept_any(listeners: &[TcpListener]) -> io::Result<TcpStream> {
    poll_fn(|context| {
        for listener in listeners {
            if let Poll::Ready(accepted) = listener.poll_accept(context) {
                return Poll::Ready(accepted.map(|(stream, _)| stream));
            }
        }
        Poll::Pending
    })
    .await
}

/// Accepts connections on the listeners of one port until `closing` is cancelled.
async fn accept_connections(
    listeners: &[TcpListener],
    router: axum::Router,
    table: Arc<ConnectionTable>,
    closing: &CancellationToken,
) -> io::Result<()> {
    let service = TowerToHyperService::new(router);
    loop {
        let stream = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            accepted = accept_any(listeners) => accepted,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                // Most likely out of file descriptors: they are freed when clients disconnect.
                tracing::warn!(%error, "cannot accept a connection");
                table.shed_idle();
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let guard = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            guard = table.admit() => guard,
        };
        serve_connection(stream, service.clone(), closing.clone(), guard);
    }
    Ok(())
}

fn serve_connection(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    closing: CancellationToken,
    guard: ConnectionGuard,
) {
    // Without it a small response can wait 40 ms for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY on a connection");
    }
    let connection = guard.connection();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&connection));
        track_request(Arc::clone(&connection), service.call(request))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::spawn(async move {
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = guard.wait_until_shed() => {
                if !guard.is_known() {
                    return;
                }
                // A request may have arrived in the meantime.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            () = closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "a connection ended");
        }
        drop(guard);
    });
}
