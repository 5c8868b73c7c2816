//! Benchmark of the cost of history: the same with 1 000 and with 1 000 000 events in the log, in
//! one run, of the daemon, the command line and the page in a real browser.
//!
//! `cargo xtask bench web`; `cargo xtask bench web daemon` leaves the browser out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

mod browser;
mod commands;
mod history;
mod measured_daemon;
mod random;
#[path = "../daemon/readiness.rs"]
mod readiness;
mod requests;
mod table;
mod turns;

use std::time::Duration;

use measured_daemon::{DataFolderCopy, MeasuredDaemon, resident_megabytes};
use table::{ResultTable, RowLimits};

/// The lengths that are compared.
const SIZES: [u64; 2] = [1_000, 1_000_000];
/// Idle time after which a process has returned its unused memory.
const REST: Duration = Duration::from_secs(12);
const STARTS: usize = 9;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let with_browser = !std::env::args().any(|argument| argument == "daemon");
    let mut copies = Vec::new();
    for n_events in SIZES {
        copies.push(DataFolderCopy::prepare(n_events).await);
    }
    let [small, large] = <[DataFolderCopy; 2]>::try_from(copies).unwrap();
    let mut table = ResultTable::default();
    measure_starts(&mut table, &small, &large).await;
    let (small, large) = (small.start().await.0, large.start().await.0);
    measure_memory(&mut table, &small, &large).await;
    let both = [&small, &large];
    requests::measure(&mut table, both).await;
    commands::measure(&mut table, both);
    if with_browser {
        browser::measure(&mut table, both).await;
    }
    table.print();
}

/// From exec to the first healthy response.
async fn measure_starts(table: &mut ResultTable, small: &DataFolderCopy, large: &DataFolderCopy) {
    // The first start of a folder creates its token.
    for folder_copy in [small, large] {
        drop(folder_copy.start().await);
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (times, folder_copy) in times.iter_mut().zip([small, large]) {
            times.push(folder_copy.start().await.1);
        }
    }
    table.add_times("start of the daemon", times, RowLimits::RATIO);
}

async fn measure_memory(
    table: &mut ResultTable,
    small: &MeasuredDaemon<'_>,
    large: &MeasuredDaemon<'_>,
) {
    tokio::time::sleep(REST).await;
    let values = [small, large].map(|daemon| resident_megabytes(daemon.pid));
    table.add("idle daemon, 100 projects", "MB", values, RowLimits::at_most(25.0));
}
