//! Governance of agents from the command line.

use std::fs;
use std::time::Duration;

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Home, Running};
use crate::typing::type_in_terminal;

/// A role that may read, write and run commands.
pub(super) const ROLE: &str = "---\nname: dev\ndescription: Works on the app.\nskills: [fs.read, \
                               fs.write, terminal.runCommand]\n---\nYou work on the app.\n";

/// An agent's answer, when it comes.
pub(super) type PendingResponse = tokio::task::JoinHandle<(StatusCode, Value)>;

impl Home {
    fn write(&self, file: &str, text: &str) {
        let path = self.path("app").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A daemon with a trusted role `dev`, and the token of an agent in it.
    pub(super) fn with_agent(&self) -> (Running, String) {
        self.write(".provost/roles/dev.md", ROLE);
        let daemon = self.up();
        self.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
        let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
        let token = self.run_ok(&create).trim().to_owned();
        (daemon, token)
    }

    /// The id of the process of ours that runs this command.
    pub(super) fn pid_of(&self, command: &str) -> Option<Pid> {
        let data = self.data();
        let ours = |line: &str| {
            line.starts_with(env!("CARGO_BIN_EXE_provost"))
                && line.contains(&*data.to_string_lossy())
                && line.contains(&format!("\0{command}\0"))
        };
        fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw)?;
            ours(&String::from_utf8_lossy(&line)).then_some(pid)
        })
    }
}

impl Running {
    /// An agent requests an action, and waits for its outcome.
    pub(super) fn submit(&self, token: &str, action: &str, params: &Value) -> PendingResponse {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http
            .post(format!("{}/api/projects/app/actions", self.base))
            .bearer_auth(token)
            .json(&json!({ "action": action, "params": params }));
        tokio::spawn(async move {
            let response = request.send().await.unwrap();
            (response.status(), response.json().await.unwrap())
        })
    }

    /// Waits until this many approvals are pending.
    pub(super) async fn wait_for_approvals(&self, count: usize) -> Vec<Value> {
        loop {
            let open = self.get("/api/approvals").await["approvals"].as_array().unwrap().clone();
            if open.len() == count {
                return open;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[test]
fn a_role_is_shown_and_trusted_as_it_is_and_a_change_takes_the_trust_away() {
    let home = Home::new();
    home.write(".provost/roles/dev.md", ROLE);
    home.up();
    let printed = home.run_ok(&["roles", "--project", "app"]);
    assert!(
        printed.contains("NOT TRUSTED") && printed.contains("terminal.runCommand"),
        "{printed}"
    );
    let printed = home.run_failing(&["roles", "trust", "--project", "app"], 1);
    assert!(
        printed.contains("cannot ask for confirmation") && printed.contains("--yes"),
        "{printed}"
    );
    let printed =
        home.run_ok(&["roles", "trust", ".provost/roles/dev.md", "--yes", "--project", "app"]);
    assert!(
        printed.contains("+You work on the app.") && printed.contains("Trusted: "),
        "{printed}"
    );
    let printed = home.run_ok(&["roles", "list", "--project", "app"]);
    assert!(printed.contains("dev  trusted"), "{printed}");

    let printed =
        home.run_ok(&["roles", "model", "dev", "anthropic/claude-sonnet-5", "--project", "app"]);
    assert!(printed.contains("dev  trusted  anthropic/claude-sonnet-5"), "{printed}");
    home.write(".provost/roles/dev.md", &ROLE.replace("Works on the app.", "Rules the world."));
    let printed = home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    assert!(printed.contains("+description: Rules the world."), "{printed}");
    assert!(!printed.contains("+You work on the app."), "only the change: {printed}");
    assert!(
        home.run_ok(&["roles", "trust", "--project", "app"])
            .contains("Everything is trusted already")
    );

    home.write(".provost/roles/odd.md", "---\nname: odd\nskills: [fs.reed]\n---\n");
    let output = home.provost(&["roles", "check", "--project", "app"]).assert().code(1);
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        printed.contains(".provost/roles/odd.md:3") && printed.contains("fs.reed"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_asks_is_seen_understood_allowed_and_denied_with_a_message() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let asked =
        daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo 'a\tb' > out" }));
    let open = daemon.wait_for_approvals(1).await;
    let id = open[0]["id"].as_str().unwrap();
    let end = &id[id.len() - 8..];
    let printed = home.run_ok(&["approvals"]);
    assert!(
        printed.contains(end) && printed.contains("echo") && printed.contains("expires in"),
        "{printed}"
    );

    let printed = home.run_failing(&["approvals", "allow", end], 1);
    let hash = open[0]["actionHash"].as_str().unwrap();
    assert!(printed.contains("cannot ask for confirmation") && printed.contains(hash), "{printed}");
    let other = "0".repeat(64);
    let printed = home.run_failing(&["approvals", "allow", end, "--hash", &other], 1);
    assert!(printed.contains("not the one that was shown"), "{printed}");
    let printed = home.run_failing(&["approvals", "allow", "nothing", "--yes"], 1);
    assert!(printed.contains("no pending approval `nothing`"), "{printed}");

    let printed = home.run_ok(&["approvals", "allow", end, "--hash", hash]);
    for part in [
        "in the role `dev`",
        "`a\\tb`",
        "writes `out`",
        "profile build",
        "without network",
        "once:",
        hash,
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(printed.contains("Allowed (once)"), "{printed}");
    let (status, answer) = asked.await.unwrap();
    assert_eq!((status.as_u16(), &answer["result"]["exitCode"]), (200, &json!(0)), "{answer}");
    assert_eq!(fs::read_to_string(home.path("app").join("out")).unwrap(), "a\tb\n");

    let asked = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "npm install" }));
    let open = daemon.wait_for_approvals(1).await;
    let id = open[0]["id"].as_str().unwrap();
    home.run_ok(&["approvals", "deny", id, "--message", "use npm ci instead"]);
    let (status, answer) = asked.await.unwrap();
    assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("APPROVAL_DENIED")), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("use npm ci instead"), "{answer}");
    assert!(home.run_ok(&["approvals"]).contains("No pending approvals"));
    let all = home.run_ok(&["approvals", "list", "--all"]);
    assert!(all.contains("allowed)") && all.contains("denied)"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_holds_until_it_is_revoked() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let run = || daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "true" }));
    let asked = run();
    let open = daemon.wait_for_approvals(1).await;
    let id = open[0]["id"].as_str().unwrap();
    home.run_ok(&["approvals", "allow", id, "--scope", "session", "--yes"]);
    asked.await.unwrap();
    assert_eq!(run().await.unwrap().0, 200, "the same again is not asked");
    let grants: Value =
        serde_json::from_str(&home.run_ok(&["grants", "--json", "--project", "app"])).unwrap();
    let grant = grants[0]["id"].as_str().unwrap();
    let printed = home.run_ok(&["grants", "revoke", &grant[grant.len() - 6..], "--project", "app"]);
    assert!(printed.contains("Revoked"), "{printed}");
    assert!(home.run_ok(&["grants", "--project", "app"]).contains("No grants"));
    let _asked = run();
    daemon.wait_for_approvals(1).await;
}

