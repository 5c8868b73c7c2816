//! What was set aside is put back by one answer that shows it, and only as it was shown.

use super::*;

impl GovernanceFixture {
    /// A project with a build file and a repository, in mode `auto`.
    async fn with_repository() -> Self {
        let fixture = Self::new().await;
        fixture.write("Makefile", "all:\n\t@echo own\n");
        let script = "git init -q -b main && git config user.name a && git config user.email a@b \
                      && git add . && git commit -q -m one && mkdir -p .git/hooks";
        fixture.run_as_person(script);
        fixture.set_mode("auto").await;
        fixture
    }

    fn run_as_person(&self, script: &str) {
        let mut bash = assert_cmd::Command::new("/bin/bash");
        bash.args(["-c", script]).current_dir(self.home.path("app"));
        bash.env("HOME", self.home.path("app")).env("GIT_CONFIG_NOSYSTEM", "1").assert().success();
    }

    /// The agent runs a script, which does not say what it writes; returns what was set aside
    /// at a path, if it was.
    async fn set_aside_at(&self, command: &str, path: &str) -> Option<Value> {
        self.write("leave.sh", command);
        let action = self.run_command(json!({ "command": "sh leave.sh" })).await;
        let entries = action["outcome"]["summary"]["setAside"]["entries"].as_array().cloned();
        entries.unwrap_or_default().into_iter().find(|entry| entry["path"] == path)
    }

    /// The agent requests an action and waits for its outcome.
    async fn finish_action(&self, action: &str, params: Value) -> (StatusCode, Value) {
        let body = json!({ "action": action, "params": params });
        self.send(&self.agent, Method::POST, "/api/projects/app/actions", &body).await
    }

    /// The agent requests an action that needs an approval: the approval.
    async fn request_approval(&self, action: &str, params: &Value) -> Value {
        let (status, answer) = self.request_action(action, params.clone()).await;
        assert!(status == 202 && answer["status"] == "waiting", "{action} {params}: {answer}");
        self.get(&format!("/api/approvals/{}", answer["approvalId"].as_str().unwrap())).await
    }

    async fn request_restore(&self, entry: &Value) -> Value {
        let params = json!({ "path": entry["path"], "id": entry["id"] });
        self.request_approval("fs.restoreFile", &params).await
    }
}

/// A command, what it leaves, and a part of what the person is shown of it.
const LEFTOVERS: &[(&str, &str, &str)] = &[
    ("printf 'all:\\n\\t@echo second\\n' > makefile", "makefile", "+\t@echo second"),
    ("echo 'A=$(touch evil)' > .env", ".env", "+A=$(touch evil)"),
    ("mkdir sub; echo registry=x > sub/.npmrc", "sub/.npmrc", "+registry=x"),
    ("mkdir -p sub; echo told > sub/CLAUDE.md", "sub/CLAUDE.md", "+told"),
    ("mkdir -p sub; ln -s ../Makefile sub/.envrc", "sub/.envrc", "a link to"),
    (
        "echo '#!/bin/true' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        ".git/hooks/pre-commit",
        "+#!/bin/true",
    ),
    ("git config core.fsmonitor ./x", ".git/config", "+\tfsmonitor = ./x"),
    (
        "git init -q nested && git -C nested config core.fsmonitor ./x",
        "nested/.git/config",
        "+\tfsmonitor = ./x",
    ),
];

