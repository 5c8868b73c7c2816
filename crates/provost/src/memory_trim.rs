//! The processes that stay hold little while nothing happens.

use std::time::Duration;

use provost_sandbox::memory_trim::MemoryTrimmer;

/// How often to look. It costs a few system calls.
const TRIM_INTERVAL: Duration = Duration::from_secs(3);

/// Gives memory back whenever the process rests, for as long as it lives.
pub(crate) async fn run_trim_loop() {
    let mut thrift = MemoryTrimmer::new();
    loop {
        tokio::time::sleep(TRIM_INTERVAL).await;
        match thrift.trim_if_idle() {
            Ok(0) => {}
            Ok(bytes) => tracing::debug!(bytes, "gave unused pages back"),
            Err(error) => {
                tracing::debug!(%error, "this process cannot look at its own memory");
                return;
            }
        }
    }
}
