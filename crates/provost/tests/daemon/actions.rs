//! Actions from the HTTP request to the kernel and back.

use std::time::Duration;

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::held_process::HeldProcess;
use super::{Home, Running};
use crate::typing::type_in_terminal;

impl Running {
    fn http() -> reqwest::Client {
        provost_runner::model::local_http_client_builder().build().unwrap()
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let request = Self::http().get(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(super) async fn text(&self, path: &str) -> String {
        let request = Self::http().get(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.send().await.unwrap().text().await.unwrap()
    }

    pub(super) async fn post(&self, path: &str, token: &str, body: &Value) -> (StatusCode, Value) {
        let request = Self::http().post(format!("{}{path}", self.base)).bearer_auth(token);
        let response = request.json(body).send().await.unwrap();
        (response.status(), response.json().await.unwrap_or(Value::Null))
    }

    /// An agent's token, for a role that the project does not have.
    async fn agent(&self) -> String {
        let wanted = json!({ "class": "agent", "project": "app", "role": "dev" });
        let (_, created) = self.post("/api/tokens", &self.token, &wanted).await;
        created["token"].as_str().unwrap().to_owned()
    }

    pub(super) async fn act(&self, action: &str, params: Value) -> (StatusCode, Value) {
        let body = json!({ "action": action, "params": params });
        self.post("/api/projects/app/actions", &self.token, &body).await
    }

    /// Starts a command and does not wait for it.
    pub(super) async fn start(&self, params: Value) -> String {
        let body = json!({ "action": "terminal.runCommand", "params": params });
        let (status, answer) =
            self.post("/api/projects/app/actions?wait=0", &self.token, &body).await;
        assert_eq!(status, 202, "{answer}");
        answer["actionId"].as_str().unwrap().to_owned()
    }

    /// Waits until an action has this status.
    pub(super) async fn until(&self, id: &str, status: &str) -> Value {
        loop {
            let action = self.get(&format!("/api/actions/{id}")).await;
            if action["status"] == status {
                return action;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// All events of a kind, with their bodies.
    pub(super) async fn events(&self, kind: &str) -> Vec<Value> {
        let (mut found, mut after) = (Vec::new(), json!(0));
        while !after.is_null() {
            let page = self.get(&format!("/api/audit?after={after}")).await;
            for event in page["events"].as_array().unwrap() {
                if event["kind"] == kind {
                    let mut body = event["body"].clone();
                    if let Some(hash) = body["$blob"].as_str() {
                        body = self.get(&format!("/api/blobs/{hash}")).await;
                    }
                    if let Some(hash) = body["output"]["data"]["blob"]["$blob"].as_str() {
                        let text = self.text(&format!("/api/blobs/{hash}")).await;
                        body["output"]["data"] = json!({ "text": text });
                    }
                    found.push(body);
                }
            }
            after = page["next"].clone();
        }
        found
    }
}

#[tokio::test]
async fn a_command_runs_in_the_sandbox_and_the_log_records_it() {
    let home = Home::new();
    let daemon = home.up();
    std::fs::write(home.path("app").join("greeting"), "hello\n").unwrap();
    let command = "cat greeting; echo oops >&2; exit 3";
    let (status, answer) = daemon.act("terminal.runCommand", json!({ "command": command })).await;
    assert_eq!(status, 200, "{answer}");
    let result = &answer["result"];
    assert_eq!((&result["stdout"], &result["stderr"]), (&json!("hello\n"), &json!("oops\n")));
    assert_eq!(result["exitCode"], 3);

    let kinds: Vec<_> = daemon.get("/api/audit").await["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .filter(|kind| kind.starts_with("ACTION") && kind != "ACTION_OUTPUT")
        .collect();
    assert_eq!(kinds, ["ACTION_REQUESTED", "ACTION_ALLOWED", "ACTION_STARTED", "ACTION_FINISHED"]);
    let layers = &daemon.events("ACTION_STARTED").await[0]["layers"];
    assert_eq!((&layers["seccomp"], &layers["noNewPrivs"]), (&json!(true), &json!(true)));
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

#[tokio::test]
async fn neither_the_token_nor_the_environment_of_the_daemon_can_be_read_by_a_command() {
    let home = Home::new();
    let mut up = home.provost(&["up", "--no-open", home.path("app").to_str().unwrap()]);
    up.env("CANARY_API_KEY", "canary-4711").assert().success();
    let daemon = home.running();
    let (data, pid) = (home.data(), daemon.pid.as_raw_nonzero());
    let command = format!(
        "cat {0}/token {0}/log.db {0}/kernels/*/secret; cat /proc/{pid}/environ /proc/*/environ; env",
        data.display()
    );
    let (_, answer) = daemon.act("terminal.runCommand", json!({ "command": command })).await;
    let text = answer.to_string();
    assert!(!text.contains("canary-4711") && !text.contains(&daemon.token), "{text}");
}

#[tokio::test]
async fn files_are_read_written_and_refused_outside() {
    let home = Home::new();
    let daemon = home.up();
    let content = json!({ "path": "src/a.txt", "content": "one\ntwo\n" });
    let (status, answer) = daemon.act("fs.writeFile", content).await;
    assert_eq!(status, 200, "{answer}");
    let (_, read) = daemon.act("fs.readFile", json!({ "path": "src/a.txt" })).await;
    assert_eq!(read["result"]["content"], "one\ntwo\n");
    let finished = daemon.events("ACTION_FINISHED").await;
    assert_eq!(finished[0]["outcome"]["summary"]["changed"][0]["path"], "src", "{finished:?}");

    std::os::unix::fs::symlink("/etc", home.path("app").join("way-out")).unwrap();
    for (path, code) in [
        ("../data/token", "INVALID_ACTION"),
        ("/etc/passwd", "INVALID_ACTION"),
        ("way-out/passwd", "OUTSIDE_PROJECT"),
        ("nowhere", "NOT_FOUND"),
    ] {
        let (status, answer) = daemon.act("fs.readFile", json!({ "path": path })).await;
        assert_eq!(answer["code"], code, "{path}: {answer}");
        assert_eq!(answer["status"], status.as_u16());
    }
    let (status, answer) = daemon.act("fs.explode", json!({})).await;
    assert_eq!((status.as_u16(), &answer["code"]), (422, &json!("INVALID_ACTION")));
}

#[tokio::test]
async fn an_agent_whose_role_is_missing_has_no_skill_and_the_log_says_that_it_asked() {
    let home = Home::new();
    let daemon = home.up();
    let agent = &daemon.agent().await;
    for action in ["fs.readFile", "terminal.list", "terminal.runCommand"] {
        let params = if action == "fs.readFile" { json!({ "path": "x" }) } else { json!({}) };
        let params =
            if action == "terminal.runCommand" { json!({ "command": "true" }) } else { params };
        let body = json!({ "action": action, "params": params });
        let (status, answer) = daemon.post("/api/projects/app/actions", agent, &body).await;
        assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("SKILL_DENIED")), "{answer}");
    }
    let denied = daemon.events("ACTION_DENIED").await;
    assert_eq!(denied.len(), 3);
    assert!(daemon.events("ACTION_ALLOWED").await.is_empty());
}

#[tokio::test]
async fn what_takes_too_long_or_is_cancelled_is_dead_when_the_log_says_so() {
    let home = Home::new();
    let daemon = home.up();
    // It ignores SIGTERM and leaves a daemon of its own behind.
    let stubborn = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 3600' & echo $$; sleep 3600";
    let params = json!({ "command": stubborn, "timeoutMs": 300 });
    let (status, answer) = daemon.act("terminal.runCommand", params).await;
    assert_eq!((status.as_u16(), &answer["code"]), (504, &json!("TIMEOUT")), "{answer}");

    let id = daemon.start(json!({ "command": stubborn })).await;
    daemon.until(&id, "running").await;
    let cancel = format!("/api/actions/{id}/cancel");
    let (_, stopping) = daemon.post(&cancel, &daemon.token, &json!({})).await;
    assert_eq!(stopping["stopping"], true);
    let action = daemon.until(&id, "finished").await;
    assert_eq!(action["outcome"]["fault"]["code"], "CANCELLED", "{action}");
    assert_eq!(processes_with("sleep 3600", &home), 0);
}

/// Processes of this test whose command line holds a text. The project's folder
/// is their working directory, which no other test has.
fn processes_with(text: &str, home: &Home) -> usize {
    let app = home.path("app").canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == app))
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        })
        .count()
}

#[tokio::test]
async fn of_too_much_output_the_head_and_the_tail_are_kept() {
    let home = Home::new();
    let daemon = home.up();
    let params = json!({ "command": "seq 1 1000000", "maxOutput": 4096 });
    let (_, answer) = daemon.act("terminal.runCommand", params).await;
    let text = answer["result"]["stdout"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("999999\n1000000\n"), "{text}");
    assert!(text.contains("bytes were dropped here") && text.len() < 5000);
    let dropped = answer["result"]["droppedBytes"].as_u64().unwrap();
    assert!(dropped > 6_000_000, "{dropped}");
}

#[tokio::test]
async fn a_flood_that_is_kept_whole_comes_whole() {
    let home = Home::new();
    let daemon = home.up();
    let params = json!({ "command": "seq 1 1500000", "maxOutput": 64 * 1024 * 1024 });
    let (status, answer) = daemon.act("terminal.runCommand", params).await;
    assert_eq!(status, 200, "{}", answer["error"]);
    let text = answer["result"]["stdout"].as_str().unwrap();
    assert_eq!(text.lines().count(), 1_500_000);
    assert!(text.ends_with("1499999\n1500000\n"));
}

#[tokio::test]
async fn a_background_process_is_read_written_signalled_and_stopped() {
    let home = Home::new();
    let daemon = home.up();
    let command = "trap 'echo got it' USR1; while read line; do echo \"<$line>\"; done; echo bye";
    let id = daemon.start(json!({ "command": command, "background": true })).await;
    daemon.until(&id, "running").await;
    let (_, list) = daemon.act("terminal.list", json!({})).await;
    assert_eq!(list["result"]["processes"][0]["running"], true, "{list}");

    daemon.act("terminal.write", json!({ "id": id, "text": "hello\n" })).await;
    until_printed(&daemon, &id, "<hello>").await;
    daemon.act("terminal.signal", json!({ "id": id, "signal": "USR1" })).await;
    daemon.act("terminal.write", json!({ "id": id, "text": "again\n" })).await;
    until_printed(&daemon, &id, "got it").await;
    daemon.act("terminal.write", json!({ "id": id, "eof": true })).await;
    until_printed(&daemon, &id, "bye").await;
    let ended = daemon.until(&id, "finished").await;
    assert_eq!(ended["outcome"]["exitCode"], 0, "{ended}");

    let id = daemon.start(json!({ "command": "sleep 3600", "background": true })).await;
    daemon.until(&id, "running").await;
    let (_, stopped) = daemon.act("terminal.stop", json!({ "id": id })).await;
    assert_eq!(stopped["result"]["running"], false, "{stopped}");
    assert_eq!(processes_with("sleep 3600", &home), 0);
    let (status, _) = daemon.act("terminal.read", json!({ "id": "nobody" })).await;
    assert_eq!(status, 404);
}

async fn until_printed(daemon: &Running, id: &str, text: &str) {
    loop {
        let (_, read) = daemon.act("terminal.read", json!({ "id": id })).await;
        if read["result"]["text"].as_str().unwrap().contains(text) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn kernel_pid(daemon: &Running) -> Pid {
    let kernel = daemon.get("/api/projects/app/kernel").await;
    Pid::from_raw(i32::try_from(kernel["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_kernel_that_dies_is_said_and_started_again() {
    let home = Home::new();
    let daemon = home.up();
    let id = daemon.start(json!({ "command": "sleep 3600" })).await;
    daemon.until(&id, "running").await;
    let pid = kernel_pid(&daemon).await;
    let place = std::fs::read_dir(home.data().join("kernels")).unwrap().next().unwrap().unwrap();
    let scratch = std::fs::read_to_string(place.path().join("scratch")).unwrap();
    assert!(std::path::Path::new(&scratch).is_dir(), "{scratch}");
    kill_process(pid, Signal::KILL).unwrap();
    let action = daemon.until(&id, "finished").await;
    assert_eq!(action["outcome"]["fault"]["code"], "KERNEL_LOST", "{action}");
    assert_eq!(daemon.events("KERNEL_LOST").await.len(), 1);
    let (status, answer) =
        daemon.act("terminal.runCommand", json!({ "command": "echo back" })).await;
    assert_eq!(status, 200, "{answer}");
    assert_ne!(kernel_pid(&daemon).await, pid);
    assert_eq!(processes_with("sleep 3600", &home), 0, "it died with its kernel");
    assert!(!std::path::Path::new(&scratch).exists(), "its temporary files are left behind");
}

#[tokio::test]
async fn a_process_that_does_not_read_its_input_can_still_be_stopped() {
    let home = Home::new();
    let daemon = home.up();
    let id = daemon.start(json!({ "command": "sleep 3600", "background": true })).await;
    daemon.until(&id, "running").await;
    let text = "x".repeat(60_000);
    let mut refused = None;
    for _ in 0..60 {
        let (status, answer) =
            daemon.act("terminal.write", json!({ "id": id, "text": text })).await;
        if status != 200 {
            refused = Some(answer["code"].clone());
            break;
        }
    }
    assert_eq!(refused, Some(json!("CONFLICT")), "it took more than a pipe and a queue hold");
    let (_, stopped) = daemon.act("terminal.stop", json!({ "id": id })).await;
    assert_eq!(stopped["result"]["running"], false, "{stopped}");
    assert_eq!(processes_with("sleep 3600", &home), 0);
}

#[tokio::test]
async fn what_is_made_has_the_permissions_that_the_person_wants() {
    let home = Home::new();
    let daemon = home.up();
    let (_, answer) = daemon.act("terminal.runCommand", json!({ "command": "umask" })).await;
    let own = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(own);
    assert_eq!(answer["result"]["stdout"], format!("{:04o}\n", own.bits()));
    daemon.act("fs.writeFile", json!({ "path": "made", "content": "x" })).await;
    let file = std::fs::metadata(home.path("app").join("made")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777;
    assert_eq!(mode, 0o666 & !own.bits());
}

#[tokio::test]
async fn a_file_of_sixteen_mebibytes_is_written_and_a_larger_one_refused() {
    let home = Home::new();
    let daemon = home.up();
    let write = |n: usize| json!({ "path": "large", "content": "x".repeat(n) });
    let (status, answer) = daemon.act("fs.writeFile", write(16 * 1024 * 1024)).await;
    assert_eq!(status, 200, "{}", answer["error"]);
    let (status, answer) = daemon.act("fs.writeFile", write(16 * 1024 * 1024 + 1)).await;
    assert_eq!((status.as_u16(), &answer["code"]), (422, &json!("INVALID_ACTION")));
}

#[tokio::test]
async fn closing_and_opening_a_project_is_no_crash() {
    let home = Home::new();
    let daemon = home.up();
    let path = json!({ "path": home.path("app") });
    for round in 0..10 {
        let (status, answer) =
            daemon.act("terminal.runCommand", json!({ "command": "true" })).await;
        assert_eq!(status, 200, "round {round}: {answer}");
        // The next action comes at once, and must not meet the kernel that ends.
        let closed = Running::http().delete(format!("{}/api/projects/app", daemon.base));
        let closed = closed.bearer_auth(&daemon.token).send().await.unwrap();
        assert!(closed.status().is_success(), "round {round}");
        let (status, answer) = daemon.post("/api/projects", &daemon.token, &path).await;
        assert!(status.is_success(), "round {round}: {answer}");
    }
    assert_eq!(daemon.events("KERNEL_STOPPED").await.len(), 10);
    assert!(daemon.events("KERNEL_LOST").await.is_empty());
}

async fn until_kernel_is(daemon: &Running, status: &str) {
    while daemon.get("/api/projects/app/kernel").await["status"] != status {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_command_is_followed_across_a_daemon_that_is_killed_and_started_again() {
    let home = Home::new();
    let daemon = home.up();
    let line = "command=echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 5";
    let mut following = home.provost(&["do", "terminal.runCommand", line, "--project", "app"]);
    let following = std::thread::spawn(move || following.output().unwrap());
    while daemon.events("ACTION_OUTPUT").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    daemon.kill();
    let _daemon = home.up();
    std::fs::write(home.path("app").join("go"), "").unwrap();
    let output = tokio::task::spawn_blocking(|| following.join().unwrap()).await.unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n", "{printed}");
    assert_eq!(output.status.code(), Some(5), "{printed}");
}

#[tokio::test]
async fn a_kernel_that_hangs_is_shown_and_down_ends_it() {
    let home = Home::new();
    let daemon = home.up();
    daemon.act("fs.listFiles", json!({})).await;
    let pid = kernel_pid(&daemon).await;
    let kernel = HeldProcess::open(pid).unwrap();
    assert!(home.run_ok(&["status"]).contains(&format!("(kernel {})", pid.as_raw_nonzero())));
    kill_process(pid, Signal::STOP).unwrap();
    until_kernel_is(&daemon, "unresponsive").await;
    let status = home.run_ok(&["status"]);
    assert!(status.contains("unresponsive"), "{status}");
    let status: Value = serde_json::from_str(&home.run_ok(&["status", "--json"])).unwrap();
    assert_eq!(status["projects"][0]["kernel"]["status"], "unresponsive", "{status}");
    kill_process(pid, Signal::CONT).unwrap();
    until_kernel_is(&daemon, "connected").await;
    while daemon.events("KERNEL_RESPONSIVE").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(daemon.events("KERNEL_UNRESPONSIVE").await.len(), 1, "beats are not logged");
    kill_process(pid, Signal::STOP).unwrap();
    until_kernel_is(&daemon, "unresponsive").await;
    home.run_ok(&["down"]);
    assert!(kernel.has_exited(), "the kernel outlived down");
}

#[tokio::test]
async fn an_agent_that_asks_for_nonsense_has_no_skill_for_it_either() {
    let home = Home::new();
    let daemon = home.up();
    let agent = &daemon.agent().await;
    for body in [
        json!({ "action": "fs.explode" }),
        json!({ "action": "fs.readFile", "params": { "path": "../x" } }),
        json!({ "action": "\u{202e}".repeat(5000), "params": [] }),
    ] {
        let (status, answer) = daemon.post("/api/projects/app/actions", agent, &body).await;
        assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("SKILL_DENIED")), "{answer}");
    }
    assert_eq!(daemon.events("ACTION_DENIED").await.len(), 3);
}

#[tokio::test]
async fn what_a_command_leaves_that_runs_elsewhere_is_set_aside_and_reported() {
    let home = Home::new();
    let daemon = home.up();
    for (command, path) in [
        ("echo x > .envrc; echo y > harmless", Some(".envrc")),
        ("echo x > harmless2", None),
        ("echo {} > .mcp.json", Some(".mcp.json")),
        ("mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", Some(".git/hooks/pre-commit")),
        (
            "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml",
            Some(".github/workflows/ci.yml"),
        ),
        ("mkdir .provost; echo x > .provost/policy.toml", Some(".provost/policy.toml")),
        // A link is as good as a file, also one that leads nowhere.
        ("ln -s nowhere .claude", Some(".claude")),
    ] {
        let id = daemon.start(json!({ "command": command })).await;
        let action = daemon.until(&id, "finished").await;
        let entries = action["outcome"]["summary"]["setAside"]["entries"].as_array().cloned();
        let reported: Vec<_> = entries.unwrap_or_default();
        let path = path.unwrap_or("none");
        assert!(home.path("app").join(path).symlink_metadata().is_err(), "{command}: {action}");
        // Where there is no mount namespace, new names at the top cannot be made at all.
        let was_made = home.path("app").join("harmless").exists();
        assert_eq!(reported.len(), usize::from(was_made && path != "none"), "{command}: {action}");
        if let Some(entry) = reported.first() {
            assert_eq!(entry["path"], path, "{command}: {action}");
            let kept = home.data().join(entry["kept"].as_str().unwrap());
            assert!(kept.is_file(), "{command}: {action}");
            let report = home.run_ok(&["audit", "--action", &id]);
            assert!(report.contains("Set aside"), "{report}");
        }
    }
}

#[tokio::test]
async fn a_command_that_fills_the_disk_is_stopped_before_it_is_full() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let home = Home::new();
    let app = home.path("app");
    if let Err(error) = mount("tmpfs", &app, "tmpfs", MountFlags::empty(), c"size=64m") {
        // Only root may mount; an ordinary user cannot make a small disk.
        assert!(!rustix::process::geteuid().is_root(), "root could not mount: {error}");
        return;
    }
    let daemon = home.up();
    // 63 MiB of 64, and then it goes on for long.
    let fill =
        "for i in $(seq 1 63); do head -c 1048576 /dev/zero > f$i; sleep 0.02; done; sleep 60";
    let (status, answer) = daemon.act("terminal.runCommand", json!({ "command": fill })).await;
    assert_eq!((status.as_u16(), &answer["code"]), (507, &json!("NO_SPACE")), "{answer}");
    let (status, _) = daemon.act("terminal.runCommand", json!({ "command": "true" })).await;
    assert_eq!(status, 507, "nothing starts on a disk that is nearly full");
    for n in 1..=63 {
        let gone = std::fs::remove_file(app.join(format!("f{n}")));
        assert!(gone.is_ok() || !app.join(format!("f{n}")).exists());
    }
    let (status, answer) = daemon.act("terminal.runCommand", json!({ "command": "true" })).await;
    assert_eq!(status, 200, "{answer}");
    home.run_ok(&["down"]);
    unmount(&app, UnmountFlags::DETACH).unwrap();
}

#[tokio::test]
async fn a_project_whose_folder_was_moved_is_left_alone() {
    let home = Home::new();
    let daemon = home.up();
    daemon.act("fs.listFiles", json!({})).await;
    std::fs::rename(home.path("app"), home.path("elsewhere")).unwrap();
    std::fs::create_dir(home.path("app")).unwrap();
    for (action, params) in [
        ("fs.writeFile", json!({ "path": "a", "content": "x" })),
        ("terminal.runCommand", json!({ "command": "touch b" })),
    ] {
        let (status, answer) = daemon.act(action, params).await;
        assert_eq!(status, 404, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("gone or was moved"), "{answer}");
    }
    assert!(std::fs::read_dir(home.path("elsewhere")).unwrap().next().is_none());
}

#[tokio::test]
async fn down_stops_the_kernels_and_down_keep_lets_them_live_on() {
    let home = Home::new();
    let daemon = home.up();
    let id = daemon.start(json!({ "command": "sleep 3600", "background": true })).await;
    daemon.until(&id, "running").await;
    let pid = kernel_pid(&daemon).await;
    let kernel = HeldProcess::open(pid).unwrap();
    home.run_ok(&["down", "--keep"]);
    assert_eq!(processes_with("sleep 3600", &home), 1);

    let daemon = home.up();
    assert_eq!(kernel_pid(&daemon).await, pid, "the same kernel");
    assert_eq!(daemon.get(&format!("/api/actions/{id}")).await["status"], "running");
    home.run_ok(&["down"]);
    assert_eq!(processes_with("sleep 3600", &home), 0);
    assert!(kernel.has_exited(), "the kernel outlived down");
}

#[tokio::test]
async fn a_kernel_without_a_daemon_and_without_work_ends_itself() {
    let home = Home::new();
    let mut up = home.provost(&["up", "--no-open", home.path("app").to_str().unwrap()]);
    up.env("PROVOST_KERNEL_IDLE_MINUTES", "0").assert().success();
    let daemon = home.running();
    daemon.act("fs.listFiles", json!({})).await;
    let kernel = HeldProcess::open(kernel_pid(&daemon).await).unwrap();
    daemon.kill();
    while !kernel.has_exited() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_command_reaches_the_network_only_if_it_asked_to() {
    let home = Home::new();
    let daemon = home.up();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    for (network, expected) in [(false, ""), (true, "connected\n")] {
        let params = json!({ "command": command, "network": network });
        let (_, answer) = daemon.act("terminal.runCommand", params).await;
        assert_eq!(answer["result"]["stdout"], expected, "{answer}");
    }
    let started = daemon.events("ACTION_STARTED").await;
    let profiles: Vec<_> = started.iter().map(|event| &event["profile"]).collect();
    assert_eq!(profiles, ["build", "build+network"]);
}

#[tokio::test]
async fn a_command_that_failed_without_network_says_so() {
    const NOTE: &str = "no network in this profile";
    let home = Home::new();
    let daemon = home.up();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{free}");
    for (command, network, noted) in [
        (connect.as_str(), false, true),
        (connect.as_str(), true, false),
        ("echo Connection refused", false, false),
        ("exit 3", false, false),
    ] {
        let params = json!({ "command": command, "network": network });
        let (_, answer) = daemon.act("terminal.runCommand", params).await;
        let hint = answer["result"]["hint"].as_str().unwrap_or_default();
        assert_eq!(hint.contains(NOTE), noted, "{command}: {answer}");
        let id = answer["actionId"].as_str().unwrap();
        let later = daemon.get(&format!("/api/actions/{id}")).await;
        let hint = later["result"]["hint"].as_str().unwrap_or_default();
        assert_eq!(hint.contains(NOTE), noted, "{command}: {later}");
    }
    let silent = json!({ "command": "sleep 60", "timeoutMs": 200 });
    let (_, answer) = daemon.act("terminal.runCommand", silent).await;
    assert!(answer["error"].as_str().unwrap().contains(NOTE), "{answer}");

    let command = format!("command={connect}");
    let run = home.provost(&["do", "terminal.runCommand", "--project", "app", &command]).output();
    let printed = String::from_utf8(run.unwrap().stderr).unwrap();
    assert!(printed.contains(NOTE), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_command_does_not_control_the_terminal_of_who_reads_it() {
    let home = Home::new();
    let _daemon = home.up();
    std::fs::write(home.path("app/loud"), "\x1b]52;c;aGk=\x07\x1b[2J\x1b[31mred\x1b[0m end\n")
        .unwrap();
    let args = "do terminal.runCommand --project app command=\"cat loud\"";
    let output = type_in_terminal(&home, args, &[("end", "")]).await;
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("\x1b[31mred\x1b[0m end"), "{shown:?}");
    assert!(!shown.contains("52;c") && !shown.contains("\x1b[2J"), "{shown:?}");
    let args = ["do", "terminal.runCommand", "--project", "app", "command=cat loud"];
    assert!(home.run_ok(&args).contains("\x1b]52;c;aGk=\x07"), "a pipe gets it unchanged");
}