#[tokio::test]
async fn every_kind_of_what_was_set_aside_is_put_back_by_one_answer_that_shows_it() {
    let fixture = GovernanceFixture::with_repository().await;
    let app = fixture.home.path("app");
    let mut n_restored = 0;
    for (command, path, shown) in LEFTOVERS {
        // Without a mount namespace, some of them cannot be made at all.
        let Some(entry) = fixture.set_aside_at(command, path).await else { continue };
        n_restored += 1;
        let approval = fixture.request_restore(&entry).await;
        let question = &approval["question"];
        assert!(question["gate"].is_string(), "{command}: {question}");
        assert_eq!(question["choices"].as_array().unwrap().len(), 1, "once only: {question}");
        let text =
            format!("{} {}", question["diff"].as_str().unwrap_or_default(), question["notes"]);
        assert!(text.contains(shown), "{command}: {text}");
        let printed = fixture.home.run_ok(&["approvals", "show", approval["id"].as_str().unwrap()]);
        assert!(printed.contains("was set aside"), "{printed}");
        let (status, said) = fixture.allow(&approval, json!({})).await;
        assert_eq!(status, 200, "{command}: {said}");
        let action = fixture.wait_finished(&approval).await;
        assert!(action["outcome"]["fault"].is_null(), "{command}: {action}");
        let kept = std::fs::read(fixture.home.data().join(entry["kept"].as_str().unwrap()));
        let there = match app.join(path).read_link() {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            Err(_) => std::fs::read(app.join(path)).unwrap(),
        };
        assert_eq!(there, kept.unwrap(), "{command}");
        assert!(fixture.set_aside_at("touch other", path).await.is_none(), "{command}");
        let report =
            fixture.home.run_ok(&["audit", "--action", approval["action"].as_str().unwrap()]);
        assert!(report.contains("marked as dangerous"), "{report}");
    }
    assert!(n_restored >= 3, "{n_restored}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn what_is_put_back_is_what_was_shown_or_nothing() {
    let fixture = GovernanceFixture::with_repository().await;
    fixture.run_as_person("mkdir sub && echo mine > sub/.npmrc");
    let app = fixture.home.path("app");
    let entry = fixture.set_aside_at("echo evil > sub/.npmrc", "sub/.npmrc").await.unwrap();
    let kept = fixture.home.data().join(entry["kept"].as_str().unwrap());
    // What would be replaced is another file by now: it is asked again.
    let first = fixture.request_restore(&entry).await;
    assert!(first["question"]["diff"].as_str().unwrap().contains("-mine\n+evil\n"), "{first}");
    fixture.write("sub/.npmrc", "newer\n");
    let (status, said) = fixture.allow(&first, json!({})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("HASH_MISMATCH")), "{said}");
    let again = fixture.pending_approvals().await.remove(0);
    assert!(again["question"]["diff"].as_str().unwrap().contains("-newer\n+evil\n"), "{again}");
    // Its content is another by now: it is not put back.
    std::fs::write(&kept, "worse\n").unwrap();
    let again = fixture.get(&format!("/api/approvals/{}", again["id"].as_str().unwrap())).await;
    let (status, said) = fixture.allow(&again, json!({})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("HASH_MISMATCH")), "{said}");
    assert_eq!(fixture.read("sub/.npmrc"), "newer\n");
    // What was never set aside asks nobody, and neither does an action of another project.
    let params = json!({ "path": "sub/.npmrc", "id": "00".repeat(32) });
    let (status, said) = fixture.request_action("fs.restoreFile", params).await;
    assert_eq!((status.as_u16(), &said["code"]), (404, &json!("NOT_FOUND")), "{said}");
    // A rule that denies the path denies it too.
    std::fs::write(&kept, "evil\n").unwrap();
    fixture.deny_files("sub/**");
    let params = json!({ "path": "sub/.npmrc", "id": entry["id"] });
    let (status, said) = fixture.request_action("fs.restoreFile", params).await;
    assert_eq!((status.as_u16(), &said["code"]), (403, &json!("POLICY_DENIED")), "{said}");
    assert!(app.join("sub/.npmrc").exists());
}

#[tokio::test]
async fn a_build_file_beside_the_projects_own_is_written_after_one_answer() {
    let fixture = GovernanceFixture::with_repository().await;
    for (mode, path, content) in [
        ("auto", "makefile", "all:\n\t@echo second\n"),
        ("full", "GNUmakefile", "all:\n\t@echo third\n"),
        ("sandbox", ".env", "A=$(true)\n"),
        ("auto", ".env.local", "export BASH_ENV=./x\n"),
    ] {
        fixture.set_mode(mode).await;
        let params = json!({ "path": path, "content": content });
        let approval = fixture.request_approval("fs.writeFile", &params).await;
        assert!(approval["question"]["gate"].is_string(), "{path}: {approval}");
        let (status, said) = fixture.allow(&approval, json!({})).await;
        assert_eq!(status, 200, "{path}: {said}");
        let action = fixture.wait_finished(&approval).await;
        assert!(!action.to_string().contains("setAside"), "{path}: {action}");
        fixture.set_mode("auto").await;
        assert!(fixture.set_aside_at("touch other", path).await.is_none(), "{path}");
        assert_eq!(fixture.read(path), content);
    }
    // The first file of a tool and a change of one that is there need no answer.
    for (path, content) in [("sub/Makefile", "all:\n"), ("makefile", "all: ; true\n")] {
        let params = json!({ "path": path, "content": content });
        let (status, said) = fixture.finish_action("fs.writeFile", params).await;
        assert_eq!(status, 200, "{path}: {said}");
    }
    // The approval of a move would not show the content.
    fixture.write("vite.config.ts", "");
    fixture.write("evil.js", "");
    let params = json!({ "from": "evil.js", "to": "vite.config.js" });
    let (status, said) = fixture.finish_action("fs.moveFile", params).await;
    assert_eq!((status.as_u16(), &said["code"]), (403, &json!("PROTECTED_PATH")), "{said}");
    assert!(said["error"].as_str().unwrap().contains("fs.writeFile"), "{said}");
    let params = json!({ "from": "vite.config.ts", "to": "vite.config.js" });
    let (status, said) = fixture.finish_action("fs.moveFile", params).await;
    assert_eq!(status, 200, "renaming it is a change: {said}");
}

