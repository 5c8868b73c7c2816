//! The agents in `examples/`, run with a person who answers. The one in TypeScript is compiled
//! first, as their README says for Node 20; Node 22.18 would run it as it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::{Home, Running};

const ROLE: &str =
    "---\nname: dev\nskills: [fs.read, fs.write, terminal.runCommand]\n---\nYou take notes.\n";

/// What each agent prints, whatever it is written in; what follows a code is for people.
const PRINTED: &[&str] = &[
    "read README.md: # Storefront",
    "write notes.md: waiting",
    "write notes.md: finished",
    "write notes.md again: CONFLICT: ",
    "run cat: exit code 0: An agent was here.",
    "run sleep: CANCELLED: ",
    "write a role: PROTECTED_PATH: ",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A project with a role that a person trusts, and the token of an agent in it.
fn project(home: &Home) -> (Running, String) {
    let app = home.path("app");
    std::fs::create_dir_all(app.join(".provost/roles")).unwrap();
    std::fs::write(app.join(".provost/roles/dev.md"), ROLE).unwrap();
    std::fs::write(app.join("README.md"), "# Storefront\n\nSells.\n").unwrap();
    let daemon = home.up();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
    let created: Value =
        serde_json::from_str(&home.run_ok(&[&create[..], &["--json"]].concat())).unwrap();
    (daemon, created["token"].as_str().unwrap().to_owned())
}

impl Running {
    /// Allows what is asked about the notes, whenever the log grows, and answers nothing else.
    async fn allow_notes(&self) {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let follow = http.get(format!("{}/api/events", self.base)).bearer_auth(&self.token);
        let mut log = follow.send().await.unwrap();
        while log.chunk().await.unwrap().is_some() {
            let open = self.get("/api/projects/app/approvals").await;
            for approval in open["approvals"].as_array().unwrap() {
                if approval["question"]["params"].to_string().contains("notes.md") {
                    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
                    let hash = &approval["actionHash"];
                    let allow = json!({ "decision": "allow", "actionHash": hash });
                    let (status, response) = self.post(&path, &self.token, &allow).await;
                    assert_eq!(status, 200, "{response}");
                }
            }
        }
    }
}

/// Runs an agent to its end while a person answers, and checks what it did.
async fn check(home: &Home, program: impl Into<PathBuf>, args: &[PathBuf]) {
    let (daemon, token) = project(home);
    let program = program.into();
    let mut command = Command::new(&program);
    command
        .args(args)
        .env("PROVOST_URL", &daemon.base)
        .env("PROVOST_PROJECT", "app")
        .env("PROVOST_TOKEN", token)
        .env("no_proxy", "127.0.0.1")
        .timeout(Duration::from_mins(2));
    let agent = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::select! {
        output = agent => output.unwrap(),
        () = daemon.allow_notes() => unreachable!("the daemon ended"),
    };
    assert!(output.is_ok(), "cannot run {}, which this test needs: {output:?}", program.display());
    let output = output.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let wrong = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}\n{wrong}");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), PRINTED.len(), "{printed}");
    for (line, expected) in lines.iter().zip(PRINTED) {
        assert!(line.starts_with(expected), "{expected:?} is not the beginning of {line:?}");
    }
    let notes = std::fs::read_to_string(home.path("app/notes.md")).unwrap();
    assert_eq!(notes, "An agent was here.\n");
    assert!(!home.path("app/.provost/roles/admin.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_in_rust_does_what_a_person_allows() {
    let built = Path::new(env!("CARGO_BIN_EXE_provost")).with_file_name("examples/agent");
    let how = "`cargo build --package provost --example agent` builds it";
    assert!(built.exists(), "{} is missing; {how}", built.display());
    check(&Home::new(), built, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_in_python_does_what_a_person_allows() {
    check(&Home::new(), "python3", &[root().join("examples/agent.py")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_in_typescript_does_what_a_person_allows() {
    let home = Home::new();
    let tsc = root().join("web/node_modules/typescript/bin/tsc");
    assert!(tsc.exists(), "{} is missing; `cargo xtask ui` installs it", tsc.display());
    let compiled = Command::new("node")
        .arg(tsc)
        .arg("--project")
        .arg(root().join("examples"))
        .arg("--outDir")
        .arg(home.path("compiled"))
        .output();
    assert!(compiled.is_ok(), "cannot run node, which this test needs: {compiled:?}");
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    check(&home, "node", &[home.path("compiled/agent.mjs")]).await;
}
