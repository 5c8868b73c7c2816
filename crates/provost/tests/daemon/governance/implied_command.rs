//! The implied command of an action is evaluated: what `provost.toml` makes the runtime
//! run, and input to a shell or an interpreter.

use super::*;

impl GovernanceFixture {
    /// With a role that may run the project, too.
    async fn that_runs() -> Self {
        let fixture = Self::new().await;
        let role =
            "---\nname: dev\nskills: [fs.read, fs.write, terminal.*, runtime.*]\n---\nWork.\n";
        fixture.write(ROLE, role);
        fixture.trust_role().await;
        fixture
    }
}

#[tokio::test]
async fn what_a_planted_file_has_the_project_run_is_asked_about_and_shown() {
    let fixture = GovernanceFixture::that_runs().await;
    fixture.set_mode("auto").await;
    let plant = |dev: &str| fixture.write("provost.toml", &format!("[runtime]\nbuild = '{dev}'\n"));
    plant("sh serve.sh");
    fixture.write("serve.sh", "echo built\n");
    let (status, answer) = fixture.request_action("runtime.build", json!({})).await;
    assert_eq!((status.as_u16(), &answer["status"]), (202, &json!("waiting")), "{answer}");
    let path = format!("/api/approvals/{}", answer["approvalId"].as_str().unwrap());
    let question = fixture.get(&path).await;
    let shown = question["question"].to_string();
    for part in ["no person has run", "sh serve.sh", "provost.toml says so"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let pins = question["question"]["pins"].to_string();
    assert!(pins.contains("provost.toml") && pins.contains("serve.sh"), "{pins}");
    // What was shown is not what runs if it changes before the answer.
    plant("sh other.sh");
    let (status, response) = fixture.allow(&question, json!({})).await;
    assert_eq!((status.as_u16(), &response["code"]), (409, &json!("HASH_MISMATCH")), "{response}");
    let again = fixture.pending_approvals().await.remove(0);
    assert!(again["question"].to_string().contains("sh other.sh"), "{again}");
    assert_eq!(fixture.allow(&again, json!({})).await.0, 200);
    fixture.wait_finished(&again).await;
    // A person approved exactly this, and mode `auto` allows it from now on.
    let (status, answer) = fixture.request_action("runtime.build", json!({})).await;
    assert!(status.is_success() && answer["status"] != "waiting", "{answer}");
    plant("git push");
    let (_, answer) = fixture.request_action("runtime.build", json!({})).await;
    assert_eq!(answer["status"], "waiting", "{answer}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_a_rule_denies_the_project_does_not_run_for_an_agent() {
    let fixture = GovernanceFixture::that_runs().await;
    fixture.set_mode("full").await;
    let rule = "[[rule]]\nid = 'no'\neffect = 'deny'\non = ['terminal.runCommand']\nargv = ['git', 'push', '**']\n";
    std::fs::write(fixture.home.path("policy.toml"), rule).unwrap();
    fixture.write(
        "provost.toml",
        "[runtime]\ndev = 'sleep 1'\nbuild = 'git push'\nbuild_first = true\n",
    );
    for action in ["runtime.run", "runtime.build", "runtime.restart"] {
        let (status, response) = fixture.request_action(action, json!({})).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (403, &json!("POLICY_DENIED")),
            "{response}"
        );
    }
    // A person runs their project with one click.
    let body = json!({ "action": "runtime.build", "params": {} });
    let (_, response) = fixture.operator(Method::POST, "/api/projects/app/actions", &body).await;
    assert_ne!(response["code"], "POLICY_DENIED", "{response}");
    let trusted = fixture.daemon.events("FILE_TRUSTED").await;
    assert!(trusted.iter().any(|body| body["file"] == "provost.toml"), "{trusted:?}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_is_typed_into_a_shell_is_a_command_and_into_an_interpreter_is_asked_about() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    let start = |command: &str| json!({ "command": command, "background": true });
    let mut ids = Vec::new();
    for command in ["bash", "python3 -i", "cat"] {
        ids.push(fixture.begins("terminal.runCommand", start(command), "running").await);
    }
    let rule = "[[rule]]\nid = 'no'\neffect = 'deny'\non = ['terminal.runCommand']\nargv = ['git', 'push', '**']\n";
    std::fs::write(fixture.home.path("policy.toml"), rule).unwrap();
    fixture.set_mode("auto").await;
    let typed = |id: &str, text: &str| json!({ "id": id, "text": text });
    let (status, response) =
        fixture.request_action("terminal.write", typed(&ids[0], "git push\n")).await;
    assert_eq!((status.as_u16(), &response["code"]), (403, &json!("POLICY_DENIED")), "{response}");
    for (id, text, waits) in [
        (&ids[0], "echo hi\n", false),
        (&ids[0], "eval \"$X\"\n", true),
        (&ids[0], "git pu", true),
        (&ids[1], "print(1)\n", true),
        (&ids[2], "git push\n", false),
    ] {
        let (_, response) = fixture.request_action("terminal.write", typed(id, text)).await;
        assert_eq!(response["status"] == "waiting", waits, "{text:?}: {response}");
    }
    fixture.assert_log_intact();
}
