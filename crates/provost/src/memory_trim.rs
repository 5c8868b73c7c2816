//! Returns unused memory to the system while a long-running process is idle.

use std::time::Duration;

use provost_sandbox::memory_trim::MemoryTrimmer;

/// Interval between checks. Each costs a few system calls.
const TRIM_INTERVAL: Duration = Duration::from_secs(3);

/// Trims memory whenever the process is idle. Never returns unless trimming is impossible.
pub(crate) async fn run_trim_loop() {
    let mut trimmer = MemoryTrimmer::new();
    loop {
        tokio::time::sleep(TRIM_INTERVAL).await;
        match trimmer.trim_if_idle() {
            Ok(0) => {}
            Ok(bytes) => tracing::debug!(bytes, "returned unused pages to the system"),
            Err(error) => {
                tracing::debug!(%error, "cannot read the memory use of this process");
                return;
            }
        }
    }
}