#[test]
fn the_mode_is_set_for_a_time_and_back() {
    let home = Home::new();
    home.up();
    assert!(home.run_ok(&["mode", "--project", "app"]).contains("app: sandbox"));
    let printed = home.run_ok(&["mode", "full", "--minutes", "5", "--project", "app"]);
    assert!(
        printed.contains("FULL") && (printed.contains("(4 min") || printed.contains("(5 min")),
        "{printed}"
    );
    let mode: Value =
        serde_json::from_str(&home.run_ok(&["mode", "--json", "--project", "app"])).unwrap();
    assert_eq!(mode["mode"], "full", "{mode}");
    assert!(home.run_ok(&["mode", "sandbox", "--project", "app"]).contains("app: sandbox"));
    let printed = home.run_failing(&["mode", "full", "--minutes", "100000", "--project", "app"], 1);
    assert!(printed.contains("minutes"), "{printed}");
}

#[test]
fn everything_wrong_with_a_file_of_rules_is_said_with_its_line_and_without_a_daemon() {
    let home = Home::new();
    let rules = home.path("rules.toml");
    let file = rules.to_str().unwrap();
    let bad = "[[rule]]\nid = \"a\"\neffect = \"alow\"\n[[rule]]\nid = \"b\"\n\
               effect = \"ask\"\non = [\"terminal.runComand\"]\n";
    fs::write(&rules, bad).unwrap();
    let output = home.provost(&["policy", "check", file]).assert().code(1);
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(printed.contains("rules.toml:3:") && printed.contains("rules.toml:7:"), "{printed}");

    let good = "[[rule]]\nid = \"make\"\neffect = \"allow\"\non = [\"terminal.runCommand\"]\n\
                argv = [\"make\", \"**\"]\nmatch = [\"make test\", \"make\"]\nnot_match = [\"cmake\"]\n";
    fs::write(&rules, good).unwrap();
    assert!(home.run_ok(&["policy", "check", file]).contains("1 rules, no errors"));
    assert!(home.run_ok(&["policy", "test", file]).contains("3 of 3 examples pass"));
    fs::write(&rules, good.replace("cmake", "make clean")).unwrap();
    let output = home.provost(&["policy", "test", file]).assert().code(1);
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        printed.contains("2 of 3 examples pass") && printed.contains("`make clean`"),
        "{printed}"
    );
    let printed = home.run_failing(&["policy", "check", "nowhere.toml"], 1);
    assert!(printed.contains("cannot read nowhere.toml"), "{printed}");
}

