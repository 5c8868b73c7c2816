//! The pending approvals in memory, and the requests that wait for them.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use provost_core::action::Action;
use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{ActionId, Approval, ApprovalId};
use tokio::sync::{Notify, oneshot};

use crate::GatewayError;
use crate::event_log::EventLog;
use crate::project::executor::ExecutionResult;

/// How an action ended.
pub(super) type ActionEnd = Result<ExecutionResult, GatewayError>;

/// Receives the end of an action that waits for an approval.
pub(crate) type ActionEndReceiver = oneshot::Receiver<ActionEnd>;

/// A copy of the pending approvals of the log.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    pending: Mutex<BTreeMap<ApprovalId, Arc<Approval>>>,
    waiters: Mutex<HashMap<ActionId, oneshot::Sender<ActionEnd>>>,
    /// Actions that hold a secret, so that the log cannot hold them unchanged.
    pub(super) secret_actions: Mutex<HashMap<ActionId, Action>>,
    /// An approval was added, so the next to expire may be another.
    pub(super) changed: Notify,
}

impl PendingApprovals {
    pub(super) async fn load(log: &EventLog) -> Result<Self, GatewayError> {
        let docs = log.list_open_documents(ViewKind::Approvals).await?;
        let pending = docs
            .into_iter()
            .filter_map(ViewDocument::into_approval)
            .map(|approval| (approval.id, Arc::new(approval)))
            .collect();
        Ok(Self { pending: Mutex::new(pending), ..Self::default() })
    }

    pub(super) fn get(&self, id: ApprovalId) -> Option<Arc<Approval>> {
        self.pending.lock().get(&id).cloned()
    }

    pub(super) fn list(&self) -> Vec<Arc<Approval>> {
        self.pending.lock().values().cloned().collect()
    }

    pub(super) fn add(&self, approval: Approval) {
        let mut pending = self.pending.lock();
        pending.insert(approval.id, Arc::new(approval));
        drop(pending);
        self.changed.notify_one();
    }

    pub(super) fn remove(&self, id: ApprovalId) {
        self.pending.lock().remove(&id);
    }

    pub(super) fn register_waiter(&self, action: ActionId) -> ActionEndReceiver {
        let (reply, end) = oneshot::channel();
        self.waiters.lock().insert(action, reply);
        end
    }

    /// Whether a request still waits for the end of this action.
    pub(super) fn is_awaited(&self, action: ActionId) -> bool {
        let waiters = self.waiters.lock();
        waiters.get(&action).is_some_and(|reply| !reply.is_closed())
    }

    /// Passes the end of an action to the request that waits for it. Returns it if none does.
    pub(super) fn deliver_end(&self, action: ActionId, end: ActionEnd) -> Option<ActionEnd> {
        self.secret_actions.lock().remove(&action);
        let reply = self.waiters.lock().remove(&action);
        match reply {
            // The request may have been answered that the action waits.
            Some(reply) => reply.send(end).err(),
            None => Some(end),
        }
    }
}
