//! Budgets in dollars, context windows, and guide files of folders.

use std::fs;
use std::time::Duration;

use provost_fake_model::{FakeCompletion, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::{ALL, Home, Running, texts};

/// What an answer may cost at most with this price: more than 16 cents, of which what
/// is asked is a few.
const PRICES: &str = "as_of = \"2001-02-03\"\nsource = \"a test\"\n[[model]]\nname = \"fake/model-1\"\ninput = 10.0\noutput = 10.0\ncontext = 1000\n";

impl Home {
    /// A daemon whose model has a price.
    fn with_prices(&self, model: &FakeModelServer, more: &str) -> Running {
        fs::create_dir_all(self.path(".config/provost")).unwrap();
        fs::write(self.path(".config/provost/prices.toml"), PRICES).unwrap();
        self.with_model(model, ALL[1], &format!("prices = \"prices.toml\"\n{more}"))
    }
}

fn fault(detail: &Value) -> (String, String) {
    let fault = &detail["session"]["turn"]["fault"];
    let text = |name: &str| fault[name].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prices_are_of_the_day_of_the_table_in_which_they_stand() {
    let home = Home::new();
    let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
        FakeCompletion::from_text("Hi."),
    )])
    .await
    .unwrap();
    let daemon = home.with_prices(&model, "");
    let built_in = daemon.get("/api/usage").await["pricesAsOf"].clone();
    assert_ne!(built_in, "2001-02-03");
    home.run_ok(&["chat", "--project", "app", "-p", "Hello"]);
    let usage = home.run_ok(&["usage"]);
    assert!(usage.contains("Prices as of 2001-02-03."), "{usage}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_in_dollars_is_kept_by_session_project_and_day_before_anything_is_spent() {
    let table = [
        ("", json!({ "budget": { "nanos": 5_000_000 } }), "this session is $0.0050"),
        ("[budget]\nsession_usd = 0.005\n", json!({}), "this session is $0.0050"),
        ("[budget]\nproject_usd = 0.005\n", json!({}), "this project is $0.0050"),
        ("[budget]\nday_usd = 0.005\n", json!({}), "today is $0.0050"),
        ("", json!({ "budget": { "tokens": 300 } }), "300 tokens remain"),
    ];
    for (more, wanted, scope) in table {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
            FakeCompletion::from_text("Hi."),
        )])
        .await
        .unwrap();
        let daemon = home.with_prices(&model, more);
        let session = daemon.session(wanted).await;
        daemon.send_message(&session, "Hello").await;
        let (code, message) = fault(&daemon.turn_end(&session, "failed").await);
        assert_eq!(code, "BUDGET_EXCEEDED", "{more}");
        assert!(message.contains(scope), "{more}: {message}");
        assert!(message.contains(" remain, and the next answer needs at least "), "{message}");
        assert!(model.received_requests().is_empty(), "{more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_budget_makes_the_answer_shorter_before_it_makes_it_impossible() {
    // What is asked has a few thousand tokens, each of a thousandth of a cent.
    for (more, wanted) in [
        ("", json!({ "budget": { "nanos": 100_000_000 } })),
        ("[budget]\nday_usd = 0.1\n", json!({})),
        ("", json!({ "budget": { "tokens": 10_000 } })),
    ] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![FakeReply::Completion(
            FakeCompletion::from_text("Hi."),
        )])
        .await
        .unwrap();
        let daemon = home.with_prices(&model, more);
        let session = daemon.session(wanted).await;
        daemon.send_message(&session, "Hello").await;
        daemon.turn_end(&session, "finished").await;
        let body = model.received_requests()[0].body.clone();
        let most = body["max_tokens"].as_u64().unwrap();
        let asked = u64::try_from(body.to_string().len()).unwrap() / 4;
        assert!((256..10_000 - asked).contains(&most), "{most} with {asked} asked, {more}");
    }
}

/// A reply that streams for a while and reports this usage.
fn slow(n_words: usize, tokens: (u64, u64)) -> FakeReply {
    let mut answer = FakeCompletion::from_text(&"word ".repeat(n_words));
    answer.pace = Duration::from_millis(10);
    (answer.tokens.input, answer.tokens.output) = tokens;
    FakeReply::Completion(answer)
}

