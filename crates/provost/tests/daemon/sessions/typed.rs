//! What a person types in `provost chat` while something goes on.

use std::time::Duration;

use provost_fake_model::{Answer, FakeModel, Reply};

use super::chat::{chat, said};
use super::{ALL, Home};

fn slowly() -> Answer {
    let mut slow = Answer::text(&"word ".repeat(3000));
    slow.pace = Duration::from_millis(10);
    slow
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_taken_back_during_the_turn_and_told_to_who_leaves() {
    let home = Home::new();
    let model = FakeModel::replying(vec![Reply::Say(slowly())]).await.unwrap();
    let _daemon = home.with_model(&model, ALL[1], "");
    let steps = &[
        ("> ", "Tell me.\n"),
        ("word word", "/drop\n"),
        ("Nothing waits.", "/cost\n"),
        ("0 tokens in", "And then?\n"),
        ("It waits for the end", "/drop\n"),
        ("taken back: And then?", ""),
        ("Nothing waits any more.", "And now?\n"),
        ("It waits for the end", "/quit\n"),
        ("The turn goes on.", ""),
        ("not sent: And now?", ""),
    ];
    let ended = chat(&home, "--project app", steps).await;
    assert!(ended.status.success(), "{}", said(&ended));
    assert!(!said(&ended).contains("not sent: And then?"));
}
