//! The page in a real browser, driven by `web/scripts/bench-page.mjs`.

use std::path::Path;

use provost_sandbox::launch;
use serde_json::{Value, json};

use crate::measured_daemon::MeasuredDaemon;
use crate::table::{ResultTable, RowLimits};

const OPEN: RowLimits = RowLimits::RATIO;
const TRANSFERRED: RowLimits = RowLimits::at_most(400.0);
const HEAP: RowLimits = RowLimits::at_most(40.0);

pub(crate) async fn measure(table: &mut ResultTable, both: [&MeasuredDaemon<'_>; 2]) {
    let mut copies = Vec::new();
    for daemon in both {
        let link = daemon.post("/api/login-links", json!({})).await;
        let history = &daemon.folder_copy.history;
        copies.push(json!({
            "origin": format!("http://{}", daemon.address),
            "login": link["path"],
            "slug": history.project.slug,
            "session": history.session.uuid(),
        }));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/scripts/bench-page.mjs");
    let args = [script.to_str().unwrap().to_owned(), Value::from(copies).to_string()];
    let output = launch::run_and_capture(Path::new("node"), &args).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser failed: {error}");
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, key, unit, limits) in [
        ("page: open to interactive", "openMs", "ms", OPEN),
        ("page: transferred after the assets", "kilobytes", "KB", TRANSFERRED),
        ("page: JavaScript heap", "heapMegabytes", "MB", HEAP),
        ("page: open a project", "projectMs", "ms", RowLimits::RATIO),
        ("page: open a session", "sessionMs", "ms", RowLimits::RATIO),
    ] {
        let values = [&results[0], &results[1]].map(|result| result[key].as_f64().unwrap());
        table.add(name, unit, values, limits);
    }
}
