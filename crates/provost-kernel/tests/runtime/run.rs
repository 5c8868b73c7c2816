//! Starting: once, again, concurrently; the log; missing plans.

use serde_json::json;

use super::{Kernel, SERVER, runtime};

#[tokio::test]
async fn what_is_run_is_told_of_and_running_it_again_starts_no_second() {
    let toml = runtime("dev = \"echo up; exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let answer = kernel.run().await.unwrap();
    assert_eq!(answer["started"], true, "{answer}");
    let dev = answer["runtime"]["devServer"].clone();
    assert_eq!((&dev["status"], &dev["why"]), (&json!("running"), &json!("provost.toml says so")));
    let again = kernel.run().await.unwrap();
    assert_eq!(again["started"], false);
    assert_eq!(again["runtime"]["devServer"]["pid"], dev["pid"]);
    let started = kernel.until("started").await;
    assert_eq!((&started["profile"], &started["pid"]), (&json!("serve"), &dev["pid"]));
    assert_eq!(kernel.stop().await["runtime"]["status"], "stopped");
    kernel.until("stopped").await;
    assert_eq!(kernel.changes(), ["starting", "started", "stopping", "stopped"]);
    // A new run, not the old one.
    let anew = kernel.run().await.unwrap();
    assert_ne!(anew["runtime"]["devServer"]["pid"], dev["pid"]);
    kernel.stop().await;
}

#[tokio::test]
async fn of_many_who_run_at_once_one_starts_something() {
    let toml = runtime("dev = \"echo one >> starts; echo up; exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("starts", "")]).await;
    let (a, b, c, d) = tokio::join!(kernel.run(), kernel.run(), kernel.run(), kernel.run());
    let answers = [a, b, c, d].map(Result::unwrap);
    let started = answers.iter().filter(|answer| answer["started"] == true).count();
    assert_eq!(started, 1, "{answers:?}");
    let pids: Vec<_> = answers.iter().map(|a| a["runtime"]["devServer"]["pid"].clone()).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    // It has started; now wait for its output.
    while !kernel.logs(0).await.0.contains("\nup\n") {
        tokio::task::yield_now().await;
    }
    kernel.stop().await;
    assert_eq!(std::fs::read_to_string(kernel.app("starts")).unwrap(), "one\n");
}

#[tokio::test]
async fn a_restart_runs_another_and_a_run_while_stopping_waits() {
    let toml = runtime("dev = \"exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let first = kernel.run().await.unwrap();
    let second = kernel.act("runtime.restart", json!({ "graceMs": 100 })).await.unwrap();
    let pid = |answer: &serde_json::Value| answer["runtime"]["devServer"]["pid"].clone();
    assert_ne!(pid(&first), pid(&second));
    assert_eq!(second["started"], true);
    kernel.until("restarted").await;
    let (stopped, ran) = tokio::join!(kernel.stop(), kernel.run());
    assert_eq!(stopped["runtime"]["project"], "00000000-0000-0000-0000-000000000007");
    let ran = ran.unwrap();
    assert!(ran["started"] == true || pid(&ran) == pid(&second), "{ran}");
    kernel.stop().await;
}

#[tokio::test]
async fn what_is_printed_is_read_by_cursor_across_runs_and_without_secrets() {
    let toml = runtime("dev = \"echo out; echo err >&2; echo key s3cr3t-Value-42; exit 0\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    kernel.until("stopped").await;
    let (first, cursor) = kernel.logs(0).await;
    assert!(first.starts_with("── run: echo out;"), "{first}");
    assert!(first.ends_with("out\nerr\nkey [redacted: KEY]\n"), "{first}");
    kernel.run().await.unwrap();
    kernel.until_nth("stopped", 2).await;
    let (second, end) = kernel.logs(cursor).await;
    assert_eq!(second, first, "the second run, from the cursor on");
    assert_eq!(kernel.logs(0).await, (first + &second, end));
    let kept = kernel.folder.path().join("data/00000000-0000-0000-0000-000000000007/runtime.log");
    assert!(!std::fs::read_to_string(kept).unwrap().contains("s3cr3t"));
    assert!(!kernel.reports.borrow().iter().any(|report| report.to_string().contains("s3cr3t")));
}

#[tokio::test]
async fn nothing_to_run_and_a_broken_file_are_said_in_words() {
    let kernel = Kernel::start(&[]).await;
    let fault = kernel.run().await.unwrap_err();
    assert_eq!(fault["code"], "NOTHING_TO_RUN");
    assert!(fault["message"].as_str().unwrap().contains("provost.toml"), "{fault}");
    let fault = kernel.act("runtime.build", json!({})).await.unwrap_err();
    assert_eq!(fault["code"], "NOTHING_TO_RUN");
    std::fs::write(kernel.app("provost.toml"), "[runtime]\ndev = 3\n").unwrap();
    let fault = kernel.run().await.unwrap_err();
    assert_eq!(fault["code"], "BAD_RUNTIME");
    assert!(fault["message"].as_str().unwrap().starts_with("provost.toml:2:7"), "{fault}");
    assert!(kernel.changes().is_empty());
}

#[tokio::test]
async fn the_environment_of_the_file_is_there_and_a_port_that_is_asked_for() {
    let toml = runtime(
        "dev = \"echo $GREETING $HOST $BROWSER port=$PORT\"\nport = 4711\nenv = { GREETING = \"hi\" }",
    );
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    kernel.until("stopped").await;
    let (text, _) = kernel.logs(0).await;
    assert!(text.ends_with("hi 127.0.0.1 none port=4711\n"), "{text}");
}

#[tokio::test]
async fn an_agent_can_fetch_a_page_of_the_project_and_of_nothing_else() {
    let toml = runtime("dev = \"python3 server.py\"");
    let files = [("provost.toml", &*toml), ("server.py", SERVER), ("page.txt", "s3cr3t-Value-42!")];
    let kernel = Kernel::start(&files).await;
    let fault = kernel.act("preview.fetch", json!({})).await.unwrap_err();
    assert_eq!(fault["code"], "PREVIEW_DOWN");
    kernel.run().await.unwrap();
    kernel.until("previewReady").await;
    let page = kernel.act("preview.fetch", json!({ "path": "/page.txt" })).await.unwrap();
    assert_eq!((&page["status"], &page["content"]), (&json!(200), &json!("[redacted: KEY]!")));
    let missing = kernel.act("preview.fetch", json!({ "path": "/none" })).await.unwrap();
    assert_eq!(missing["status"], 404);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let fault = kernel.act("preview.fetch", json!({ "port": port })).await.unwrap_err();
    assert_eq!(fault["code"], "PREVIEW_DOWN", "not the project's");
    kernel.stop().await;
}

/// A tool cache and the project below one folder of `/tmp`: mounting the one used to
/// hide the other, and nothing could be run.
#[tokio::test]
async fn a_cache_beside_the_project_does_not_hide_it() {
    let toml = runtime(
        "dev = \"pwd; mkdir -p ../home/.npm/_logs && touch made ../home/.npm/_logs/made && echo both\"",
    );
    let kernel = Kernel::start(&[("provost.toml", &toml), ("../home/.npm/_logs/x", "")]).await;
    kernel.run().await.unwrap();
    kernel.until("stopped").await;
    let (text, _) = kernel.logs(0).await;
    assert!(text.ends_with("/app\nboth\n"), "{text}");
    assert!(kernel.app("made").exists());
    // Its home is not the user's.
    assert!(!kernel.app("../home/.npm/_logs/made").exists());
}
