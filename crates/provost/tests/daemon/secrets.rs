//! Known secrets are in no log, no response and no message.

use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Home, Running};

/// The secret. Its length is a multiple of three, so that its Base64 has no padding.
const CANARY: &str = "k3y-Canary-7f9a2c1b5d";
const CANARY_IN_BASE64: &str = "azN5LUNhbmFyeS03ZjlhMmMxYjVk";
const MARK: &str = "[redacted: CANARY_API_KEY]";

/// A daemon that knows the canary, an agent, and all responses so far.
struct SecretsFixture {
    home: Home,
    daemon: Running,
    agent: String,
    responses: String,
}

impl SecretsFixture {
    fn new() -> Self {
        let home = Home::new();
        let folder = home.path("app").join(".provost/roles");
        std::fs::create_dir_all(&folder).unwrap();
        let role = "---\nname: dev\nskills: [fs.read, fs.write, terminal.*]\n---\nWork.\n";
        std::fs::write(folder.join("dev.md"), role).unwrap();
        std::fs::write(home.path("app").join("key.env"), format!("KEY={CANARY}\n")).unwrap();
        let daemon = up(&home);
        home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
        let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
        let agent = home.run_ok(&create).trim().to_owned();
        Self { home, daemon, agent, responses: String::new() }
    }

    async fn send(&mut self, token: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http.request(Method::POST, format!("{}{path}", self.daemon.base));
        let response = request.bearer_auth(token).json(body).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        self.responses.push_str(&text);
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The operator runs an action: its result.
    async fn run_action(&mut self, action: &str, params: Value) -> Value {
        let body = json!({ "action": action, "params": params });
        let token = self.daemon.token.clone();
        let (status, answer) = self.send(&token, "/api/projects/app/actions", &body).await;
        assert!(status.is_success(), "{action}: {answer}");
        answer["result"].clone()
    }

    async fn run_command(&mut self, command: &str) -> String {
        let result = self.run_action("terminal.runCommand", json!({ "command": command })).await;
        result["stdout"].as_str().unwrap().to_owned()
    }

    /// The agent requests a command that needs an approval: the approval.
    async fn request_command(&mut self, command: &str) -> Value {
        let params = json!({ "command": command });
        let body = json!({ "action": "terminal.runCommand", "params": params });
        let agent = self.agent.clone();
        let (status, answer) = self.send(&agent, "/api/projects/app/actions?wait=0", &body).await;
        assert_eq!((status.as_u16(), &answer["status"]), (202, &json!("waiting")), "{answer}");
        let id = answer["approvalId"].as_str().unwrap();
        let question = self.daemon.get(&format!("/api/approvals/{id}")).await;
        self.responses.push_str(&question.to_string());
        question
    }

    async fn answer_approval(&mut self, question: &Value, mut answer: Value) {
        answer["actionHash"] = question["actionHash"].clone();
        let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
        let token = self.daemon.token.clone();
        let (status, response) = self.send(&token, &path, &answer).await;
        assert!(status.is_success(), "{response}");
    }

    /// Searches the data folder and all responses for the canary.
    fn assert_no_leak(&self) {
        let token = self.daemon.token.clone();
        for secret in [CANARY, CANARY_IN_BASE64, &token] {
            assert!(
                !self.responses.contains(secret),
                "an answer holds {secret}: {}",
                self.responses
            );
            let keeps = |file: &Path| {
                let bytes = std::fs::read(file).unwrap_or_default();
                bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
            };
            let mut folders = vec![self.home.data()];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if path != self.home.data().join("token") {
                        assert!(!keeps(&path), "{} holds {secret}", path.display());
                    }
                }
            }
        }
        assert!(self.home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    }
}

/// Starts a daemon with the canary in its environment.
fn up(home: &Home) -> Running {
    let folder = home.path("app");
    let mut command = home.provost(&["up", "--no-open", folder.to_str().unwrap()]);
    command.env("CANARY_API_KEY", CANARY).env("PROVOST_LOG", "debug").assert().success();
    home.running()
}

