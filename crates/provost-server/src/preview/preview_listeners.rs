//! Listeners for browsers that do not know `*.localhost`: one for each project, so
//! that no two of them share an origin, and with it what their pages store.
//!
//! A project is given the next port that is free when it is first asked for, and
//! keeps it, also under the daemons that come after: a browser hands what a page
//! stored to whatever is at the same port later. Only when no other is left does it
//! get one that was another's.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use provost_proto::ProjectId;
use tokio::sync::mpsc;

use crate::PreviewPortSettings;

/// How many ports are used, counted from the first. Our page names each of them as
/// one that it may show in a frame, so they are not without end.
pub(crate) const MAX_PREVIEW_PORTS: u16 = 64;

/// A listener that nobody accepts from yet.
#[derive(Debug)]
pub(crate) struct NewPreviewListener {
    pub(crate) listener: TcpListener,
    pub(crate) project: ProjectId,
}

/// The listeners of the projects.
#[derive(Debug)]
pub(crate) struct PreviewListeners {
    /// The address of the first.
    first: SocketAddr,
    file: PathBuf,
    dealt: Mutex<PortAllocator>,
    /// Whoever accepts.
    fresh: mpsc::Sender<NewPreviewListener>,
}

/// Which project has which port.
type PortAssignments = BTreeMap<ProjectId, u16>;

#[derive(Debug, Default)]
struct PortAllocator {
    /// Those that are listened at.
    open: PortAssignments,
    /// Those that were ever dealt.
    kept: PortAssignments,
}

impl PortAllocator {
    /// The ports that a project may have, in the order in which they are tried: its
    /// own, those that nobody had, those that others had.
    fn candidate_ports(&self, project: ProjectId, all: impl Iterator<Item = u16>) -> Vec<u16> {
        let own = self.kept.get(&project).copied();
        let taken = |port: &u16| self.open.values().any(|open| open == port);
        let mut all: Vec<u16> = all.filter(|port| !taken(port)).collect();
        all.sort_by_key(|port| {
            let others = self.kept.values().any(|kept| kept == port);
            (own != Some(*port), others, *port)
        });
        all
    }

    fn assign_port(&mut self, project: ProjectId, port: u16) {
        self.open.insert(project, port);
        self.kept.retain(|_, kept| *kept != port);
        self.kept.insert(project, port);
    }
}

impl PreviewListeners {
    /// Listeners from this address on, and what is to be accepted from.
    pub(crate) fn new(ports: PreviewPortSettings) -> (Self, mpsc::Receiver<NewPreviewListener>) {
        let PreviewPortSettings { first, file } = ports;
        let (fresh, accepted) = mpsc::channel(usize::from(MAX_PREVIEW_PORTS));
        let dealt = Mutex::new(PortAllocator {
            open: PortAssignments::new(),
            kept: load_assignments(&file),
        });
        (Self { first, file, dealt, fresh }, accepted)
    }

    /// The port of a project, if there is one left for it.
    pub(crate) fn ensure_listener(&self, project: ProjectId) -> Option<u16> {
        let mut dealt = self.dealt.lock();
        if let Some(port) = dealt.open.get(&project) {
            return Some(*port);
        }
        for port in
            dealt.candidate_ports(project, (0..MAX_PREVIEW_PORTS).filter_map(|n| self.nth_port(n)))
        {
            let address = SocketAddr::new(self.first.ip(), port);
            let listener = TcpListener::bind(address)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
            match listener {
                Ok(listener) => {
                    self.fresh.try_send(NewPreviewListener { listener, project }).ok()?;
                    dealt.assign_port(project, port);
                    if let Err(error) = save_assignments(&self.file, &dealt.kept) {
                        tracing::warn!(%error, "the next daemon will not know this port");
                    }
                    return Some(port);
                }
                // Somebody else's; the next may be free.
                Err(error) => tracing::info!(%address, %error, "no preview is listened for here"),
            }
        }
        None
    }

    /// The name under which browsers reach them.
    pub(crate) fn browser_host(&self, port: u16) -> String {
        if self.first.ip().is_unspecified() {
            return format!("localhost:{port}");
        }
        SocketAddr::new(self.first.ip(), port).to_string()
    }

