//! Listening, and ending in good order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use provost_gateway::Gateway;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Door, Meter, Settings, guard, routes};

/// Connections at one time, at most; more wait in the listener's queue.
const CONNECTIONS: usize = 1024;

/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(15);

/// How long requests may go on after the daemon was told to stop.
const GRACE: Duration = Duration::from_secs(3);

/// How often measurements are folded.
const UPKEEP: Duration = Duration::from_secs(10);

/// Serves until `closing` is cancelled, then lets running requests finish.
pub async fn serve(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    settings: Settings,
    closing: CancellationToken,
) -> io::Result<()> {
    let meter = Meter::default();
    let port = settings.listen.port();
    let door = Arc::new(Door {
        gateway,
        meter: meter.clone(),
        hosts: guard::Hosts::new(settings.listen, &settings.allowed_hosts),
        // Cookies are not kept apart by port, so two daemons need two names.
        cookie: format!("provost_{port}"),
        closing: closing.clone(),
    });
    let service = TowerToHyperService::new(routes::router(door));
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut upkeep = tokio::time::interval(UPKEEP);
    loop {
        let slot = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            _ = upkeep.tick() => { meter.upkeep(); continue }
            slot = Arc::clone(&slots).acquire_owned() => slot.map_err(io::Error::other)?,
        };
        let stream = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            _ = upkeep.tick() => { meter.upkeep(); continue }
            accepted = listener.accept() => accepted,
        };
        match stream {
            Ok((stream, _)) => {
                let talk = talk(stream, service.clone(), closing.clone(), slot);
                drop(connections.spawn(talk));
            }
            Err(error) => {
                // Out of descriptors, most likely: they come back when clients go.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::debug!("some requests were still running and were cut off");
    }
    Ok(())
}

/// One connection, until it ends or becomes something else, such as a WebSocket.
async fn talk(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    closing: CancellationToken,
    slot: OwnedSemaphorePermit,
) {
    // Without it a small answer can wait 40 ms for an acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection goes without TCP_NODELAY");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection ended");
    }
    drop(slot);
}
