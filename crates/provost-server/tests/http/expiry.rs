//! Expiry of approvals, grants, modes, and the tokens of requesters. Tests advance the clock
//! and do not wait.

use std::sync::Arc;

use super::*;

const ACTIONS: &str = "/api/projects/app/actions?wait=0";

impl Server {
    /// A project with a trusted role, and an agent in it.
    async fn agent(&self, ttl: Option<u32>) -> String {
        let roles = self.folder.path().join("app/.provost/roles");
        std::fs::create_dir_all(&roles).unwrap();
        let role = "---\nname: dev\nskills: [fs.read, fs.write, terminal.*]\n---\n";
        std::fs::write(roles.join("dev.md"), role).unwrap();
        let project = self.project("app").await;
        let roles = self.get("/api/projects/app/roles").await;
        let hash = &roles["roles"][0]["hash"];
        let trust = json!({ "what": "role", "file": ".provost/roles/dev.md", "hash": hash });
        let trusted = self.owner(Method::POST, "/api/projects/app/trust").json(&trust);
        assert_eq!(trusted.send().await.unwrap().status(), 200);
        let wanted = json!({ "class": "agent", "project": project.id, "role": "dev" });
        match ttl {
            Some(ttl) => {
                let mut wanted = wanted;
                wanted["ttlMinutes"] = json!(ttl);
                self.token(wanted).await
            }
            None => self.token(wanted).await,
        }
    }

    /// An agent requests a new folder.
    async fn request_folder(&self, agent: &str, path: &str) -> Value {
        let body = json!({ "action": "fs.createDir", "params": { "path": path } });
        let request = self.anyone(Method::POST, ACTIONS).bearer_auth(agent).json(&body);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn allow(&self, asked: &Value, more: Value) -> Response {
        let mut body = json!({ "decision": "allow", "actionHash": asked["actionHash"] });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let path = format!("/api/approvals/{}", asked["approvalId"].as_str().unwrap());
        self.owner(Method::POST, &path).json(&body).send().await.unwrap()
    }

    /// The status of an action in the log.
    async fn status(&self, asked: &Value) -> Value {
        let id = asked["actionId"].as_str().unwrap();
        self.get(&format!("/api/actions/{id}")).await["status"].clone()
    }

    async fn events(&self, kind: &str) -> usize {
        let page = self.get("/api/audit").await;
        page["events"].as_array().unwrap().iter().filter(|event| event["kind"] == kind).count()
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_in_time_denies_and_takes_no_answer_after() {
    let server = Server::start().await;
    let agent = server.agent(None).await;
    let asked = server.request_folder(&agent, "x").await;
    assert_eq!(asked["status"], "waiting", "{asked}");
    server.pass_minutes(15);
    // Before anyone has noticed that the time is over.
    let late = server.allow(&asked, json!({})).await;
    refused(late, "APPROVAL_RESOLVED", "expired").await;
    let watch = tokio::spawn(Arc::clone(&server.gateway.approvals).run_expiry_loop());
    while server.status(&asked).await != "denied" {
        tokio::task::yield_now().await;
    }
    watch.abort();
    refused(server.allow(&asked, json!({})).await, "APPROVAL_RESOLVED", "expired").await;
    assert_eq!(server.events("APPROVAL_EXPIRED").await, 1);
    assert_eq!(server.events("ACTION_ALLOWED").await, 0);
    assert!(!server.folder.path().join("app/x").exists());
}

#[tokio::test]
async fn what_a_token_asked_for_that_has_expired_since_does_not_run() {
    let server = Server::start().await;
    let agent = server.agent(Some(5)).await;
    let asked = server.request_folder(&agent, "x").await;
    server.pass_minutes(5);
    assert_eq!(server.allow(&asked, json!({})).await.status(), 200);
    assert_eq!(server.status(&asked).await, "denied");
    assert_eq!(server.events("ACTION_ALLOWED").await, 0);
}

#[tokio::test]
async fn a_grant_until_a_time_holds_until_then_and_no_longer() {
    let server = Server::start().await;
    let agent = server.agent(None).await;
    let asked = server.request_folder(&agent, "x").await;
    for minutes in [json!(0), json!(481), json!(null)] {
        let more = json!({ "scope": "until", "minutes": minutes });
        assert_eq!(server.allow(&asked, more).await.status(), 422, "{minutes}");
    }
    let answered = server.allow(&asked, json!({ "scope": "until", "minutes": 10 })).await;
    assert_eq!(answered.status(), 200);
    server.pass_minutes(9);
    // It is allowed; that there is no kernel here is another matter.
    assert_ne!(server.request_folder(&agent, "x").await["status"], "waiting");
    server.pass_minutes(1);
    assert_eq!(server.request_folder(&agent, "x").await["status"], "waiting");
    let grants = server.get("/api/projects/app/grants").await;
    assert_eq!(grants["grants"], json!([]));
}

#[tokio::test]
async fn the_mode_full_ends_by_itself_and_the_next_action_asks() {
    let server = Server::start().await;
    let agent = server.agent(None).await;
    let set = |body: Value| server.owner(Method::PUT, "/api/projects/app/mode").json(&body).send();
    assert_eq!(set(json!({ "mode": "full" })).await.unwrap().status(), 200);
    server.pass_minutes(59);
    assert_ne!(server.request_folder(&agent, "x").await["status"], "waiting");
    server.pass_minutes(1);
    assert_eq!(server.request_folder(&agent, "x").await["status"], "waiting");
    assert_eq!(server.get("/api/projects/app/mode").await["mode"], "sandbox");
    for minutes in [0, 24 * 60 + 1] {
        let refused = set(json!({ "mode": "full", "minutes": minutes })).await.unwrap();
        assert_eq!(refused.status(), 422, "{minutes}");
    }
}