#[tokio::test]
async fn a_program_that_a_setting_names_is_changed_after_one_answer() {
    let fixture = GovernanceFixture::with_repository().await;
    fixture.run_as_person("mkdir own && echo 1 > own/pre-commit && git config core.hooksPath own");
    fixture.set_mode("sandbox").await;
    let params = json!({ "path": "own/pre-commit", "content": "2\n" });
    let approval = fixture.request_approval("fs.writeFile", &params).await;
    fixture.allow(&approval, json!({})).await;
    let action = fixture.wait_finished(&approval).await;
    assert!(!action.to_string().contains("setAside"), "{action}");
    assert_eq!(fixture.read("own/pre-commit"), "2\n");
    // In mode `auto` nobody is asked first, and the answer puts it back.
    fixture.set_mode("auto").await;
    let params = json!({ "path": "own/pre-commit", "content": "3\n" });
    let (status, said) = fixture.finish_action("fs.writeFile", params).await;
    assert_eq!(status, 200, "{said}");
    assert!(said["result"]["hint"].as_str().unwrap().contains("fs.restoreFile"), "{said}");
    assert_eq!(fixture.read("own/pre-commit"), "2\n");
    let entry = said["result"]["setAside"]["entries"][0].clone();
    let approval = fixture.request_restore(&entry).await;
    fixture.allow(&approval, json!({})).await;
    fixture.wait_finished(&approval).await;
    assert_eq!(fixture.read("own/pre-commit"), "3\n");
}

#[tokio::test]
async fn all_of_a_large_file_is_shown_before_it_is_put_back() {
    let fixture = GovernanceFixture::with_repository().await;
    fixture.run_as_person("mkdir sub");
    let command = "seq -f 'line %g of a long file' 20000 > sub/.npmrc; echo evil >> sub/.npmrc";
    let entry = fixture.set_aside_at(command, "sub/.npmrc").await.unwrap();
    let approval = fixture.request_restore(&entry).await;
    let diff = approval["question"]["diff"].as_str().unwrap();
    assert!(diff.contains("+line 20000 of a long file\n+evil\n"), "the end is shown");
    assert!(!diff.contains("not shown"), "nothing is left out");
    let listed = fixture.pending_approvals().await.remove(0);
    assert!(listed["question"]["diff"].as_str().unwrap().len() < diff.len(), "lists are short");
    let id = approval["id"].as_str().unwrap();
    let shown = fixture.home.run_ok(&["approvals", "show", id]);
    assert!(shown.contains("+line 20000 of a long file\n    +evil\n"), "the terminal shows it");
    let (status, said) = fixture.allow(&approval, json!({})).await;
    assert_eq!(status, 200, "{said}");
    fixture.wait_finished(&approval).await;
    assert!(fixture.read("sub/.npmrc").ends_with("\nevil\n"));
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_setting_that_nobody_thought_of_is_written_after_one_answer() {
    let fixture = GovernanceFixture::with_repository().await;
    for mode in ["auto", "full"] {
        fixture.set_mode(mode).await;
        let params = json!({ "path": ".jedirc", "content": format!("{mode}\n") });
        let approval = fixture.request_approval("fs.writeFile", &params).await;
        let gate = approval["question"]["gate"].to_string();
        assert!(gate.contains("is not known to be harmless"), "{approval}");
        let (status, said) = fixture.allow(&approval, json!({})).await;
        assert_eq!(status, 200, "{said}");
        let action = fixture.wait_finished(&approval).await;
        assert!(!action.to_string().contains("setAside"), "{action}");
        // Harmless content, and harmless names.
        for (path, content) in [(".python-version", "3.12\n"), (".gitignore", "target\n")] {
            let params = json!({ "path": path, "content": content });
            let (status, said) = fixture.finish_action("fs.writeFile", params).await;
            assert_eq!(status, 200, "{path}: {said}");
        }
    }
    let params = json!({ "from": "code", "to": ".jedirc" });
    let (status, said) = fixture.request_action("fs.moveFile", params).await;
    assert_eq!((status.as_u16(), &said["code"]), (403, &json!("PROTECTED_PATH")), "{said}");
    assert_eq!(fixture.read(".jedirc"), "full\n");
    fixture.assert_log_intact();
}
