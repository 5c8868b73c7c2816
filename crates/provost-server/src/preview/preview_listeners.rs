//! Listeners for browsers that do not resolve `*.localhost`: one per project, so that no two
//! projects share an origin, and with it cookies and storage.
//!
//! A project gets the next free port at its first use and keeps it across restarts of the
//! daemon: a browser gives what a page stored to whatever uses the same port later. Only if no
//! other is left does a project get a port that belonged to another.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use provost_proto::ProjectId;
use tokio::sync::mpsc;

use crate::{BoundPort, PreviewPortSettings};

/// Number of ports, counted from the first. Limited because the UI's `frame-src` lists all of
/// them.
pub(crate) const MAX_PREVIEW_PORTS: u16 = 64;

/// The ports that previews may use, given the first.
pub fn preview_ports(first: u16) -> impl Iterator<Item = u16> {
    (0..MAX_PREVIEW_PORTS).map_while(move |n| first.checked_add(n))
}

/// A listener without an accept loop yet.
#[derive(Debug)]
pub(crate) struct NewPreviewListener {
    pub(crate) port: BoundPort,
    pub(crate) project: ProjectId,
}

/// The preview listeners of projects.
#[derive(Debug)]
pub(crate) struct PreviewListeners {
    /// The address of the first port.
    first: SocketAddr,
    file: PathBuf,
    allocator: Mutex<PortAllocator>,
    /// Hands new listeners to the accept loop.
    new_listeners: mpsc::Sender<NewPreviewListener>,
}

/// Which project has which port.
type PortAssignments = BTreeMap<ProjectId, u16>;

#[derive(Debug, Default)]
struct PortAllocator {
    /// Projects that have a listener.
    open: PortAssignments,
    /// All ports ever assigned.
    assigned: PortAssignments,
}

impl PortAllocator {
    /// The free ports in the order in which they are tried for a project: its own, those never
    /// assigned, those of other projects.
    fn candidate_ports(&self, project: ProjectId, all: impl Iterator<Item = u16>) -> Vec<u16> {
        let own = self.assigned.get(&project).copied();
        let taken = |port: &u16| self.open.values().any(|open| open == port);
        let mut all: Vec<u16> = all.filter(|port| !taken(port)).collect();
        all.sort_by_key(|port| {
            let others = self.assigned.values().any(|kept| kept == port);
            (own != Some(*port), others, *port)
        });
        all
    }

    fn assign_port(&mut self, project: ProjectId, port: u16) {
        self.open.insert(project, port);
        self.assigned.retain(|_, kept| *kept != port);
        self.assigned.insert(project, port);
    }
}

impl PreviewListeners {
    /// No listeners yet, and the channel of those that will be created.
    pub(crate) fn new(ports: PreviewPortSettings) -> (Self, mpsc::Receiver<NewPreviewListener>) {
        let PreviewPortSettings { first, file } = ports;
        let (new_listeners, accepted) = mpsc::channel(usize::from(MAX_PREVIEW_PORTS));
        let allocator = Mutex::new(PortAllocator {
            open: PortAssignments::new(),
            assigned: load_assignments(&file),
        });
        (Self { first, file, allocator, new_listeners }, accepted)
    }

    /// The port of a project's listener, which is created if there is none; `None` if no port is
    /// left.
    pub(crate) fn ensure_listener(&self, project: ProjectId) -> Option<u16> {
        let mut allocator = self.allocator.lock();
        if let Some(port) = allocator.open.get(&project) {
            return Some(*port);
        }
        for port in allocator.candidate_ports(project, preview_ports(self.first.port())) {
            let address = SocketAddr::new(self.first.ip(), port);
            match BoundPort::bind(address) {
                Ok(bound) => {
                    let new = NewPreviewListener { port: bound, project };
                    self.new_listeners.try_send(new).ok()?;
                    allocator.assign_port(project, port);
                    if let Err(error) = save_assignments(&self.file, &allocator.assigned) {
                        tracing::warn!(%error, "cannot save the port of a preview; it may change after a restart");
                    }
                    return Some(port);
                }
                // In use by another program; the next may be free.
                Err(error) => tracing::info!(%address, %error, "cannot listen for previews here"),
            }
        }
        None
    }

    /// The host and port under which browsers reach a listener.
    pub(crate) fn browser_host(&self, port: u16) -> String {
        if self.first.ip().is_unspecified() {
            return format!("localhost:{port}");
        }
        SocketAddr::new(self.first.ip(), port).to_string()
    }

