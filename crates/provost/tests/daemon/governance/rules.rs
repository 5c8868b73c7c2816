//! Planted and invalid rules (THREATS 27), and command lines that imitate what a rule
//! allows (THREATS 7 to 11).

use super::*;

const ALLOW: &str = "[[rule]]\nid = 'read'\neffect = 'allow'\non = ['terminal.runCommand']\nargv = [['ls', 'git', 'echo'], '**']\n";

#[tokio::test]
async fn threat_27_a_planted_policy_tightens_at_once_and_never_loosens() {
    let fixture = GovernanceFixture::new().await;
    let planted = |text: &str| fixture.write(".provost/policy.toml", text);
    planted(ALLOW);
    fixture.request_command(json!({ "command": "ls" })).await;
    planted(&format!("{ALLOW}[[rule]]\nid = 'no'\neffect = 'deny'\non = ['fs.stat']\n"));
    let (status, response) = fixture.request_action("fs.stat", json!({ "path": "." })).await;
    assert_eq!((status.as_u16(), &response["code"]), (403, &json!("POLICY_DENIED")), "{response}");
    // A broken rule file is not the same as none: even a read needs an approval.
    planted("[[rule]]\nid = 1\n");
    let (_, response) = fixture.request_action("fs.listFiles", json!({ "path": "." })).await;
    assert_eq!(response["status"], "waiting", "{response}");
    std::fs::remove_file(fixture.home.path("app").join(".provost/policy.toml")).unwrap();
    assert_eq!(fixture.request_action("fs.stat", json!({ "path": "." })).await.0, 200);

    // Trusted, it allows; changed after that, it does not.
    planted(ALLOW);
    let policy = fixture.get("/api/projects/app/policy").await;
    let hash = &policy["layers"][2]["hash"];
    let trust = json!({ "what": "policy", "file": ".provost/policy.toml", "hash": hash });
    assert_eq!(fixture.operator(Method::POST, "/api/projects/app/trust", &trust).await.0, 200);
    fixture.run_command(json!({ "command": "ls" })).await;
    planted(&ALLOW.replace("'ls'", "'ls', 'make'"));
    fixture.request_command(json!({ "command": "ls" })).await;
    let changed = fixture.daemon.events("POLICY_CHANGED").await;
    assert!(changed.iter().filter(|body| body["layer"] == "project").count() >= 5, "{changed:?}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn rules_that_are_kept_elsewhere_and_linked_take_effect_when_they_change_there() {
    let fixture = GovernanceFixture::new().await;
    let kept = fixture.home.path("dotfiles.toml");
    std::fs::write(&kept, "").unwrap();
    std::os::unix::fs::symlink(&kept, fixture.home.path("policy.toml")).unwrap();
    fixture.write("a.txt", "a");
    let read = || fixture.request_action("fs.readFile", json!({ "path": "a.txt" }));
    assert_eq!(read().await.0, 200);
    fixture.deny_files("a.txt");
    assert!(kept.metadata().unwrap().len() > 0, "it was written through the link");
    let (_, response) = read().await;
    assert_eq!(response["code"], "POLICY_DENIED", "{response}");
    // A link that leads nowhere is not as if there were no rules.
    std::fs::remove_file(&kept).unwrap();
    let (_, response) = read().await;
    assert_eq!(response["status"], "waiting", "{response}");
    std::fs::remove_file(fixture.home.path("policy.toml")).unwrap();
    assert_eq!(read().await.0, 200);
    fixture.assert_log_intact();
}

#[tokio::test]
async fn when_a_persons_own_rules_are_broken_everything_asks_and_nothing_more_is_remembered() {
    let fixture = GovernanceFixture::new().await;
    let policy = fixture.home.path("policy.toml");
    std::fs::write(&policy, ALLOW).unwrap();
    fixture.run_command(json!({ "command": "ls" })).await;
    fixture.set_mode("full").await;
    std::fs::write(&policy, "[[rule]]\nid = 'x'\neffect = 'alow'\n").unwrap();
    let question = fixture.request_command(json!({ "command": "ls" })).await;
    assert_eq!(question["question"]["choices"].as_array().unwrap().len(), 1, "{question}");
    let (_, response) = fixture.request_action("fs.listFiles", json!({ "path": "." })).await;
    assert_eq!(response["status"], "waiting", "{response}");
    std::fs::write(&policy, "").unwrap();
    fixture.run_command(json!({ "command": "ls" })).await;
    fixture.assert_log_intact();
}

/// Lines that hold more than what the rule allows, with the threats that they are.
const LINES: &[(u32, &str)] = &[
    (7, "ls; touch ran"),
    (7, "ls && touch ran"),
    (7, "ls & touch ran"),
    (7, "ls | tee ran"),
    (7, "ls\ntouch ran"),
    (7, "ls || touch ran"),
    (7, "(ls; touch ran)"),
    (7, "ls > ran"),
    (8, "ls $(touch ran)"),
    (8, "ls `touch ran`"),
    (8, "ls <(touch ran)"),
    (8, "echo ${X:=$(touch ran)}"),
    (8, "ls${IFS}-la;touch${IFS}ran"),
    (8, "echo \"$(touch ran)\""),
    (8, "ls <<E\n$(touch ran)\nE"),
    (8, "echo $((a[$(touch ran)]))"),
    (9, "env touch ran"),
    (9, "ls | xargs touch ran"),
    (9, "find . -exec touch ran ;"),
    (9, "git -c core.pager='touch ran' log"),
    (9, "git -c alias.x='!touch ran' x"),
    (9, "tar cf /dev/null . --checkpoint=1 --checkpoint-action=exec='touch ran'"),
    (9, "awk 'BEGIN { system(\"touch ran\") }'"),
    (9, "sh -c 'touch ran'"),
    (9, "GIT_PAGER='touch ran' git log"),
    (10, "t''ouch ran"),
    (10, "\\touch ran"),
    (10, "$'touch' ran"),
    (10, "l\"s\" ; touch ran"),
    (11, "./git status"),
    (11, "PATH=.:$PATH git status"),
    (11, "cd . && ./git status"),
];

#[tokio::test]
async fn threats_7_to_11_no_line_passes_for_what_a_rule_allows() {
    let fixture = GovernanceFixture::new().await;
    std::fs::write(fixture.home.path("policy.toml"), ALLOW).unwrap();
    fixture.write("git", "#!/bin/sh\necho x >> ran\n");
    fixture.run_command(json!({ "command": "ls -la" })).await;
    for (threat, line) in LINES {
        let (_, response) =
            fixture.request_action("terminal.runCommand", json!({ "command": line })).await;
        assert_eq!(response["status"], "waiting", "threat {threat}: {line}: {response}");
        // One requester may have so many questions open and no more.
        let cancel = format!("/api/actions/{}/cancel", response["actionId"].as_str().unwrap());
        fixture.send(&fixture.agent, Method::POST, &cancel, &json!({})).await;
    }
    for (threat, line) in [
        (10, "l\u{200b}s"),
        (10, "\u{ff4c}\u{ff53}"),
        (10, "ls \u{202e}nar hcuot"),
        (11, "ls\u{0}; touch ran"),
    ] {
        let (status, response) =
            fixture.request_action("terminal.runCommand", json!({ "command": line })).await;
        let waits = response["status"] == "waiting";
        assert!(waits || status == 422, "threat {threat}: {line:?}: {response}");
    }
    for params in [
        json!({ "argv": ["./git", "status"] }),
        json!({ "command": "git status", "env": { "GIT_DIR": "evil" } }),
        json!({ "command": "git apply", "stdin": "evil" }),
        json!({ "command": "git fetch", "network": true }),
    ] {
        fixture.request_command(params).await;
    }
    let (status, response) = fixture
        .request_action(
            "terminal.runCommand",
            json!({ "command": "git x", "env": { "PATH": "." } }),
        )
        .await;
    assert_eq!((status.as_u16(), &response["code"]), (422, &json!("INVALID_ACTION")), "{response}");
    assert_eq!(fixture.read("ran"), "");
    assert_eq!(fixture.daemon.events("ACTION_STARTED").await.len(), 1, "only the `ls` above");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_rule_on_a_path_holds_for_searches_and_listings_around_it() {
    let fixture = GovernanceFixture::new().await;
    std::fs::write(
        fixture.home.path("policy.toml"),
        "[[rule]]\nid = 'no'\neffect = 'deny'\non = ['fs.*']\npath = ['private/**']\n\
         [[rule]]\nid = 'ask'\neffect = 'ask'\non = ['fs.readFile']\npath = ['drafts/**']\n",
    )
    .unwrap();
    for file in ["a.txt", "private/x.txt", "drafts/y.txt", "certs/server.key"] {
        fixture.write(file, "needle\n");
    }
    let paths = |response: &Value, of: &str| {
        let path = |one: &Value| one["path"].as_str().unwrap().to_owned();
        response["result"][of].as_array().unwrap().iter().map(path).collect::<Vec<_>>()
    };
    let search = json!({ "pattern": "needle" });
    let body = json!({ "action": "fs.searchFiles", "params": search });
    let path = "/api/projects/app/actions";
    let (_, response) = fixture.send(&fixture.agent, Method::POST, path, &body).await;
    assert_eq!(paths(&response, "matches"), ["a.txt"], "{response}");
    assert_eq!(response["result"]["leftOut"]["count"], 3, "{response}");
    let why = response["result"]["leftOut"]["why"].to_string();
    for rule in ["`no`", "`ask`", "`secrets`"] {
        assert!(why.contains(rule), "{why}");
    }
    // Named itself, it is asked for, as reading it is.
    for (place, code) in [("drafts/y.txt", 202), ("certs/server.key", 202), ("private", 403)] {
        let params = json!({ "pattern": "needle", "path": place });
        let (status, response) = fixture.request_action("fs.searchFiles", params).await;
        assert_eq!(status.as_u16(), code, "{place}: {response}");
    }
    let drafts = fixture.pending_approvals().await.into_iter().next().unwrap();
    fixture.allow(&drafts, json!({})).await;
    fixture.wait_finished(&drafts).await;
    let list = json!({ "action": "fs.listFiles", "params": { "path": ".", "depth": 2 } });
    let (_, response) = fixture.send(&fixture.agent, Method::POST, path, &list).await;
    let names = paths(&response, "entries");
    assert!(names.contains(&"drafts/y.txt".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("private")), "{names:?}");
    // A person sees everything.
    let (_, response) = fixture.operator(Method::POST, path, &body).await;
    assert_eq!(
        (paths(&response, "matches").len(), response["result"].get("leftOut")),
        (4, None),
        "{response}"
    );
    fixture.assert_log_intact();
}

#[tokio::test]
async fn in_mode_auto_what_stays_in_the_sandbox_runs_and_what_leaves_it_asks() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("auto").await;
    fixture.run_command(json!({ "command": "ls" })).await;
    fixture.request_command(json!({ "command": "ls", "network": true })).await;
    fixture.request_command(json!({ "command": "curl https://example.com" })).await;
    fixture.assert_log_intact();
}

/// A script says nothing about what it writes; the sandbox holds it all the same.
#[tokio::test]
async fn what_a_rule_denies_to_write_no_program_of_an_agent_writes() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    fixture.write("deploy/prod.yaml", "kept");
    fixture.write("w.sh", "echo x > deploy/prod.yaml; echo x > deploy/new; echo x > free\n");
    let rule = "[[rule]]\nid = 'no'\neffect = 'deny'\non = ['fs.write']\npath = ['deploy/**']\n";
    std::fs::write(fixture.home.path("policy.toml"), rule).unwrap();
    fixture.run_command(json!({ "argv": ["sh", "w.sh"] })).await;
    assert_eq!(
        (fixture.read("deploy/prod.yaml").as_str(), fixture.read("free").as_str()),
        ("kept", "x\n")
    );
    assert!(!fixture.home.path("app/deploy/new").exists());
    std::fs::remove_file(fixture.home.path("policy.toml")).unwrap();
    fixture.run_command(json!({ "argv": ["sh", "w.sh"] })).await;
    assert_eq!(fixture.read("deploy/prod.yaml"), "x\n", "the control: without the rule it does");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_a_rule_denies_to_write_holds_for_builds_and_in_the_background() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    fixture.write("deploy/prod.yaml", "kept");
    fixture.write("w.sh", "echo x > deploy/prod.yaml; echo x > free; sleep 1000\n");
    let role_file =
        "---\nname: dev\nskills: [fs.read, fs.write, terminal.*, runtime.*]\n---\nWork.\n";
    fixture.write(ROLE, role_file);
    fixture.trust_role().await;
    fixture.write("b.sh", "echo x > deploy/prod.yaml; echo x > built\n");
    fixture.write("provost.toml", "[runtime]\nbuild = 'sh b.sh'\n");
    let rule = "[[rule]]\nid = 'no'\neffect = 'deny'\non = ['fs.write']\npath = ['deploy/**']\n";
    std::fs::write(fixture.home.path("policy.toml"), rule).unwrap();
    let background = json!({ "argv": ["sh", "w.sh"], "background": true });
    let (_, response) = fixture.request_action("terminal.runCommand", background).await;
    let written = |name: &str| std::fs::read_to_string(fixture.home.path("app").join(name));
    let is_written = |name| written(name).is_ok_and(|text| text == "x\n");
    while !is_written("free") {
        assert!(response.get("code").is_none(), "{response}");
        tokio::task::yield_now().await;
    }
    let (_, response) = fixture.request_action("runtime.build", json!({})).await;
    while !is_written("built") {
        assert!(response.get("code").is_none(), "{response}");
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.read("deploy/prod.yaml"), "kept");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_denied_request_that_is_repeated_is_counted_and_no_other_is_lost() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("a.txt", "a");
    fixture.deny_files("*.txt");
    let before = fixture.daemon.events("ACTION_DENIED").await.len();
    let read = |path: &'static str| fixture.request_action("fs.readFile", json!({ "path": path }));
    for n in 0..120 {
        let (status, response) = read("a.txt").await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (403, &json!("POLICY_DENIED")),
            "{n} {response}"
        );
    }
    read("b.txt").await;
    assert_eq!(fixture.daemon.events("ACTION_DENIED").await.len() - before, 4);
    let requested = fixture.daemon.events("ACTION_REQUESTED").await;
    let what: Vec<_> = requested.iter().filter_map(|body| body["what"].as_str()).collect();
    let count = |text: &str| what.iter().filter(|what| what.contains(text)).count();
    assert_eq!((count("requested 10 times"), count("requested 100 times")), (1, 1), "{what:?}");
    assert_eq!((count("a.txt"), count("b.txt")), (3, 1), "{what:?}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_a_command_reads_outside_is_named_by_a_setting() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    std::fs::create_dir(fixture.home.path("datasets")).unwrap();
    std::fs::write(fixture.home.path("datasets/a"), "content").unwrap();
    let path = fixture.home.path("datasets/a").display().to_string();
    let body = json!({ "action": "terminal.runCommand", "params": { "argv": ["cat", path] } });
    let read = || fixture.send(&fixture.agent, Method::POST, "/api/projects/app/actions", &body);
    let (_, response) = read().await;
    let hint = response["result"]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint.contains(&path) && hint.contains("[sandbox] read"), "{response}");
    let setting = "[sandbox]\nread = ['~/datasets']\n";
    std::fs::write(fixture.home.path("policy.toml"), setting).unwrap();
    let (_, response) = read().await;
    assert_eq!(response["result"]["stdout"], "content", "{response}");
    fixture.assert_log_intact();
}
