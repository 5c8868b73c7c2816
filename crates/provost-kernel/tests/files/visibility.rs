//! Paths that are omitted for a caller with restricted visibility.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use provost_core::action::Action;
use provost_core::policy::PathVisibility;
use provost_kernel::files;
use provost_proto::kernel::VisibilityRule;
use serde_json::{Value, json};

use crate::Project;

fn limit(effect: &str, path: &[&str]) -> VisibilityRule {
    let path = path.iter().map(ToString::to_string).collect();
    let (id, layer, effect) = (effect.to_owned(), "user".to_owned(), effect.to_owned());
    VisibilityRule { id, layer, effect, path, except: vec!["**/ok.key".to_owned()] }
}

fn project() -> Project {
    let project = Project::with(&[
        ("a.txt", "needle\n"),
        ("keys/server.key", "needle\n"),
        ("keys/ok.key", "needle\n"),
        ("drafts/x.txt", "needle\n"),
        ("deep/drafts/y.txt", "needle\n"),
    ]);
    symlink("keys", project.at("k")).unwrap();
    symlink("keys/server.key", project.at("notes.txt")).unwrap();
    project
}

fn run_limited(project: &Project, name: &str, params: Value) -> Value {
    let limits = [limit("deny", &["keys/**"]), limit("ask", &["**/drafts/**"])];
    let visibility = PathVisibility::new(&limits).unwrap();
    let Action::File(action) = Action::parse(name, params).unwrap() else { panic!("{name}") };
    files::execute_with_visibility(&project.root, &action, Some(&visibility), &|| false).unwrap()
}

fn paths(answer: &Value, of: &str) -> Vec<String> {
    let path = |one: &Value| one["path"].as_str().unwrap().to_owned();
    answer[of].as_array().unwrap().iter().map(path).collect()
}

#[test]
fn a_search_shows_nothing_of_what_could_not_be_read() {
    let project = project();
    for (path, found, left_out) in [
        (".", vec!["a.txt", "keys/ok.key"], 3),
        ("keys", vec!["keys/ok.key"], 1),
        // A link is no way around, to a folder or to a file.
        ("k", vec!["k/ok.key"], 1),
        ("notes.txt", vec![], 1),
        ("keys/server.key", vec![], 1),
        ("a.txt", vec!["a.txt"], 0),
    ] {
        let params = json!({ "pattern": "needle", "path": path });
        let answer = run_limited(&project, "fs.searchFiles", params);
        assert_eq!(paths(&answer, "matches"), found, "{path}: {answer}");
        assert_eq!(answer["leftOut"]["count"], left_out, "{path}: {answer}");
    }
    let all = run_limited(&project, "fs.searchFiles", json!({ "pattern": "needle" }));
    let why = json!(["ask by rule `ask` (your policy)", "deny by rule `deny` (your policy)"]);
    assert_eq!(all["leftOut"]["why"], why);
    // Without restrictions nothing is reported.
    let free = project.done("fs.searchFiles", json!({ "pattern": "needle" }));
    assert_eq!((paths(&free, "matches").len(), free.get("leftOut")), (5, None));
}

#[test]
fn a_listing_leaves_out_what_is_denied_and_names_what_asks() {
    let project = project();
    let all = run_limited(&project, "fs.listFiles", json!({ "path": ".", "depth": 3 }));
    let names = paths(&all, "entries");
    assert!(!names.iter().any(|name| name == "keys" || name == "keys/server.key"), "{names:?}");
    assert!(names.iter().any(|name| name == "keys/ok.key"), "{names:?}");
    assert!(names.iter().any(|name| name == "drafts/x.txt"), "{names:?}");
    assert_eq!(all["leftOut"]["count"], 2, "{all}");
    let linked = run_limited(&project, "fs.listFiles", json!({ "path": "k" }));
    assert_eq!(paths(&linked, "entries"), ["k/ok.key"]);
}

/// A folder is swapped for a link to a denied one while the search runs.
#[test]
fn a_link_that_is_swapped_in_shows_nothing() {
    let project = Project::with(&[("keys/a", "needle\n"), ("dd/a", "harmless\n")]);
    symlink("dd", project.at("d")).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for to in ["keys", "dd"] {
                    symlink(to, project.at("tmp")).unwrap();
                    std::fs::rename(project.at("tmp"), project.at("d")).unwrap();
                }
            }
        });
        let shown = (0..2000).any(|_| {
            let params = json!({ "pattern": "needle", "path": "d/a" });
            !paths(&run_limited(&project, "fs.searchFiles", params), "matches").is_empty()
        });
        over.store(true, Ordering::Relaxed);
        assert!(!shown);
    });
}
