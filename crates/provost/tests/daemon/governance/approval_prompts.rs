//! Prompts show the present state, the change, and the real paths.

use super::*;

impl GovernanceFixture {
    /// The agent requests an action that needs an approval: its prompt. The action is then
    /// cancelled.
    async fn request_with_approval(&self, action: &str, params: Value) -> Value {
        let request = params.to_string();
        let (status, answer) = self.request_action(action, params).await;
        assert_eq!(status, 202, "{action} {request}: {answer}");
        let id = answer["approvalId"].as_str().unwrap();
        let question = self.get(&format!("/api/approvals/{id}")).await["question"].clone();
        let cancel = format!("/api/actions/{}/cancel", answer["actionId"].as_str().unwrap());
        self.send(&self.agent, Method::POST, &cancel, &json!({})).await;
        question
    }
}

#[tokio::test]
async fn a_question_says_what_is_there_and_what_becomes_of_it() {
    let fixture = GovernanceFixture::new().await;
    let app = fixture.home.path("app");
    fixture.write("old.txt", "one\ntwo\n");
    fixture.write("large.txt", &"a line\n".repeat(500_000));
    fixture.write("tree/a.txt", "aaa");
    fixture.write("tree/deep/b.txt", "bbbb");
    fixture.write("real/x.txt", "x");
    std::os::unix::fs::symlink("real", app.join("way")).unwrap();
    std::os::unix::fs::symlink("..", app.join("out")).unwrap();
    let write = |path: &str| json!({ "path": path, "content": "new\n" });
    let read = json!({ "action": "fs.readFile", "params": { "path": "old.txt" } });
    let (_, read) = fixture.operator(Method::POST, "/api/projects/app/actions", &read).await;
    let hash = read["result"]["hash"].as_str().unwrap().to_owned();
    for (action, params, parts) in [
        ("fs.writeFile", write("new.txt"), vec!["new.txt is not there yet: it is created"]),
        ("fs.writeFile", write("old.txt"), vec!["a file of 8 bytes", &hash, "is replaced"]),
        (
            "fs.writeFile",
            write("large.txt"),
            vec!["a file of 3500 kB", "is replaced", "first 8192 bytes"],
        ),
        ("fs.writeFile", write("way/x.txt"), vec!["way/x.txt is really real/x.txt"]),
        ("fs.writeFile", write("way/y/z.txt"), vec!["really real/y/z.txt", "it is created"]),
        ("fs.deleteFile", json!({ "path": "old.txt" }), vec!["a file of 8 bytes", "is deleted"]),
        (
            "fs.deleteFile",
            json!({ "path": "tree", "recursive": true }),
            vec!["2 files and 1 folders, 7 bytes", "tree/a.txt", "tree/deep/b.txt"],
        ),
        ("fs.deleteFile", json!({ "path": "tree" }), vec!["not empty, so this will fail"]),
        ("fs.deleteFile", json!({ "path": "way" }), vec!["way is a link to real"]),
        (
            "fs.moveFile",
            json!({ "from": "tree/a.txt", "to": "old.txt" }),
            vec!["tree/a.txt, a file of 3 bytes", "old.txt, a file of 8 bytes", "in the way"],
        ),
    ] {
        let request = params.to_string();
        let question = fixture.request_with_approval(action, params).await;
        let notes = question["notes"].to_string();
        for part in parts {
            assert!(notes.contains(part), "{action} {request}: {part}\n{notes}");
        }
        assert!(!question["what"].as_str().unwrap().contains("replacing"), "{question}");
    }
    let question =
        fixture.request_with_approval("fs.deleteFile", json!({ "path": "old.txt" })).await;
    let diff = question["diff"].as_str().unwrap();
    assert!(diff.contains("+++ /dev/null\n"), "a deletion, not an empty file: {diff}");
    let patch = "--- a/old.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n";
    let question = fixture.request_with_approval("fs.applyPatch", json!({ "patch": patch })).await;
    assert_eq!(question["what"], "delete old.txt with a patch");
    assert!(question["notes"].to_string().contains("old.txt is deleted"), "{question}");
    let question = fixture.request_with_approval("fs.writeFile", write("large.txt")).await;
    let diff = question["diff"].as_str().unwrap();
    assert!(diff.contains("-a line") && diff.contains("+new"), "not as if it were new: {diff}");
    fixture.assert_log_intact();
}

