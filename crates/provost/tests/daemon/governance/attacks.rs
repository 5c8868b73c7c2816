//! What an agent could try with its token (THREATS 22, 23, 27).

use super::*;

#[tokio::test]
async fn threat_23_an_agents_token_decides_nothing_and_sees_nothing_that_governs() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x >> ran" })).await;
    let answer = json!({ "decision": "allow", "actionHash": question["actionHash"] });
    let approval = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let roles = fixture.get("/api/projects/app/roles").await;
    let trust = json!({ "what": "role", "file": ROLE, "hash": roles["roles"][0]["hash"] });
    let project = fixture.get("/api/projects/app").await["id"].clone();
    let token = json!({ "class": "operator" });
    let agent = json!({ "class": "agent", "project": project, "role": "admin" });
    let none = Value::Null;
    let own = format!("/api/tokens/{}", fixture.agent_id);
    let app = fixture.home.path("app");
    let explain = json!({ "params": { "command": "ls" } });
    for (method, path, body) in [
        (Method::POST, approval.as_str(), &answer),
        (Method::GET, approval.as_str(), &none),
        (Method::GET, "/api/approvals", &none),
        (Method::GET, "/api/projects/app/approvals", &none),
        (Method::GET, "/api/projects/app/grants", &none),
        (Method::PUT, "/api/projects/app/mode", &json!({ "mode": "full" })),
        (Method::GET, "/api/projects/app/mode", &none),
        (Method::POST, "/api/projects/app/trust", &trust),
        (Method::PATCH, "/api/projects/app/roles/dev", &json!({ "model": "a/b" })),
        (Method::GET, "/api/projects/app/policy", &none),
        (Method::POST, "/api/projects/app/policy/explain", &explain),
        (Method::POST, "/api/tokens", &token),
        (Method::POST, "/api/tokens", &agent),
        (Method::GET, "/api/tokens", &none),
        (Method::DELETE, own.as_str(), &none),
        (Method::GET, "/api/audit", &none),
        (Method::POST, "/api/projects", &json!({ "path": app })),
        (Method::DELETE, "/api/projects/app", &none),
        (Method::GET, "/api/events", &none),
        (Method::POST, "/api/login-links", &none),
        (Method::POST, "/api/shutdown", &none),
    ] {
        let (status, response) = fixture.send(&fixture.agent, method.clone(), path, body).await;
        assert_eq!(status.as_u16(), 403, "{method} {path}: {status} {response}");
    }
    // The role of its token and no other, in its project and no other.
    let act = |role: &str| json!({ "action": "fs.stat", "params": { "path": "." }, "role": role });
    let path = "/api/projects/app/actions";
    let (status, response) = fixture.send(&fixture.agent, Method::POST, path, &act("admin")).await;
    assert_eq!(status, 403, "{response}");
    let other = fixture.home.path("other");
    std::fs::create_dir(&other).unwrap();
    fixture.operator(Method::POST, "/api/projects", &json!({ "path": other })).await;
    let there = "/api/projects/other/actions";
    let (status, response) = fixture.send(&fixture.agent, Method::POST, there, &act("dev")).await;
    assert_eq!(status, 403, "{response}");
    assert_eq!(fixture.pending_approvals().await.len(), 1, "nothing of that answered the question");
    assert_eq!(fixture.get("/api/projects/app/mode").await["mode"], "sandbox");
    assert_eq!(fixture.read("ran"), "");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn threat_27_no_mode_lets_an_agent_write_what_governs() {
    let fixture = GovernanceFixture::new().await;
    let app = fixture.home.path("app").canonicalize().unwrap();
    fixture.write(".git/config", "[core]\n");
    fixture.write("docs/a.txt", "");
    for (link, to) in [("g", ".git"), ("docs/roles", "../.provost/roles"), ("rc", ".envrc")] {
        std::os::unix::fs::symlink(to, app.join(link)).unwrap();
    }
    let before = (fixture.read(".git/config"), fixture.read(ROLE));
    fixture.set_mode("full").await;
    let absolute = format!("echo x > {}/.git/config", app.display());
    let name = app.file_name().unwrap().to_str().unwrap();
    let around = format!("cd .. && echo x > {name}/.git/config");
    for command in [
        "echo x > .git/config",
        "cd .git && echo x > config",
        "tee .git/config < docs/a.txt",
        "cp docs/a.txt .provost/roles/dev.md",
        &absolute,
        &around,
    ] {
        assert_protected(&fixture, "terminal.runCommand", json!({ "command": command })).await;
    }
    for path in [
        ".git/config",
        "g/config",
        "g/hooks/pre-commit",
        "docs/roles/dev.md",
        "docs/roles/new.md",
        ".GIT/config",
        ".provost/policy.toml",
    ] {
        let params = json!({ "path": path, "content": "x" });
        assert_protected(&fixture, "fs.writeFile", params).await;
    }
    // What runs in other tools is shown to a person, also through a link.
    for path in ["rc", "sub/.npmrc", ".vscode/tasks.json"] {
        let params = json!({ "path": path, "content": "x" });
        let (status, response) = fixture.request_action("fs.writeFile", params).await;
        assert_eq!(
            (status.as_u16(), &response["status"]),
            (202, &json!("waiting")),
            "{path}: {response}"
        );
        let id = response["approvalId"].as_str().unwrap();
        let approval = fixture.get(&format!("/api/approvals/{id}")).await;
        assert!(approval["question"]["gate"].is_string(), "{path}: {approval}");
    }
    for (action, params) in [
        ("fs.moveFile", json!({ "from": "docs/a.txt", "to": "g/hooks" })),
        ("fs.moveFile", json!({ "from": ".provost", "to": "old" })),
        ("fs.deleteFile", json!({ "path": "docs/roles/dev.md" })),
        ("fs.createDir", json!({ "path": "g/hooks/x" })),
        ("fs.editFile", json!({ "path": "g/config", "edits": [{ "old": "core", "new": "x" }] })),
    ] {
        assert_protected(&fixture, action, params).await;
    }
    assert_eq!((fixture.read(".git/config"), fixture.read(ROLE)), before);
    fixture.assert_log_intact();
}

