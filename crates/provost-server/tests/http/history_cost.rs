//! What reads of history cost: the same after 13 700 events as after 3 400, and never a scan of a
//! whole table. Statements are counted, not timed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use parking_lot::Mutex;
use provost_store::{StatementCost, StatementObserver};
use reqwest::Method;

use super::Server;
use super::history::SeededHistory;

/// Each has 19 events; the shorter log fills every page of a list, too.
const SESSIONS: [u64; 2] = [180, 720];
/// Steps beside those that are proportional: the end of the log that is not indexed for searches
/// has more or fewer events.
const SLACK: u64 = 2_000;

/// The requests of every route that reads history. `{p}` is a project, `{session}`, `{action}`,
/// `{read}`, `{approval}` and `{grant}` are of the middle of the log.
const REQUESTS: &[(&str, &[&str])] = &[
    ("/api/health", &["/api/health"]),
    ("/metrics", &["/metrics"]),
    ("/api/projects", &["/api/projects", "/api/projects?all=true"]),
    ("/api/projects/{p}", &["/api/projects/{p}"]),
    (
        "/api/events",
        &[
            "/api/events?limit=200",
            "/api/events?limit=200&after=0",
            "/api/events?limit=200&project={p}",
            "/api/events?limit=200&project={p}&text=absent-text",
            "/api/events?limit=200&session={session}",
            "/api/events?limit=200&session={session}&kind=TURN_FINISHED",
            "/api/events?limit=200&text=absent-text",
            "/api/events?limit=200&kind=RUNTIME_STOPPED",
            "/api/events?after=now",
            "/api/events?after=now&project={p}",
        ],
    ),
    (
        "/api/audit",
        &[
            "/api/audit?action={action}",
            "/api/audit?action={action}&before=9007199254740991",
            "/api/audit?action={read}",
            "/api/audit?limit=100&project={p}&before=9007199254740991",
            "/api/audit?limit=100&since=1&until=2",
        ],
    ),
    (
        "/api/documents",
        &[
            "/api/documents",
            "/api/documents?project={p}",
            "/api/documents?views=drafts&project={p}&session={session}",
        ],
    ),
    ("/api/log/segments", &["/api/log/segments"]),
    ("/api/tokens", &["/api/tokens"]),
    ("/api/projects/{p}/notebooks", &["/api/projects/{p}/notebooks"]),
    ("/api/actions/{id}", &["/api/actions/{action}", "/api/actions/{read}"]),
    ("/api/projects/{p}/kernel", &["/api/projects/{p}/kernel"]),
    ("/api/projects/{p}/mode", &["/api/projects/{p}/mode"]),
    ("/api/projects/{p}/roles", &["/api/projects/{p}/roles"]),
    ("/api/projects/{p}/policy", &["/api/projects/{p}/policy"]),
    ("/api/approvals", &["/api/approvals", "/api/approvals?all=true"]),
    (
        "/api/projects/{p}/approvals",
        &["/api/projects/{p}/approvals", "/api/projects/{p}/approvals?all=true"],
    ),
    ("/api/approvals/{id}", &["/api/approvals/{approval}"]),
    (
        "/api/projects/{p}/grants",
        &["/api/projects/{p}/grants", "/api/projects/{p}/grants?all=true"],
    ),
    ("/api/grants/{id}", &["/api/grants/{grant}"]),
    ("/api/sessions", &["/api/sessions", "/api/sessions?project={p}"]),
    ("/api/sessions/{id}", &["/api/sessions/{session}", "/api/sessions/{session}?before=2"]),
    ("/api/sessions/{id}/events", &["/api/sessions/{session}/events"]),
    ("/api/usage", &["/api/usage", "/api/usage?project={p}&days=0"]),
    ("/v1/models", &["/v1/models"]),
];

