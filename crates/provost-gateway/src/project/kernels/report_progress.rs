//! Waiting until the reports of a kernel are in the log.

use std::time::Duration;

use provost_proto::ProjectId;
use provost_proto::kernel::ReportNumber;
use provost_proto::runtime::RuntimeSnapshot;
use tokio::sync::watch;
use tokio::time::timeout;

use super::KernelPool;

/// How long the log may take to receive what the kernel has reported.
const LOG_CATCH_UP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a kernel may take to return its runtime.
const KERNEL_STATUS_TIMEOUT: Duration = Duration::from_secs(2);

impl KernelPool {
    /// Waits until the log has all that the kernel has reported so far, so that a client that
    /// is told of a change also finds it in the log.
    pub(crate) async fn wait_for_reports(&self, project: ProjectId) {
        if let Some(runtime) = self.query_runtime(project).await {
            self.wait_for_report(project, runtime.reached).await;
        }
    }

    /// The runtime of a project, if its kernel responds and supports it.
    pub(crate) async fn query_runtime(&self, project: ProjectId) -> Option<RuntimeSnapshot> {
        let kernel = self.connected(project)?;
        timeout(KERNEL_STATUS_TIMEOUT, kernel.fetch_runtime()).await.ok()?.ok()
    }

    /// Waits until a report is in the log, for a limited time: the log may be unwritable.
    pub(crate) async fn wait_for_report(&self, project: ProjectId, report: ReportNumber) {
        if let Some(logged) = self.subscribe_logged_reports(project) {
            wait_until_logged(logged, report).await;
        }
    }
}

/// Returns when the number is reached, when no report can follow, or after a timeout.
async fn wait_until_logged(mut logged: watch::Receiver<ReportNumber>, report: ReportNumber) {
    let reached = logged.wait_for(|logged| *logged >= report);
    // A timeout or a lost kernel: the log holds what it holds.
    drop(timeout(LOG_CATCH_UP_TIMEOUT, reached).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_with_the_report_or_with_the_kernel() {
        let started = std::time::Instant::now();
        let (sender, receiver) = watch::channel(3);
        wait_until_logged(receiver.clone(), 3).await;
        let waiting = tokio::spawn(wait_until_logged(receiver.clone(), 5));
        sender.send_replace(4);
        sender.send_replace(5);
        waiting.await.unwrap();
        let waiting = tokio::spawn(wait_until_logged(receiver.clone(), 6));
        drop(sender);
        waiting.await.unwrap();
        assert!(started.elapsed() < LOG_CATCH_UP_TIMEOUT, "nothing waits for the timeout");
    }
}
