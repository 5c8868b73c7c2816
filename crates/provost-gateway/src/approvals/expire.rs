//! Questions that nobody answers in time.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, Code, Fact, UnixMicros};
use provost_store::Durability;

use crate::actions::events;
use crate::{Gateway, GatewayError};

/// The longest between two looks: the clock may be set.
const LOOK: Duration = Duration::from_secs(15);

/// How long to wait before trying again to write to a log that failed.
const RETRY: Duration = Duration::from_millis(500);

impl Gateway {
    /// Lets questions expire, for as long as the daemon lives.
    pub async fn watch_the_clock(self: Arc<Self>) {
        loop {
            let now = self.clock.now();
            let open = self.approvals.list();
            let due: Vec<_> = open.iter().filter(|open| open.expires_at <= now).collect();
            let mut pause = next(&open, now);
            for approval in due {
                if let Err(error) = self.expire(approval).await {
                    tracing::error!(%error, "a question could not be let expire; trying again");
                    pause = RETRY;
                }
            }
            tokio::select! {
                () = self.approvals.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn expire(&self, approval: &Approval) -> Result<(), GatewayError> {
        let _turn = self.turn().await?;
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
        let append = events(&self.daemon_for(approval)?, Durability::Synced, facts);
        self.resolve(approval, append).await?;
        self.approvals.end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }
}

/// How long until the next one expires.
fn next(open: &[Arc<Approval>], now: UnixMicros) -> Duration {
    let left = open.iter().filter(|open| open.expires_at > now).map(|open| open.expires_at - now);
    left.min().map_or(LOOK, |left| Duration::from_micros(left + 1).min(LOOK))
}