#[tokio::test]
async fn what_is_read_or_printed_is_redacted_before_it_is_stored_or_answered() {
    let mut fixture = SecretsFixture::new();
    let read = fixture.run_action("fs.readFile", json!({ "path": "key.env" })).await;
    assert_eq!(read["content"], format!("KEY={MARK}\n"));
    assert_eq!((&read["redacted"], &read["size"]), (&json!(1), &json!(CANARY.len() + 5)));
    let base64 = json!({ "path": "key.env", "encoding": "base64" });
    assert_eq!(fixture.run_action("fs.readFile", base64).await["redacted"], 1);
    let found = fixture.run_action("fs.searchFiles", json!({ "pattern": "KEY" })).await;
    assert!(found.to_string().contains(MARK), "{found}");

    assert_eq!(fixture.run_command("cat key.env").await, format!("KEY={MARK}\n"));
    let (left, right) = CANARY.split_at(9);
    let slowly = format!("printf {left}; sleep 0.2; printf {right}; printf {left} >&2");
    assert_eq!(fixture.run_command(&slowly).await, MARK, "in two writes");
    let encoded = fixture.run_command("base64 key.env; cut -c5- key.env | base64").await;
    assert_eq!(encoded.matches(MARK).count(), 2, "{encoded}");
    let many = fixture.run_command("yes \"$(cat key.env)\" | head -n 5000").await;
    assert_eq!(many, format!("KEY={MARK}\n").repeat(5000), "across all pieces");
    let seen = fixture.run_command("env; cat ../data/token").await;
    assert!(!seen.contains("CANARY"), "a command does not even see it: {seen}");
    fixture.assert_no_leak();
}

#[tokio::test]
async fn what_is_sent_is_redacted_in_the_log_and_used_as_it_is() {
    let mut fixture = SecretsFixture::new();
    let path = fixture.home.path("app").join("out.txt");
    let text = format!("{CANARY} {}\n", fixture.daemon.token);
    fixture.run_action("fs.writeFile", json!({ "path": "out.txt", "content": text })).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let edit = json!({ "old": CANARY, "new": "none" });
    fixture.run_action("fs.editFile", json!({ "path": "out.txt", "edits": [edit] })).await;
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("none "), "the real file");
    assert_eq!(fixture.run_command(&format!("echo {CANARY}")).await, format!("{MARK}\n"));
    let requested = fixture.daemon.events("ACTION_REQUESTED").await;
    assert!(requested.iter().any(|body| body["params"]["command"] == format!("echo {MARK}")));
    let body = json!({ "action": "fs.readFile", "params": { "path": format!("no/{CANARY}") } });
    let token = fixture.daemon.token.clone();
    let (status, _) = fixture.send(&token, "/api/projects/app/actions", &body).await;
    assert_eq!(status, 404);
    let body = json!({ "action": format!("fs.{CANARY}"), "params": {} });
    assert!(!fixture.send(&token, "/api/projects/app/actions", &body).await.0.is_success());
    let label = json!({ "class": "viewer", "label": format!("for {CANARY}") });
    let (_, created) = fixture.send(&token, "/api/tokens", &label).await;
    assert!(created["token"].is_string(), "a new token is shown once");
    for path in ["/api/audit?after=0", "/api/tokens"] {
        let text = fixture.daemon.text(path).await;
        assert!(text.contains(MARK), "{path}: {text}");
        fixture.responses.push_str(&text);
    }
    fixture.assert_no_leak();
}

