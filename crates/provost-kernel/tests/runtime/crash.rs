//! A dev server that exits by itself.

use serde_json::json;

use super::{Kernel, runtime};

#[tokio::test]
async fn a_crash_is_told_with_its_exit_and_the_last_lines() {
    let toml = runtime("dev = \"for i in $(seq 1 500); do echo line $i; done; exit 3\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    let crashed = kernel.until("crashed").await;
    assert_eq!((&crashed["phase"], &crashed["restartInMs"]), (&json!("running"), &json!(null)));
    let lines = crashed["crash"]["lastLines"].as_array().unwrap();
    assert_eq!((lines.len(), &lines[199]), (200, &json!("line 500")));
    assert_eq!(crashed["crash"]["exitCode"], 3);
    assert_eq!(kernel.now().await["status"], "crashed");
    // It can be started again, and stopping it clears the crash.
    assert_eq!(kernel.run().await.unwrap()["started"], true);
    kernel.until_nth("crashed", 2).await;
    assert_eq!(kernel.stop().await["runtime"]["status"], "stopped");
}

#[tokio::test]
async fn a_signal_is_told_as_one() {
    let toml = runtime("dev = \"kill -SEGV $$\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    let crashed = kernel.until("crashed").await;
    assert_eq!(
        (&crashed["crash"]["signal"], &crashed["crash"]["exitCode"]),
        (&json!(11), &json!(null))
    );
}

#[tokio::test]
async fn one_that_is_to_come_back_does_with_growing_waits_and_gives_up() {
    let toml = runtime("dev = \"echo try; exit 1\"\nrestart = \"on-crash\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    let mut waits = Vec::new();
    for n in 1..=5 {
        waits.push(kernel.until_nth("crashed", n).await["restartInMs"].clone());
    }
    assert_eq!(waits, [json!(500), json!(1000), json!(2000), json!(4000), json!(null)]);
    let now = kernel.now().await;
    assert_eq!((&now["status"], &now["devServer"]["restarts"]), (&json!("crashed"), &json!(4)));
    assert_eq!(kernel.logs(0).await.0.matches("\ntry\n").count(), 5);
}

#[tokio::test]
async fn one_that_waits_to_come_back_can_be_stopped() {
    let toml = runtime("dev = \"exit 1\"\nrestart = \"on-crash\"");
    let kernel = Kernel::start(&[("provost.toml", &toml)]).await;
    kernel.run().await.unwrap();
    kernel.until_nth("crashed", 2).await;
    let stopped = kernel.stop().await;
    assert_eq!(stopped["runtime"]["devServer"]["restartAt"], json!(null));
    assert_eq!(stopped["runtime"]["status"], "stopped");
    assert_eq!(kernel.changes().last().unwrap(), "stopped");
}

#[tokio::test]
async fn a_program_that_serves_no_files_crashes_like_any_other() {
    let toml = runtime("static = \".\"\nport = 1");
    let kernel = Kernel::start(&[("provost.toml", &toml), ("index.html", "hi")]).await;
    // Our own program is that of this test, which cannot serve files.
    kernel.run().await.unwrap();
    let crashed = kernel.until("crashed").await;
    assert_ne!(crashed["crash"]["exitCode"], json!(0), "{crashed}");
}
