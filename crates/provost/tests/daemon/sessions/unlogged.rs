//! A completion whose end cannot be appended is not lost: it is in the log before the next one.

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::json;

use super::{ALL, Home, texts};

/// Lets appends of what a model said fail, as if the disk were full.
const FAIL: &str = "CREATE TRIGGER full BEFORE INSERT ON events
    WHEN instr(CAST(NEW.record AS TEXT), '\"from\":\"assistant\"') > 0
    BEGIN SELECT RAISE(ABORT, 'no space'); END";

#[derive(Clone, Copy, PartialEq)]
enum NextReply {
    SameDaemon,
    NewDaemon,
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_could_not_be_appended_is_in_the_log_before_the_next_answer() {
    for next in [NextReply::SameDaemon, NextReply::NewDaemon] {
        let home = Home::new();
        let reply = |text| FakeReply::Completion(FakeCompletion::from_text(text));
        let replies = vec![reply("The first answer."), reply("The second answer.")];
        let model = FakeModelServer::start_with_replies(replies).await.unwrap();
        let mut daemon = home.with_model(&model, ALL[1], "");
        let session = daemon.session(json!({})).await;
        let db = rusqlite::Connection::open(home.data().join("log.db")).unwrap();
        db.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        db.execute_batch(FAIL).unwrap();
        daemon.send_message(&session, "One?").await;
        let failed = daemon.turn_end(&session, "failed").await;
        assert_eq!(texts(&failed), ["One?"]);
        db.execute_batch("DROP TRIGGER full").unwrap();
        drop(db);
        if next == NextReply::NewDaemon {
            daemon.kill();
            daemon = home.up();
        }
        daemon.send_message(&session, "Two?").await;
        let detail = daemon.turn_end(&session, "finished").await;
        assert_eq!(texts(&detail), ["One?", "The first answer.", "Two?", "The second answer."]);
        let usage = daemon.get("/api/usage").await;
        assert_eq!(usage["rows"][0]["calls"], 2, "{usage}");
        let journals = std::fs::read_dir(home.data().join("drafts")).unwrap();
        assert_eq!(journals.count(), 0);
        home.run_ok(&["audit", "verify"]);
    }
}
