//! The preview: which ports the dev server's tree listens on, and whether they answer.
//!
//! A task per dev server looks at the listening sockets of its tree: every 100 ms
//! for a while after a start, a printed address or a change, then every second.
//! What listens is asked over HTTP until it answers, with whatever status: the page
//! of an error is a page too. A socket that was opened anew is asked again.
//! A printed address is a hint only: what does not listen is never shown.

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

/// How often to look while something is expected, and else.
const FAST_POLL_INTERVAL: Duration = Duration::from_millis(100);
const SLOW_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// For how long something is expected.
const FAST_POLL_DURATION: Duration = Duration::from_secs(10);

/// How long a server may take to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait before one that did not answer is asked again.
const PROBE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Whose ports are watched.
#[derive(Debug)]
pub(super) struct PreviewTarget {
    /// The action that began the run.
    pub(super) action: ActionId,
    /// The process at the top of the tree.
    pub(super) root: u32,
    /// The port that the configuration names.
    pub(super) configured: Option<u16>,
    /// What the server prints.
    pub(super) heard: Arc<TreeOutputTail>,
    /// Where changes are told.
    pub(super) now: Arc<RuntimeReporter>,
}

/// What was told last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReportedPreview {
    Nothing,
    Detected(PreviewDetection),
    Ready(PreviewDetection),
    Lost,
}

/// Watches until it is dropped.
pub(super) async fn watch_preview(watched: PreviewTarget) {
    let finder = match ListenerScanner::new(watched.root) {
        Ok(finder) => finder,
        Err(error) => {
            tracing::error!(%error, "listening sockets cannot be looked for");
            return;
        }
    };
    let mut watch = PreviewWatcher {
        ports: PortCandidates { configured: watched.configured, ..PortCandidates::default() },
        watched,
        finder,
        probes: JoinSet::new(),
        asked: BTreeMap::new(),
        told: ReportedPreview::Nothing,
        expected_until: Instant::now() + FAST_POLL_DURATION,
    };
    if let Err(error) = watch.run().await {
        tracing::error!(%error, "the preview is not watched any more");
    }
}

struct PreviewWatcher {
    watched: PreviewTarget,
    finder: ListenerScanner,
    ports: PortCandidates,
    /// Requests that are out: the port, and what it answered.
    probes: JoinSet<(u16, Option<ProbeResponse>)>,
    /// Ports that are being asked, or when they may be asked again.
    asked: BTreeMap<u16, Instant>,
    told: ReportedPreview,
    expected_until: Instant,
}

impl PreviewWatcher {
    async fn run(&mut self) -> io::Result<()> {
        loop {
            if let Err(error) = self.poll_listeners() {
                // What is left of an answer must not be taken for the next one.
                tracing::warn!(%error, "the listening sockets could not be looked at");
                self.finder = ListenerScanner::new(self.watched.root)?;
            }
            self.report_changes().await?;
            let often = Instant::now() < self.expected_until;
            let waits = self.asked.values().any(|at| *at > Instant::now());
            let pause = if often || waits { FAST_POLL_INTERVAL } else { SLOW_POLL_INTERVAL };
            let heard = Arc::clone(&self.watched.heard);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = heard.hint.notified() => self.expected_until = Instant::now() + FAST_POLL_DURATION,
                Some(probed) = self.probes.join_next(), if !self.probes.is_empty() => {
                    if let Ok((port, answered)) = probed {
                        self.record_probe(port, answered);
                    }
                }
            }
        }
    }

    /// Who listens now; whoever is new is asked.
    fn poll_listeners(&mut self) -> io::Result<()> {
        let listeners = self.finder.scan()?;
        if listeners != self.ports.listeners {
            self.expected_until = Instant::now() + FAST_POLL_DURATION;
            self.ports.update_listeners(listeners);
        }
        self.ports.printed = self.watched.heard.printed_ports();
        let open: BTreeSet<u16> = self.ports.listeners.iter().map(|found| found.port).collect();
        self.asked.retain(|port, _| open.contains(port));
        let now = Instant::now();
        for port in open {
            let due = self.asked.get(&port).is_none_or(|at| *at <= now);
            if self.ports.answers.contains_key(&port) || !due {
                continue;
            }
            let Some(address) = self.ports.reachable_address(port) else { continue };
            self.asked.insert(port, now + PROBE_TIMEOUT + PROBE_RETRY_DELAY);
            self.probes.spawn(async move {
                let answer = http::get(address, "/", 0, PROBE_TIMEOUT).await.ok();
                let html = |answer: http::HttpResponse| {
                    let kind = answer.header("content-type").unwrap_or_default();
                    ProbeResponse { html: kind.starts_with("text/html") }
                };
                (port, answer.map(html))
            });
        }
        Ok(())
    }

    fn record_probe(&mut self, port: u16, answered: Option<ProbeResponse>) {
        match answered {
            None => {
                self.asked.insert(port, Instant::now() + PROBE_RETRY_DELAY);
            }
            Some(answered) => {
                // It may have been closed since it was asked.
                if self.ports.listeners.iter().any(|found| found.port == port) {
                    self.ports.answers.insert(port, answered);
                }
                self.asked.remove(&port);
            }
        }
    }

    /// Reports what is not as it was told.
    async fn report_changes(&mut self) -> io::Result<()> {
        let ports = self.ports.list_ports();
        let before = match &self.told {
            ReportedPreview::Detected(found) | ReportedPreview::Ready(found) => Some(found.port),
            ReportedPreview::Nothing | ReportedPreview::Lost => None,
        };
        let gone = |port: &u16| !ports.iter().any(|open| open.port == *port);
        if let Some(port) = before.filter(gone) {
            let why = format!("nothing listens on port {port} any more");
            self.report(RuntimeChange::PreviewLost(PreviewLost {
                port,
                why,
                ports: ports.clone(),
            }))
            .await?;
            self.told = ReportedPreview::Lost;
        }
        let Some((port, by)) = self.ports.choose_preview() else { return Ok(()) };
        let found = PreviewDetection { port, by, ports };
        let (now, change) = if self.ports.answers.contains_key(&port) {
            (ReportedPreview::Ready(found.clone()), RuntimeChange::PreviewReady(found))
        } else {
            (ReportedPreview::Detected(found.clone()), RuntimeChange::PreviewDetected(found))
        };
        if now != self.told {
            self.report(change).await?;
            self.told = now;
        }
        Ok(())
    }

    async fn report(&self, change: RuntimeChange) -> io::Result<()> {
        self.watched.now.report_change(self.watched.action, change).await
    }
}
