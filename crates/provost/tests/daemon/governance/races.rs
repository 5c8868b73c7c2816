//! Changes between the decision and the execution: links, scripts, processes of others,
//! and git configuration that runs programs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;

/// A thread that changes files as fast as it can, until dropped.
struct Meddler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meddler {
    fn new(meddle: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                meddle();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl GovernanceFixture {
    /// The agent requests an action and waits for its outcome.
    async fn await_action(&self, action: &str, params: Value) -> (StatusCode, Value) {
        let body = json!({ "action": action, "params": params });
        self.send(&self.agent, Method::POST, "/api/projects/app/actions", &body).await
    }
}

/// Switches a link between two targets.
fn swaps(folder: &Path, link: &str, targets: [&'static str; 2]) -> Meddler {
    let (folder, link) = (folder.to_owned(), folder.join(link));
    Meddler::new(move || {
        for target in targets {
            let next = folder.join("next-link");
            std::os::unix::fs::symlink(target, &next).unwrap();
            std::fs::rename(&next, &link).unwrap();
        }
    })
}

/// How often a race is run: before, each of them was lost within a few.
const TIMES: u32 = 60;

#[tokio::test]
async fn a_link_that_is_swapped_after_the_decision_leads_nowhere_that_governs() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    let app = fixture.home.path("app");
    fixture.write(".git/hooks/README", "");
    fixture.write(".git/hooks/mine", "governs");
    fixture.write("plain/mine", "does not");
    let _swaps = swaps(&app, "d", ["plain", ".git/hooks"]);
    let patch = "--- /dev/null\n+++ b/d/commit-msg\n@@ -0,0 +1 @@\n+evil\n";
    let mut written = 0;
    for _ in 0..TIMES {
        for (action, params) in [
            ("fs.writeFile", json!({ "path": "d/pre-commit", "content": "evil" })),
            ("fs.createDir", json!({ "path": "d/new/folder" })),
            ("fs.applyPatch", json!({ "patch": patch })),
            ("fs.moveFile", json!({ "from": "d/pre-commit", "to": "d/post-merge" })),
            ("fs.editFile", json!({ "path": "d/mine", "edits": [{ "old": "does", "new": "x" }] })),
            ("fs.deleteFile", json!({ "path": "d/mine", "recursive": true })),
            ("fs.deleteFile", json!({ "path": "d/new", "recursive": true })),
        ] {
            let (status, response) = fixture.await_action(action, params).await;
            written += u32::from(status.is_success());
            assert!(status != 500, "{action}: {response}");
        }
        for name in ["pre-commit", "post-merge", "commit-msg", "new"] {
            assert!(!app.join(".git/hooks").join(name).exists(), "{name} was planted");
            drop(std::fs::remove_file(app.join("plain").join(name)));
        }
        assert_eq!(fixture.read(".git/hooks/mine"), "governs");
        fixture.write("plain/mine", "does not");
    }
    assert!(written > 0, "the race was run: some of it was done where it was allowed");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn an_answer_is_for_the_place_and_the_content_that_were_shown() {
    let fixture = GovernanceFixture::new().await;
    let app = fixture.home.path("app");
    let link = |to: &str| {
        let _gone = std::fs::remove_file(app.join("l"));
        std::os::unix::fs::symlink(to, app.join("l")).unwrap();
    };
    let asks = async |action: &str, params: Value| {
        let (_, response) = fixture.request_action(action, params).await;
        assert_eq!(response["status"], "waiting", "{action}: {response}");
        fixture.get(&format!("/api/approvals/{}", response["approvalId"].as_str().unwrap())).await
    };
    for (action, params) in [
        ("fs.deleteFile", json!({ "path": "l/x" })),
        ("fs.writeFile", json!({ "path": "l/x", "content": "new" })),
        ("fs.editFile", json!({ "path": "l/x", "edits": [{ "old": "same", "new": "new" }] })),
        ("fs.readFile", json!({ "path": "l/.env" })),
    ] {
        for folder in ["one", "two"] {
            fixture.write(&format!("{folder}/x"), "same");
            fixture.write(&format!("{folder}/.env"), folder);
        }
        link("one");
        let question = asks(action, params.clone()).await;
        assert!(question.to_string().contains("is really one/"), "{action}: {question}");
        // What leads elsewhere tomorrow is allowed today only.
        assert_eq!(question["question"]["choices"].as_array().unwrap().len(), 1, "{question}");
        link("two");
        let (status, response) = fixture.allow(&question, json!({})).await;
        assert_eq!(
            (status.as_u16(), &response["code"]),
            (409, &json!("HASH_MISMATCH")),
            "{response}"
        );
        assert_eq!(fixture.read("two/x"), "same", "{action}");
        let open = fixture.pending_approvals().await;
        assert_eq!(open.len(), 1, "{action}: {open:?}");
        assert!(open[0].to_string().contains("is really two/"), "{action}: {open:?}");
        assert_eq!(fixture.allow(&open[0], json!({})).await.0, 200);
        fixture.wait_finished(&open[0]).await;
        assert_eq!(fixture.read("one/x"), "same", "{action}");
    }
    // The same without links: what would go is not what was shown.
    fixture.write("f", "one");
    let question = asks("fs.writeFile", json!({ "path": "f", "content": "new" })).await;
    fixture.write("f", "precious");
    assert_eq!(fixture.allow(&question, json!({})).await.0, 409);
    assert_eq!(fixture.read("f"), "precious");
    let open = fixture.pending_approvals().await;
    assert!(open[0]["question"]["diff"].as_str().unwrap().contains("-precious"), "{open:?}");
    assert_eq!(fixture.allow(&open[0], json!({})).await.0, 200);
    fixture.wait_finished(&open[0]).await;
    assert_eq!(fixture.read("f"), "new");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_grant_for_a_file_is_none_for_what_a_link_in_its_place_leads_to() {
    let fixture = GovernanceFixture::new().await;
    fixture.write(".env", "A=1");
    fixture.write("id_rsa", "KEY");
    let read = || fixture.request_action("fs.readFile", json!({ "path": ".env" }));
    let (_, response) = read().await;
    let question =
        fixture.get(&format!("/api/approvals/{}", response["approvalId"].as_str().unwrap())).await;
    assert_eq!(fixture.allow(&question, json!({ "scope": "session" })).await.0, 200);
    fixture.wait_finished(&question).await;
    assert_eq!(read().await.0, 200);
    let env = fixture.home.path("app").join(".env");
    std::fs::remove_file(&env).unwrap();
    std::os::unix::fs::symlink("id_rsa", &env).unwrap();
    let (_, response) = read().await;
    assert_eq!(response["status"], "waiting", "{response}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn whoever_allows_what_is_forbidden_by_now_is_told_that_it_was_not_done() {
    let fixture = GovernanceFixture::new().await;
    let question = fixture.request_command(json!({ "command": "echo x > made" })).await;
    fixture.deny_files("made");
    let id = question["id"].as_str().unwrap();
    let printed = fixture.home.provost(&["approvals", "allow", "-y", id]).assert().code(1);
    let printed = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
    assert!(printed.contains("You allowed it") && printed.contains("audit --action"), "{printed}");
    assert_eq!(fixture.read("made"), "");
}

#[tokio::test]
async fn a_link_that_is_swapped_after_the_decision_shows_nothing_that_a_rule_denies() {
    let fixture = GovernanceFixture::new().await;
    fixture.deny_files("private/**");
    fixture.write("private/note", "HIDDEN");
    fixture.write("public/note", "SHOWN");
    let app = fixture.home.path("app");
    let _folders = swaps(&app, "d", ["public", "private"]);
    std::fs::create_dir(app.join("links")).unwrap();
    let _files = swaps(&app.join("links"), "f", ["../public/note", "../private/note"]);
    let mut shown = 0;
    for _ in 0..TIMES {
        for (action, params) in [
            ("fs.readFile", json!({ "path": "d/note" })),
            ("fs.readFile", json!({ "path": "links/f", "offset": 0 })),
            ("fs.searchFiles", json!({ "path": "d", "pattern": "HID|SHO" })),
            ("fs.searchFiles", json!({ "path": "links/f", "pattern": "HID|SHO" })),
        ] {
            let (status, response) = fixture.await_action(action, params).await;
            assert!(!response.to_string().contains("HIDDEN"), "{action}: {response}");
            assert!(status != 500, "{action}: {response}");
            shown += u32::from(response.to_string().contains("SHOWN"));
        }
    }
    assert!(shown > 0, "what is public was shown through the link");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn links_that_stay_work_as_before_and_are_answered_by_their_name() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("auto").await;
    fixture.write("real/deep/a.txt", "one");
    let app = fixture.home.path("app");
    for (link, to) in [("l", "real"), ("real/again", "deep"), ("real/deep/b.txt", "a.txt")] {
        std::os::unix::fs::symlink(to, app.join(link)).unwrap();
    }
    let done = async |action: &str, params: Value| {
        let (status, response) = fixture.await_action(action, params).await;
        assert!(status.is_success(), "{action}: {response}");
        response["result"].clone()
    };
    let read = done("fs.readFile", json!({ "path": "l/again/b.txt" })).await;
    assert_eq!(read["content"], "one");
    let stat = done("fs.stat", json!({ "path": "l/again/b.txt" })).await;
    assert_eq!(stat["kind"], "symlink", "the link itself is looked at");
    let new = json!({ "path": "l/again/new/c.txt", "content": "two" });
    let written = done("fs.writeFile", new).await;
    assert_eq!(written["changed"][1]["path"], "l/again/new/c.txt", "{written}");
    assert_eq!(fixture.read("real/deep/new/c.txt"), "two");
    let listed = done("fs.listFiles", json!({ "path": "l/again", "depth": 3 })).await;
    assert!(listed.to_string().contains("l/again/new/c.txt"), "{listed}");
    let found = done("fs.searchFiles", json!({ "path": "l", "pattern": "two" })).await;
    assert_eq!(found["matches"][0]["path"], "l/deep/new/c.txt", "{found}");
    done("fs.moveFile", json!({ "from": "l/again/new/c.txt", "to": "l/d.txt" })).await;
    assert_eq!(fixture.read("real/d.txt"), "two");
    done("fs.deleteFile", json!({ "path": "l/again/b.txt" })).await;
    assert_eq!(fixture.read("real/deep/a.txt"), "one", "the link went, not what it leads to");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn an_agent_reaches_no_process_of_anybody_else() {
    let mut fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    let path = "/api/projects/app/actions";
    let cat = json!({ "action": "terminal.runCommand",
        "params": { "command": "cat", "background": true } });
    let (_, operators) = fixture.operator(Method::POST, path, &cat).await;
    let (_, own) = fixture.request_action("terminal.runCommand", cat["params"].clone()).await;
    let first = fixture.agent.clone();
    (fixture.agent, _) = fixture.new_agent().await;
    let theirs = [&operators["actionId"], &own["actionId"]];
    for id in theirs {
        for (action, params) in [
            ("terminal.read", json!({ "id": id })),
            ("terminal.write", json!({ "id": id, "text": "rm -rf ~\n" })),
            ("terminal.signal", json!({ "id": id, "signal": "KILL" })),
            ("terminal.stop", json!({ "id": id })),
        ] {
            let (status, response) = fixture.await_action(action, params).await;
            assert_eq!(
                (status.as_u16(), &response["code"]),
                (403, &json!("FORBIDDEN")),
                "{response}"
            );
            assert!(response["error"].as_str().unwrap().contains("terminal.list"), "{response}");
        }
    }
    assert_eq!(fixture.daemon.events("ACTION_DENIED").await.len(), 8, "the log says so");
    let (_, listed) = fixture.await_action("terminal.list", json!({})).await;
    assert_eq!(listed["result"]["processes"], json!([]), "{listed}");

    // Its own it reaches, and the operator all.
    fixture.agent = first;
    let (_, listed) = fixture.await_action("terminal.list", json!({})).await;
    let ids: Vec<_> = listed["result"]["processes"].as_array().unwrap().iter().collect();
    assert_eq!(ids.len(), 1, "{listed}");
    assert_eq!(ids[0]["id"], own["actionId"]);
    let typed = json!({ "id": own["actionId"], "text": "hello\n", "eof": true });
    let (status, response) = fixture.await_action("terminal.write", typed).await;
    assert!(status.is_success(), "{response}");
    fixture.daemon.until(own["actionId"].as_str().unwrap(), "finished").await;
    let (status, response) =
        fixture.await_action("terminal.read", json!({ "id": own["actionId"] })).await;
    assert_eq!(
        (status.as_u16(), &response["result"]["text"]),
        (200, &json!("hello\n")),
        "{response}"
    );
    let all = json!({ "action": "terminal.list", "params": {} });
    let (_, listed) = fixture.operator(Method::POST, path, &all).await;
    assert_eq!(listed["result"]["processes"].as_array().unwrap().len(), 2, "{listed}");
    for id in theirs {
        let stop = json!({ "action": "terminal.stop", "params": { "id": id } });
        let (status, response) = fixture.operator(Method::POST, path, &stop).await;
        assert!(status.is_success(), "{response}");
    }
    fixture.assert_log_intact();
}

#[tokio::test]
async fn git_runs_no_program_that_a_repository_in_the_project_names() {
    let fixture = GovernanceFixture::new().await;
    fixture.set_mode("full").await;
    let app = fixture.home.path("app");
    let evil = app.join("evil");
    std::fs::write(&evil, "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/RAN\"\n").unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let git = "git init -q --bare src/x && git init -q plain";
    assert_eq!(fixture.run_command(json!({ "command": git })).await["outcome"]["exitCode"], 0);
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {}\n",
        evil.display()
    );
    std::fs::write(app.join("src/x/config"), &config).unwrap();
    std::fs::write(app.join("plain/.git/config"), config.replace("\tworktree = .\n", "")).unwrap();
    for params in [
        json!({ "command": "cd src/x && git status" }),
        json!({ "argv": ["git", "status"], "cwd": "src/x" }),
        json!({ "argv": ["git", "status"], "cwd": "plain" }),
        json!({ "command": "git status", "cwd": "src/x", "env": { "A": "1" } }),
    ] {
        fixture.run_command(params).await;
    }
    assert_eq!(fixture.read("RAN"), "", "git ran a program of the project");
    // Repositories that are where one expects them work as they did.
    let honest = "cd plain && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline";
    let done = fixture.run_command(json!({ "command": honest })).await;
    assert_eq!(done["outcome"]["exitCode"], 0, "{done}");
    // What keeps it so cannot be taken away.
    let (status, response) = fixture
        .request_action(
            "terminal.runCommand",
            json!({ "command": "git status", "env": { "GIT_CONFIG_COUNT": "0" } }),
        )
        .await;
    assert_eq!(status, 422, "{response}");
    fixture.assert_log_intact();
}

/// Replaces the script by another and by itself, as a command of an agent can.
const MEDDLING: &str = "echo go; while :; do cp evil.sh e; mv -f e src/build.sh; \
     cp good.sh g; mv -f g src/build.sh; sleep 0.0$((RANDOM % 6)); mv src old && mkdir src && cp evil.sh src/build.sh; \
     rm -rf src; mv old src; done 2>/dev/null";

#[tokio::test]
async fn a_script_that_was_shown_is_what_runs_whatever_is_put_in_its_place() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("evil.sh", "echo EVIL\n");
    fixture.write("good.sh", "echo good\n");
    fixture.write("src/build.sh", "echo good\n");
    let first = fixture.request_command(json!({ "argv": ["sh", "src/build.sh"] })).await;
    let good = &first["question"]["pins"];
    assert_eq!(good[0]["path"], "src/build.sh", "{first}");
    let mut ran = 0;
    let mut n = 0;
    // How often it is as it was shown both when it is and when it is answered is chance.
    while n < TIMES / 2 || ran == 0 {
        n += 1;
        assert!(n < 200, "none was run");
        // Each of them is held once the script runs, so each race is run by a new one.
        // The operator's command has the same sandbox and needs no approval.
        let meddling = json!({ "command": MEDDLING, "background": true });
        let meddler = fixture.daemon.start(meddling).await;
        fixture.daemon.until(&meddler, "running").await;
        let question =
            fixture.request_command(json!({ "argv": ["sh", "src/build.sh", format!("{n}")] }));
        let question = question.await;
        // Nobody allows what they see to be evil; and what is asked anew waits.
        if question["question"]["pins"] == *good
            && fixture.allow(&question, json!({})).await.0 == 200
        {
            let ended = fixture.wait_finished(&question).await;
            ran += u32::from(ended["outcome"]["exitCode"] == 0);
        }
        let stop = json!({ "action": "terminal.stop", "params": { "id": meddler, "graceMs": 0 } });
        let (status, response) =
            fixture.operator(Method::POST, "/api/projects/app/actions", &stop).await;
        assert!(status.is_success(), "{response}");
        drop(std::fs::remove_dir_all(fixture.home.path("app").join("old")));
        fixture.write("src/build.sh", "echo good\n");
    }
    let printed = json!(fixture.daemon.events("ACTION_OUTPUT").await).to_string();
    assert!(!printed.contains("EVIL"), "{printed}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn of_a_script_behind_a_link_a_person_is_told_and_it_is_allowed_once_only() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("src/build.sh", "echo good\n");
    std::os::unix::fs::symlink("src", fixture.home.path("app").join("link")).unwrap();
    let plain = fixture.request_command(json!({ "argv": ["sh", "src/build.sh"] })).await;
    assert!(!plain["question"]["notes"].to_string().contains("link"), "{plain}");
    let linked = fixture.request_command(json!({ "argv": ["sh", "link/build.sh"] })).await;
    let note = "what it runs can change after you answer: link/build.sh lies behind a link";
    assert!(linked["question"]["notes"].as_array().unwrap().contains(&json!(note)), "{linked}");
    assert_eq!(linked["question"]["choices"].as_array().unwrap().len(), 1, "{linked}");
    assert_eq!(fixture.allow(&linked, json!({})).await.0, 200);
    assert_eq!(fixture.wait_finished(&linked).await["outcome"]["exitCode"], 0);
    // One that was shown as a file is not run through a link, wherever that leads.
    assert_eq!(plain["question"]["pins"][0]["path"], "src/build.sh");
    let app = fixture.home.path("app");
    std::fs::rename(app.join("src"), app.join("real")).unwrap();
    std::os::unix::fs::symlink("real", app.join("src")).unwrap();
    let (status, response) = fixture.allow(&plain, json!({})).await;
    assert_eq!((status.as_u16(), &response["code"]), (409, &json!("HASH_MISMATCH")), "{response}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_script_that_runs_cannot_be_written_by_an_agent_until_it_has_ended() {
    let fixture = GovernanceFixture::new().await;
    let script = "echo go; while [ ! -e done ]; do sleep 0.02; done\necho good\n";
    fixture.write("build.sh", script);
    fixture.write("evil.sh", "echo EVIL");
    let meddling = "while [ ! -e meddle ]; do sleep 0.02; done; mv -f evil.sh build.sh";
    let meddler = fixture.daemon.start(json!({ "command": meddling })).await;
    fixture.daemon.until(&meddler, "running").await;
    // A server of the project runs what agents wrote.
    fixture.write("provost.toml", "[runtime]\ndev = 'sh serve.sh'\n");
    fixture.write("serve.sh", &format!("{meddling}; echo $? > served; exec sleep 1000\n"));
    let run = "/api/projects/app/runtime/run";
    let (status, response) = fixture.operator(Method::POST, run, &json!({})).await;
    assert!(status.is_success(), "{response}");
    let question =
        fixture.request_command(json!({ "command": "sh build.sh; sh ./build.sh" })).await;
    assert_eq!(fixture.allow(&question, json!({})).await.0, 200);
    fixture.daemon.until(question["action"].as_str().unwrap(), "running").await;
    fixture.set_mode("full").await;
    for (action, params) in [
        ("fs.writeFile", json!({ "path": "build.sh", "content": "echo EVIL" })),
        ("fs.deleteFile", json!({ "path": "build.sh" })),
        ("fs.moveFile", json!({ "from": "build.sh", "to": "b.sh" })),
    ] {
        let (status, response) = fixture.await_action(action, params).await;
        assert_eq!((status.as_u16(), &response["code"]), (409, &json!("CONFLICT")), "{response}");
    }
    for command in ["echo 'echo EVIL' > build.sh", "rm build.sh", "cp build.sh x; mv x build.sh"] {
        let ended = fixture.run_command(json!({ "command": command })).await;
        assert_ne!(ended["outcome"]["exitCode"], 0, "{command}: {ended}");
    }
    // Nor by a command that ran before.
    fixture.write("meddle", "");
    let ended = fixture.daemon.until(&meddler, "finished").await;
    assert_ne!(ended["outcome"]["exitCode"], 0, "{ended}");
    while fixture.read("served").is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_ne!(fixture.read("served"), "0\n");
    // A person may; what runs is what was shown all the same.
    fixture.write("build.sh", "echo EVIL");
    fixture.write("done", "");
    assert_eq!(fixture.wait_finished(&question).await["outcome"]["exitCode"], 0);
    let printed = json!(fixture.daemon.events("ACTION_OUTPUT").await).to_string();
    assert!(printed.contains("good") && !printed.contains("EVIL"), "{printed}");
    let write = json!({ "path": "build.sh", "content": "echo new" });
    assert!(fixture.await_action("fs.writeFile", write).await.0.is_success());
    fixture.assert_log_intact();
}
