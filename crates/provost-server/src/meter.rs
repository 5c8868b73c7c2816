//! What `/metrics` shows.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::Method;
use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

/// The daemon's own measurements. One per daemon and not global, so that tests
/// can run several daemons in one process.
#[derive(Clone)]
pub struct Meter(Arc<PrometheusRecorder>, Arc<AtomicU32>);

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

const WHO: Metadata<'static> = Metadata::new("provost", Level::INFO, None);

/// Bounds of the latency buckets, in seconds.
const BUCKETS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

impl Default for Meter {
    fn default() -> Self {
        let builder = PrometheusBuilder::new();
        // Fails for an empty list of buckets only, and then summaries are shown instead.
        let builder = builder.set_buckets(BUCKETS).unwrap_or_default();
        let recorder = builder.build_recorder();
        for (name, what) in [
            ("provost_http_requests_total", "Requests answered, by route and status."),
            ("provost_http_seconds", "Time to the head of the answer, by route."),
            ("provost_sse_clients", "Clients that follow the log now."),
            ("provost_log_events", "Events in the log."),
        ] {
            recorder.describe_counter(name.into(), None, what.into());
        }
        Self(Arc::new(recorder), Arc::default())
    }
}

impl Meter {
    pub(crate) fn request(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let labels = vec![
            Label::new("method", known(method)),
            Label::new("route", route.to_owned()),
            Label::new("status", status.to_string()),
        ];
        let key = Key::from_parts("provost_http_requests_total", labels);
        self.0.register_counter(&key, &WHO).increment(1);
        let labels = vec![Label::new("route", route.to_owned())];
        let key = Key::from_parts("provost_http_seconds", labels);
        self.0.register_histogram(&key, &WHO).record(took.as_secs_f64());
    }

    /// Counts a follower until the guard is dropped.
    pub(crate) fn follower(&self) -> Follower {
        let gauge = self.0.register_gauge(&Key::from_static_name("provost_sse_clients"), &WHO);
        gauge.increment(1.0);
        self.1.fetch_add(1, Ordering::Relaxed);
        Follower(gauge, Arc::clone(&self.1))
    }

    /// How many follow now.
    pub(crate) fn followers(&self) -> u32 {
        self.1.load(Ordering::Relaxed)
    }

    /// The text for Prometheus.
    pub(crate) fn render(&self, events: u64) -> String {
        let key = Key::from_static_name("provost_log_events");
        self.0.register_counter(&key, &WHO).absolute(events);
        let handle = self.0.handle();
        handle.run_upkeep();
        handle.render()
    }

    /// Folds the samples that were gathered since the last time; without it
    /// they would pile up while nobody asks for `/metrics`.
    pub(crate) fn upkeep(&self) {
        self.0.handle().run_upkeep();
    }
}

/// The method as a label. Whoever calls chooses the method, with or without a
/// token, and every new label would be kept until the daemon ends.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// One client that follows the log.
pub(crate) struct Follower(metrics::Gauge, Arc<AtomicU32>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.decrement(1.0);
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}
