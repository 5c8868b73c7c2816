//! Questions that nobody answers in time.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, Code, Fact, UnixMicros};
use provost_store::Durability;

use crate::project::actions::build_append;
use crate::{Gateway, GatewayError};

/// The longest between two looks: the clock may be set.
const MAX_EXPIRY_WAIT: Duration = Duration::from_secs(15);

/// How long to wait before trying again to write to a log that failed.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(500);

impl Gateway {
    /// Lets questions expire, for as long as the daemon lives.
    pub async fn run_expiry_loop(self: Arc<Self>) {
        loop {
            let now = self.clock.now();
            let open = self.approvals.list();
            let due: Vec<_> = open.iter().filter(|open| open.expires_at <= now).collect();
            let mut pause = next_expiry_delay(&open, now);
            for approval in due {
                if let Err(error) = self.expire_approval(approval).await {
                    tracing::error!(%error, "a question could not be let expire; trying again");
                    pause = WRITE_RETRY_DELAY;
                }
            }
            tokio::select! {
                () = self.approvals.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn expire_approval(&self, approval: &Approval) -> Result<(), GatewayError> {
        let _guard = self.lock_governance().await?;
        if self.approvals.get(approval.id).is_none() {
            return Ok(());
        }
        let fault = ErrorInfo {
            code: Code::ApprovalExpired,
            message: "nobody answered in time, so it may not run".to_owned(),
            details: None,
        };
        let facts = vec![
            Fact::ApprovalExpired { approval: approval.id, project: approval.project },
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        let append = build_append(&self.daemon_context(approval)?, Durability::Synced, facts);
        self.resolve_approval(approval, append).await?;
        self.approvals.deliver_result(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }
}

/// How long until the next one expires.
fn next_expiry_delay(open: &[Arc<Approval>], now: UnixMicros) -> Duration {
    let left = open.iter().filter(|open| open.expires_at > now).map(|open| open.expires_at - now);
    left.min().map_or(MAX_EXPIRY_WAIT, |left| Duration::from_micros(left + 1).min(MAX_EXPIRY_WAIT))
}