async fn assert_protected(fixture: &GovernanceFixture, action: &str, params: Value) {
    let (status, response) = fixture.request_action(action, params.clone()).await;
    let code = (status.as_u16(), &response["code"]);
    assert_eq!(code, (403, &json!("PROTECTED_PATH")), "{action} {params}: {response}");
}

#[tokio::test]
async fn no_mode_lets_an_agent_delete_the_project_or_the_home_by_its_whole_name() {
    let fixture = GovernanceFixture::new().await;
    let app = fixture.home.path("app").canonicalize().unwrap();
    let (app, home) = (app.display(), app.parent().unwrap().display());
    fixture.write("kept.txt", "kept");
    for (mode, command) in [
        ("auto", format!("find {app} -delete")),
        ("full", format!("rm -rf {app}/")),
        ("full", format!("rm -rf {app}/*")),
        ("full", format!("rm -rf {home}")),
    ] {
        fixture.set_mode(mode).await;
        let question = fixture.request_command(json!({ "command": command })).await;
        assert!(question["question"]["gate"].is_string(), "{command}: {question}");
    }
    assert_eq!(fixture.read("kept.txt"), "kept");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_link_to_a_file_that_a_rule_denies_is_denied_too() {
    let fixture = GovernanceFixture::new().await;
    fixture.deny_files("**/.env");
    fixture.write(".env", "KEY=1");
    std::os::unix::fs::symlink(".env", fixture.home.path("app").join("notes.md")).unwrap();
    let (_, response) = fixture.request_action("fs.readFile", json!({ "path": "notes.md" })).await;
    assert_eq!(response["code"], "POLICY_DENIED", "{response}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_read_through_a_link_that_may_be_followed_is_answered_and_recorded_once() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("docs/real.md", "here");
    let app = fixture.home.path("app");
    std::os::unix::fs::symlink("docs", app.join("d")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", app.join("out")).unwrap();
    for (params, status, expected) in [
        (json!({ "path": "docs/real.md" }), 200, "here"),
        (json!({ "path": "d/real.md" }), 200, "here"),
        (json!({ "path": "d/none.md" }), 404, "NOT_FOUND"),
        (json!({ "path": "out" }), 403, "OUTSIDE_PROJECT"),
    ] {
        let (is, answer) = fixture.request_action("fs.readFile", params.clone()).await;
        assert_eq!(is.as_u16(), status, "{params}: {answer}");
        assert!(answer.to_string().contains(expected), "{params}: {answer}");
    }
    let read = fixture.daemon.events("ACTION_READ").await;
    assert_eq!(read.len(), 4, "{read:?}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_command_reaches_no_file_through_a_link_that_it_may_not_reach_by_its_name() {
    let fixture = GovernanceFixture::new().await;
    fixture.deny_files("**/.env");
    let app = fixture.home.path("app").canonicalize().unwrap();
    fixture.write(".env", "KEY=1");
    fixture.write("web/a.txt", "a");
    fixture.write(".git/config", "[core]\n");
    let absolute = app.join(".env");
    for (link, to) in [
        ("lnk", ".env"),
        ("twice", "web/up/lnk"),
        ("web/up", ".."),
        ("abs", absolute.to_str().unwrap()),
        ("new", "web/none/../../.env"),
        ("g", ".git"),
        ("here", "."),
        ("fine", "web/a.txt"),
    ] {
        std::os::unix::fs::symlink(to, app.join(link)).unwrap();
    }
    fixture.set_mode("full").await;
    let whole = format!("cat {}/lnk", app.display());
    for (params, code) in [
        (json!({ "command": "cat lnk" }), "POLICY_DENIED"),
        (json!({ "argv": ["cat", "./lnk"] }), "POLICY_DENIED"),
        (json!({ "command": whole }), "POLICY_DENIED"),
        (json!({ "command": "cat twice" }), "POLICY_DENIED"),
        (json!({ "command": "cat abs" }), "POLICY_DENIED"),
        (json!({ "command": "cat web/up/lnk" }), "POLICY_DENIED"),
        (json!({ "command": "cd web && cat up/lnk" }), "POLICY_DENIED"),
        (json!({ "command": "cat up/lnk", "cwd": "web" }), "POLICY_DENIED"),
        (json!({ "command": "cat lnk", "cwd": "web/up" }), "POLICY_DENIED"),
        (json!({ "command": "echo x > lnk" }), "POLICY_DENIED"),
        (json!({ "command": "echo x > g/config" }), "PROTECTED_PATH"),
    ] {
        let (status, response) =
            fixture.request_action("terminal.runCommand", params.clone()).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (403, &json!(code)),
            "{params}: {response}"
        );
    }
    fixture.request_command(json!({ "command": "find here/ -delete" })).await;
    let ended = fixture.run_command(json!({ "command": "cat fine none" })).await;
    assert!(ended.to_string().contains('a'), "{ended}");
    assert_eq!(fixture.read(".env"), "KEY=1");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn threat_22_no_token_is_in_the_log_or_in_any_file_but_its_own() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo threat-22-was-here" })).await;
    fixture.allow(&question, json!({})).await;
    fixture.wait_finished(&question).await;
    let log = fixture.get("/api/audit").await.to_string();
    assert!(!log.contains(&fixture.agent) && !log.contains(&fixture.daemon.token));
    let mut files = Vec::new();
    let mut folders = vec![fixture.home.data()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() && entry.file_name() != "token" => files.push(entry.path()),
                _ => {}
            }
        }
    }
    let holds = |text: &str| {
        let holds = |file: &&std::path::PathBuf| {
            let data = std::fs::read(file).unwrap();
            data.windows(text.len()).any(|part| part == text.as_bytes())
        };
        files.iter().filter(holds).collect::<Vec<_>>()
    };
    // What happened is in one of them, or this would look in the wrong place.
    assert!(!holds("threat-22-was-here").is_empty(), "{files:?}");
    for token in [&fixture.agent, &fixture.daemon.token] {
        assert!(holds(token).is_empty(), "{:?}", holds(token));
    }
}
