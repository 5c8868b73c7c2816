//! The loop of a driver.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use provost_notebook::agent::{AgentEffect, AgentEvent, ExecutionRequest, RuntimeAgent};
use provost_proto::ExecutionId;
use provost_proto::notebook::{OutputContent, RuntimeEndReason, RuntimeSessionStatus, StreamName};
use provost_store::Clock;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{
    ARTIFACT_THRESHOLD, DriverOrder, DriverSettings, HANDLER_END_TIMEOUT, HandlerEvent,
    MAX_BACKLOG_BYTES, MAX_WAITING_ORDERS, MAX_WAITING_OUTPUTS, RuntimeControl, RuntimeEnd,
    RuntimeNotice, TICK,
};
use crate::context::{ExecutionContext, PriorOutput};
use crate::handler::{ExecutionEnd, ExecutionHandler, HandlerReporter};
use crate::store::{ArtifactUploader, NotebookStore, StoreEvent};

/// What is being executed.
struct RunningExecution {
    id: ExecutionId,
    count: u32,
    abort: CancellationToken,
    inputs: mpsc::Sender<String>,
    task: AbortOnDropHandle<()>,
}

/// What was reported of the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartNotice {
    Pending,
    Active,
    Ready,
}

/// A runtime: its agent, its store and its handler.
pub struct RuntimeDriver<S> {
    store: S,
    agent: RuntimeAgent,
    handler: Arc<dyn ExecutionHandler>,
    artifacts: Arc<dyn ArtifactUploader>,
    clock: Clock,
    /// The origin of the agent's clock.
    began: Instant,
    sender: mpsc::Sender<HandlerEvent>,
    events: mpsc::Receiver<HandlerEvent>,
    orders: mpsc::Receiver<DriverOrder>,
    running: Option<RunningExecution>,
    notify: Box<dyn FnMut(RuntimeNotice) + Send>,
    is_handler_ready: bool,
    start_notice: StartNotice,
    is_disconnected: bool,
    end: Option<RuntimeEnd>,
}

