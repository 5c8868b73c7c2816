//! What was set aside comes back only as it was, and only after a person was shown it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

impl Kernel {
    /// Runs a command in `src` that leaves one thing; returns how it was set aside.
    async fn set_aside_one(&self, command: &str) -> Value {
        let (id, params) = (Uuid::new_v4(), json!({ "command": command, "cwd": "src" }));
        self.act_as(id, "terminal.runCommand", params).await.unwrap();
        let outcome = self.outcome(id).await;
        let entries = outcome["summary"]["setAside"]["entries"].as_array().cloned();
        let entries = entries.unwrap_or_default();
        assert_eq!(entries.len(), 1, "{command}: {outcome}");
        entries[0].clone()
    }

    async fn put_back(&self, entry: &Value, approved: bool) -> Result<Value, Value> {
        let params = json!({ "path": entry["path"], "id": entry["id"] });
        self.act_for_agent("fs.restoreFile", params, approved).await
    }
}

/// A command that leaves something, and the path of what is set aside.
const LEFTOVERS: &[(&str, &str)] = &[
    ("echo 'all: ; echo evil' > makefile", "src/makefile"),
    ("echo 'A=$(touch evil)' > .env", "src/.env"),
    ("mkdir .vscode; echo {} > .vscode/tasks.json", "src/.vscode/tasks.json"),
    ("echo told > CLAUDE.md", "src/CLAUDE.md"),
    ("ln -s ../tools .vscode", "src/.vscode"),
    ("printf '#!/bin/sh\\n' > .envrc; chmod +x .envrc", "src/.envrc"),
    ("echo evil > own/pre-commit", "src/own/pre-commit"),
    ("echo 'path = \"x\"' > rust-toolchain.toml", "src/rust-toolchain.toml"),
];

#[tokio::test]
async fn what_was_set_aside_is_put_back_as_it_was_and_stays() {
    for (command, path) in LEFTOVERS {
        let files = [("src/Makefile", "all:\n"), ("src/own/pre-commit", "mine")];
        let kernel = Kernel::start(&files).await;
        let app = kernel.folder.path().join("app");
        fs::create_dir_all(app.join("tools")).unwrap();
        // What a setting of the person leads to.
        fs::write(app.join(".envrc"), "source src/own/pre-commit\n").unwrap();
        let before = fs::read(app.join(path)).ok();
        let entry = kernel.set_aside_one(command).await;
        assert_eq!(entry["path"], *path);
        assert_eq!(fs::read(app.join(path)).ok(), before, "{command}");
        let refused = kernel.put_back(&entry, false).await.unwrap_err();
        assert_eq!(refused["code"], "PROTECTED_PATH", "{command}: {refused}");
        assert_eq!(fs::read(app.join(path)).ok(), before, "{command}");
        let result = kernel.put_back(&entry, true).await.unwrap();
        let changed = result["changed"].as_array().unwrap().last().unwrap();
        assert_eq!(changed["path"], *path, "{result}");
        let kept =
            fs::read(kernel.folder.path().join("data").join(entry["kept"].as_str().unwrap()));
        let kept = kept.unwrap();
        let is_link = app.join(path).symlink_metadata().unwrap().is_symlink();
        if is_link {
            let target = fs::read_link(app.join(path)).unwrap();
            assert_eq!(target.as_os_str().as_encoded_bytes(), kept, "{command}");
        } else {
            assert_eq!(fs::read(app.join(path)).unwrap(), kept, "{command}");
            let mode = fs::metadata(app.join(path)).unwrap().permissions().mode();
            assert_eq!(mode & 0o100 != 0, entry["executable"] == true, "{command}");
        }
        // It is the person's now: another command leaves it where it is.
        let none: [&str; 0] = [];
        assert_eq!(kernel.set_aside_by("touch other").await, none, "{command}");
        assert!(app.join(path).symlink_metadata().is_ok(), "{command}");
    }
}

