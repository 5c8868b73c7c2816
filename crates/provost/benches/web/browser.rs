//! The page in a real browser, driven by `web/scripts/bench-page.mjs`.

use std::path::Path;

use provost_sandbox::launch;
use serde_json::{Value, json};

use crate::subject::Daemon;
use crate::table::{Limits, Table};

const OPEN: Limits = Limits::RATIO;
const TRANSFERRED: Limits = Limits::at_most(400.0);
const HEAP: Limits = Limits::at_most(40.0);

pub(crate) async fn measure(table: &mut Table, both: [&Daemon<'_>; 2]) {
    let mut subjects = Vec::new();
    for daemon in both {
        let link = daemon.post("/api/login-links", json!({})).await;
        let history = &daemon.subject.history;
        subjects.push(json!({
            "origin": format!("http://{}", daemon.address),
            "login": link["path"],
            "slug": history.project.slug,
            "session": history.session.uuid(),
        }));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/scripts/bench-page.mjs");
    let args = [script.to_str().unwrap().to_owned(), Value::from(subjects).to_string()];
    let output = launch::run_and_capture(Path::new("node"), &args).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser failed: {error}");
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, key, unit, limits) in [
        ("page: open to interactive", "openMs", "ms", OPEN),
        ("page: transferred after the assets", "kilobytes", "KB", TRANSFERRED),
        ("page: JavaScript heap", "heapMegabytes", "MB", HEAP),
        ("page: open a project", "projectMs", "ms", Limits::RATIO),
        ("page: open a session", "sessionMs", "ms", Limits::RATIO),
    ] {
        let values = [&results[0], &results[1]].map(|result| result[key].as_f64().unwrap());
        table.add(name, unit, values, limits);
    }
}
