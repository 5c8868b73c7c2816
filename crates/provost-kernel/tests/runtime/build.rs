//! Builds: on their own, before a run, failing, stopped.

use serde_json::json;
use uuid::Uuid;

use super::{Kernel, runtime};

const FAILING: &str = "echo 'src/main.ts(3,7): error TS2322: no string'; exit 2";

#[tokio::test]
async fn a_build_is_answered_when_it_has_ended_and_its_warnings_are_told() {
    let line = "echo 'src/a.c:3:9: warning: unused variable'; echo done";
    let kernel = Kernel::start(&[("provost.toml", &runtime(&format!("build = \"{line}\"")))]).await;
    let answer = kernel.act("runtime.build", json!({})).await.unwrap();
    let build = &answer["runtime"]["build"];
    assert_eq!((&build["status"], &answer["started"]), (&json!("succeeded"), &json!(true)));
    assert_eq!(build["errors"][0]["line"], 3);
    assert_eq!(answer["runtime"]["status"], "stopped");
    kernel.until("buildSucceeded").await;
    assert_eq!(kernel.changes(), ["buildStarted", "buildSucceeded"]);
}

#[tokio::test]
async fn a_build_that_fails_names_file_and_line() {
    let kernel =
        Kernel::start(&[("provost.toml", &runtime(&format!("build = \"{FAILING}\"")))]).await;
    let fault = kernel.act("runtime.build", json!({})).await.unwrap_err();
    assert_eq!(fault["code"], "BUILD_FAILED");
    let error = &fault["details"]["errors"][0];
    assert_eq!(
        (&error["file"], &error["line"], &error["column"]),
        (&json!("src/main.ts"), &json!(3), &json!(7))
    );
    let failed = kernel.until("buildFailed").await;
    assert_eq!((&failed["exitCode"], &failed["errors"][0]), (&json!(2), error));
}

#[tokio::test]
async fn a_run_whose_build_fails_does_not_run() {
    let toml = runtime(&format!("build = \"{FAILING}\"\nbuild_first = true\ndev = \"touch ran\""));
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let fault = kernel.run().await.unwrap_err();
    assert_eq!(fault["code"], "BUILD_FAILED");
    kernel.until("crashed").await;
    assert_eq!(kernel.changes(), ["starting", "buildStarted", "buildFailed", "crashed"]);
    assert!(!kernel.app("ran").exists());
}

#[tokio::test]
async fn a_run_builds_first_and_a_build_beside_it_leaves_it_alone() {
    let toml =
        runtime("build = \"echo built >> builds\"\nbuild_first = true\ndev = \"exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("builds", "")]).await;
    let ran = kernel.run().await.unwrap();
    let built = kernel.act("runtime.build", json!({})).await.unwrap();
    assert_eq!(built["runtime"]["devServer"]["pid"], ran["runtime"]["devServer"]["pid"]);
    assert_eq!(std::fs::read_to_string(kernel.app("builds")).unwrap(), "built\nbuilt\n");
    kernel.stop().await;
}

#[tokio::test]
async fn a_build_that_is_stopped_says_so_to_whoever_waits() {
    let toml = runtime("build = \"echo began; exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let waits = kernel.act("runtime.build", json!({}));
    let stop = async {
        kernel.until("buildStarted").await;
        kernel.stop().await
    };
    let (built, stopped) = tokio::join!(waits, stop);
    assert_eq!(built.unwrap_err()["code"], "CANCELLED");
    assert_eq!(stopped["runtime"]["build"]["status"], "stopped");
}

#[tokio::test]
async fn a_build_that_is_called_off_is_stopped() {
    let toml = runtime("build = \"echo began; exec sleep 1000\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let id = Uuid::new_v4();
    let waits = kernel.act_as(id, "runtime.build", json!({}));
    let call_off = async {
        kernel.until("buildStarted").await;
        kernel.ask("cancel", json!({ "id": id })).await
    };
    let (built, called_off) = tokio::join!(waits, call_off);
    assert_eq!(called_off["result"]["found"], true);
    assert_eq!(built.unwrap_err()["code"], "CANCELLED");
    assert_eq!(kernel.now().await["build"]["status"], "stopped");
    let again = kernel.ask("cancel", json!({ "id": id })).await;
    assert_eq!(again["result"]["found"], false, "it has ended");
}

/// A daemon that reconnects waits for the end of an action without asking again and again.
#[tokio::test]
async fn the_outcome_of_a_running_action_is_sent_when_it_has_ended() {
    let toml = runtime("build = \"echo began; read line < go\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    let fifo = kernel.app("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let id = Uuid::new_v4();
    let built = kernel.act_as(id, "runtime.build", json!({}));
    let follow = async {
        kernel.until("buildStarted").await;
        let outcomes = kernel.ask("outcomes", json!({ "ids": [id] })).await;
        assert_eq!(outcomes["result"], json!([]), "it is running");
        let ended = kernel.ask("outcomes", json!({ "ids": [id], "wait": true }));
        let release = tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n").unwrap());
        let (ended, released) = tokio::join!(ended, release);
        released.unwrap();
        assert_eq!(ended["result"][0][0], json!(id), "{ended}");
        assert_eq!(ended["result"][0][1]["fault"], json!(null), "{ended}");
    };
    let (built, ()) = tokio::join!(built, follow);
    built.unwrap();
    // What is not running is not waited for.
    let unknown = json!({ "ids": [Uuid::new_v4()], "wait": true });
    assert_eq!(kernel.ask("outcomes", unknown).await["result"], json!([]));
}

/// A build and a dev server that an agent starts write no path that a rule denies.
#[tokio::test]
async fn what_a_rule_denies_to_write_neither_build_nor_dev_server_writes() {
    let toml = runtime(
        "build = \"echo x > deploy/prod; echo x > built\"\nbuild_first = true\n\
         dev = \"echo x > deploy/prod; echo x > ran; exec sleep 1000\"",
    );
    let kernel = Kernel::start(&[("provost.toml", &toml), ("deploy/prod", "kept")]).await;
    let rule = json!({
        "id": "no", "layer": "user", "effect": "deny", "path": ["deploy/**"], "except": [],
    });
    let limited = |action| {
        let id = Uuid::new_v4();
        json!({ "id": id, "action": action, "params": {}, "limits": [rule] })
    };
    let content = |name| std::fs::read_to_string(kernel.app(name)).unwrap_or_default();
    for action in ["runtime.run", "runtime.restart"] {
        let started = kernel.ask("execute", limited(action)).await;
        assert_eq!(started.get("error"), None, "{started}");
        while content("ran") != "x\n" {
            tokio::task::yield_now().await;
        }
        assert_eq!((content("deploy/prod").as_str(), content("built").as_str()), ("kept", "x\n"));
        std::fs::remove_file(kernel.app("ran")).unwrap();
    }
    kernel.stop().await;
    std::fs::remove_file(kernel.app("built")).unwrap();
    let built = kernel.ask("execute", limited("runtime.build")).await;
    assert_eq!(built.get("error"), None, "{built}");
    assert_eq!((content("deploy/prod").as_str(), content("built").as_str()), ("kept", "x\n"));
    kernel.act("runtime.build", json!({})).await.unwrap();
    assert_eq!(content("deploy/prod"), "x\n", "the control: without the rule it does");
}