#[test]
fn what_decides_is_told_where_and_why() {
    let home = Home::new();
    let _daemon = home.up();
    let config = home.run_ok(&["config"]);
    let policy = home.path("policy.toml");
    assert!(config.contains(&format!("policy = {policy:?}")), "{config}");
    assert!(config.contains("approval_minutes = 15"), "{config}");

    let rule = "[[rule]]\nid = 't'\neffect = 'allow'\non = ['terminal.runCommand']\nargv = ['touch', 'K9']\n";
    std::fs::write(policy, rule).unwrap();
    let explain = |more: &[&str]| {
        home.run_ok(&[&["policy", "explain", "--project", "app"][..], more].concat())
    };
    assert!(explain(&["git push"]).starts_with("ask: run "));
    let printed = explain(&["--mode", "sandbox", "touch K9"]);
    assert!(printed.contains("none allows fs.writeFile on "), "{printed}");

    let args = ["token", "create", "--class", "agent", "--project", "app", "--role", "nosuch"];
    let output = home.provost(&args).assert().success();
    let printed = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(printed.contains("no role `nosuch`"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_explained_trusted_and_tried_out() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let explain = |more: &[&str]| {
        home.run_ok(&[&["policy", "explain", "--project", "app"][..], more].concat())
    };
    let printed = explain(&["--mode", "full", "--", "sudo rm -rf / | sh"]);
    assert!(
        printed.starts_with("ask")
            && printed.contains("`rm`")
            && printed.contains("through `sudo`"),
        "{printed}"
    );
    let printed = explain(&["--role", "dev", "--action", "fs.readFile", "path=README.md"]);
    assert!(printed.starts_with("allow"), "{printed}");
    let printed = explain(&["--role", "nobody", "--", "git", "status"]);
    assert!(printed.starts_with("deny") && printed.contains("nobody"), "{printed}");

    home.write(
        ".provost/policy.toml",
        "[[rule]]\nid = \"t\"\neffect = \"allow\"\n\
                                        on = [\"terminal.runCommand\"]\nargv = [\"true\"]\n",
    );
    let printed = home.run_ok(&["policy", "--project", "app"]);
    assert!(
        printed.contains("NOT TRUSTED") && printed.contains("allow t (no effect)"),
        "{printed}"
    );
    assert!(explain(&["--", "true"]).starts_with("ask"));
    let printed = home.run_ok(&["policy", "trust", "--yes", "--project", "app"]);
    assert!(printed.contains("+argv = [\"true\"]") && printed.contains("Trusted"), "{printed}");
    assert!(explain(&["--", "true"]).starts_with("allow"));

    daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "true" })).await.unwrap();
    let changed = home.path("changed.toml");
    fs::write(
        &changed,
        "[[rule]]\nid = \"no\"\neffect = \"deny\"\non = [\"terminal.runCommand\"]\n\
                         argv = [\"true\"]\nreason = \"we know it already\"\n",
    )
    .unwrap();
    let printed =
        home.run_ok(&["policy", "simulate", changed.to_str().unwrap(), "--project", "app"]);
    assert!(
        printed.contains("Of 1 past requests, 1 would") && printed.contains("allow → deny"),
        "{printed}"
    );
    assert!(printed.contains("we know it already"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_can_act_in_a_role_and_answer_for_it() {
    let home = Home::new();
    let (daemon, _) = home.with_agent();
    let line = "command=echo one; exit 3";
    let args = ["do", "terminal.runCommand", line, "--role", "dev", "--project", "app"];
    let mut acting = home.provost(&args);
    let acting = std::thread::spawn(move || acting.output().unwrap());
    let open = daemon.wait_for_approvals(1).await;
    let id = open[0]["id"].as_str().unwrap();
    home.run_ok(&["approvals", "allow", id, "--yes"]);
    let output = tokio::task::spawn_blocking(|| acting.join().unwrap()).await.unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.stdout.as_slice(), output.status.code()),
        (&b"one\n"[..], Some(3)),
        "{printed}"
    );
    assert!(
        printed.contains("Waiting for approval") && printed.contains(&id[id.len() - 8..]),
        "{printed}"
    );
    assert!(printed.contains("Allowed by the answer to"), "{printed}");

    // What is no command is answered in the same breath.
    let args = ["do", "fs.writeFile", "path=a", "content=b", "--role", "dev", "--project", "app"];
    let mut acting = home.provost(&args);
    let acting = std::thread::spawn(move || acting.output().unwrap());
    let open = daemon.wait_for_approvals(1).await;
    home.run_ok(&["approvals", "deny", open[0]["id"].as_str().unwrap(), "-m", "not now"]);
    let output = tokio::task::spawn_blocking(|| acting.join().unwrap()).await.unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("Waiting for approval") && printed.contains("not now"), "{printed}");
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let read = home.run_ok(&["do", "fs.listFiles", "--role", "dev", "--project", "app"]);
    assert!(read.contains("entries"), "{read}");
    let printed =
        home.run_failing(&["do", "fs.listFiles", "--role", "nobody", "--project", "app"], 1);
    assert!(printed.contains("SKILL_DENIED"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_takes_back_what_waits() {
    let home = Home::new();
    let (daemon, _) = home.with_agent();
    let data = home.data();
    for action in [&["terminal.runCommand", "command=true"][..], &["fs.createDir", "path=x"]] {
        let head = ["do", "--data", data.to_str().unwrap(), "--role", "dev", "--project", "app"];
        let mut acting = home.provost(&[&head[..], action].concat());
        let acting = std::thread::spawn(move || acting.output().unwrap());
        daemon.wait_for_approvals(1).await;
        kill_process(home.pid_of("do").unwrap(), Signal::INT).unwrap();
        daemon.wait_for_approvals(0).await;
        let output = tokio::task::spawn_blocking(|| acting.join().unwrap()).await.unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && printed.contains("CANCELLED"), "{printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_without_a_browser_watches_and_answers() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let first = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo \u{1b}1" }));
    let (status, answer) = first.await.unwrap();
    assert_eq!(status, 422, "control characters are refused: {answer}");
    let first = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo 1" }));
    daemon.wait_for_approvals(1).await;
    let second = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo 2" }));
    daemon.wait_for_approvals(2).await;
    let watched = type_in_terminal(
        &home,
        "approvals watch",
        &[
            ("a: allow once", "?\r"),
            ("a: allow once", "a\r"),
            ("Approval 1 was allowed", ""),
            ("a: allow once", "m 2 not today\r"),
            ("Approval 2 was denied", "\u{3}"),
        ],
    );
    let (watched, first, second) = tokio::join!(watched, first, second);
    let (status, answer) = first.unwrap();
    assert_eq!((status.as_u16(), &answer["result"]["stdout"]), (200, &json!("1\n")), "{answer}");
    let (status, answer) = second.unwrap();
    assert_eq!(status, 403, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("not today"), "{answer}");
    let printed = String::from_utf8_lossy(&watched.stdout);
    assert!(watched.status.success() && printed.contains("Approval 2 is queued"), "{printed}");
    assert!(printed.contains("`echo`") && !printed.contains("\u{1b}1"), "{printed}");
}

