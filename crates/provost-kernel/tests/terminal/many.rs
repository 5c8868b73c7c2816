//! One terminal for all clients: input, resizes, exit.

use serde_json::json;

use super::{Host, kernel_terminals, wait_until};
use provost_proto::terminal::TerminalInputFrame;

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_opened_once_and_all_who_come_see_the_same() {
    let mut host = Host::start().await;
    assert_eq!(host.refusal(None).await, "PTY_DEAD", "it was not opened");
    let first = host.open().await;
    assert_eq!(first["opened"], true);
    let again = host.open().await;
    assert_eq!((&again["opened"], &again["pid"]), (&json!(false), &first["pid"]));
    let mut one = host.attach(None, 80, 24).await;
    let mut two = host.attach(None, 80, 24).await;
    one.types("echo so-$((40 + 2)); pwd; echo $TERM $HOME\r").await;
    let home = host.folder.path().display().to_string();
    for client in [&mut one, &mut two] {
        client.until("so-42").await;
        client.until(&format!("{home}/app\r\n")).await;
        client.until(&format!("xterm-256color {home}\r\n")).await;
    }
    two.types("tty; ps -o pid=,pgid=,sess= $$; echo e''nd\r").await;
    one.until("end\r\n").await;
    assert!(one.text().contains("/dev/pts/"), "{}", one.text());
    let pid = first["pid"].to_string();
    assert_eq!(one.text().matches(&pid).count(), 3, "it leads its session: {}", one.text());
    assert_eq!(kernel_terminals(), 1, "exactly one");
    one.types("exit 7\r").await;
    for client in [&mut one, &mut two] {
        client.read_to_end().await;
        assert_eq!(client.exit, Some((Some(7), None)));
    }
    let changes = host.changes(2).await;
    let names: Vec<_> = changes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["terminalOpened", "terminalClosed"]);
    assert_eq!(changes[0].1["pid"], first["pid"]);
    assert_eq!((&changes[1].1["cause"], &changes[1].1["exitCode"]), (&json!("exit"), &json!(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_its_end_it_is_shown_to_who_was_there_and_opened_anew_for_others() {
    let mut host = Host::start().await;
    host.open().await;
    let mut client = host.attach(None, 80, 24).await;
    client.until("ready>").await;
    let before = client.at;
    client.types("echo last words; exit 3\r").await;
    client.read_to_end().await;
    assert_eq!(host.refusal(None).await, "PTY_DEAD");
    let mut back = host.attach(Some(before), 80, 24).await;
    back.read_to_end().await;
    assert_eq!((back.exit, back.n_snapshots), (Some((Some(3), None)), 0));
    assert!(back.text().contains("last words\r\n"), "{}", back.text());
    // It is closed when it has ended, by the last thread that used it.
    wait_until(|| kernel_terminals() == 0).await;
    let ended = back.at;
    assert_eq!(host.open().await["opened"], true);
    assert_eq!(kernel_terminals(), 1);
    let mut stale = host.attach(Some(ended), 80, 24).await;
    stale.until("ready>").await;
    assert_eq!(stale.n_snapshots, 1, "a cursor of another session is not valid in this one");
    assert!(!stale.text().contains("last words"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_to_type_or_resize_sets_the_size_and_all_are_told() {
    let mut host = Host::start().await;
    host.open().await;
    let mut one = host.attach(None, 80, 24).await;
    one.until("ready>").await;
    let mut two = host.attach(None, 100, 30).await;
    two.until_size(100, 30).await;
    two.types("stty size\r").await;
    one.until("30 100\r\n").await;
    one.types(" ").await;
    one.until_size(80, 24).await;
    one.types("stty size\r").await;
    two.until("24 80\r\n").await;
    assert_eq!(two.sizes.last(), Some(&(80, 24)));
    two.send(TerminalInputFrame::Resize { cols: 90, rows: 40 }).await;
    two.until_size(90, 40).await;
    two.types("stty size\r").await;
    one.until("40 90\r\n").await;
    drop(two);
    one.until_size(80, 24).await;
    let resized = host.changes(3).await;
    assert_eq!(resized[1], ("terminalResized".into(), json!({ "cols": 100, "rows": 30 })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_resizes_ends_with_the_last_and_reports_few() {
    let mut host = Host::start().await;
    host.open().await;
    let mut client = host.attach(None, 80, 24).await;
    for n in 0..2000_u16 {
        client.send(TerminalInputFrame::Resize { cols: 20 + n % 90, rows: 5 + n % 40 }).await;
    }
    client.send(TerminalInputFrame::Resize { cols: 77, rows: 33 }).await;
    client.until_size(77, 33).await;
    client.types("stty size\r").await;
    client.until("33 77").await;
    host.act("pty.read", json!({})).await.unwrap();
    assert!(host.reports.len() < 500, "{} reports", host.reports.len());
    for (cols, rows) in [(0, 5), (5, 0), (1001, 5), (5, 501)] {
        let mut client = host.attach(None, 80, 24).await;
        client.send(TerminalInputFrame::Resize { cols, rows }).await;
        client.read_to_end().await;
        assert_eq!(client.error.as_deref(), Some("INVALID_REQUEST"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_ends_the_terminal_with_all_that_runs_in_it() {
    let mut host = Host::start().await;
    host.open().await;
    let mut client = host.attach(None, 80, 24).await;
    let line =
        "trap '' TERM; (trap '' HUP TERM; setsid sleep 4242.5) & sleep 4242.5 & echo ok-$!\r";
    client.types(line).await;
    client.until("\r\nok-").await;
    host.request("shutdown", json!({})).await.unwrap();
    client.read_to_end().await;
    assert!(client.exit.is_some());
    let Host { task, .. } = host;
    task.await.unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let left = lines.filter(|line| line.windows(6).any(|part| part == b"4242.5")).count();
    assert_eq!(left, 0, "processes of the terminal are left");
}