/// Routes that read no history, and those that read all of it because that is what they are for.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("/api/audit/verify", "reads the whole log, to verify it"),
    ("/api/blobs/{hash}", "reads one blob by its hash"),
    ("/api/models", "asks the providers"),
    ("/api/notebooks/{n}", "reads one notebook as it is now"),
    ("/api/notebooks/{n}/artifacts/{hash}", "reads one blob by its hash"),
    ("/api/notebooks/{n}/ipynb", "reads one notebook as it is now"),
    ("/api/notebooks/{n}/runtimes", "reads one notebook by its id, and what runs in memory"),
    ("/api/openapi.json", "is a constant"),
    ("/api/projects/{p}/preview/url", "asks the kernel"),
    ("/api/projects/{p}/runtime/logs", "asks the kernel"),
    ("/api/projects/{p}/runtime/status", "asks the kernel"),
    ("/api/projects/{p}/terminal/attach", "asks the kernel"),
    ("/api/sync", "is a WebSocket"),
    ("/login", "redeems a code"),
];

type Costs = Arc<Mutex<Vec<StatementCost>>>;

/// Sends a request and reads its response; a stream until it has caught up.
async fn read(server: &Server, path: &str) {
    let response = server.owner(Method::GET, path).send().await.unwrap();
    let status = response.status();
    let is_stream = response
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let (mut text, mut chunks) = (String::new(), response.bytes_stream());
    while let Some(chunk) = chunks.next().await {
        text += &String::from_utf8_lossy(&chunk.unwrap());
        if is_stream && text.contains("event: live") {
            break;
        }
    }
    assert!(status.is_success(), "{path}: {status} {text}");
}

fn fill_in(path: &str, history: &SeededHistory) -> String {
    path.replace("{p}", &history.slug)
        .replace("{session}", &history.session.to_string())
        .replace("{action}", &history.action.to_string())
        .replace("{read}", &history.read.to_string())
        .replace("{approval}", &history.approval.to_string())
        .replace("{grant}", &history.grant.to_string())
}

/// The steps of each request, of the cheapest of a few runs: the daemon itself reads now and then.
async fn measure(n_sessions: u64) -> BTreeMap<&'static str, u64> {
    let costs = Costs::default();
    let seen = Arc::clone(&costs);
    let observer = StatementObserver::new(move |cost| seen.lock().push(cost));
    let (server, history) = Server::with_history(n_sessions, observer).await;
    let mut steps = BTreeMap::new();
    for path in REQUESTS.iter().flat_map(|(_, paths)| *paths) {
        let request = fill_in(path, &history);
        let mut least = u64::MAX;
        for _ in 0..3 {
            costs.lock().clear();
            read(&server, &request).await;
            let all = std::mem::take(&mut *costs.lock());
            let scan = all.iter().find(|cost| cost.full_scan_steps > MAX_SCANNED_ROWS);
            assert_eq!(scan, None, "{path} scans a table");
            let sort = all.iter().find(|cost| cost.sorts > 0);
            assert_eq!(sort, None, "{path} sorts rows");
            least = least.min(all.iter().map(|cost| cost.vm_steps).sum());
        }
        steps.insert(*path, least);
    }
    steps
}

/// Tables with one row, such as how far the log reached, are read as a whole.
const MAX_SCANNED_ROWS: u64 = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_visit_as_much_however_long_the_log_is() {
    let [small, large] = SESSIONS;
    let (small, large) = (measure(small).await, measure(large).await);
    let grown: Vec<_> = small
        .iter()
        .filter(|(path, steps)| large[*path] * 10 > **steps * 13 + SLACK * 10)
        .map(|(path, steps)| format!("{path}: {steps} and {} steps", large[path]))
        .collect();
    assert!(grown.is_empty(), "these grow with history:\n{}", grown.join("\n"));
    // Otherwise nothing was observed.
    assert!(small["/api/events?limit=200"] > 1_000, "{small:?}");
}

#[test]
fn every_route_that_reads_is_measured_or_an_exception() {
    let document = serde_json::to_value(provost_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let gets = paths.iter().filter(|(_, operations)| operations.get("get").is_some());
    let gets: BTreeSet<&str> = gets.map(|(path, _)| path.as_str()).collect();
    let measured = REQUESTS.iter().map(|(route, _)| *route);
    let named: BTreeSet<&str> =
        measured.chain(EXCEPTIONS.iter().map(|(route, _)| *route)).collect();
    assert_eq!(gets, named);
    let n_named = REQUESTS.len() + EXCEPTIONS.len();
    assert_eq!(named.len(), n_named, "a route is both");
    assert!(EXCEPTIONS.iter().all(|(_, why)| !why.is_empty()));
}
