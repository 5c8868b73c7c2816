//! Results of actions whose request was answered before the action ended.
//!
//! The log has the outcome of an action and the output of a command. Other results, such as
//! the content of a file, are not logged and are kept in memory for a while.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_proto::{ActionId, RawJson};
use serde_json::Value;

use super::ExecutionResult;
use crate::GatewayError;

/// How many results are kept, and how many bytes each may have: 32 MiB at most.
const MAX_KEPT_RESULTS: usize = 32;
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The latest results that no request received.
#[derive(Debug, Default)]
pub(crate) struct UnclaimedResults(Mutex<VecDeque<(ActionId, RawJson)>>);

impl UnclaimedResults {
    /// Keeps the result of an action, unless it is too long.
    pub(crate) fn store_result(
        &self,
        action: ActionId,
        ended: &Result<ExecutionResult, GatewayError>,
    ) {
        let Ok(ExecutionResult::Finished(result)) = ended else { return };
        if result.byte_len() > MAX_RESULT_BYTES {
            return;
        }
        let mut kept = self.0.lock();
        kept.truncate(MAX_KEPT_RESULTS - 1);
        kept.push_front((action, result.clone()));
    }

    pub(crate) fn get(&self, action: ActionId) -> Option<Value> {
        let kept = self.0.lock();
        kept.iter().find(|(id, _)| *id == action).map(|(_, result)| result.to_value())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_oldest_and_the_too_long_results_are_dropped() {
        let id = |n: usize| ActionId::new(uuid::Uuid::from_u128(n as u128));
        let finished = |value: &Value| Ok(ExecutionResult::Finished(RawJson::new(value).unwrap()));
        let results = UnclaimedResults::default();
        for n in 0..=MAX_KEPT_RESULTS {
            results.store_result(id(n), &finished(&json!(n)));
        }
        assert_eq!(results.get(id(0)), None);
        assert_eq!(results.get(id(1)), Some(json!(1)));
        results.store_result(id(100), &finished(&json!("x".repeat(MAX_RESULT_BYTES))));
        results.store_result(id(101), &Err(GatewayError::Stopping));
        assert_eq!((results.get(id(100)), results.get(id(101))), (None, None));
    }
}
