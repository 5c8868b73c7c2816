//! Much output, and clients that do not keep up.

use provost_proto::limits::TERMINAL_WINDOW_BYTES;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use provost_kernel::attach_terminal;
use provost_proto::terminal::TerminalOutputFrame;

use super::Host;

/// What this process, and so the kernel in it, has in memory.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_clients_cost_nothing_and_slow_nobody_in_a_flood() {
    const MEGABYTES: u64 = 100;
    let mut host = Host::start().await;
    host.open().await;
    let mut reader = host.attach(None, 80, 24).await;
    reader.until("ready>").await;
    // The first flood fills what the terminal keeps for itself.
    reader.types("head -c 12000000 /dev/zero | tr '\\0' x; echo; echo full-$((1))\r").await;
    reader.until("\nfull-1").await;
    reader.seen.clear();
    let before = memory();
    let mut stalled = Vec::new();
    for _ in 0..10 {
        stalled.push(host.attach(None, 80, 24).await);
    }
    let begin = reader.at;
    let size = MEGABYTES * 1_000_000;
    reader.types(&format!("head -c {size} /dev/zero | tr '\\0' y; echo; echo end-$((1))\r")).await;
    let mut most = 0;
    while !reader.text().contains("\nend-1") {
        assert!(reader.next().await);
        if reader.seen.len() > 1_000_000 {
            reader.seen.drain(..900_000);
        }
        most = most.max(memory());
    }
    assert!(reader.at - begin > size, "{} bytes were printed", reader.at - begin);
    let grown = most.saturating_sub(before);
    assert!(grown < 16 * 1024 * 1024, "{grown} bytes more for ten stalled clients");
    for client in &mut stalled {
        // What was under way when it stalled, and then how it looks by now.
        client.until("end-1").await;
        assert!(client.n_snapshots >= 2, "{}", client.n_snapshots);
        assert!(client.at >= reader.at - TERMINAL_WINDOW_BYTES);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_and_never_acknowledges_is_sent_a_window_and_no_more() {
    let mut host = Host::start().await;
    host.open().await;
    let mut reader = host.attach(None, 80, 24).await;
    reader.until("ready>").await;
    let (n_snapshots, n_bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (_, mut look, _keys) = attach_terminal(&host.place, None, (80, 24)).await.unwrap();
    let counted = (Arc::clone(&n_snapshots), Arc::clone(&n_bytes));
    let mute = tokio::spawn(async move {
        while let Ok(Some(frame)) = look.next().await {
            match frame {
                TerminalOutputFrame::Snapshot { .. } => {
                    drop(counted.0.fetch_add(1, Ordering::SeqCst))
                }
                TerminalOutputFrame::Data { bytes, .. } => {
                    counted.1.fetch_add(bytes.len(), Ordering::SeqCst);
                }
                TerminalOutputFrame::Resize { .. }
                | TerminalOutputFrame::Title(_)
                | TerminalOutputFrame::Bell
                | TerminalOutputFrame::Exit { .. }
                | TerminalOutputFrame::Error(_) => {}
            }
        }
    });
    // More than twice what the terminal keeps.
    reader.types("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end-$((1))\r").await;
    while !reader.text().contains("\nend-1") {
        assert!(reader.next().await);
        if reader.seen.len() > 1_000_000 {
            reader.seen.drain(..900_000);
        }
    }
    mute.abort();
    assert_eq!(n_snapshots.load(Ordering::SeqCst), 1, "the one it came for");
    let window = usize::try_from(TERMINAL_WINDOW_BYTES).unwrap();
    assert!(n_bytes.load(Ordering::SeqCst) <= window, "{n_bytes:?} bytes");
}
