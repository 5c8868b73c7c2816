//! The metrics behind `/metrics`.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::Method;
use metrics::{Counter, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

/// The daemon's metrics. One instance per daemon and not global, so that tests can run several
/// daemons in one process.
#[derive(Clone)]
pub struct ServerMetrics {
    recorder: Arc<PrometheusRecorder>,
    followers: Arc<AtomicU32>,
    routes: Arc<RwLock<HashMap<String, RouteMetrics>>>,
}

/// Cached handles of one route's metrics: looking them up by labels takes longer than most
/// requests.
struct RouteMetrics {
    seconds: Histogram,
    responses: Vec<ResponseCounter>,
}

/// Responses of a route with this method and status.
struct ResponseCounter {
    method: &'static str,
    status: u16,
    total: Counter,
}

impl fmt::Debug for ServerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerMetrics")
    }
}

const METRICS_METADATA: Metadata<'static> = Metadata::new("provost", Level::INFO, None);

/// Bounds of the latency buckets, in seconds.
const LATENCY_BUCKETS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

impl Default for ServerMetrics {
    fn default() -> Self {
        let builder = PrometheusBuilder::new();
        // Fails only for an empty list of buckets; then summaries are exported instead.
        let builder = builder.set_buckets(LATENCY_BUCKETS).unwrap_or_default();
        let recorder = builder.build_recorder();
        for (name, what) in [
            ("provost_http_requests_total", "Requests answered, by route and status."),
            ("provost_http_seconds", "Time to the head of the answer, by route."),
            ("provost_sse_clients", "Clients that follow the log now."),
            ("provost_log_events", "Events in the log."),
        ] {
            recorder.describe_counter(name.into(), None, what.into());
        }
        Self { recorder: Arc::new(recorder), followers: Arc::default(), routes: Arc::default() }
    }
}

impl ServerMetrics {
    pub(crate) fn record_request(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let method = method_label(method);
        let routes = self.routes.read();
        if routes.get(route).is_some_and(|route| route.count_request(method, status, took)) {
            return;
        }
        drop(routes);
        let mut routes = self.routes.write();
        let known = routes.entry(route.to_owned()).or_insert_with(|| {
            let labels = vec![Label::new("route", route.to_owned())];
            let key = Key::from_parts("provost_http_seconds", labels);
            let seconds = self.recorder.register_histogram(&key, &METRICS_METADATA);
            RouteMetrics { seconds, responses: Vec::new() }
        });
        if !known.count_request(method, status, took) {
            let labels = vec![
                Label::new("method", method),
                Label::new("route", route.to_owned()),
                Label::new("status", status.to_string()),
            ];
            let key = Key::from_parts("provost_http_requests_total", labels);
            let total = self.recorder.register_counter(&key, &METRICS_METADATA);
            known.responses.push(ResponseCounter { method, status, total });
            known.count_request(method, status, took);
        }
    }

    /// Counts a follower until the guard is dropped.
    pub(crate) fn track_follower(&self) -> FollowerGuard {
        let key = Key::from_static_name("provost_sse_clients");
        let gauge = self.recorder.register_gauge(&key, &METRICS_METADATA);
        gauge.increment(1.0);
        self.followers.fetch_add(1, Ordering::Relaxed);
        FollowerGuard(gauge, Arc::clone(&self.followers))
    }

    /// The current number of followers.
    pub(crate) fn follower_count(&self) -> u32 {
        self.followers.load(Ordering::Relaxed)
    }

    /// The metrics in Prometheus' text format.
    pub(crate) fn render(&self, events: u64) -> String {
        let key = Key::from_static_name("provost_log_events");
        self.recorder.register_counter(&key, &METRICS_METADATA).absolute(events);
        let handle = self.recorder.handle();
        handle.run_upkeep();
        handle.render()
    }

    /// Aggregates the samples collected since the last call; without it they would accumulate
    /// while nothing scrapes `/metrics`.
    pub(crate) fn run_upkeep(&self) {
        self.recorder.handle().run_upkeep();
    }
}

impl RouteMetrics {
    /// Counts a request; `false` if there is no counter for this method and status yet.
    fn count_request(&self, method: &str, status: u16, took: Duration) -> bool {
        let mut counters = self.responses.iter();
        let found = counters.find(|known| known.status == status && known.method == method);
        if let Some(counter) = found {
            counter.total.increment(1);
            self.seconds.record(took.as_secs_f64());
        }
        found.is_some()
    }
}

/// The method as a label. Clients choose the method even without a token, and every label is
/// kept until the daemon stops, so unknown ones share a label.
fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// Counts one client that follows the log until it is dropped.
pub(crate) struct FollowerGuard(metrics::Gauge, Arc<AtomicU32>);

impl Drop for FollowerGuard {
    fn drop(&mut self) {
        self.0.decrement(1.0);
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}
