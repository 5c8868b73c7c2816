//! The result of an action can be read later, by its requester and nobody else.

use super::*;

impl GovernanceFixture {
    /// The agent requests an action without waiting: its id.
    pub(super) async fn begins(&self, action: &str, params: Value, expected: &str) -> String {
        let (_, answer) = self.request_action(action, params.clone()).await;
        assert_eq!(answer["status"], expected, "{action} {params}: {answer}");
        answer["actionId"].as_str().unwrap().to_owned()
    }

    /// The action as this token sees it.
    async fn get_action(&self, token: &str, action: &str) -> (StatusCode, Value) {
        self.send(token, Method::GET, &format!("/api/actions/{action}"), &Value::Null).await
    }
}

#[tokio::test]
async fn the_result_of_a_read_can_be_fetched_later_and_from_another_daemon() {
    let mut fixture = GovernanceFixture::new().await;
    fixture.write("a.txt", "a");
    // So long that the body of the event is a blob.
    let long = vec!["folder"; 580].join("/");
    let mut looks = Vec::new();
    for (path, outcome) in [("a.txt", Value::Null), (&long, json!("NOT_FOUND"))] {
        fixture.request_action("fs.readFile", json!({ "path": path })).await;
        let last = fixture.daemon.events("ACTION_READ").await.pop().unwrap();
        looks.push((last["action"].as_str().unwrap().to_owned(), path, outcome));
    }
    for round in ["the same daemon", "another"] {
        for (id, path, fault) in &looks {
            let (status, shown) = fixture.get_action(&fixture.daemon.token, id).await;
            assert_eq!((status.as_u16(), &shown["status"]), (200, &json!("finished")), "{round}");
            assert!(shown["what"].as_str().unwrap().contains(path), "{round}: {shown}");
            assert_eq!(&shown["outcome"]["fault"]["code"], fault, "{round}: {shown}");
        }
        fixture.home.run_ok(&["down"]);
        fixture.daemon = fixture.home.up();
    }
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_read_is_recorded_though_the_client_disconnects() {
    use tokio::io::AsyncWriteExt as _;
    let fixture = GovernanceFixture::new().await;
    fixture.write("a.txt", "a");
    let looked = || fixture.daemon.events("ACTION_READ");
    fixture.request_action("fs.readFile", json!({ "path": "a.txt" })).await;
    let kernel = fixture.get("/api/projects/app/kernel").await["pid"].as_i64().unwrap();
    let kernel = rustix::process::Pid::from_raw(i32::try_from(kernel).unwrap()).unwrap();
    let signal = |signal| rustix::process::kill_process(kernel, signal).unwrap();
    // Nobody answers while they wait: a part of a file is read by the kernel process.
    signal(rustix::process::Signal::STOP);
    let address = fixture.daemon.base.strip_prefix("http://").unwrap();
    let params = json!({ "path": "a.txt", "startLine": 1 });
    let body = json!({ "action": "fs.readFile", "params": params }).to_string();
    let request = format!(
        "POST /api/projects/app/actions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        fixture.agent,
        body.len()
    );
    // A client that disconnects before its request was read has read nothing.
    while looked().await.len() < 2 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        looked().await;
        drop(stream);
    }
    signal(rustix::process::Signal::CONT);
    let last = looked().await.pop().unwrap();
    assert_eq!(last["outcome"]["fault"]["code"], "CANCELLED", "{last}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn the_requester_reads_the_result_later_and_nobody_else_does() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("a.txt", "what it holds\n");
    fixture.write(".env", "KEY=1\n");
    let command = json!({ "command": "echo out; echo err >&2; exit 3" });
    let ran = fixture.begins("terminal.runCommand", command, "waiting").await;
    let denied =
        fixture.begins("terminal.runCommand", json!({ "command": "make" }), "waiting").await;
    let read = fixture.begins("fs.readFile", json!({ "path": ".env" }), "waiting").await;
    for question in fixture.pending_approvals().await {
        if question["action"] == json!(denied) {
            let no = json!({
                "decision": "deny", "actionHash": question["actionHash"], "message": "not now",
            });
            let path = format!("/api/approvals/{}", question["id"].as_str().unwrap());
            assert_eq!(fixture.operator(Method::POST, &path, &no).await.0, 200);
        } else {
            assert_eq!(fixture.allow(&question, json!({})).await.0, 200);
            fixture.wait_finished(&question).await;
        }
    }
    let (_, shown) = fixture.get_action(&fixture.agent, &ran).await;
    assert_eq!(shown["result"]["stdout"], "out\n", "{shown}");
    assert_eq!(shown["result"]["stderr"], "err\n", "{shown}");
    assert_eq!(shown["result"]["exitCode"], 3, "{shown}");
    let (_, shown) = fixture.get_action(&fixture.agent, &denied).await;
    let message = shown["outcome"]["fault"]["message"].as_str().unwrap();
    assert_eq!((message, &shown["status"]), ("denied by a person: not now", &json!("denied")));
    let (_, shown) = fixture.get_action(&fixture.agent, &read).await;
    assert_eq!(shown["result"]["content"], "KEY=1\n", "{shown}");
    // For another agent it is as if there were none.
    let (other, _) = fixture.new_agent().await;
    let (status, foreign) = fixture.get_action(&other, &ran).await;
    let (_, missing) = fixture.get_action(&other, "01900000-0000-7000-8000-000000000000").await;
    assert_eq!((status.as_u16(), &foreign["code"]), (404, &missing["code"]), "{foreign}");
    // A person sees the action, and reads the rest in the log.
    let (status, seen) = fixture.get_action(&fixture.daemon.token, &ran).await;
    assert_eq!((status.as_u16(), seen.get("result")), (200, None), "{seen}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_is_not_kept_across_a_restart_is_said_to_be_gone_and_is_not_done_again() {
    let mut fixture = GovernanceFixture::new().await;
    fixture.write(".env", "KEY=1\n");
    let read = fixture.begins("fs.readFile", json!({ "path": ".env" }), "waiting").await;
    let ran =
        fixture.begins("terminal.runCommand", json!({ "command": "echo x" }), "waiting").await;
    for question in fixture.pending_approvals().await {
        assert_eq!(fixture.allow(&question, json!({})).await.0, 200);
        fixture.wait_finished(&question).await;
    }
    let (_, shown) = fixture.get_action(&fixture.agent, &read).await;
    assert_eq!((&shown["result"]["content"], shown.get("gone")), (&json!("KEY=1\n"), None));
    fixture.daemon.kill();
    fixture.daemon = fixture.home.up();
    let (status, shown) = fixture.get_action(&fixture.agent, &read).await;
    assert_eq!((status.as_u16(), &shown["status"]), (200, &json!("finished")), "{shown}");
    assert_eq!((shown.get("result"), &shown["gone"]["code"]), (None, &json!("RESULT_GONE")));
    // What a command printed is in the log.
    let (_, shown) = fixture.get_action(&fixture.agent, &ran).await;
    assert_eq!((&shown["result"]["stdout"], shown.get("gone")), (&json!("x\n"), None), "{shown}");
    fixture.assert_log_intact();
}
