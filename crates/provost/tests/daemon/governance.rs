//! Attacks on governance with real tokens: an agent's token, planted files, races and
//! crashes. Tests name the numbers of the threats they are about.

mod action_results;
mod answers;
mod approval_prompts;
mod attacks;
mod grants;
mod implied_command;
mod pins;
mod races;
mod roles;
mod rules;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::{Home, Running};

const ROLE: &str = ".provost/roles/dev.md";

/// A project with a role that may do everything, and an agent in it.
struct GovernanceFixture {
    home: Home,
    daemon: Running,
    http: Client,
    agent: String,
    agent_id: String,
}

impl GovernanceFixture {
    /// Makes the user's own rules deny these paths to all file actions.
    fn deny_files(&self, path: &str) {
        let rule =
            format!("[[rule]]\nid = 'no'\neffect = 'deny'\non = ['fs.*']\npath = ['{path}']\n");
        std::fs::write(self.home.path("policy.toml"), rule).unwrap();
    }

    /// With a role that the operator trusts.
    async fn new() -> Self {
        let home = Home::new();
        let folder = home.path("app").join(".provost/roles");
        std::fs::create_dir_all(&folder).unwrap();
        let role = "---\nname: dev\nskills: [fs.read, fs.write, terminal.*]\n---\nWork.\n";
        std::fs::write(folder.join("dev.md"), role).unwrap();
        let daemon = home.up();
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let (agent, agent_id) = (String::new(), String::new());
        let mut fixture = Self { home, daemon, http, agent, agent_id };
        (fixture.agent, fixture.agent_id) = fixture.new_agent().await;
        fixture.trust_role().await;
        fixture
    }

    async fn new_agent(&self) -> (String, String) {
        let project = self.get("/api/projects/app").await["id"].clone();
        let wanted = json!({ "class": "agent", "project": project, "role": "dev" });
        let (_, created) = self.operator(Method::POST, "/api/tokens", &wanted).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&created["token"]), text(&created["entry"]["id"]))
    }

    async fn trust_role(&self) {
        let roles = self.get("/api/projects/app/roles").await;
        let trust = json!({ "what": "role", "file": ROLE, "hash": roles["roles"][0]["hash"] });
        let (status, response) =
            self.operator(Method::POST, "/api/projects/app/trust", &trust).await;
        assert_eq!(status, 200, "{response}");
    }

    async fn send(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let request = self.http.request(method, format!("{}{path}", self.daemon.base));
        let response = request.bearer_auth(token).json(body).send().await.unwrap();
        (response.status(), response.json().await.unwrap_or(Value::Null))
    }

    async fn operator(&self, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        self.send(&self.daemon.token, method, path, body).await
    }

    async fn get(&self, path: &str) -> Value {
        self.operator(Method::GET, path, &Value::Null).await.1
    }

    /// The agent requests an action, without waiting for an approval.
    async fn request_action(&self, action: &str, params: Value) -> (StatusCode, Value) {
        let body = json!({ "action": action, "params": params });
        self.send(&self.agent, Method::POST, "/api/projects/app/actions?wait=0", &body).await
    }

    /// The agent requests a command that needs an approval: the approval.
    async fn request_command(&self, params: Value) -> Value {
        let request = params.to_string();
        let (status, answer) = self.request_action("terminal.runCommand", params).await;
        assert_eq!(
            (status.as_u16(), &answer["status"]),
            (202, &json!("waiting")),
            "{request} {answer}"
        );
        let id = answer["approvalId"].as_str().unwrap().to_owned();
        self.get(&format!("/api/approvals/{id}")).await
    }

    /// The agent requests a command, which must end.
    async fn run_command(&self, params: Value) -> Value {
        let request = params.to_string();
        let (status, answer) = self.request_action("terminal.runCommand", params).await;
        assert!(status.is_success() && answer["status"] != "waiting", "{request}: {answer}");
        self.daemon.until(answer["actionId"].as_str().unwrap(), "finished").await
    }

    /// The operator allows it.
    async fn allow(&self, approval: &Value, more: Value) -> (StatusCode, Value) {
        let mut body = json!({ "decision": "allow", "actionHash": approval["actionHash"] });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
        self.operator(Method::POST, &path, &body).await
    }

    async fn set_mode(&self, mode: &str) {
        let body = json!({ "mode": mode });
        let (status, response) = self.operator(Method::PUT, "/api/projects/app/mode", &body).await;
        assert_eq!(status, 200, "{response}");
    }

    /// The pending approvals.
    async fn pending_approvals(&self) -> Vec<Value> {
        self.get("/api/projects/app/approvals").await["approvals"].as_array().unwrap().clone()
    }

    async fn wait_finished(&self, approval: &Value) -> Value {
        self.daemon.until(approval["action"].as_str().unwrap(), "finished").await
    }

    /// Waits until the action is denied: the code.
    async fn denied(&self, approval: &Value) -> Value {
        self.daemon.until(approval["action"].as_str().unwrap(), "denied").await;
        let denied = self.daemon.events("ACTION_DENIED").await;
        let this = denied.iter().find(|body| body["action"] == approval["action"]);
        this.unwrap()["fault"]["code"].clone()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.home.path("app").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.home.path("app").join(file)).unwrap_or_default()
    }

    /// Asserts that the log is intact.
    fn assert_log_intact(&self) {
        assert!(self.home.run_ok(&["audit", "verify"]).contains("The log is intact"));
    }
}
