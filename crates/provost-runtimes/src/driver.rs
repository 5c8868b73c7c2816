//! Runs the pure agent over a store: gives it what happens, and does what it returns.
//!
//! The driver is one task. What its handler outputs waits in a queue of bounded length, which is
//! not read while the agent has much to send: so a slow connection slows the handler down.

mod notices;
mod run;

use std::sync::Arc;
use std::time::Duration;

use provost_notebook::agent::{AgentOptions, AgentOutput, PriorSession};
use provost_proto::ExecutionId;
use provost_proto::notebook::{
    ExecutionOutcome, InputRequest, MimeBundle, RuntimeEndReason, RuntimeSessionStatus,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

pub use notices::RuntimeNotice;
pub use run::RuntimeDriver;

use crate::handler::HandlerFailure;
use crate::store::ArtifactUploader;

/// How many outputs of a handler wait for the driver.
const MAX_WAITING_OUTPUTS: usize = 64;

/// How many orders wait for the driver.
const MAX_WAITING_ORDERS: usize = 8;

/// While this many bytes wait to be sent, no more are taken from the handler.
const MAX_BACKLOG_BYTES: usize = 1024 * 1024;

/// How often the agent looks at the clock.
const TICK: Duration = Duration::from_secs(1);

/// How long a handler may take to end what was interrupted when the runtime ends.
const HANDLER_END_TIMEOUT: Duration = Duration::from_secs(10);

/// Images larger than this become artifacts, in bytes of their text.
pub(crate) const ARTIFACT_THRESHOLD: usize = 6 * 1024;

/// What a driver runs.
#[derive(Debug)]
pub struct DriverSettings {
    /// The runtime.
    pub options: AgentOptions,
    /// The session of an earlier process, to go on with.
    pub prior: Option<PriorSession>,
    /// Stores artifacts.
    pub artifacts: Arc<dyn ArtifactUploader>,
}

/// How a runtime ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeEnd {
    /// Why; `None` if it was detached and its session is still active.
    pub reason: Option<RuntimeEndReason>,
    /// Why, as text for people.
    pub why: Option<String>,
}

/// What a handler does, in order.
#[derive(Debug)]
pub(crate) enum HandlerEvent {
    Status(RuntimeSessionStatus),
    Failed(HandlerFailure),
    Output(ExecutionId, AgentOutput),
    DisplayUpdated { display: String, data: MimeBundle, metadata: Map<String, Value> },
    InputAsked(ExecutionId, InputRequest),
    Finished { execution: ExecutionId, outcome: ExecutionOutcome, why: Option<String> },
}

/// What a driver is told.
#[derive(Debug)]
enum DriverOrder {
    Interrupt,
    ShutDown { reason: RuntimeEndReason, why: Option<String> },
    Detach,
}

/// Stops and interrupts a driver. An order to one that has ended does nothing.
#[derive(Debug, Clone)]
pub struct RuntimeControl {
    orders: mpsc::Sender<DriverOrder>,
}

impl RuntimeControl {
    async fn send(&self, order: DriverOrder) {
        drop(self.orders.send(order).await);
    }

    /// Interrupts the running cell.
    pub async fn interrupt(&self) {
        self.send(DriverOrder::Interrupt).await;
    }

    /// Ends the session. Again is the same as once.
    pub async fn shut_down(&self, reason: RuntimeEndReason, why: Option<String>) {
        self.send(DriverOrder::ShutDown { reason, why }).await;
    }

    /// Ends the driver and leaves its session, and what it executes, to a later process.
    pub async fn detach(&self) {
        self.send(DriverOrder::Detach).await;
    }
}