impl<S> fmt::Debug for RuntimeDriver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeDriver").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl<S: NotebookStore> RuntimeDriver<S> {
    /// A driver that has not started, and what controls it.
    pub fn new(
        store: S,
        handler: Arc<dyn ExecutionHandler>,
        settings: DriverSettings,
        notify: impl FnMut(RuntimeNotice) + Send + 'static,
    ) -> (Self, RuntimeControl) {
        let DriverSettings { options, prior, artifacts } = settings;
        let (sender, events) = mpsc::channel(MAX_WAITING_OUTPUTS);
        let (orders_sender, orders) = mpsc::channel(MAX_WAITING_ORDERS);
        let driver = Self {
            store,
            agent: RuntimeAgent::with_prior_session(options, prior),
            handler,
            artifacts,
            clock: Clock::system(),
            began: Instant::now(),
            sender,
            events,
            orders,
            running: None,
            notify: Box::new(notify),
            is_handler_ready: false,
            start_notice: StartNotice::Pending,
            is_disconnected: false,
            end: None,
        };
        (driver, RuntimeControl { orders: orders_sender })
    }

    /// Runs until the session ends, or it is detached.
    pub async fn run(mut self) -> RuntimeEnd {
        let _preparing = self.start_handler();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let takes_output = self.agent.backlog_bytes() < MAX_BACKLOG_BYTES;
            let input = tokio::select! {
                order = self.orders.recv() => match order {
                    Some(DriverOrder::Interrupt) => Some(AgentEvent::Interrupt),
                    Some(DriverOrder::ShutDown { reason, why }) => {
                        Some(AgentEvent::Shutdown { reason, why })
                    }
                    // Whoever could stop it has ended without doing so.
                    Some(DriverOrder::Detach) | None => {
                        return RuntimeEnd { reason: None, why: None };
                    }
                },
                event = self.store.next_event() => self.take_store_event(event),
                Some(event) = self.events.recv(), if takes_output => self.take_handler_event(event),
                _ = ticks.tick() => Some(AgentEvent::Tick),
            };
            if let Some(input) = input {
                self.step(input).await;
            }
            if let Some(end) = self.end.take() {
                self.finish_handler().await;
                return end;
            }
        }
    }

    /// Prepares the handler in a task of its own.
    fn start_handler(&self) -> AbortOnDropHandle<()> {
        let (handler, events) = (Arc::clone(&self.handler), self.sender.clone());
        AbortOnDropHandle::new(tokio::spawn(async move {
            let started = handler.start(HandlerReporter { events: events.clone() }).await;
            let event = match started {
                Ok(()) => HandlerEvent::Status(RuntimeSessionStatus::Ready),
                Err(failure) => HandlerEvent::Failed(failure),
            };
            drop(events.send(event).await);
        }))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn take_store_event(&mut self, event: StoreEvent) -> Option<AgentEvent> {
        Some(match event {
            StoreEvent::Connected { principal: _ } => {
                if std::mem::take(&mut self.is_disconnected) {
                    (self.notify)(RuntimeNotice::Reconnected);
                }
                AgentEvent::Connected
            }
            StoreEvent::Disconnected { why } => {
                if !std::mem::replace(&mut self.is_disconnected, true) {
                    (self.notify)(RuntimeNotice::Disconnected { why });
                }
                AgentEvent::Disconnected
            }
            StoreEvent::Changed => AgentEvent::StateChanged,
            StoreEvent::Accepted(id) => AgentEvent::Accepted(id),
            StoreEvent::Refused { id, index, code, error } => {
                AgentEvent::Refused { id, index, code, error }
            }
            StoreEvent::LeaseRenewed { session, valid_ms } if session == self.agent.session() => {
                AgentEvent::LeaseRenewed { valid_ms }
            }
            StoreEvent::Fenced { session, why } if session == self.agent.session() => {
                AgentEvent::Fenced { why }
            }
            StoreEvent::LeaseRenewed { .. } | StoreEvent::Fenced { .. } => return None,
            StoreEvent::Input { execution, text } => {
                if let Some(running) = self.running.as_ref().filter(|it| it.id == execution) {
                    // One answer to one question: there is room for it.
                    drop(running.inputs.try_send(text));
                }
                return None;
            }
            StoreEvent::Closed { why } => {
                let reason = Some(RuntimeEndReason::Error);
                self.end = Some(RuntimeEnd { reason, why: Some(why) });
                return None;
            }
        })
    }

    fn take_handler_event(&mut self, event: HandlerEvent) -> Option<AgentEvent> {
        Some(match event {
            HandlerEvent::Status(status) => {
                self.is_handler_ready |= status == RuntimeSessionStatus::Ready;
                AgentEvent::StatusChanged(status)
            }
            HandlerEvent::Failed(failure) => {
                let (reason, why) = (RuntimeEndReason::Error, Some(failure.to_string()));
                AgentEvent::Shutdown { reason, why }
            }
            HandlerEvent::Output(execution, output) => AgentEvent::Output(execution, output),
            HandlerEvent::DisplayUpdated { display, data, metadata } => {
                AgentEvent::DisplayUpdated { display, data, metadata }
            }
            HandlerEvent::InputAsked(execution, input) => AgentEvent::InputAsked(execution, input),
            HandlerEvent::Finished { execution, outcome, why } => {
                let ended = self.running.take_if(|running| running.id == execution)?;
                let count = ended.count;
                (self.notify)(RuntimeNotice::Finished { count, outcome, why: why.clone() });
                AgentEvent::Finished { execution, outcome, why }
            }
        })
    }

    async fn step(&mut self, input: AgentEvent) {
        let now = self.now();
        for effect in self.agent.step(self.store.state(), now, input) {
            match effect {
                AgentEffect::Send { id, commands } => self.store.send_commands(id, commands).await,
                AgentEffect::Execute(request) => self.execute(request),
                AgentEffect::Interrupt(execution) => {
                    if let Some(running) = self.running.as_ref().filter(|it| it.id == execution) {
                        running.abort.cancel();
                    }
                }
                AgentEffect::RenewLease { session, fence } => {
                    self.store.renew_lease(session, fence).await;
                }
                AgentEffect::Stopped { reason, why } => {
                    self.end = Some(RuntimeEnd { reason: Some(reason), why });
                }
            }
        }
        self.notify_start();
    }

    /// Tells once that the session is active, and that cells are executed.
    fn notify_start(&mut self) {
        if !self.agent.is_active() {
            return;
        }
        if self.start_notice == StartNotice::Pending
            && let Some(session) = self.store.state().session(self.agent.session())
        {
            self.start_notice = StartNotice::Active;
            let (session, slot) = (session.id, session.slot.clone());
            (self.notify)(RuntimeNotice::Active { session, slot });
        }
        if self.is_handler_ready && self.start_notice == StartNotice::Active {
            self.start_notice = StartNotice::Ready;
            (self.notify)(RuntimeNotice::Ready);
        }
    }

    fn execute(&mut self, request: ExecutionRequest) {
        let (id, count) = (request.execution, request.count);
        let line = request.source.lines().next().unwrap_or_default().to_owned();
        (self.notify)(RuntimeNotice::Executing { count, line });
        let (inputs, input_receiver) = mpsc::channel(1);
        let abort = CancellationToken::new();
        let context = ExecutionContext {
            parameters: self.read_parameters(),
            prior: self.read_prior_output(&request),
            request: Arc::new(request),
            events: self.sender.clone(),
            inputs: Arc::new(Mutex::new(input_receiver)),
            abort: abort.clone(),
            clock: self.clock.clone(),
            artifacts: Arc::clone(&self.artifacts),
            artifact_threshold: ARTIFACT_THRESHOLD,
        };
        let (handler, sender) = (Arc::clone(&self.handler), self.sender.clone());
        let task = tokio::spawn(async move {
            let is_resumed = context.request.is_resumed;
            let execution = context.request.execution;
            let run = async {
                if is_resumed {
                    handler.resume(context).await
                } else {
                    handler.execute(context).await
                }
            };
            let ended = std::panic::AssertUnwindSafe(run).catch_unwind().await;
            let ExecutionEnd { outcome, why } = ended
                .unwrap_or_else(|_| ExecutionEnd::error("the runtime failed; its log says more"));
            drop(sender.send(HandlerEvent::Finished { execution, outcome, why }).await);
        });
        let task = AbortOnDropHandle::new(task);
        self.running = Some(RunningExecution { id, count, abort, inputs, task });
    }

    /// The value `parameters` of the notebook's metadata.
    fn read_parameters(&self) -> Map<String, Value> {
        let notebook = self.store.state().notebook();
        let parameters = notebook.and_then(|notebook| notebook.metadata.get("parameters"));
        parameters.and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// How much of a resumed execution was reported.
    fn read_prior_output(&self, request: &ExecutionRequest) -> PriorOutput {
        let mut prior = PriorOutput::default();
        if !request.is_resumed {
            return prior;
        }
        for part in self.store.state().outputs(request.execution) {
            if let OutputContent::Stream { name, text } = &part.content {
                let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                match name {
                    StreamName::Stdout => prior.stdout += bytes,
                    StreamName::Stderr => prior.stderr += bytes,
                }
            }
        }
        prior
    }

    /// Ends what the handler runs, and the handler, within a bounded time.
    async fn finish_handler(&mut self) {
        if let Some(RunningExecution { abort, task, .. }) = self.running.take() {
            abort.cancel();
            // What it still outputs is refused; it must not wait for that.
            self.events.close();
            if timeout(HANDLER_END_TIMEOUT, task).await.is_err() {
                tracing::warn!("the runtime does not end what it was executing");
            }
        }
        if timeout(HANDLER_END_TIMEOUT, self.handler.shut_down()).await.is_err() {
            tracing::warn!("the language process does not end");
        }
    }
}
