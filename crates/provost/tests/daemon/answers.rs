//! An answer is valid once, and only for the action that was shown.

use std::fs;

use serde_json::{Value, json};

use super::Home;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_counts_and_a_later_one_changes_nothing() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let asked =
        daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo x >> log" }));
    let open = daemon.wait_for_approvals(1).await;
    let path = format!("/api/approvals/{}", open[0]["id"].as_str().unwrap());
    let answer = |decision| json!({ "decision": decision, "actionHash": open[0]["actionHash"] });
    let (status, _) = daemon.post(&path, &agent, &answer("allow")).await;
    assert_eq!(status, 403, "an agent answers nothing");
    assert_eq!(daemon.post(&path, &daemon.token, &answer("allow")).await.0, 200);
    for late in ["allow", "deny"] {
        let (status, response) = daemon.post(&path, &daemon.token, &answer(late)).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (409, &json!("APPROVAL_RESOLVED")),
            "{response}"
        );
    }
    assert_eq!(asked.await.unwrap().0, 200);
    assert_eq!(fs::read_to_string(home.path("app").join("log")).unwrap(), "x\n", "it ran once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_changed_since_it_was_shown_is_asked_for_again() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let script = home.path("app").join("build.sh");
    fs::write(&script, "echo good > out\n").unwrap();
    let _asked = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "sh build.sh" }));
    let open = daemon.wait_for_approvals(1).await;
    let id = open[0]["id"].as_str().unwrap();
    assert!(home.run_ok(&["approvals", "show", id]).contains("Runs the script `build.sh`"));
    fs::write(&script, "echo evil > out\n").unwrap();
    let printed = home.run_failing(&["approvals", "allow", id, "--yes"], 1);
    assert!(printed.contains("HASH_MISMATCH"), "{printed}");
    let again = daemon.wait_for_approvals(1).await;
    assert_ne!(again[0]["id"].as_str(), Some(id), "it is another question");
    assert_ne!(again[0]["question"]["pins"], open[0]["question"]["pins"]);
    assert!(!home.path("app").join("out").exists(), "nothing ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_the_daemon_and_is_answered_by_the_next() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let _asked = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "touch made" }));
    let open = daemon.wait_for_approvals(1).await;
    daemon.kill();
    let daemon = home.up();
    let after: Value = serde_json::from_str(&home.run_ok(&["approvals", "--json"])).unwrap();
    assert_eq!(after[0], open[0], "it is the same question");
    home.run_ok(&["approvals", "allow", open[0]["id"].as_str().unwrap(), "--yes"]);
    daemon.until(open[0]["action"].as_str().unwrap(), "finished").await;
    assert!(home.path("app").join("made").exists());
}