async fn eight_at_once(daemon: &Running) -> Vec<String> {
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(daemon.session(json!({})).await);
    }
    for session in &sessions {
        daemon.send_message(session, "Tell me.").await;
    }
    sessions
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_at_once_wait_for_each_other_where_all_of_them_fit() {
    for scope in ["day", "project"] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![slow(30, (100, 20))]).await.unwrap();
        // At 10 dollars for a million tokens, not even three of them could be asked at once.
        let daemon = home.with_prices(&model, &format!("[budget]\n{scope}_usd = 0.06\n"));
        let sessions = eight_at_once(&daemon).await;
        for session in &sessions {
            let over = |now: &Value| now["session"]["turn"]["status"] != "running";
            let detail = daemon.session_until(session, over).await;
            assert_eq!(detail["session"]["turn"]["status"], "finished", "{scope}: {detail:#}");
            assert_eq!(detail["session"]["cost"], 1_200_000, "{detail:#}");
        }
        // And what was spent is known to the next daemon.
        daemon.kill();
        let daemon = home.up();
        assert_eq!(daemon.get("/api/usage").await["cost"], 8 * 1_200_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_at_once_never_spend_more_than_there_is() {
    for scope in ["day", "project"] {
        let home = Home::new();
        let model = FakeModelServer::start_with_replies(vec![slow(20, (1000, 20))]).await.unwrap();
        let daemon = home.with_prices(&model, &format!("[budget]\n{scope}_usd = 0.06\n"));
        let sessions = eight_at_once(&daemon).await;
        let mut n_finished = 0;
        for session in &sessions {
            let over = |now: &Value| now["session"]["turn"]["status"] != "running";
            let detail = daemon.session_until(session, over).await;
            if detail["session"]["turn"]["status"] == "finished" {
                n_finished += 1;
                continue;
            }
            let (code, message) = fault(&detail);
            assert_eq!(code, "BUDGET_EXCEEDED");
            assert!(message.contains(if scope == "day" { "today" } else { scope }), "{message}");
        }
        let spent = daemon.get("/api/usage").await["cost"].as_u64().unwrap();
        assert_eq!(spent, n_finished * 10_200_000);
        assert!((2..=5).contains(&n_finished), "{n_finished} answers, {spent} nanos");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_summarized_before_it_fills_its_model() {
    let home = Home::new();
    let mut full = FakeCompletion::from_text("First answer.");
    (full.tokens.input, full.tokens.output) = (790, 20);
    let replies = vec![
        FakeReply::Completion(full),
        FakeReply::Completion(FakeCompletion::from_text("SUMMARY")),
        FakeReply::Completion(FakeCompletion::from_text("Second answer.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    let daemon = home.with_prices(&model, "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "One.").await;
    daemon.turn_end(&session, "finished").await;
    daemon.send_message(&session, "Two.").await;
    daemon.session_until(&session, |now| texts(now).len() == 4).await;
    // The model holds 1000 tokens, of which 810 were used.
    assert_eq!(daemon.events("SESSION_COMPACTED").await.len(), 1);
    assert!(model.received_requests()[2].body.to_string().contains("SUMMARY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_folder_says_is_told_when_the_model_touches_it() {
    let home = Home::new();
    let replies = vec![
        FakeReply::Completion(FakeCompletion::from_tool_call(
            "c",
            "fs_readFile",
            json!({ "path": "web/app/x.ts" }),
        )),
        FakeReply::Completion(FakeCompletion::from_text("Read.")),
    ];
    let model = FakeModelServer::start_with_replies(replies).await.unwrap();
    fs::create_dir_all(home.path("app/web/app")).unwrap();
    fs::write(home.path("app/web/app/x.ts"), "let x\n").unwrap();
    fs::write(home.path("app/web/CLAUDE.md"), "Semicolons everywhere.\n").unwrap();
    fs::write(home.path("app/web/app/GEMINI.md"), "No semicolons here.\n").unwrap();
    let daemon = home.with_model(&model, ALL[1], "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Read it.").await;
    daemon.turn_end(&session, "finished").await;
    let asked: Vec<String> =
        model.received_requests().iter().map(|one| one.body.to_string()).collect();
    assert!(asked[0].contains("Use tabs.") && asked[0].contains("web/CLAUDE.md"));
    assert!(!asked[0].contains("emicolons"), "{}", asked[0]);
    assert!(asked[1].contains("Use tabs.") && asked[1].contains("No semicolons here."));
    assert!(!asked[1].contains("Semicolons everywhere."), "the nearest wins: {}", asked[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_stopped_is_paid_by_an_estimate() {
    let home = Home::new();
    let mut slow = FakeCompletion::from_text(&"word ".repeat(2000));
    slow.pace = Duration::from_millis(10);
    let model =
        FakeModelServer::start_with_replies(vec![FakeReply::Completion(slow)]).await.unwrap();
    let daemon = home.with_prices(&model, "");
    let session = daemon.session(json!({})).await;
    daemon.send_message(&session, "Tell me.").await;
    daemon.session_until(&session, |now| now["draft"].to_string().contains("word word")).await;
    let path = format!("/api/sessions/{session}/cancel");
    daemon.post(&path, &daemon.token, &json!({})).await;
    let ended = daemon.turn_end(&session, "cancelled").await;
    let cost = ended["session"]["cost"].as_u64().unwrap();
    let output = ended["session"]["usage"]["output"].as_u64().unwrap();
    assert!(cost > 0 && output > 0, "{}", ended["session"]);
}
