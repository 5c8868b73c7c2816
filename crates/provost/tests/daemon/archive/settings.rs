//! `[log_archive]`: the daemon archives by itself, by age and by size.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::time::{Duration, Instant};

use provost_store::Clock;
use serde_json::Value;

use super::{fill_at, printed_events, segment_files};
use crate::Home;

const DAY_MICROS: u64 = 24 * 60 * 60 * 1_000_000;

/// A home whose configuration has this section, and a data folder without a log.
fn home_with(section: &str) -> Home {
    let home = Home::new();
    let folder = home.path(".config/provost");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("[log_archive]\n{section}\n")).unwrap();
    fs::DirBuilder::new().mode(0o700).create(home.data()).unwrap();
    home
}

/// A clock that stands still, so many days ago.
fn days_ago(days: u64) -> Clock {
    let at = Clock::system().now() - days * DAY_MICROS;
    Clock::from_fn(move || at)
}

/// The last events of the segments, once the daemon has made some and has finished.
fn wait_for_segments(home: &Home) -> Vec<u64> {
    let limit = Instant::now() + Duration::from_mins(1);
    let list =
        || -> Value { serde_json::from_str(&home.run_ok(&["log", "segments", "--json"])).unwrap() };
    while list()["segments"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < limit, "the daemon archived nothing");
    }
    // Archives take turns: when this one has found nothing to do, the daemon's has ended.
    let said = home.run_ok(&["log", "archive", "--before", "2001-01-01"]);
    assert!(said.contains("Nothing to archive"), "{said}");
    let segments = list()["segments"].as_array().unwrap().clone();
    segments.iter().map(|segment| segment["last"].as_u64().unwrap()).collect()
}

/// Everything is found as before, and the daemon itself archived it.
fn assert_complete(home: &Home, n_filled: usize) {
    let events = printed_events(home);
    let numbers = events.iter().map(|event| event["seq"].as_u64().unwrap());
    assert!(numbers.eq(1..=u64::try_from(events.len()).unwrap()), "{} events", events.len());
    assert_eq!(events[n_filled - 1]["kind"], "DAEMON_STOPPED", "{}", events[n_filled - 1]);
    assert_ne!(events[n_filled]["kind"], "DAEMON_STOPPED", "{}", events[n_filled]);
    let archived: Vec<_> = events.iter().filter(|event| event["kind"] == "LOG_ARCHIVED").collect();
    assert_eq!(archived.len(), segment_files(home).len());
    for event in archived {
        assert_eq!(event["actor"], "daemon", "{event}");
    }
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_an_age_are_archived_by_the_daemon_and_younger_ones_are_not() {
    let home = home_with("age_days = 3");
    fill_at(&home, days_ago(5), 8_300).await;
    fill_at(&home, days_ago(1), 8_300).await;
    home.up();
    // Whole blocks of 512 events.
    assert_eq!(wait_for_segments(&home), [8_192]);
    assert_complete(&home, 16_600);
    // A daemon that is started again finds nothing more.
    home.running().kill();
    home.up();
    assert_eq!(wait_for_segments(&home), [8_192]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oldest_events_of_a_large_log_are_archived_by_the_daemon_and_the_newest_are_not() {
    let home = home_with("size_mib = 1");
    fill_at(&home, days_ago(1), 17_500).await;
    home.up();
    // The newest 8192 stay, however large the log is.
    assert_eq!(wait_for_segments(&home), [9_216]);
    assert_complete(&home, 17_500);
}
