//! Listeners for browsers that do not know `*.localhost`: one for each project, so
//! that no two of them share an origin, and with it what their pages store.
//!
//! A project is given the next port that is free when it is first asked for, and
//! keeps it as long as the daemon lives.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use provost_proto::ProjectId;
use tokio::sync::mpsc;

/// How many ports are used, counted from the first. Our page names each of them as
/// one that it may show in a frame, so they are not without end.
pub(crate) const PORTS: u16 = 64;

/// A listener that nobody accepts from yet.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) listener: TcpListener,
    pub(crate) project: ProjectId,
}

/// The listeners of the projects.
#[derive(Debug)]
pub(crate) struct Seconds {
    /// The address of the first.
    first: SocketAddr,
    dealt: Mutex<Dealt>,
    /// Whoever accepts.
    fresh: mpsc::Sender<Fresh>,
}

#[derive(Debug, Default)]
struct Dealt {
    ports: HashMap<ProjectId, u16>,
    /// How many ports were tried.
    n_tried: u16,
}

impl Seconds {
    /// Listeners from this address on, and what is to be accepted from.
    pub(crate) fn new(first: SocketAddr) -> (Self, mpsc::Receiver<Fresh>) {
        let (fresh, accepted) = mpsc::channel(usize::from(PORTS));
        (Self { first, dealt: Mutex::default(), fresh }, accepted)
    }

    /// The port of a project, if there is one left for it.
    pub(crate) fn of(&self, project: ProjectId) -> Option<u16> {
        let mut dealt = self.dealt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(port) = dealt.ports.get(&project) {
            return Some(*port);
        }
        loop {
            let port = self.port(dealt.n_tried)?;
            dealt.n_tried += 1;
            let address = SocketAddr::new(self.first.ip(), port);
            let listener = TcpListener::bind(address)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
            match listener {
                Ok(listener) => {
                    self.fresh.try_send(Fresh { listener, project }).ok()?;
                    dealt.ports.insert(project, port);
                    return Some(port);
                }
                // Somebody else's; the next may be free.
                Err(error) => tracing::info!(%address, %error, "no preview is listened for here"),
            }
        }
    }

    /// The name under which browsers reach them.
    pub(crate) fn host(&self, port: u16) -> String {
        if self.first.ip().is_unspecified() {
            return format!("localhost:{port}");
        }
        SocketAddr::new(self.first.ip(), port).to_string()
    }

    /// All that may ever be listened at.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = String> {
        (0..PORTS).filter_map(|n| self.port(n)).map(|port| self.host(port))
    }

    fn port(&self, n: u16) -> Option<u16> {
        self.first.port().checked_add(n).filter(|_| n < PORTS)
    }
}

#[cfg(test)]
mod tests {
    use provost_store::Clock;

    use super::*;

    #[test]
    fn each_project_has_a_port_of_its_own_and_taken_ones_are_skipped() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let first = taken.local_addr().unwrap();
        let (seconds, mut fresh) = Seconds::new(first);
        let clock = Clock::system();
        let (a, b) = (clock.id(), clock.id());
        let port_of_a = seconds.of(a).unwrap();
        let port_of_b = seconds.of(b).unwrap();
        assert!(port_of_a > first.port() && port_of_b > port_of_a);
        assert_eq!((seconds.of(a), seconds.of(b)), (Some(port_of_a), Some(port_of_b)));
        for (project, port) in [(a, port_of_a), (b, port_of_b)] {
            let made = fresh.try_recv().unwrap();
            let address = made.listener.local_addr().unwrap();
            assert_eq!((made.project, address.port()), (project, port));
        }
        assert!(fresh.try_recv().is_err(), "one for each");
    }

    #[test]
    fn there_are_only_so_many_and_none_beyond_the_last_port() {
        let (seconds, _fresh) = Seconds::new("127.0.0.1:65534".parse().unwrap());
        assert_eq!(seconds.hosts().collect::<Vec<_>>(), ["127.0.0.1:65534", "127.0.0.1:65535"]);
        let (seconds, _fresh) = Seconds::new("0.0.0.0:3002".parse().unwrap());
        assert_eq!(seconds.hosts().count(), usize::from(PORTS));
        assert_eq!(seconds.hosts().next().unwrap(), "localhost:3002");
    }
}
