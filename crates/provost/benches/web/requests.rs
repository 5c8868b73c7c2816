//! Requests as the page sends them: pages of the timeline, filters, projects and kernels.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::history::{ABSENT_WORD, COMMON_WORD, RARE_WORD};
use crate::measured_daemon::MeasuredDaemon;
use crate::table::{ResultTable, RowLimits};

const ROUNDS: usize = 21;
/// A search that takes long is repeated less often.
const LONG: Duration = Duration::from_secs(2);
/// The timeline reads pages until it has this many rows, or the log ends.
const MIN_ROWS: usize = 60;
const KERNEL_STARTS: usize = 9;

/// The part of a query that filters.
type FilterQuery = fn(&MeasuredDaemon<'_>) -> String;

const PAGE: RowLimits = RowLimits::at_most(100.0).and_ratio();
const FILTER: RowLimits = RowLimits::at_most(300.0);

pub(crate) async fn measure(table: &mut ResultTable, both: [&MeasuredDaemon<'_>; 2]) {
    measure_search(table, both, "first page of the timeline", |_| String::new(), PAGE).await;
    let filters: [(&str, FilterQuery); 8] = [
        ("filter by a common word", |_| format!("&text={COMMON_WORD}")),
        ("filter by a rare word", |_| format!("&text={RARE_WORD}")),
        ("filter by an absent word", |_| format!("&text={ABSENT_WORD}")),
        ("filter by kind", |_| "&kind=RUNTIME_STOPPED".to_owned()),
        ("filter by an absent kind", |_| "&kind=BUILD_FAILED".to_owned()),
        ("filter by actor", |_| "&actor=ui".to_owned()),
        ("filter by project", |daemon| {
            format!("&project={}", daemon.folder_copy.history.project.slug)
        }),
        ("filter by session", |daemon| {
            format!("&session={}", daemon.folder_copy.history.session.uuid())
        }),
    ];
    for (name, query) in filters {
        measure_search(table, both, name, query, FILTER).await;
    }
    measure_projects(table, both).await;
}

async fn measure_search(
    table: &mut ResultTable,
    both: [&MeasuredDaemon<'_>; 2],
    name: &str,
    query: impl Fn(&MeasuredDaemon<'_>) -> String,
    limits: RowLimits,
) {
    let mut times = [Vec::new(), Vec::new()];
    let began = Instant::now();
    for round in 0..ROUNDS {
        if round > 2 && began.elapsed() > LONG {
            break;
        }
        for (times, daemon) in times.iter_mut().zip(both) {
            let query = query(daemon);
            let began = Instant::now();
            read_rows(daemon, &query).await;
            times.push(began.elapsed());
        }
    }
    table.add_times(name, times, limits);
}

/// Reads pages as the timeline does.
async fn read_rows(daemon: &MeasuredDaemon<'_>, query: &str) {
    let (mut n_rows, mut before) = (0, String::new());
    loop {
        let page = daemon.get(&format!("/api/events?limit=200{query}{before}")).await;
        n_rows += page["events"].as_array().unwrap().len();
        match page["next"].as_u64() {
            Some(next) if n_rows < MIN_ROWS => before = format!("&before={next}"),
            Some(_) | None => return,
        }
    }
}

/// A folder is opened as a project, and its kernel is started by a first action.
async fn measure_projects(table: &mut ResultTable, both: [&MeasuredDaemon<'_>; 2]) {
    let mut opened = [Vec::new(), Vec::new()];
    let mut started = [Vec::new(), Vec::new()];
    for round in 0..KERNEL_STARTS {
        for (number, daemon) in both.into_iter().enumerate() {
            let path = daemon.folder_copy.path().join(format!("new{round}"));
            std::fs::create_dir(&path).unwrap();
            let began = Instant::now();
            let project = daemon.post("/api/projects", json!({ "path": path })).await;
            opened[number].push(began.elapsed());
            let id = project["id"].as_str().unwrap();
            let action = json!({ "action": "fs.stat", "params": { "path": "." } });
            let began = Instant::now();
            daemon.post(&format!("/api/projects/{id}/actions"), action).await;
            started[number].push(began.elapsed());
            daemon.delete(&format!("/api/projects/{id}")).await;
        }
    }
    table.add_times("open a folder as a project", opened, RowLimits::RATIO);
    table.add_times("start of a kernel, with its first action", started, RowLimits::RATIO);
}