    /// The hosts of all ports that may be used.
    pub(crate) fn all_hosts(&self) -> impl Iterator<Item = String> {
        preview_ports(self.first.port()).map(|port| self.browser_host(port))
    }
}

/// Loads the assignments; empty if the file is missing or unreadable.
fn load_assignments(file: &Path) -> PortAssignments {
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot read the ports of previews; assigning new ones");
            PortAssignments::new()
        }),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(file = %file.display(), %error, "cannot read the ports of previews; assigning new ones");
            }
            PortAssignments::new()
        }
    }
}

/// Writes the file atomically.
fn save_assignments(file: &Path, ports: &PortAssignments) -> io::Result<()> {
    let draft = file.with_extension("new");
    std::fs::write(&draft, serde_json::to_vec(ports)?)?;
    std::fs::rename(draft, file)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use provost_store::Clock;

    use super::*;

    #[test]
    fn each_project_has_a_port_of_its_own_and_taken_ones_are_skipped() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let first = taken.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (listeners, mut new_listeners) = PreviewListeners::new(ports(first, folder.path()));
        let clock = Clock::system();
        let (a, b) = (clock.new_id(), clock.new_id());
        let port_of_a = listeners.ensure_listener(a).unwrap();
        let port_of_b = listeners.ensure_listener(b).unwrap();
        assert!(port_of_a > first.port() && port_of_b > port_of_a);
        assert_eq!(
            (listeners.ensure_listener(a), listeners.ensure_listener(b)),
            (Some(port_of_a), Some(port_of_b))
        );
        for (project, port) in [(a, port_of_a), (b, port_of_b)] {
            let made = new_listeners.try_recv().unwrap();
            assert_eq!((made.project, made.port.address().port()), (project, port));
        }
        assert!(new_listeners.try_recv().is_err(), "one for each");
    }

    fn ports(first: SocketAddr, folder: &Path) -> PreviewPortSettings {
        PreviewPortSettings { first, file: folder.join("previews.json") }
    }

    #[test]
    fn a_project_has_its_port_again_under_the_next_daemon_in_whatever_order_they_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let clock = Clock::system();
        let (a, b, c) = (clock.new_id(), clock.new_id(), clock.new_id());
        let (first, new_listeners) = PreviewListeners::new(ports(free, folder.path()));
        let (of_a, of_b) = (first.ensure_listener(a).unwrap(), first.ensure_listener(b).unwrap());
        drop((first, new_listeners));
        let (second, new_listeners) = PreviewListeners::new(ports(free, folder.path()));
        let of_c = second.ensure_listener(c).unwrap();
        assert!(of_c != of_a && of_c != of_b, "a new one takes no port that was another's");
        assert_eq!(
            (second.ensure_listener(b), second.ensure_listener(a)),
            (Some(of_b), Some(of_a))
        );
        drop((second, new_listeners));
        std::fs::write(folder.path().join("previews.json"), "nonsense").unwrap();
        let (third, _new_listeners) = PreviewListeners::new(ports(free, folder.path()));
        assert!(third.ensure_listener(c).is_some(), "a file that cannot be read is made anew");
    }

    #[test]
    fn a_port_that_was_anothers_is_the_last_choice() {
        let clock = Clock::system();
        let (a, b) = (clock.new_id(), clock.new_id());
        let mut allocator = PortAllocator::default();
        allocator.assigned.insert(a, 11);
        allocator.assigned.insert(b, 12);
        assert_eq!(allocator.candidate_ports(b, 10..14), [12, 10, 13, 11]);
        allocator.assign_port(b, 11);
        assert_eq!((allocator.assigned.get(&a), allocator.assigned.get(&b)), (None, Some(&11)));
        assert_eq!(allocator.candidate_ports(a, 10..14), [10, 12, 13]);
    }

    #[test]
    fn there_are_only_so_many_and_none_beyond_the_last_port() {
        let folder = tempfile::tempdir().unwrap();
        let from = |first: &str| ports(first.parse().unwrap(), folder.path());
        let (listeners, _new_listeners) = PreviewListeners::new(from("127.0.0.1:65534"));
        assert_eq!(
            listeners.all_hosts().collect::<Vec<_>>(),
            ["127.0.0.1:65534", "127.0.0.1:65535"]
        );
        let (listeners, _new_listeners) = PreviewListeners::new(from("0.0.0.0:3002"));
        assert_eq!(listeners.all_hosts().count(), usize::from(MAX_PREVIEW_PORTS));
        assert_eq!(listeners.all_hosts().next().unwrap(), "localhost:3002");
    }
}
