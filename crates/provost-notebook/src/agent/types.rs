//! What goes into an agent, and what comes out.

use provost_proto::notebook::{
    CellKind, ExecutionOutcome, Fence, InputRequest, MimeBundle, NotebookCommand,
    RuntimeCapabilities, RuntimeEndReason, RuntimeLocation, RuntimeSessionStatus, StreamName,
};
use provost_proto::{CellId, Code, ExecutionId, IdempotencyKey, OutputId, RuntimeSessionId};
use serde_json::{Map, Value};

/// Milliseconds of a clock that never goes back.
pub type MonotonicMs = u64;

/// What a runtime is. Who it acts for is not here: the daemon takes that from its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOptions {
    /// The session, chosen anew for each start.
    pub session: RuntimeSessionId,
    /// The runtime, the same over all of its sessions.
    pub runtime_id: String,
    /// Its type, such as `python`.
    pub runtime_type: String,
    /// The slot; the notebook's first if absent.
    pub slot: Option<String>,
    /// Where it runs.
    pub place: RuntimeLocation,
    /// What it can execute.
    pub capabilities: RuntimeCapabilities,
}

/// The session of an earlier process of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorSession {
    /// The session.
    pub session: RuntimeSessionId,
    /// The authenticated principal that the runtime acts for: another one has no claim on it.
    pub principal: String,
}

/// What happens to an agent: from the store, the platform, and people.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// The store is connected and up to date: start, or send again what was not answered.
    Connected,
    /// The store lost its connection.
    Disconnected,
    /// The state changed.
    StateChanged,
    /// Commands were applied.
    Accepted(IdempotencyKey),
    /// Commands were refused.
    Refused {
        /// Their key.
        id: IdempotencyKey,
        /// The index of the command that was refused.
        index: usize,
        /// The code.
        code: Code,
        /// Why.
        error: String,
    },
    /// The lease was renewed.
    LeaseRenewed {
        /// How long it is valid.
        valid_ms: u32,
    },
    /// The session is not active any more.
    Fenced {
        /// Why.
        why: String,
    },
    /// The language process is ready, restarts or does not answer. Nothing is claimed before it
    /// is ready for the first time.
    StatusChanged(RuntimeSessionStatus),
    /// An execution outputs something.
    Output(ExecutionId, AgentOutput),
    /// A display name, of any execution, gets other content.
    DisplayUpdated {
        /// The name.
        display: String,
        /// The new representations.
        data: MimeBundle,
        /// Metadata by MIME type.
        metadata: Map<String, Value>,
    },
    /// An execution asks for input.
    InputAsked(ExecutionId, InputRequest),
    /// The handler of an execution has returned.
    Finished {
        /// The execution.
        execution: ExecutionId,
        /// How it ended.
        outcome: ExecutionOutcome,
        /// Why it failed.
        why: Option<String>,
    },
    /// Time has passed.
    Tick,
    /// Somebody at the runtime interrupts what it executes.
    Interrupt,
    /// The runtime must stop. Again is the same as once.
    Shutdown {
        /// Why.
        reason: RuntimeEndReason,
        /// Why, as text for people.
        why: Option<String>,
    },
}

/// What an execution outputs. Ids come from the platform.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutput {
    /// Printed text. It is appended where the last output is of the same stream.
    Stream {
        /// The id, if a new output begins.
        output: OutputId,
        /// The stream.
        name: StreamName,
        /// The text; nothing happens if it is empty.
        text: String,
    },
    /// Something to show.
    Display {
        /// Its id.
        output: OutputId,
        /// Its representations.
        data: MimeBundle,
        /// Metadata by MIME type.
        metadata: Map<String, Value>,
        /// The name under which it can be replaced.
        display: Option<String>,
    },
    /// The value of the last expression.
    Result {
        /// Its id.
        output: OutputId,
        /// Its representations.
        data: MimeBundle,
        /// Metadata by MIME type.
        metadata: Map<String, Value>,
        /// The name under which it can be replaced.
        display: Option<String>,
    },
    /// An exception.
    Error {
        /// Its id.
        output: OutputId,
        /// Its class.
        name: String,
        /// Its message.
        value: String,
        /// The lines of the traceback.
        traceback: Vec<String>,
    },
    /// A new Markdown output.
    Markdown {
        /// Its id.
        output: OutputId,
        /// The text.
        text: String,
    },
    /// More text for a Markdown output, if it is the last output.
    AppendMarkdown {
        /// The output.
        output: OutputId,
        /// The text.
        text: String,
    },
    /// Clears the outputs, at once or with the next one.
    Clear {
        /// Whether they stay until the next output.
        wait: bool,
    },
}

/// What the platform must do.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEffect {
    /// Send commands. The same key is sent again after a lost connection.
    Send {
        /// Their idempotency key.
        id: IdempotencyKey,
        /// The commands.
        commands: Vec<NotebookCommand>,
    },
    /// Run the handler. Its start is in the log.
    Execute(ExecutionRequest),
    /// Abort the handler: interrupt the language process. It still reports how it ended.
    Interrupt(ExecutionId),
    /// Send a renewal of the lease.
    RenewLease {
        /// The session.
        session: RuntimeSessionId,
        /// Its fence.
        fence: Fence,
    },
    /// Stop: the session is over, and nothing more is sent.
    Stopped {
        /// Why.
        reason: RuntimeEndReason,
        /// Why, as text for people.
        why: Option<String>,
    },
}

/// What to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRequest {
    /// The execution.
    pub execution: ExecutionId,
    /// The cell.
    pub cell: CellId,
    /// Its kind.
    pub kind: CellKind,
    /// The number of the execution.
    pub count: u32,
    /// The source.
    pub source: String,
    /// Whether an earlier process of the runtime started it: the handler goes on with it, or
    /// reports that it cannot.
    pub is_resumed: bool,
}
