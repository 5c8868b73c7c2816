//! The accept loop and its orderly shutdown.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use provost_runner::session::Runner;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::bound_port::BoundPort;
use super::request_guard;
use crate::{AppState, ServerMetrics, ServerSettings, assets, preview, routes};

/// Most simultaneous connections; more wait in the listener's backlog.
const MAX_CONNECTIONS: usize = 1024;

/// Time limit for reading the headers of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);

/// How long requests may continue after shutdown starts.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How often collected samples are aggregated.
const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(10);

/// Serves until `closing` is cancelled, then lets running requests finish.
pub async fn serve(
    port: BoundPort,
    runner: Arc<Runner>,
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
        meter: meter.clone(),
        hosts: request_guard::AllowedHosts::new(listen, &settings.allowed_hosts),
        ui_policy: assets::content_security_policy(&previews),
        previews,
        // Browsers share cookies between ports of a host, so the name contains the port.
        cookie: format!("provost_{port}"),
        closing: closing.clone(),
    });
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let preview_loop =
        accept_preview_connections(Arc::clone(&app), new_listeners, Arc::clone(&slots));
    let main_loop =
        accept_connections(&listeners, routes::build_router(app), Arc::clone(&slots), &closing);
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
    // All slots are free when no connection is open.
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    if tokio::time::timeout(SHUTDOWN_GRACE, slots.acquire_many(all)).await.is_err() {
        tracing::debug!("some requests did not finish in time and were aborted");
    }
    Ok(())
}

/// Accepts connections on the preview listeners as they are created.
async fn accept_preview_connections(
    app: Arc<AppState>,
    new_listeners: Option<mpsc::Receiver<preview::NewPreviewListener>>,
    slots: Arc<Semaphore>,
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
        let (slots, closing) = (Arc::clone(&slots), closing.clone());
        listeners
            .spawn(async move { accept_connections(&accepting, router, slots, &closing).await });
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
    slots: Arc<Semaphore>,
    closing: &CancellationToken,
) -> io::Result<()> {
    let service = TowerToHyperService::new(router);
    loop {
        let slot = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            slot = Arc::clone(&slots).acquire_owned() => slot.map_err(io::Error::other)?,
        };
        let stream = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            accepted = accept_any(listeners) => accepted,
        };
        match stream {
            Ok(stream) => serve_connection(stream, service.clone(), closing.clone(), slot),
            Err(error) => {
                // Most likely out of file descriptors: they are freed when clients disconnect.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    Ok(())
}

fn serve_connection(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    closing: CancellationToken,
    slot: OwnedSemaphorePermit,
) {
    // Without it a small response can wait 40 ms for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY on a connection");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::spawn(async move {
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "a connection ended");
        }
        drop(slot);
    });
}
