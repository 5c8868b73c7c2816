//! What sessions do, told to a collector of OpenTelemetry.
//!
//! ```text
//!   log ──▶ Tail ──▶ Trace (facts to spans) ──▶ Collector (OTLP/HTTP, JSON)
//! ```
//!
//! It follows the log like any client, so that it costs a turn nothing, cannot slow
//! it, and needs no queue: one that is behind has a place in the log and no more. The
//! ids of spans are made of those of the log, and their times are the log's. See
//! `docs/adr/0011-telemetry-is-told-from-the-log.md`.

mod otlp;
mod span;
mod tell;
mod trace;
mod words;

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{Seq, Stream};
use provost_store::{EventScope, LogTail, StoreError, hydrate_fact};
use tokio::time::{Instant, timeout};

pub use otlp::NotACollector;

use crate::session::Runner;
use otlp::Collector;
use trace::{Agent, Trace};

/// How many spans are sent at once, at most.
const BATCH: usize = 256;

/// How long a span waits for others.
const WAIT: Duration = Duration::from_millis(500);

/// How long the last spans may take when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Whether what was said is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contents {
    /// Names, times, counts and codes only.
    #[default]
    LeftOut,
    /// Also messages, arguments and results.
    Told,
}

/// Where spans are sent, and what is in them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of the collector, without `/v1/traces`.
    pub endpoint: String,
    /// Headers for it, such as a key.
    pub headers: Vec<(String, String)>,
    /// Whether what was said is told.
    pub contents: Contents,
}

/// The way from the log to a collector.
#[derive(Debug)]
pub struct Telemetry {
    runner: Arc<Runner>,
    collector: Collector,
    trace: Trace,
    tail: LogTail,
    batch: Vec<span::Span>,
}

impl Telemetry {
    /// From behind a place in the log on.
    pub fn new(
        runner: &Arc<Runner>,
        settings: &Settings,
        after: Seq,
    ) -> Result<Self, NotACollector> {
        let store = Arc::clone(runner.gateway().store());
        Ok(Self {
            runner: Arc::clone(runner),
            collector: Collector::new(settings)?,
            trace: Trace::new(settings.contents),
            tail: LogTail::new(store, EventScope::All, after),
            batch: Vec::new(),
        })
    }

    /// Tells what happens until `closing` ends, and then what is left.
    pub async fn run(mut self, closing: impl Future<Output = ()>) {
        tokio::pin!(closing);
        tokio::select! {
            ended = self.follow() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the log cannot be followed; no more is told of sessions");
                }
                return;
            }
            () = &mut closing => {}
        }
        if timeout(FAREWELL, self.rest()).await.is_err() {
            tracing::warn!("the collector of telemetry is slow; the last spans are lost");
        }
    }

    async fn follow(&mut self) -> Result<(), StoreError> {
        let mut oldest: Option<Instant> = None;
        loop {
            let due = oldest.map_or(WAIT, |at| WAIT.saturating_sub(at.elapsed()));
            match timeout(due, self.tail.next()).await {
                Ok(events) => self.hear(events?).await?,
                Err(_) if self.batch.is_empty() => continue,
                Err(_) => self.collector.send(&mut self.batch).await,
            }
            let is_due = oldest.is_some_and(|at| at.elapsed() >= WAIT);
            if self.batch.len() >= BATCH || is_due {
                self.collector.send(&mut self.batch).await;
            }
            oldest = if self.batch.is_empty() { None } else { oldest.or(Some(Instant::now())) };
        }
    }

    /// What is in the log and was not told yet.
    async fn rest(&mut self) {
        while let Ok(events) = self.tail.next_available().await {
            if events.is_empty() || self.hear(events).await.is_err() {
                break;
            }
        }
        self.collector.send(&mut self.batch).await;
    }

    async fn hear(
        &mut self,
        events: Vec<Arc<provost_store::RecordedEvent>>,
    ) -> Result<(), StoreError> {
        for recorded in events {
            let Stream::Session(session) = recorded.stream else { continue };
            let event = recorded.decode_event()?;
            if !trace::KINDS.contains(&event.kind.as_str()) {
                continue;
            }
            let Some(fact) = hydrate_fact(&**self.runner.gateway().store(), &event).await? else {
                continue;
            };
            if !self.trace.knows(session) {
                // A turn that began before, or begins now: who it is stands in the view.
                let Ok(view) = self.runner.view(session).await else { continue };
                self.trace.meet(session, Agent::from(&view));
            }
            self.batch.extend(self.trace.hear(session, event.at, fact));
        }
        Ok(())
    }
}
