//! Handoffs and their budgets.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use provost_fake_model::{FakeCompletion, FakeCompletionPart, FakeModelServer, FakeReply};
use serde_json::{Value, json};

use super::{ALL, Home, Running, call};

/// Two more roles, so that a task can be handed on and on.
const ROLES: [(&str, &str); 2] =
    [("reader", "You are the reader."), ("clerk", "You are the clerk.")];

impl Home {
    fn with_roles(&self, model: &FakeModelServer, more: &str) -> Running {
        fs::create_dir_all(self.path("app/.provost/roles")).unwrap();
        for (name, text) in ROLES {
            let role =
                format!("---\nname: {name}\ndescription: Reads.\nskills: [fs.read]\n---\n{text}\n");
            fs::write(self.path(&format!("app/.provost/roles/{name}.md")), role).unwrap();
        }
        self.with_model(model, ALL[1], more)
    }
}

fn handoffs(role: &str, n: usize) -> FakeCompletion {
    let task = |n: usize| json!({ "role": role, "task": format!("Part {n}.") });
    FakeCompletion::new((0..n).map(|n| call(&format!("h{n}"), "handoff", task(n))).collect())
}

fn reads(n: usize) -> FakeCompletion {
    FakeCompletion::new(vec![FakeCompletionPart::ToolCall {
        id: format!("r{n}"),
        name: "fs_readFile".to_owned(),
        arguments: json!({ "path": format!("{n}.txt") }),
    }])
}

async fn sessions(daemon: &Running) -> Vec<Value> {
    daemon.get("/api/sessions").await["sessions"].as_array().unwrap().clone()
}

fn tokens(view: &Value) -> u64 {
    view["usage"]["input"].as_u64().unwrap() + view["usage"]["output"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_costs_counts_in_every_session_above_and_once_in_all() {
    let home = Home::new();
    let model = FakeModelServer::start_with_rule(|_, asked| {
        let text = asked.body.to_string();
        let is_told = text.contains("tool_call_id");
        FakeReply::Completion(match (text.contains(ROLES[0].1), text.contains(ROLES[1].1)) {
            (_, true) => FakeCompletion::from_text("Noted."),
            (true, _) if is_told => FakeCompletion::from_text("Read."),
            (true, _) => handoffs("clerk", 1),
            _ if is_told => FakeCompletion::from_text("All done."),
            _ => handoffs("reader", 2),
        })
    });
    let model = model.await.unwrap();
    let daemon = home.with_roles(&model, "");
    let root = daemon.session(json!({})).await;
    daemon.send_message(&root, "Have it read.").await;
    daemon.turn_end(&root, "finished").await;
    // PendingResponse twice by each of dev and two readers, and once by each of two clerks: 120
    // tokens each.
    let check = async |daemon: &Running| {
        let view = daemon.get(&format!("/api/sessions/{root}")).await["session"].clone();
        assert_eq!(tokens(&view), 8 * 120, "{view:#}");
        assert_eq!(tokens(&view["handed"]), 6 * 120, "{view:#}");
        assert_eq!((&view["turn"]["calls"], tokens(&view["turn"])), (&json!(8), 8 * 120));
        let all = sessions(daemon).await;
        let of = |role: &str| all.iter().filter(|one| one["role"] == role).collect::<Vec<_>>();
        for reader in of("reader") {
            assert_eq!((tokens(reader), tokens(&reader["handed"])), (3 * 120, 120), "{reader:#}");
        }
        assert_eq!(of("clerk").iter().map(|clerk| tokens(clerk)).collect::<Vec<_>>(), [120, 120]);
        assert_eq!(tokens(&daemon.get("/api/usage").await), 8 * 120);
    };
    check(&daemon).await;
    daemon.kill();
    check(&home.up()).await;
}

/// Every role of it hands over to several, or reads without an end; `input` tokens each time.
async fn insatiable(input: u64) -> FakeModelServer {
    let asked_for = AtomicUsize::new(0);
    let model = FakeModelServer::start_with_rule(move |_, asked| {
        let n = asked_for.fetch_add(1, Ordering::Relaxed);
        let text = asked.body.to_string();
        let is_told = text.contains("tool_call_id");
        let mut answer = match (text.contains(ROLES[0].1), text.contains(ROLES[1].1)) {
            (true, _) if !is_told => handoffs("clerk", 2),
            (false, false) if !is_told => handoffs("reader", 3),
            _ => reads(n),
        };
        (answer.tokens.input, answer.tokens.output) = (input, 100);
        FakeReply::Completion(answer)
    });
    model.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_together_spend_no_more_than_the_session_that_handed_them_over_has() {
    let home = Home::new();
    // Less than a request of its size is estimated at: a provider that counts more than that
    // is paid all the same, and the last to ask would then spend more than there was.
    let model = insatiable(900).await;
    let daemon = home.with_roles(&model, "");
    let root = daemon.session(json!({ "budget": { "tokens": 40_000 } })).await;
    daemon.send_message(&root, "Have it read.").await;
    let used = |now: &Value| tokens(&now["session"]) >= 10_000;
    daemon.session_until(&root, used).await;
    // What was spent is known to the next daemon too, which takes the tasks up.
    daemon.kill();
    let daemon = home.up();
    let mut tries = 0;
    let detail = loop {
        let over = |now: &Value| now["session"]["turn"]["status"] != "running";
        let detail = daemon.session_until(&root, over).await;
        // A daemon that is killed while the model speaks leaves the turn to be gone on with.
        if detail["session"]["turn"]["status"] != "interrupted" || tries == 3 {
            break detail;
        }
        tries += 1;
        daemon.post(&format!("/api/sessions/{root}/continue"), &daemon.token, &json!({})).await;
    };
    let all = sessions(&daemon).await;
    assert!(all.len() > 4, "{} sessions", all.len());
    let spent = tokens(&detail["session"]);
    assert!((20_000..=40_000).contains(&spent), "{spent} of 40000");
    assert_eq!(detail["session"]["turn"]["fault"]["code"], "BUDGET_EXCEEDED", "{detail:#}");
    assert_eq!(tokens(&daemon.get("/api/usage").await), spent);
    assert!(all.iter().all(|one| one["status"] != "running"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_together_ask_no_more_often_than_one_turn_may() {
    for (more, most) in [("[turn]\ncalls = 7\n", 7), ("[turn]\ntokens = 30000\n", 15)] {
        let home = Home::new();
        let model = insatiable(1900).await;
        let daemon = home.with_roles(&model, more);
        let root = daemon.session(json!({})).await;
        daemon.send_message(&root, "Have it read.").await;
        let detail = daemon.turn_end(&root, "failed").await;
        assert_eq!(detail["session"]["turn"]["fault"]["code"], "TURN_LIMIT", "{detail:#}");
        let n_asked = model.received_requests().len();
        assert!(n_asked > 3 && n_asked <= most, "{n_asked} times, {more}");
        assert_eq!(detail["session"]["turn"]["calls"], json!(n_asked));
    }
}
