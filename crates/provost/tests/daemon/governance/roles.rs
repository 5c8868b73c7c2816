//! Roles that are planted, changed, made invalid or removed at run time (THREATS 27, 28).

use super::*;

#[tokio::test]
async fn threat_28_a_role_that_changes_is_asked_about_and_one_that_is_gone_denies() {
    let world = World::new().await;
    let read = || world.asks("fs.listFiles", json!({ "path": "." }));
    assert_eq!(world.asks("fs.stat", json!({ "path": "." })).await.0, 200);
    let pending = world.asks_to_run(json!({ "command": "echo x >> ran" })).await;

    world.write(ROLE, "---\nname: dev\nskills: [fs.read]\n---\nLess.\n");
    let (_, said) = read().await;
    assert_eq!(said["status"], "waiting", "{said}");
    let open = world.open().await;
    let trust =
        &open.iter().find(|open| open["question"]["trust"].is_object()).unwrap()["question"];
    let diff = trust["trust"]["diff"].as_str().unwrap();
    assert!(
        diff.contains("-skills: [fs.read, fs.write, terminal.*]")
            && diff.contains("+skills: [fs.read]"),
        "{diff}"
    );
    // What was asked in the old role does not run in the new one.
    world.allows(&pending, json!({})).await;
    assert_eq!(world.denied(&pending).await, "SKILL_DENIED");

    for (what, text) in [
        ("no role", Some("skills: everything")),
        ("an unknown skill", Some("---\nname: dev\nskills: [fs.everything]\n---\n")),
        ("gone", None),
    ] {
        match text {
            Some(text) => world.write(ROLE, text),
            None => std::fs::remove_file(world.home.path("app").join(ROLE)).unwrap(),
        }
        let (status, said) = read().await;
        assert_eq!(
            (status.as_u16(), &said["code"]),
            (403, &json!("SKILL_DENIED")),
            "{what}: {said}"
        );
    }
    // A folder, a link that leads out, and bytes that are no text are no roles either.
    let role = world.home.path("app").join(ROLE);
    std::os::unix::fs::symlink("/etc/hostname", &role).unwrap();
    assert_eq!(read().await.1["code"], "SKILL_DENIED");
    std::fs::remove_file(&role).unwrap();
    std::fs::write(&role, [0xff, 0xfe]).unwrap();
    assert_eq!(read().await.1["code"], "SKILL_DENIED");
    assert!(world.daemon.events("ROLE_REJECTED").await.len() >= 4);
    assert_eq!(world.daemon.events("ROLE_LOADED").await.len(), 2);
    assert_eq!(world.read("ran"), "");
    world.assert_log_intact();
}

impl World {
    /// The open question about trust for which an action waits.
    async fn about_trust(&self, action: &Value) -> Value {
        let open = self.open().await;
        let about =
            |open: &&Value| open["action"] == *action && open["question"]["trust"].is_object();
        open.iter().find(about).cloned().unwrap()
    }
}

#[tokio::test]
async fn threat_27_a_role_is_trusted_exactly_as_it_was_shown() {
    let world = World::new().await;
    let skills = |skills: &str| format!("---\nname: dev\nskills: [{skills}]\n---\n");
    world.write(ROLE, &skills("fs.read"));
    let (_, said) = world.asks("fs.stat", json!({ "path": "." })).await;
    let id = said["approvalId"].as_str().unwrap();
    let shown = world.get(&format!("/api/approvals/{id}")).await;
    // It is swapped while the person looks.
    world.write(ROLE, &skills("fs.read, fs.write"));
    let (status, said) = world.allows(&shown, json!({})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("HASH_MISMATCH")), "{said}");
    let (_, said) = world.asks("fs.createDir", json!({ "path": "x" })).await;
    assert_eq!(said["status"], "waiting", "{said}");
    // What it is now is shown in a question of its own, and as that it goes on.
    let again = world.about_trust(&shown["action"]).await;
    assert_ne!(again["id"], shown["id"]);
    assert!(again["question"]["trust"]["diff"].as_str().unwrap().contains("fs.write"), "{again}");
    let (status, said) = world.allows(&again, json!({})).await;
    assert_eq!(status, 200, "{said}");
    world.daemon.until(shown["action"].as_str().unwrap(), "finished").await;
    // So do those that were asked about when the file was another, when it is trusted.
    world.write(ROLE, &skills("fs.write"));
    let (_, stale) = world.asks("fs.stat", json!({ "path": "." })).await;
    assert_eq!(stale["status"], "waiting", "{stale}");
    world.write(ROLE, &skills("fs.read"));
    world.home.says(&["roles", "trust", "--yes", "--project", "app"]);
    world.daemon.until(stale["actionId"].as_str().unwrap(), "finished").await;
    assert!(world.open().await.iter().all(|open| open["action"] != stale["actionId"]));
    // A second file that claims the same name gives it nothing.
    world.write(".claude/agents/dev.md", "---\nname: dev\ndescription: x\ntools: Bash\n---\n");
    let (_, said) = world.asks("terminal.runCommand", json!({ "command": "ls" })).await;
    assert_eq!(said["code"], "SKILL_DENIED", "{said}");
    world.assert_log_intact();
}