    /// All that may ever be listened at.
    pub(crate) fn all_hosts(&self) -> impl Iterator<Item = String> {
        (0..MAX_PREVIEW_PORTS).filter_map(|n| self.nth_port(n)).map(|port| self.browser_host(port))
    }

    fn nth_port(&self, n: u16) -> Option<u16> {
        self.first.port().checked_add(n).filter(|_| n < MAX_PREVIEW_PORTS)
    }
}

/// What was dealt before; nothing if that cannot be told.
fn load_assignments(file: &Path) -> PortAssignments {
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "the ports of previews are dealt anew");
            PortAssignments::new()
        }),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(file = %file.display(), %error, "the ports of previews are dealt anew");
            }
            PortAssignments::new()
        }
    }
}

/// Writes the file as a whole or not at all.
fn save_assignments(file: &Path, ports: &PortAssignments) -> io::Result<()> {
    let draft = file.with_extension("new");
    std::fs::write(&draft, serde_json::to_vec(ports)?)?;
    std::fs::rename(draft, file)
}

#[cfg(test)]
mod tests {
    use provost_store::Clock;

    use super::*;

    #[test]
    fn each_project_has_a_port_of_its_own_and_taken_ones_are_skipped() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let first = taken.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (seconds, mut fresh) = PreviewListeners::new(ports(first, folder.path()));
        let clock = Clock::system();
        let (a, b) = (clock.new_id(), clock.new_id());
        let port_of_a = seconds.ensure_listener(a).unwrap();
        let port_of_b = seconds.ensure_listener(b).unwrap();
        assert!(port_of_a > first.port() && port_of_b > port_of_a);
        assert_eq!(
            (seconds.ensure_listener(a), seconds.ensure_listener(b)),
            (Some(port_of_a), Some(port_of_b))
        );
        for (project, port) in [(a, port_of_a), (b, port_of_b)] {
            let made = fresh.try_recv().unwrap();
            let address = made.listener.local_addr().unwrap();
            assert_eq!((made.project, address.port()), (project, port));
        }
        assert!(fresh.try_recv().is_err(), "one for each");
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
        let (first, fresh) = PreviewListeners::new(ports(free, folder.path()));
        let (of_a, of_b) = (first.ensure_listener(a).unwrap(), first.ensure_listener(b).unwrap());
        drop((first, fresh));
        let (second, fresh) = PreviewListeners::new(ports(free, folder.path()));
        let of_c = second.ensure_listener(c).unwrap();
        assert!(of_c != of_a && of_c != of_b, "a new one takes no port that was another's");
        assert_eq!(
            (second.ensure_listener(b), second.ensure_listener(a)),
            (Some(of_b), Some(of_a))
        );
        drop((second, fresh));
        std::fs::write(folder.path().join("previews.json"), "nonsense").unwrap();
        let (third, _fresh) = PreviewListeners::new(ports(free, folder.path()));
        assert!(third.ensure_listener(c).is_some(), "a file that cannot be read is made anew");
    }

    #[test]
    fn a_port_that_was_anothers_is_the_last_choice() {
        let clock = Clock::system();
        let (a, b) = (clock.new_id(), clock.new_id());
        let mut dealt = PortAllocator::default();
        dealt.kept.insert(a, 11);
        dealt.kept.insert(b, 12);
        assert_eq!(dealt.candidate_ports(b, 10..14), [12, 10, 13, 11]);
        dealt.assign_port(b, 11);
        assert_eq!((dealt.kept.get(&a), dealt.kept.get(&b)), (None, Some(&11)));
        assert_eq!(dealt.candidate_ports(a, 10..14), [10, 12, 13]);
    }

    #[test]
    fn there_are_only_so_many_and_none_beyond_the_last_port() {
        let folder = tempfile::tempdir().unwrap();
        let from = |first: &str| ports(first.parse().unwrap(), folder.path());
        let (seconds, _fresh) = PreviewListeners::new(from("127.0.0.1:65534"));
        assert_eq!(seconds.all_hosts().collect::<Vec<_>>(), ["127.0.0.1:65534", "127.0.0.1:65535"]);
        let (seconds, _fresh) = PreviewListeners::new(from("0.0.0.0:3002"));
        assert_eq!(seconds.all_hosts().count(), usize::from(MAX_PREVIEW_PORTS));
        assert_eq!(seconds.all_hosts().next().unwrap(), "localhost:3002");
    }
}
