//! The preview: the ports on which the dev server listens, and whether they respond.
//!
//! A task per dev server scans the listening sockets of its process tree: every
//! 100 ms for a while after a start, a printed address or a change, then every second.
//! A listening port is probed over HTTP until it responds, with any status: an error
//! page is a page too. A socket that was reopened is probed again.
//! A printed address is only a hint: a port that does not listen is never shown.

pub(super) mod http;
pub(super) mod port_selection;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::ActionId;
use provost_proto::runtime::{PreviewDetection, PreviewLost, RuntimeChange};
use provost_sandbox::listening_ports::ListenerScanner;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::runtime::runtime_reporter::RuntimeReporter;
use super::runtime::tree_output_tail::TreeOutputTail;
use port_selection::{PortCandidates, ProbeResponse};

/// Poll intervals while a change is expected, and otherwise.
const FAST_POLL_INTERVAL: Duration = Duration::from_millis(100);
const SLOW_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long a change is expected after an event.
const FAST_POLL_DURATION: Duration = Duration::from_secs(10);

/// How long a server may take to respond to a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Delay before a port that did not respond is probed again.
const PROBE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The process tree whose ports are watched.
#[derive(Debug)]
pub(super) struct PreviewTarget {
    /// The action that started the run.
    pub(super) action: ActionId,
    /// The root process of the tree.
    pub(super) root: u32,
    /// The port in the configuration.
    pub(super) configured: Option<u16>,
    /// The output of the server.
    pub(super) output_tail: Arc<TreeOutputTail>,
    /// Where changes are reported.
    pub(super) reporter: Arc<RuntimeReporter>,
}

/// What was reported last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReportedPreview {
    Nothing,
    Detected(PreviewDetection),
    Ready(PreviewDetection),
    Lost,
}

/// Watches until the task is aborted.
pub(super) async fn watch_preview(target: PreviewTarget) {
    let scanner = match ListenerScanner::new(target.root) {
        Ok(scanner) => scanner,
        Err(error) => {
            tracing::error!(%error, "cannot scan listening sockets");
            return;
        }
    };
    let mut watch = PreviewWatcher {
        ports: PortCandidates { configured: target.configured, ..PortCandidates::default() },
        target,
        scanner,
        probes: JoinSet::new(),
        next_probe: BTreeMap::new(),
        reported: ReportedPreview::Nothing,
        fast_poll_until: Instant::now() + FAST_POLL_DURATION,
    };
    if let Err(error) = watch.run().await {
        tracing::error!(%error, "stopped watching the preview");
    }
}

struct PreviewWatcher {
    target: PreviewTarget,
    scanner: ListenerScanner,
    ports: PortCandidates,
    /// Probes in flight: the port, and its response.
    probes: JoinSet<(u16, Option<ProbeResponse>)>,
    /// When a port may be probed again.
    next_probe: BTreeMap<u16, Instant>,
    reported: ReportedPreview,
    fast_poll_until: Instant,
}

impl PreviewWatcher {
    async fn run(&mut self) -> io::Result<()> {
        loop {
            if let Err(error) = self.poll_listeners() {
                // The rest of an answer must not be read as the next one.
                tracing::warn!(%error, "cannot scan listening sockets; starting again");
                self.scanner = ListenerScanner::new(self.target.root)?;
            }
            self.report_changes().await?;
            let is_fast = Instant::now() < self.fast_poll_until;
            let is_probing = self.next_probe.values().any(|at| *at > Instant::now());
            let interval =
                if is_fast || is_probing { FAST_POLL_INTERVAL } else { SLOW_POLL_INTERVAL };
            let output_tail = Arc::clone(&self.target.output_tail);
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = output_tail.port_printed.notified() => self.fast_poll_until = Instant::now() + FAST_POLL_DURATION,
                Some(probed) = self.probes.join_next(), if !self.probes.is_empty() => {
                    if let Ok((port, response)) = probed {
                        self.record_probe(port, response);
                    }
                }
            }
        }
    }

    /// Scans the listeners, and probes new ones.
    fn poll_listeners(&mut self) -> io::Result<()> {
        let listeners = self.scanner.scan()?;
        if listeners != self.ports.listeners {
            self.fast_poll_until = Instant::now() + FAST_POLL_DURATION;
            self.ports.update_listeners(listeners);
        }
        self.ports.printed = self.target.output_tail.printed_ports();
        let open: BTreeSet<u16> = self.ports.listeners.iter().map(|found| found.port).collect();
        self.next_probe.retain(|port, _| open.contains(port));
        let now = Instant::now();
        for port in open {
            let due = self.next_probe.get(&port).is_none_or(|at| *at <= now);
            if self.ports.responses.contains_key(&port) || !due {
                continue;
            }
            let Some(address) = self.ports.reachable_address(port) else { continue };
            self.next_probe.insert(port, now + PROBE_TIMEOUT + PROBE_RETRY_DELAY);
            self.probes.spawn(async move {
                let response = http::get(address, "/", 0, PROBE_TIMEOUT).await.ok();
                let html = |response: http::HttpResponse| {
                    let kind = response.header("content-type").unwrap_or_default();
                    ProbeResponse { html: kind.starts_with("text/html") }
                };
                (port, response.map(html))
            });
        }
        Ok(())
    }

    fn record_probe(&mut self, port: u16, response: Option<ProbeResponse>) {
        match response {
            None => {
                self.next_probe.insert(port, Instant::now() + PROBE_RETRY_DELAY);
            }
            Some(response) => {
                // It may have been closed since the probe.
                if self.ports.listeners.iter().any(|found| found.port == port) {
                    self.ports.responses.insert(port, response);
                }
                self.next_probe.remove(&port);
            }
        }
    }

    /// Reports what differs from the last report.
    async fn report_changes(&mut self) -> io::Result<()> {
        let ports = self.ports.list_ports();
        let before = match &self.reported {
            ReportedPreview::Detected(found) | ReportedPreview::Ready(found) => Some(found.port),
            ReportedPreview::Nothing | ReportedPreview::Lost => None,
        };
        let is_gone = |port: &u16| !ports.iter().any(|open| open.port == *port);
        if let Some(port) = before.filter(is_gone) {
            let why = format!("nothing listens on port {port} any more");
            self.report(RuntimeChange::PreviewLost(PreviewLost {
                port,
                why,
                ports: ports.clone(),
            }))
            .await?;
            self.reported = ReportedPreview::Lost;
        }
        let Some((port, by)) = self.ports.choose_preview() else { return Ok(()) };
        let found = PreviewDetection { port, by, ports };
        let (current, change) = if self.ports.responses.contains_key(&port) {
            (ReportedPreview::Ready(found.clone()), RuntimeChange::PreviewReady(found))
        } else {
            (ReportedPreview::Detected(found.clone()), RuntimeChange::PreviewDetected(found))
        };
        if current != self.reported {
            self.report(change).await?;
            self.reported = current;
        }
        Ok(())
    }

    async fn report(&self, change: RuntimeChange) -> io::Result<()> {
        self.target.reporter.report_change(self.target.action, change).await
    }
}