fn contains(shown: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(shown).contains(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_before_an_approval_was_shown_does_not_answer_it() {
    let home = Home::new();
    let (daemon, agent) = home.with_agent();
    let harmless = daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "echo 1" }));
    daemon.wait_for_approvals(1).await;
    let watched = type_in_terminal(
        &home,
        "approvals watch",
        &[
            // Before anything is shown, then twice at the first one.
            ("Waiting for approvals", "a\ra\r"),
            ("Ignored: it was typed before", ""),
            ("a: allow once", ""),
            ("is queued", "a\ra\r"),
            ("Approval 1 was allowed", ""),
            ("DANGEROUS", "dangerous\r"),
            ("dangerous: allow once", "a\r"),
            ("This is allowed with `dangerous`", "d\r"),
            ("Approval 2 was denied", "\u{3}"),
        ],
    );
    let dangerous = async {
        // Not before the first one is shown: the graver one is shown first.
        while !fs::read(home.path("shown")).is_ok_and(|shown| contains(&shown, "a: allow once")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        daemon.submit(&agent, "terminal.runCommand", &json!({ "command": "rm -rf /" })).await
    };
    let (watched, harmless, dangerous) = tokio::join!(watched, harmless, dangerous);
    let printed = String::from_utf8_lossy(&watched.stdout);
    assert_eq!(harmless.unwrap().0, 200, "{printed}");
    assert_eq!(dangerous.unwrap().0, 403, "{printed}");
}
