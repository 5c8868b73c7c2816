//! A project's runtime for people and agents: commands, status, log, and a killed daemon.

use std::time::Duration;

use serde_json::{Value, json};

use super::held_process::HeldProcess;
use super::{Home, Running};

const STATUS: &str = "/api/projects/app/runtime/status";

impl Running {
    /// Waits until the status matches, and returns it.
    pub(super) async fn until_status(&self, mut is: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let status = self.get(STATUS).await;
            if is(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(super) async fn runtime(&self, what: &str) -> (u16, Value) {
        let path = format!("/api/projects/app/runtime/{what}");
        let (status, answer) = self.post(&path, &self.token, &json!({})).await;
        (status.as_u16(), answer)
    }
}

impl Home {
    pub(super) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path("app").join(name), text).unwrap();
    }
}

#[tokio::test]
async fn a_folder_of_pages_is_served_and_the_commands_tell_of_it() {
    let home = Home::new();
    home.put("index.html", "<h1>hello</h1>");
    let daemon = home.up();
    let app = ["app"];
    assert!(
        home.run_ok(&["init", "--dry-run", home.path("app").to_str().unwrap()])
            .contains("static = \".\"")
    );
    let printed = home.run_ok(&["run", app[0]]);
    assert!(printed.contains("serve the files in ."), "{printed}");
    assert!(printed.contains("http://app.localhost:"), "{printed}");
    let status = daemon.get(STATUS).await;
    assert_eq!(
        (&status["status"], &status["preview"]["status"]),
        (&json!("running"), &json!("ready"))
    );
    let page = daemon.act("preview.fetch", json!({})).await.1;
    assert_eq!(page["result"]["content"], "<h1>hello</h1>", "{page}");
    for path in ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.hidden"] {
        let page = daemon.act("preview.fetch", json!({ "path": path })).await.1;
        assert_eq!(page["result"]["status"], 404, "{path}: {page}");
    }
    assert!(home.run_ok(&["status"]).contains("running http://app.localhost:"));
    assert!(home.run_ok(&["logs", "app"]).contains("Serving . on http://127.0.0.1:"));
    let again = home.run_ok(&["run", "app", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["devServer"]["pid"], status["devServer"]["pid"]);
    assert!(home.run_ok(&["stop", "app"]).contains("with all its processes"));
    assert_eq!(daemon.get(STATUS).await["status"], "stopped");
    let kinds: Vec<_> = daemon.get("/api/audit?limit=500").await["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .filter(|kind| kind.starts_with("RUNTIME_"))
        .collect();
    assert_eq!(
        kinds,
        ["RUNTIME_STARTING", "RUNTIME_STARTED", "RUNTIME_STOPPING", "RUNTIME_STOPPED"]
    );
}

#[tokio::test]
async fn failures_have_exit_codes_and_words() {
    let home = Home::new();
    home.up();
    let message = home.run_failing(&["run", "app"], 1);
    assert!(message.contains("NOTHING_TO_RUN") && message.contains("provost.toml"), "{message}");
    home.put(
        "provost.toml",
        "[runtime]\nbuild = \"echo 'a.c:3:7: error: no'; exit 1\"\ndev = \"echo oops; exit 3\"\n",
    );
    let output = home.provost(&["build", "app"]).assert().code(6);
    let printed = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(printed.contains("a.c:3:7") && printed.contains("── build:"), "{printed}");
    let output = home.provost(&["run", "app"]).assert().code(5);
    let printed = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(printed.contains("oops"), "{printed}");
    assert!(home.run_failing(&["preview", "app"], 1).contains("not listening on any port"));
}

#[tokio::test]
async fn init_writes_what_was_detected_and_only_once() {
    let home = Home::new();
    home.put("package.json", r#"{ "scripts": { "dev": "vite" } }"#);
    let app = home.path("app");
    let printed = home.run_ok(&["init", app.to_str().unwrap()]);
    assert!(printed.contains("package.json has the script `dev`"), "{printed}");
    let text = std::fs::read_to_string(app.join("provost.toml")).unwrap();
    assert!(text.contains("dev = \"npm run dev\""), "{text}");
    assert!(home.run_failing(&["init", app.to_str().unwrap()], 1).contains("already exists"));
}

#[tokio::test]
async fn the_status_tells_the_truth_after_the_daemon_was_killed() {
    let home = Home::new();
    home.put(
        "provost.toml",
        "[runtime]\ndev = \"echo up; while [ ! -e die ]; do sleep 0.05; done; exit 7\"\n",
    );
    let daemon = home.up();
    let (_, answer) = daemon.runtime("run").await;
    assert_eq!(answer["result"]["started"], true, "{answer}");
    let before = daemon.get(STATUS).await;
    // While it is away, nothing changes.
    daemon.kill();
    let daemon = home.up();
    let after = daemon.get(STATUS).await;
    assert_eq!(after["devServer"], before["devServer"]);
    assert_eq!(after["status"], "running");
    // While it is away, it crashes.
    daemon.kill();
    home.put("die", "");
    let kernel = after["devServer"]["pid"].as_u64().unwrap();
    while std::path::Path::new(&format!("/proc/{kernel}")).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let daemon = home.up();
    let crashed = daemon.until_status(|status| status["status"] == "crashed").await;
    assert_eq!(crashed["devServer"]["crash"]["exitCode"], 7);
    assert_eq!(crashed["devServer"]["crash"]["lastLines"], json!(["up"]));
    assert_eq!(daemon.events("RUNTIME_CRASHED").await.len(), 1);
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

#[tokio::test]
async fn a_build_that_goes_on_while_the_daemon_is_killed_ends_in_the_log() {
    let home = Home::new();
    home.put(
        "provost.toml",
        "[runtime]\nbuild = \"while [ ! -e go ]; do sleep 0.05; done; echo done\"\n",
    );
    let daemon = home.up();
    let body = json!({ "action": "runtime.build", "params": {} });
    let (_, answer) = daemon.post("/api/projects/app/actions?wait=0", &daemon.token, &body).await;
    let id = answer["actionId"].as_str().unwrap().to_owned();
    daemon.until_status(|status| status["build"]["status"] == "running").await;
    daemon.kill();
    let daemon = home.up();
    home.put("go", "");
    let action = daemon.until(&id, "finished").await;
    assert_eq!(action["outcome"]["fault"], json!(null), "{action}");
    daemon.until_status(|status| status["build"]["status"] == "succeeded").await;
}

#[tokio::test]
async fn a_kernel_that_is_killed_leaves_a_crash_and_nothing_running() {
    let home = Home::new();
    home.put("provost.toml", "[runtime]\ndev = \"exec sleep 1000\"\n");
    let daemon = home.up();
    daemon.runtime("run").await;
    let status = daemon.get(STATUS).await;
    let pid = |value: &Value| i32::try_from(value["pid"].as_i64().unwrap()).unwrap();
    let kernel = rustix::process::Pid::from_raw(pid(&status["kernel"])).unwrap();
    rustix::process::kill_process(kernel, rustix::process::Signal::KILL).unwrap();
    let status = daemon.until_status(|status| status["status"] == "crashed").await;
    assert_eq!(status["kernel"]["status"], "lost");
    let why = status["devServer"]["crash"]["why"].as_str().unwrap();
    assert!(why.contains("kernel was lost"), "{why}");
    assert_eq!(daemon.runtime("run").await.1["result"]["started"], true, "a new one");
}

/// Whether every thread of a process has stopped.
fn is_stopped(pid: rustix::process::Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    threads.map(|thread| thread.unwrap().path().join("stat")).all(|stat| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    })
}

#[tokio::test]
async fn a_kernel_that_hangs_is_told_of_and_stop_ends_it_with_all_that_runs_in_it() {
    let home = Home::new();
    home.put("provost.toml", "[runtime]\ndev = \"exec sleep 1000\"\n");
    let daemon = home.up();
    daemon.runtime("run").await;
    let status = daemon.get(STATUS).await;
    let pid = |value: &Value| {
        let pid = i32::try_from(value["pid"].as_i64().unwrap()).unwrap();
        rustix::process::Pid::from_raw(pid).unwrap()
    };
    let (kernel, dev) = (pid(&status["kernel"]), pid(&status["devServer"]));
    let held = HeldProcess::open(kernel).unwrap();
    rustix::process::kill_process(kernel, rustix::process::Signal::STOP).unwrap();
    while !is_stopped(kernel) {
        tokio::task::yield_now().await;
    }
    // The response names the cause and what can be done.
    let (read, build) = tokio::join!(
        async {
            let params = json!({ "action": "fs.stat", "params": { "path": "provost.toml" } });
            let asked = daemon.post("/api/projects/app/actions", &daemon.token, &params);
            let (status, answer) = asked.await;
            (status.as_u16(), answer)
        },
        daemon.runtime("build"),
    );
    for (status, answer) in [read, build] {
        assert_eq!((status, &answer["code"]), (503, &json!("KERNEL_LOST")), "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("`provost stop`"), "{answer}");
    }
    let printed = home.run_ok(&["stop", "app"]);
    assert!(printed.contains("is stopped, with all its processes"), "{printed}");
    assert!(held.has_exited());
    let lives = || {
        let line = std::fs::read(format!("/proc/{}/cmdline", dev.as_raw_nonzero()));
        line.is_ok_and(|line| !line.is_empty())
    };
    while lives() {
        tokio::task::yield_now().await;
    }
    let status = daemon.get(STATUS).await;
    assert_eq!(status["kernel"]["status"], "stopped", "{status}");
    assert_eq!(daemon.runtime("run").await.1["result"]["started"], true, "a new one");
}

#[tokio::test]
async fn an_unknown_verb_and_a_viewer_are_refused() {
    let home = Home::new();
    let daemon = home.up();
    let (status, answer) = daemon.runtime("explode").await;
    assert_eq!((status, &answer["code"]), (404, &json!("NOT_FOUND")));
    let wanted = json!({ "class": "viewer", "project": "app" });
    let (_, created) = daemon.post("/api/tokens", &daemon.token, &wanted).await;
    let viewer = created["token"].as_str().unwrap();
    let (status, answer) = daemon.post("/api/projects/app/runtime/run", viewer, &json!({})).await;
    assert_eq!(status, 403, "{answer}");
}

/// A role that may drive the dev server.
const ROLE: &str = "---\nname: dev\ndescription: Runs the app.\nskills: [runtime.run, \
                    runtime.stop, runtime.status, runtime.logs, preview.fetch]\n---\nYou run the app.\n";

#[tokio::test]
async fn an_agent_drives_what_people_see_as_far_as_it_is_allowed() {
    let home = Home::new();
    home.put("index.html", "<h1>hello</h1>");
    std::fs::create_dir_all(home.path("app").join(".provost/roles")).unwrap();
    home.put(".provost/roles/dev.md", ROLE);
    let daemon = home.up();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
    let agent = home.run_ok(&create).trim().to_owned();
    // It may not build, and may run when a person says so.
    let (status, answer) = daemon.submit(&agent, "runtime.build", &json!({})).await.unwrap();
    assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("SKILL_DENIED")), "{answer}");
    let asked = daemon.submit(&agent, "runtime.run", &json!({}));
    let question = daemon.wait_for_approvals(1).await.remove(0);
    assert_eq!(daemon.get(STATUS).await["status"], "stopped", "not before the answer");
    home.run_ok(&["approvals", "allow", question["id"].as_str().unwrap(), "--yes"]);
    let (status, answer) = asked.await.unwrap();
    assert_eq!((status.as_u16(), &answer["result"]["started"]), (200, &json!(true)), "{answer}");
    let seen = daemon.until_status(|status| status["preview"]["status"] == "ready").await;
    assert_eq!(seen["devServer"]["action"], answer["actionId"], "the log says who began it");
    let (_, reported) = daemon.submit(&agent, "runtime.status", &json!({})).await.unwrap();
    let reported = &reported["result"]["runtime"];
    assert_eq!(reported["devServer"]["pid"], seen["devServer"]["pid"], "{reported}");
    assert_eq!(
        (&reported["status"], &reported["preview"]["port"]),
        (&seen["status"], &seen["preview"]["port"])
    );
    daemon.runtime("stop").await;
}

/// Acceptance test 7, with nothing but an agent's token: it sees the build fail and
/// where, the build succeed, the server run and crash, and all that was printed.
/// A role that may use the runtime.
const DEV_ROLE: &str =
    "---\nname: dev\ndescription: Runs the app.\nskills: [runtime.*]\n---\nRun it.\n";

#[tokio::test]
async fn an_agent_observes_the_real_build_and_what_runs_and_reads_its_log_by_cursor() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("app").join(".provost/roles")).unwrap();
    home.put(".provost/roles/dev.md", DEV_ROLE);
    let broken = "build = \"echo 'src/a.c:3:7: error: no such thing' >&2; exit 1\"";
    let dev = "dev = \"echo up-$((1)); while [ ! -e die ]; do sleep 0.02; done; echo down-$((1)); exit 3\"";
    home.put("provost.toml", &format!("[runtime]\n{broken}\n{dev}\n"));
    let daemon = home.up();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    home.run_ok(&["mode", "auto", "--project", "app"]);
    let create = ["token", "create", "--class", "agent", "--project", "app", "--role", "dev"];
    let agent = home.run_ok(&create).trim().to_owned();
    let run =
        async |name: &str, params: Value| daemon.submit(&agent, name, &params).await.unwrap().1;
    // What the files of the project would run, a person has seen once.
    let allowed = async |name: &str| {
        let asked = daemon.submit(&agent, name, &json!({}));
        let question = daemon.wait_for_approvals(1).await.remove(0);
        home.run_ok(&["approvals", "allow", question["id"].as_str().unwrap(), "--yes"]);
        asked.await.unwrap().1
    };
    let failed = allowed("runtime.build").await;
    assert_eq!(failed["code"], "BUILD_FAILED", "{failed}");
    let status = run("runtime.status", json!({})).await;
    let error = &status["result"]["runtime"]["build"]["errors"][0];
    assert_eq!((&error["file"], &error["line"]), (&json!("src/a.c"), &json!(3)), "{status}");
    let log = &run("runtime.logs", json!({})).await["result"];
    assert!(log["text"].as_str().unwrap().contains("no such thing"), "{log}");

    let build = "build = \"echo built-$((1))\"\nbuild_first = true";
    home.put("provost.toml", &format!("[runtime]\n{build}\n{dev}\n"));
    let ran = allowed("runtime.run").await;
    assert_eq!(ran["result"]["started"], true, "{ran}");
    // By cursor, in small pieces: all that came since, once and in order.
    let (mut cursor, mut seen) = (log["next"].clone(), String::new());
    let mut follow = async |until: &str| {
        while !seen.contains(until) {
            let params = json!({ "after": cursor, "limit": 16 });
            let page = &run("runtime.logs", params).await["result"];
            assert_eq!(page["offset"], cursor, "{page}");
            seen.push_str(page["text"].as_str().unwrap());
            cursor = page["next"].clone();
        }
    };
    follow("up-1").await;
    home.put("die", "");
    follow("down-1").await;
    let places = ["built-1", "up-1", "down-1"].map(|text| seen.find(text).unwrap());
    assert!(places.is_sorted() && !seen.contains("no such thing"), "{seen}");
    let crashed = loop {
        let status = run("runtime.status", json!({})).await["result"]["runtime"].clone();
        if status["status"] == "crashed" {
            break status;
        }
    };
    assert_eq!(crashed["devServer"]["exitCode"], 3, "{crashed}");
    let people = daemon.get(STATUS).await;
    for (part, what) in [("devServer", "action"), ("devServer", "exitCode"), ("build", "action")] {
        assert_eq!(crashed[part][what], people[part][what], "as people see it: {part} {what}");
    }
    let stranger = ["token", "create", "--class", "agent", "--project", "app", "--role", "nobody"];
    let stranger = home.run_ok(&stranger).trim().to_owned();
    let (status, answer) = daemon.submit(&stranger, "runtime.logs", &json!({})).await.unwrap();
    assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("SKILL_DENIED")), "{answer}");
}
