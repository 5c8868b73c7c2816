//! The paths that the model's calls name: guide files near them become instructions.

use provost_core::session::instructions::paths_in_arguments;

use crate::model::Completion;

/// Paths that are remembered, the newest first.
const MAX_TOUCHED_PATHS: usize = 256;

/// The paths that the model's calls named, the newest first. Collected with each completion,
/// since scanning a long conversation before every request would be too slow.
#[derive(Debug, Default)]
pub(crate) struct TouchedPaths(Vec<String>);

impl TouchedPaths {
    /// Adds the paths that a completion's calls name.
    pub(crate) fn record_calls(&mut self, answer: &Completion) {
        let named = answer.tool_calls().flat_map(|call| paths_in_arguments(&call.arguments));
        self.0.splice(..0, named.take(MAX_TOUCHED_PATHS));
        self.0.truncate(MAX_TOUCHED_PATHS);
    }

    /// The paths, the newest first.
    pub(crate) fn paths(&self) -> &[String] {
        &self.0
    }
}