#[tokio::test]
async fn an_edit_that_cannot_match_asks_nobody_but_tells_nothing_that_may_not_be_read() {
    let fixture = GovernanceFixture::new().await;
    fixture.write("a.txt", "x x\n");
    fixture.write(".env", "KEY=secret\n");
    let edit =
        |path: &str, old: &str| json!({ "path": path, "edits": [{ "old": old, "new": "" }] });
    for (old, code) in [("missing", "NO_MATCH"), ("x", "AMBIGUOUS")] {
        let (status, response) = fixture.request_action("fs.editFile", edit("a.txt", old)).await;
        assert_eq!((status.as_u16(), &response["code"]), (409, &json!(code)), "{response}");
    }
    assert!(fixture.pending_approvals().await.is_empty());
    assert_eq!(fixture.daemon.events("ACTION_DENIED").await.len(), 2, "the log says so");
    // Reading `.env` needs an approval, so the prompt does not reveal whether it holds a text.
    for old in ["KEY=secret", "KEY=guess"] {
        fixture.request_with_approval("fs.editFile", edit(".env", old)).await;
    }
    let question = fixture.request_with_approval("fs.editFile", edit(".env", "KEY=guess")).await;
    assert!(question["notes"].to_string().contains("as the file is now, this fails"), "{question}");
    assert!(
        fixture.request_with_approval("fs.editFile", edit("a.txt", "x x")).await["diff"]
            .is_string()
    );
    fixture.assert_log_intact();
}

#[tokio::test]
async fn a_question_names_words_of_the_shell_and_variables_for_what_they_are() {
    let fixture = GovernanceFixture::new().await;
    let params = json!({ "command": "cd src && env FOO=1 git log" });
    let demands =
        fixture.request_with_approval("terminal.runCommand", params).await["demands"].clone();
    assert_eq!((&demands[0]["argv"][0], &demands[0]["builtin"]), (&json!("cd"), &json!(true)));
    assert_eq!(demands[1]["assignments"], json!(["FOO=1"]), "{demands}");
    assert_eq!(demands[1].get("builtin"), None, "{demands}");
    let params = json!({ "argv": ["cd", "src"] });
    let demands =
        fixture.request_with_approval("terminal.runCommand", params).await["demands"].clone();
    assert_eq!(demands[0].get("builtin"), None, "without a shell it is a program: {demands}");
    // What cannot be known comes first, and deleting is called so.
    let params = json!({ "command": "rm old.txt; echo x > \"$OUT\"" });
    let demands =
        fixture.request_with_approval("terminal.runCommand", params).await["demands"].clone();
    assert_eq!(demands[0]["kind"], "opaque", "{demands}");
    let deletes = json!({ "kind": "write", "path": "old.txt", "deletes": true });
    assert!(demands.as_array().unwrap().contains(&deletes), "{demands}");
    fixture.request_command(json!({ "command": "make" })).await;
    let listed = fixture.home.run_ok(&["approvals"]);
    assert!(listed.contains(" in app, expires"), "{listed}");
    let shown = fixture.pending_approvals().await[0]["id"].as_str().unwrap().to_owned();
    let shown = fixture.home.run_ok(&["approvals", "show", &shown]);
    assert!(shown.contains("in the project app\n"), "{shown}");
    fixture.assert_log_intact();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_log_says_is_asked_is_in_the_list_of_what_is_asked() {
    let fixture = GovernanceFixture::new().await;
    let url = format!("{}/api/events?after=0", fixture.daemon.base);
    let stream = fixture.http.get(url).bearer_auth(&fixture.daemon.token);
    let mut stream = stream.send().await.unwrap();
    let mut seen = String::new();
    // Whoever follows the log looks at the list at once, while the requester is not yet answered.
    for n in 1..=30 {
        let asks = fixture
            .request_action("terminal.runCommand", json!({ "command": format!("echo {n}") }));
        let looks = async {
            while seen.matches("\"kind\":\"APPROVAL_ASKED\"").count() < n {
                let piece = stream.chunk().await.unwrap().unwrap();
                seen.push_str(&String::from_utf8_lossy(&piece));
            }
            fixture.pending_approvals().await.len()
        };
        let ((status, answer), listed) = tokio::join!(asks, looks);
        assert_eq!((status.as_u16(), listed), (202, n), "{answer}");
    }
}
