//! `kill -9` of the daemon while a command prints: after a restart every line is in the
//! log exactly once.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Home, Running};

const ROUNDS: usize = 20;
const LINES: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_line_is_in_the_log_once_when_the_daemon_is_killed_while_a_command_prints() {
    let home = Home::new();
    let mut daemon = home.up();
    for round in 0..ROUNDS {
        let command = format!("for ((i = 1; i <= {LINES}; i++)); do echo $i; done");
        let params = json!({ "command": command, "maxOutput": 16 * 1024 * 1024 });
        let id = daemon.start(params).await;
        daemon.until(&id, "running").await;
        // A moment somewhere in the midst: when so many pieces are in the log.
        let random = RandomState::new().build_hasher().finish();
        let pieces = usize::try_from(random % 20).unwrap();
        while printed(&daemon, &id).await.0 < pieces
            && daemon.get(&format!("/api/actions/{id}")).await["status"] == "running"
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        daemon.kill();
        daemon = home.up();
        let action = daemon.until(&id, "finished").await;
        assert_eq!(action["outcome"]["exitCode"], 0, "round {round}: {action}");
        let (_, text) = printed(&daemon, &id).await;
        let lines: Vec<_> = text.lines().collect();
        let wrong = (1..=LINES).zip(&lines).find(|(n, line)| n.to_string() != **line);
        assert_eq!((wrong, lines.len()), (None, LINES), "round {round}");
    }
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

/// How many pieces of output of an action are in the log, and all their text.
async fn printed(daemon: &Running, id: &str) -> (usize, String) {
    let outputs = daemon.events("ACTION_OUTPUT").await;
    let mine = outputs.iter().filter(|body| body["action"] == *id);
    let text = |body: &Value| body["output"]["data"]["text"].as_str().unwrap().to_owned();
    let pieces: Vec<_> = mine.map(text).collect();
    (pieces.len(), pieces.concat())
}
