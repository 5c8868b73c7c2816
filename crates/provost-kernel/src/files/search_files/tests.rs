//! The time limit, which no caller can set.

use std::time::{Duration, Instant};

use provost_core::action::{Action, FileAction};
use provost_sandbox::root_dir::RootDir;
use serde_json::json;

use super::*;

#[test]
fn a_search_that_runs_out_of_time_gives_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "needle\n").unwrap();
    let root = RootDir::open(dir.path()).unwrap();
    let parsed = Action::parse("fs.searchFiles", json!({ "pattern": "needle" })).unwrap();
    let Action::File(FileAction::SearchFiles(action)) = parsed else { panic!("another action") };
    let now = Instant::now();
    let until = |deadline| {
        let filter = VisibilityFilter::new(&root, None, RuleEffect::Ask).unwrap();
        run_until(&root, &action, filter, SearchDeadline { deadline, stop: &|| false }).unwrap()
    };
    let found = until(now);
    assert!(found.timed_out && found.truncated && found.matches.is_empty(), "{found:?}");
    let found = until(now + Duration::from_mins(1));
    assert!(!found.timed_out && !found.truncated && found.matches.len() == 1, "{found:?}");
}