#[tokio::test]
async fn a_question_that_holds_a_secret_is_answered_once_and_not_kept_across_a_restart() {
    let mut fixture = SecretsFixture::new();
    let question = fixture.request_command(&format!("printf {CANARY} > allowed.txt")).await;
    assert_eq!(question["question"]["params"]["command"], format!("printf {MARK} > allowed.txt"));
    assert_eq!(question["question"]["choices"].as_array().unwrap().len(), 1, "{question}");
    fixture.answer_approval(&question, json!({ "decision": "allow" })).await;
    fixture.daemon.until(question["action"].as_str().unwrap(), "finished").await;
    let written = std::fs::read_to_string(fixture.home.path("app").join("allowed.txt")).unwrap();
    assert_eq!(written, CANARY, "what was asked for is what ran");

    let question = fixture.request_command("rm allowed.txt").await;
    let no = json!({ "decision": "deny", "message": format!("not with {CANARY}") });
    fixture.answer_approval(&question, no).await;
    let denied = fixture.daemon.events("ACTION_DENIED").await;
    let message = denied.last().unwrap()["fault"]["message"].as_str().unwrap();
    assert!(message.ends_with(&format!("not with {MARK}")), "{message}");

    let forgotten = fixture.request_command(&format!("echo {CANARY}")).await;
    let kept = fixture.request_command("echo kept").await;
    fixture.daemon.kill();
    fixture.daemon = up(&fixture.home);
    fixture.daemon.until(forgotten["action"].as_str().unwrap(), "denied").await;
    let withdrawn = fixture.daemon.events("APPROVAL_WITHDRAWN").await;
    assert_eq!(withdrawn.len(), 1, "{withdrawn:?}");
    assert!(withdrawn[0]["why"].as_str().unwrap().contains("it held a secret"), "{withdrawn:?}");
    fixture.answer_approval(&kept, json!({ "decision": "allow" })).await;
    fixture.daemon.until(kept["action"].as_str().unwrap(), "finished").await;
    fixture.assert_no_leak();
}

#[tokio::test]
async fn a_denial_that_holds_a_secret_reaches_the_agent_without_it() {
    let mut fixture = SecretsFixture::new();
    let asked = fixture.daemon.submit(
        &fixture.agent,
        "terminal.runCommand",
        &json!({ "command": "echo one two" }),
    );
    let question = fixture.daemon.wait_for_approvals(1).await.remove(0);
    let no = json!({ "decision": "deny", "message": format!("use {CANARY}") });
    fixture.answer_approval(&question, no).await;
    let (_, answer) = asked.await.unwrap();
    assert!(answer["error"].as_str().unwrap().ends_with(&format!("use {MARK}")), "{answer}");
    fixture.assert_no_leak();
}

#[tokio::test]
async fn a_kernel_that_is_found_again_learns_the_secrets_of_the_new_daemon() {
    let home = Home::new();
    std::fs::write(home.path("app").join("key.env"), format!("KEY={CANARY}\n")).unwrap();
    let daemon = home.up();
    let (_, before) = daemon.act("terminal.runCommand", json!({ "command": "true" })).await;
    assert_eq!(before["result"]["exitCode"], 0, "{before}");
    let kernel = daemon.events("KERNEL_STARTED").await;
    daemon.kill();
    let daemon = up(&home);
    let (_, answer) = daemon.act("terminal.runCommand", json!({ "command": "cat key.env" })).await;
    assert_eq!(answer["result"]["stdout"], format!("KEY={MARK}\n"));
    assert_eq!(daemon.events("KERNEL_STARTED").await, kernel, "the same kernel");
}

#[tokio::test]
async fn a_secret_does_not_get_out_piece_by_piece() {
    let mut fixture = SecretsFixture::new();
    let text = format!("first\nkey {CANARY} end\n");
    std::fs::write(fixture.home.path("app").join("a.txt"), &text).unwrap();
    for length in [1, 16] {
        let mut pieces = String::new();
        for offset in (0..text.len()).step_by(length) {
            let params = json!({ "path": "a.txt", "offset": offset, "length": length });
            let result = fixture.run_action("fs.readFile", params).await;
            pieces.push_str(result["content"].as_str().unwrap());
        }
        assert_eq!(pieces, format!("first\nkey {MARK} end\n"), "{length} at a time");
    }
    fixture.assert_no_leak();
}
