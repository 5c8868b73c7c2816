//! Roles that are planted, changed, made invalid or removed at run time (THREATS 27, 28).

use super::*;

#[tokio::test]
async fn threat_28_a_role_that_changes_is_asked_about_and_one_that_is_gone_denies() {
    let fixture = GovernanceFixture::new().await;
    let read = || fixture.request_action("fs.listFiles", json!({ "path": "." }));
    assert_eq!(fixture.request_action("fs.stat", json!({ "path": "." })).await.0, 200);
    let pending = fixture.request_command(json!({ "command": "echo x >> ran" })).await;

    fixture.write(ROLE, "---\nname: dev\nskills: [fs.read]\n---\nLess.\n");
    let (_, response) = read().await;
    assert_eq!(response["status"], "waiting", "{response}");
    let open = fixture.pending_approvals().await;
    let trust =
        &open.iter().find(|open| open["question"]["trust"].is_object()).unwrap()["question"];
    let diff = trust["trust"]["diff"].as_str().unwrap();
    assert!(
        diff.contains("-skills: [fs.read, fs.write, terminal.*]")
            && diff.contains("+skills: [fs.read]"),
        "{diff}"
    );
    // What was asked in the old role does not run in the new one.
    fixture.allow(&pending, json!({})).await;
    assert_eq!(fixture.denied(&pending).await, "SKILL_DENIED");

    for (what, text) in [
        ("no role", Some("skills: everything")),
        ("an unknown skill", Some("---\nname: dev\nskills: [fs.everything]\n---\n")),
        ("gone", None),
    ] {
        match text {
            Some(text) => fixture.write(ROLE, text),
            None => std::fs::remove_file(fixture.home.path("app").join(ROLE)).unwrap(),
        }
        let (status, response) = read().await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (403, &json!("SKILL_DENIED")),
            "{what}: {response}"
        );
    }
    // A folder, a link that leads out, and bytes that are no text are no roles either.
    let role = fixture.home.path("app").join(ROLE);
    std::os::unix::fs::symlink("/etc/hostname", &role).unwrap();
    assert_eq!(read().await.1["code"], "SKILL_DENIED");
    std::fs::remove_file(&role).unwrap();
    std::fs::write(&role, [0xff, 0xfe]).unwrap();
    assert_eq!(read().await.1["code"], "SKILL_DENIED");
    assert!(fixture.daemon.events("ROLE_REJECTED").await.len() >= 4);
    assert_eq!(fixture.daemon.events("ROLE_LOADED").await.len(), 2);
    assert_eq!(fixture.read("ran"), "");
    fixture.assert_log_intact();
}

impl GovernanceFixture {
    /// The pending approval of the role that an action waits for.
    async fn about_trust(&self, action: &Value) -> Value {
        let open = self.pending_approvals().await;
        let about =
            |open: &&Value| open["action"] == *action && open["question"]["trust"].is_object();
        open.iter().find(about).cloned().unwrap()
    }
}

#[tokio::test]
async fn threat_27_a_role_is_trusted_exactly_as_it_was_shown() {
    let fixture = GovernanceFixture::new().await;
    let skills = |skills: &str| format!("---\nname: dev\nskills: [{skills}]\n---\n");
    fixture.write(ROLE, &skills("fs.read"));
    let (_, response) = fixture.request_action("fs.stat", json!({ "path": "." })).await;
    let id = response["approvalId"].as_str().unwrap();
    let shown = fixture.get(&format!("/api/approvals/{id}")).await;
    // It is swapped while the person looks.
    fixture.write(ROLE, &skills("fs.read, fs.write"));
    let (status, response) = fixture.allow(&shown, json!({})).await;
    assert_eq!((status.as_u16(), &response["code"]), (409, &json!("HASH_MISMATCH")), "{response}");
    let (_, response) = fixture.request_action("fs.createDir", json!({ "path": "x" })).await;
    assert_eq!(response["status"], "waiting", "{response}");
    // The changed role gets an approval of its own; once trusted, the action continues.
    let again = fixture.about_trust(&shown["action"]).await;
    assert_ne!(again["id"], shown["id"]);
    assert!(again["question"]["trust"]["diff"].as_str().unwrap().contains("fs.write"), "{again}");
    let (status, response) = fixture.allow(&again, json!({})).await;
    assert_eq!(status, 200, "{response}");
    fixture.daemon.until(shown["action"].as_str().unwrap(), "finished").await;
    // So do those that were asked about when the file was another, when it is trusted.
    fixture.write(ROLE, &skills("fs.write"));
    let (_, stale) = fixture.request_action("fs.stat", json!({ "path": "." })).await;
    assert_eq!(stale["status"], "waiting", "{stale}");
    fixture.write(ROLE, &skills("fs.read"));
    fixture.home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    fixture.daemon.until(stale["actionId"].as_str().unwrap(), "finished").await;
    assert!(
        fixture.pending_approvals().await.iter().all(|open| open["action"] != stale["actionId"])
    );
    // A second file that claims the same name gives it nothing.
    fixture.write(".claude/agents/dev.md", "---\nname: dev\ndescription: x\ntools: Bash\n---\n");
    let (_, response) =
        fixture.request_action("terminal.runCommand", json!({ "command": "ls" })).await;
    assert_eq!(response["code"], "SKILL_DENIED", "{response}");
    fixture.assert_log_intact();
}
