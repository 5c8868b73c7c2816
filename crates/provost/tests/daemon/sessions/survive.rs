//! `kill -9` of the daemon in the midst of a turn.

use std::fs;
use std::time::Duration;

use provost_fake_model::{Answer, FakeModel, Reply};
use serde_json::{Value, json};

use super::{ALL, Home, texts, tools};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_streamed_is_shown_and_the_turn_can_be_gone_on_with() {
    let home = Home::new();
    let mut slow = Answer::text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let replies = vec![Reply::Say(slow), Reply::Say(Answer::text("and the end."))];
    let model = FakeModel::replying(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[2], "");
    let session = daemon.session(json!({})).await;
    daemon.say(&session, "Tell me.").await;
    let long = |now: &Value| now["draft"]["text"].as_str().is_some_and(|text| text.len() > 100);
    let seen = daemon.session_until(&session, long).await;
    daemon.kill();

    let daemon = home.up();
    let detail = daemon.turn_end(&session, "interrupted").await;
    assert_eq!(detail["session"]["status"], "interrupted");
    let said = texts(&detail);
    assert!(said[1].starts_with(seen["draft"]["text"].as_str().unwrap()), "{said:?}");
    let path = format!("/api/sessions/{session}/continue");
    assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 202);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "and the end.");
    let asked = model.received();
    assert!(asked.last().unwrap().body.to_string().contains("Go on from where you stopped"));
    assert_eq!(daemon.post(&path, &daemon.token, &json!({})).await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_stays_open_and_the_turn_goes_on_when_it_is_answered() {
    let home = Home::new();
    let replies = vec![
        Reply::Say(Answer::call(
            "c1",
            "terminal_runCommand",
            json!({ "command": "echo x >> log" }),
        )),
        Reply::Say(Answer::text("Done.")),
    ];
    let model = FakeModel::replying(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[0], "");
    let session = daemon.session(json!({})).await;
    daemon.say(&session, "Do it.").await;
    let open = daemon.questions(1).await;
    daemon.kill();

    let daemon = home.up();
    assert_eq!(daemon.questions(1).await[0]["id"], open[0]["id"]);
    home.says(&["approvals", "allow", open[0]["id"].as_str().unwrap(), "--yes"]);
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "Done.");
    assert_eq!(tools(&detail)[0]["result"]["status"], "ok", "{detail:#}");
    assert_eq!(fs::read_to_string(home.path("app/log")).unwrap(), "x\n", "it ran once");
    assert_eq!(model.received().len(), 2, "the model was not asked again for what it had said");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_runs_is_followed_to_its_end_and_never_run_twice() {
    let home = Home::new();
    let command = "echo begun >> log; until [ -e go ]; do sleep 0.02; done; echo the end";
    let replies = vec![
        Reply::Say(Answer::call("c1", "terminal_runCommand", json!({ "command": command }))),
        Reply::Say(Answer::text("It ran.")),
    ];
    let model = FakeModel::replying(replies).await.unwrap();
    let daemon = home.with_model(&model, ALL[3], "");
    home.says(&["mode", "full", "--minutes", "5", "--project", "app"]);
    let session = daemon.session(json!({})).await;
    daemon.say(&session, "Run it.").await;
    let runs = daemon.session_until(&session, |now| tools(now).len() == 1).await;
    daemon.until(tools(&runs)[0]["action"].as_str().unwrap(), "running").await;
    daemon.kill();

    let daemon = home.up();
    fs::write(home.path("app/go"), "").unwrap();
    let detail = daemon.turn_end(&session, "finished").await;
    assert_eq!(texts(&detail).last().unwrap(), "It ran.");
    let output = tools(&detail)[0]["result"]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("exit code 0") && output.contains("the end"), "{output}");
    assert_eq!(fs::read_to_string(home.path("app/log")).unwrap(), "begun\n", "it ran once");
    assert!(model.received()[1].body.to_string().contains("the end"));
}
