//! Leaving `provost chat` before the answer cancels the turn it started, and no other.

use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts};

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

fn slowly(words: usize) -> FakeReply {
    let mut slow = FakeCompletion::from_text(&"word\nword ".repeat(words));
    slow.pace = Duration::from_millis(10);
    FakeReply::Completion(slow)
}

/// Runs lines of a shell in which `chat` is `provost chat`, and returns the exit status.
async fn shell(home: &Home, lines: &str) -> i32 {
    let mut bash = assert_cmd::Command::new("/bin/bash");
    let chat = format!("chat() {{ exec {} chat \"$@\"; }}", env!("CARGO_BIN_EXE_provost"));
    bash.args(["-c", &format!("{chat}\n{lines}")]).env_clear().env("PATH", "/usr/bin:/bin");
    bash.env("HOME", home.folder.path()).env("PROVOST_DATA", home.data()).timeout(LONG);
    bash.current_dir(home.folder.path());
    let output = tokio::task::spawn_blocking(move || bash.output().unwrap()).await.unwrap();
    output.status.code().unwrap()
}

/// Waits for the first output, ends the command by a signal, and exits with its status.
fn signalled(by: &str, args: &str) -> String {
    format!(
        "chat {args} > heard 2> notices & pid=$!\nuntil grep -q word heard; do sleep 0.02; done\n\
         kill -{by} $pid; wait $pid"
    )
}

impl Running {
    async fn only_session(&self) -> String {
        let list = self.get("/api/sessions").await;
        list["sessions"][0]["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_ended_ends_its_turn_and_tells_the_status_of_its_signal() {
    for (by, status) in [("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        for more in ["-p Tell", "--json -p Tell"] {
            let home = Home::new();
            let model = FakeModelServer::start_with_replies(vec![slowly(5000)]).await.unwrap();
            let daemon = home.with_model(&model, ALL[1], "");
            let ended = shell(&home, &signalled(by, &format!("--project app {more}"))).await;
            assert_eq!(ended, status, "{by} {more}");
            let notices = std::fs::read_to_string(home.path("notices")).unwrap();
            assert_eq!(notices, "The turn was cancelled.\n", "{by} {more}");
            daemon.turn_end(&daemon.only_session().await, "cancelled").await;
            model.wait_until_idle().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_reader_has_seen_enough_ends_its_turn() {
    for more in ["-p Tell", "--json -p Tell"] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![slowly(5000)]).await.unwrap();
        let daemon = home.with_model(&model, ALL[1], "");
        let line = format!("chat --project app {more} | head -1\nexit ${{PIPESTATUS[0]}}");
        assert_eq!(shell(&home, &line).await, 141, "{more}");
        daemon.turn_end(&daemon.only_session().await, "cancelled").await;
        model.wait_until_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_told_to_outlive_its_terminal_goes_on() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![slowly(40)]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let line = format!("trap '' HUP\n{}", signalled("HUP", "--project app -p Tell"));
    assert_eq!(shell(&home, &line).await, 0);
    daemon.turn_end(&daemon.only_session().await, "finished").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_a_message_waits_ends_no_other_turn_and_heard_none_of_it() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![slowly(100)]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Begin.").await;
    let waits = |now: &Value| now["session"]["queued"].as_array().unwrap().len() == 1;
    let line = format!(
        "chat --session {session} -p Tell > heard 2> notices & pid=$!\nread -r < go\nkill $pid; wait $pid"
    );
    let go = home.path("go");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &go, kind, 0o600.into(), 0).unwrap();
    let waiting = async {
        daemon.session_until(&session, waits).await;
        tokio::task::spawn_blocking(move || std::fs::write(go, "go\n")).await.unwrap().unwrap();
    };
    let (status, ()) = tokio::join!(shell(&home, &line), waiting);
    assert_eq!(status, 143);
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap(), "");
    let notices = std::fs::read_to_string(home.path("notices")).unwrap();
    assert_eq!(notices, "Your message was withdrawn.\n");
    let over = |now: &Value| {
        let is_over = now["session"]["status"] == "idle" && !waits(now);
        is_over && texts(now).contains(&"word\nword ".repeat(100))
    };
    daemon.session_until(&session, over).await;
    assert_eq!(model.received_requests().len(), 1, "nobody asked for the one who was gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_hangs_up_ends_the_turn_of_its_conversation() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![slowly(5000)]).await.unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    // The terminal is that of `script`, and goes with it.
    let line = format!(
        "mkfifo keys; exec 3<> keys\nscript -qfec 'exec {} chat --project app' shown <&3 > out & pid=$!\n\
         until grep -q '> ' shown; do sleep 0.02; done; echo Tell >&3\n\
         until grep -q word shown; do sleep 0.02; done; kill -KILL $pid; wait $pid; exit 0",
        env!("CARGO_BIN_EXE_provost")
    );
    assert_eq!(shell(&home, &line).await, 0);
    daemon.turn_end(&daemon.only_session().await, "cancelled").await;
    model.wait_until_idle().await;
}
