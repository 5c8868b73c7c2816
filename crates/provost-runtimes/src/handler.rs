//! What executes cells.

use futures::future::BoxFuture;
use provost_proto::notebook::{ExecutionOutcome, MimeBundle, RuntimeSessionStatus};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::context::ExecutionContext;
use crate::driver::HandlerEvent;

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// The outcome. An error after an interrupt counts as cancelled.
    pub outcome: ExecutionOutcome,
    /// Why it failed, as text for people.
    pub why: Option<String>,
}

impl ExecutionEnd {
    /// It ended without an error.
    pub const OK: Self = Self { outcome: ExecutionOutcome::Ok, why: None };

    /// It ended with an error.
    pub fn error(why: impl Into<String>) -> Self {
        Self { outcome: ExecutionOutcome::Error, why: Some(why.into()) }
    }

    /// It was aborted.
    pub const CANCELLED: Self = Self { outcome: ExecutionOutcome::Cancelled, why: None };
}

/// Why a handler cannot execute anything, as text for people with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerFailure(pub String);

/// What executes the cells of a runtime, one after the other.
///
/// Its futures are tasks of their own: a panic in one ends that execution with an error. They are
/// dropped when the runtime is detached, so that what they wait for may go on without them.
pub trait ExecutionHandler: Send + Sync + 'static {
    /// Prepares the language process. Cells are claimed when it returns; `reporter` tells later
    /// changes.
    fn start(&self, reporter: HandlerReporter) -> BoxFuture<'_, Result<(), HandlerFailure>> {
        drop(reporter);
        Box::pin(async { Ok(()) })
    }

    /// Executes a cell. When the context is aborted it ends soon, by interrupting what it runs.
    fn execute(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd>;

    /// Goes on with a cell that an earlier process of the runtime started.
    fn resume(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd> {
        drop(context);
        Box::pin(async { ExecutionEnd::error("the runtime ended while it executed this cell") })
    }

    /// Ends the language process; nothing is executed any more.
    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Reports what happens beside executions.
#[derive(Debug, Clone)]
pub struct HandlerReporter {
    pub(crate) events: mpsc::Sender<HandlerEvent>,
}

impl HandlerReporter {
    /// The language process restarts, does not answer, or is ready again.
    pub async fn set_status(&self, status: RuntimeSessionStatus) {
        // The driver has ended if nobody receives it.
        drop(self.events.send(HandlerEvent::Status(status)).await);
    }

    /// A display name, of any execution, gets other content.
    pub async fn update_display(
        &self,
        display: &str,
        data: MimeBundle,
        metadata: Map<String, Value>,
    ) {
        let display = display.to_owned();
        drop(self.events.send(HandlerEvent::DisplayUpdated { display, data, metadata }).await);
    }

    /// The language process has ended, and will not come back.
    pub async fn report_failure(&self, failure: HandlerFailure) {
        drop(self.events.send(HandlerEvent::Failed(failure)).await);
    }
}