#[tokio::test]
async fn only_what_was_set_aside_is_put_back() {
    let kernel = Kernel::start(&[("src/Makefile", "all:\n")]).await;
    let app = kernel.folder.path().join("app");
    let entry = kernel.set_aside_one("echo one > makefile").await;
    let other = kernel.set_aside_one("mkfifo .npmrc").await;
    let kept = kernel.folder.path().join("data").join(entry["kept"].as_str().unwrap());
    for (params, code) in [
        (json!({ "path": "src/makefile", "id": "00".repeat(32) }), "NOT_FOUND"),
        // The same content elsewhere is another file.
        (json!({ "path": "src/GNUmakefile", "id": entry["id"] }), "NOT_FOUND"),
        (json!({ "path": ".git/hooks/pre-commit", "id": entry["id"] }), "NOT_FOUND"),
        (json!({ "path": "src/.npmrc", "id": other["id"] }), "CONFLICT"),
    ] {
        let refused = kernel.act_for_agent("fs.restoreFile", params.clone(), true).await;
        assert_eq!(refused.unwrap_err()["code"], code, "{params}");
    }
    // A content that was changed in the data folder is not what was set aside.
    fs::write(&kept, "two\n").unwrap();
    let refused = kernel.put_back(&entry, true).await.unwrap_err();
    assert_eq!(refused["code"], "NOT_FOUND", "{refused}");
    assert!(!app.join("src/makefile").exists());
    fs::write(&kept, "one\n").unwrap();
    // Nor through a link in place of its folder, nor over a folder.
    fs::rename(app.join("src"), app.join("real")).unwrap();
    std::os::unix::fs::symlink("real", app.join("src")).unwrap();
    kernel.put_back(&entry, true).await.unwrap_err();
    assert!(!app.join("real/makefile").exists());
    fs::remove_file(app.join("src")).unwrap();
    fs::create_dir_all(app.join("src/makefile")).unwrap();
    let refused = kernel.put_back(&entry, true).await.unwrap_err();
    assert_eq!(refused["code"], "IS_DIRECTORY", "{refused}");
    fs::remove_dir(app.join("src/makefile")).unwrap();
    // The folder that it was in is created again.
    fs::remove_dir(app.join("src")).unwrap();
    kernel.put_back(&entry, true).await.unwrap();
    assert_eq!(fs::read_to_string(app.join("src/makefile")).unwrap(), "one\n");
}

#[tokio::test]
async fn an_approved_write_stays_and_another_does_not() {
    let kernel = Kernel::start(&[("src/Makefile", "all:\n")]).await;
    let app = kernel.folder.path().join("app");
    let none: [&str; 0] = [];
    for (path, content) in [("src/makefile", "all: ; true\n"), ("src/.env", "A=$(true)\n")] {
        let params = json!({ "path": path, "content": content });
        let result = kernel.act_for_agent("fs.writeFile", params.clone(), false).await.unwrap();
        assert_eq!(result["setAside"]["entries"][0]["path"], path, "{result}");
        assert!(!app.join(path).exists(), "{path}");
        let result = kernel.act_for_agent("fs.writeFile", params, true).await.unwrap();
        assert_eq!(result.get("setAside"), None, "{result}");
        assert_eq!(fs::read_to_string(app.join(path)).unwrap(), content);
        assert_eq!(kernel.set_aside_by("touch x").await, none, "{path}");
        assert!(app.join(path).exists(), "{path}");
    }
    let patch = "--- /dev/null\n+++ b/src/GNUmakefile\n@@ -0,0 +1 @@\n+all: ; true\n";
    let result = kernel.act_for_agent("fs.applyPatch", json!({ "patch": patch }), true).await;
    assert_eq!(result.unwrap().get("setAside"), None);
    // Nobody saw the content of what is moved.
    fs::write(app.join("src/d0"), "own\n").unwrap();
    fs::remove_file(app.join("src/.env")).unwrap();
    fs::write(app.join("src/code"), "A=$(true)\n").unwrap();
    let moved = json!({ "from": "src/code", "to": "src/.env" });
    let result = kernel.act_for_agent("fs.moveFile", moved, true).await.unwrap();
    assert_eq!(result["setAside"]["entries"][0]["path"], "src/.env", "{result}");
    // A person's own actions are theirs.
    let params = json!({ "path": "src/.env", "content": "A=$(true)\n" });
    let result = kernel.act_as_person("fs.writeFile", params).await.unwrap();
    assert_eq!(result.get("setAside"), None, "{result}");
    assert_eq!(kernel.set_aside_by("touch y").await, none);
}

#[tokio::test]
async fn what_an_approval_cannot_show_whole_is_put_back_by_a_person_only() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let (id, command) = (Uuid::new_v4(), "head -c 1100000 /dev/zero | tr '\\0' x > .npmrc");
    let params = json!({ "command": command, "cwd": "src" });
    kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
    let outcome = kernel.outcome(id).await;
    let entry = outcome["summary"]["setAside"]["entries"][0].clone();
    assert_eq!(entry["path"], "src/.npmrc", "{outcome}");
    let refused = kernel.put_back(&entry, true).await.unwrap_err();
    assert!(refused.to_string().contains("too large for an approval"), "{refused}");
    let params = json!({ "path": entry["path"], "id": entry["id"] });
    let result = kernel.act_as_person("fs.restoreFile", params).await.unwrap();
    assert_eq!(result["changed"][0]["path"], "src/.npmrc", "{result}");
}
