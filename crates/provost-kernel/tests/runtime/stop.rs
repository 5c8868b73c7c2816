//! Stopping: when it returns, no process is left.

use std::path::Path;

use serde_json::json;

use super::{Kernel, runtime};

/// Processes of the project: those whose working directory it is.
fn alive(app: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == app))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

async fn until_printed(kernel: &Kernel, what: &str) {
    while !kernel.logs(0).await.0.contains(what) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stubborn_tree_and_all_who_left_it_are_dead_when_stop_is_answered() {
    let script = "trap '' TERM HUP INT\n\
        for i in $(seq 1 20); do (trap '' TERM; exec sleep 1000) & done\n\
        for i in $(seq 1 10); do setsid sleep 1000 & done\n\
        for i in $(seq 1 10); do (setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &) ; done\n\
        echo all there\nwhile true; do sleep 1; done\n";
    let toml = runtime("dev = \"sh tree.sh\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("tree.sh", script)]).await;
    kernel.run().await.unwrap();
    until_printed(&kernel, "all there\n").await;
    let app = kernel.app("").canonicalize().unwrap();
    while alive(&app).len() < 50 {
        tokio::task::yield_now().await;
    }
    let stopped = kernel.act("runtime.stop", json!({ "graceMs": 50 })).await.unwrap();
    assert_eq!(alive(&app), Vec::<String>::new(), "left behind");
    assert_eq!(stopped["runtime"]["status"], "stopped");
    assert_eq!(stopped["runtime"]["devServer"]["pid"], json!(null));
}

#[tokio::test]
async fn all_get_the_grace_and_not_only_who_started_them() {
    let script = "trap 'sleep 0.5; echo saved > saved; exit' TERM\necho all there\n\
                  while :; do sleep 0.05; done\n";
    let toml = runtime("dev = \"sh saves.sh & wait\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("saves.sh", script)]).await;
    kernel.run().await.unwrap();
    until_printed(&kernel, "all there\n").await;
    kernel.act("runtime.stop", json!({ "graceMs": 30_000 })).await.unwrap();
    assert!(kernel.app("saved").exists(), "it was killed while it saved");
    assert_eq!(alive(&kernel.app("").canonicalize().unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn who_obeys_is_gone_before_its_grace_is_over() {
    let script = "for i in $(seq 1 49); do sleep 1000 & done\necho all there\nwait\n";
    let toml = runtime("dev = \"sh tree.sh\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("tree.sh", script)]).await;
    kernel.run().await.unwrap();
    until_printed(&kernel, "all there\n").await;
    let began = std::time::Instant::now();
    kernel.act("runtime.stop", json!({ "graceMs": 30_000 })).await.unwrap();
    assert!(began.elapsed().as_secs() < 20, "it waited for the grace period");
    assert_eq!(alive(&kernel.app("").canonicalize().unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn stopping_what_does_not_run_is_done_at_once_and_says_nothing() {
    let kernel = Kernel::start(&[]).await;
    assert_eq!(kernel.stop().await["runtime"]["status"], "stopped");
    assert!(kernel.changes().is_empty());
}

#[tokio::test]
async fn a_kernel_that_ends_leaves_nothing_behind() {
    let toml = runtime("dev = \"sleep 1000 & sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    let app = kernel.app("").canonicalize().unwrap();
    while alive(&app).len() < 2 {
        tokio::task::yield_now().await;
    }
    kernel.ask("shutdown", json!({})).await;
    assert_eq!(alive(&app), Vec::<String>::new());
}
