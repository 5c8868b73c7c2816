//! Actions that were cancelled after they were allowed, and before their kernel knew them.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, Code};

/// The most actions that are remembered. One that ended by itself at the moment of its
/// cancellation stays, until newer ones replace it.
const MAX_CANCELLED_STARTS: usize = 1024;

/// The ids of these actions. Ids are in order of creation.
#[derive(Debug, Default)]
pub(super) struct CancelledStarts(Mutex<BTreeSet<ActionId>>);

impl CancelledStarts {
    /// Remembers that an action must not start.
    pub(super) fn insert(&self, action: ActionId) {
        let mut actions = self.0.lock();
        actions.insert(action);
        if actions.len() > MAX_CANCELLED_STARTS {
            actions.pop_first();
        }
    }

    /// Whether an action was cancelled; forgets it.
    pub(super) fn take(&self, action: ActionId) -> bool {
        self.0.lock().remove(&action)
    }
}

/// The error of an action that was cancelled before it started.
pub(super) fn cancelled_fault() -> ErrorInfo {
    let message = "it was cancelled before it started".to_owned();
    ErrorInfo { code: Code::Cancelled, message, details: None }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_action_is_taken_once_and_old_ones_are_forgotten() {
        let cancelled = CancelledStarts::default();
        let id = |number: usize| ActionId::from(Uuid::from_u128(number as u128));
        let ids: Vec<_> = (0..=MAX_CANCELLED_STARTS).map(id).collect();
        assert!(!cancelled.take(ids[0]));
        for id in &ids {
            cancelled.insert(*id);
        }
        assert!(!cancelled.take(ids[0]), "the oldest");
        for id in &ids[1..] {
            assert!(cancelled.take(*id) && !cancelled.take(*id));
        }
    }
}
