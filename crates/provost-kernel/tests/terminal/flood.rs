//! Much output, and clients that do not keep up.

use provost_proto::limits::TERMINAL_WINDOW_BYTES;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use provost_kernel::{TerminalAttachOptions, TerminalAttachment, attach_terminal};
use provost_proto::terminal::TerminalOutputFrame;

use super::Host;

/// The resident memory of this process, which includes the kernel.
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
    // The first flood fills the terminal's own buffers.
    reader.types("head -c 12000000 /dev/zero | tr '\\0' x; echo; echo full-$((1))\r").await;
    reader.until("\nfull-1").await;
    reader.output.clear();
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
        if reader.output.len() > 1_000_000 {
            reader.output.drain(..900_000);
        }
        most = most.max(memory());
    }
    assert!(reader.at - begin > size, "{} bytes were printed", reader.at - begin);
    let grown = most.saturating_sub(before);
    assert!(grown < 16 * 1024 * 1024, "{grown} bytes more for ten stalled clients");
    for client in &mut stalled {
        // What was in flight when it stalled, and then a snapshot.
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
    let options = TerminalAttachOptions { after: None, cols: 80, rows: 24 };
    let TerminalAttachment { reader: mut silent_reader, writer: _writer, .. } =
        attach_terminal(&host.kernel_dir, options).await.unwrap();
    let counted = (Arc::clone(&n_snapshots), Arc::clone(&n_bytes));
    let silent = tokio::spawn(async move {
        while let Ok(Some(frames)) = silent_reader.next().await {
            for frame in TerminalOutputFrame::decode_message(frames.bytes).unwrap() {
                match frame {
                    TerminalOutputFrame::Snapshot { .. } => {
                        counted.0.fetch_add(1, Ordering::SeqCst);
                    }
                    TerminalOutputFrame::Data { bytes, .. } => {
                        counted.1.fetch_add(bytes.len(), Ordering::SeqCst);
                    }
                    TerminalOutputFrame::Resize { .. }
                    | TerminalOutputFrame::Title(_)
                    | TerminalOutputFrame::Bell
                    | TerminalOutputFrame::Exit { .. }
                    | TerminalOutputFrame::Error(_)
                    | TerminalOutputFrame::Ping => {}
                }
            }
        }
    });
    // More than twice what the ring keeps.
    reader.types("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end-$((1))\r").await;
    while !reader.text().contains("\nend-1") {
        assert!(reader.next().await);
        if reader.output.len() > 1_000_000 {
            reader.output.drain(..900_000);
        }
    }
    silent.abort();
    assert_eq!(n_snapshots.load(Ordering::SeqCst), 1, "the one it attached with");
    let window = usize::try_from(TERMINAL_WINDOW_BYTES).unwrap();
    assert!(n_bytes.load(Ordering::SeqCst) <= window, "{n_bytes:?} bytes");
}
