//! Expiry of approvals that nobody answers in time.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, Code, Fact, UnixMicros};
use provost_store::Durability;

use super::Approvals;
use crate::GatewayError;

/// The longest time between two checks: the system clock may be set.
const MAX_EXPIRY_WAIT: Duration = Duration::from_secs(15);

/// How long to wait before writing to a failed log again.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(500);

impl Approvals {
    /// Expires approvals, for as long as the daemon runs.
    pub async fn run_expiry_loop(self: Arc<Self>) {
        loop {
            let now = self.log.now();
            // What expires by this time stays expired, even if the clock is set back and the
            // daemon started again.
            self.log.store().record_time(now);
            let pending = self.pending.list();
            let due: Vec<_> = pending.iter().filter(|one| one.expires_at <= now).collect();
            let mut pause = next_expiry_delay(&pending, now);
            for approval in due {
                if let Err(error) = self.expire_approval(approval).await {
                    tracing::error!(%error, "cannot log that an approval expired; trying again");
                    pause = WRITE_RETRY_DELAY;
                }
            }
            tokio::select! {
                () = self.pending.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn expire_approval(&self, approval: &Approval) -> Result<(), GatewayError> {
        let _guard = self.governance.lock().await?;
        if self.pending.get(approval.id).is_none() {
            return Ok(());
        }
        let fault = ErrorInfo {
            code: Code::ApprovalExpired,
            message: "the approval expired before anybody answered".to_owned(),
            details: None,
        };
        let facts = vec![
            Fact::ApprovalExpired { approval: approval.id, project: approval.project },
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        let append = self.daemon_context(approval)?.build_append(Durability::Synced, facts);
        self.resolve_approval(approval, append).await?;
        self.deliver_end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }
}

/// How long until the next approval expires.
fn next_expiry_delay(pending: &[Arc<Approval>], now: UnixMicros) -> Duration {
    let left =
        pending.iter().filter_map(|one| one.expires_at.checked_sub(now)).filter(|left| *left > 0);
    left.min().map_or(MAX_EXPIRY_WAIT, |left| Duration::from_micros(left + 1).min(MAX_EXPIRY_WAIT))
}
