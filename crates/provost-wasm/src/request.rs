//! What the page asks for.

use provost_notebook::agent::{AgentEvent, AgentOptions, AgentOutput, MonotonicMs};
use provost_notebook::client_store::StoreJournal;
use provost_proto::notebook::{
    ExecutionOutcome, InputRequest, MimeBundle, NotebookCommand, RuntimeEndReason,
    RuntimeSessionStatus, StreamName,
};
use provost_proto::{ExecutionId, IdempotencyKey, NotebookId, OutputId, RuntimeSessionId};
use serde::de::Error as _;
use serde_json::{Error, Map, Value};

use crate::decode::{
    DecodeJson, JsonFields, StoreMessage, read_commands, read_journal, read_message, read_metadata,
};

/// What to do.
#[derive(Debug)]
pub(crate) enum ClientRequest {
    /// Opens the store of a notebook. The first request, and the only one of its kind.
    Open(OpenRequest),
    /// The connection is there: asks for the notebook.
    Connect,
    /// The connection was lost.
    Disconnect,
    /// A message of the daemon.
    Receive(StoreMessage),
    /// Submits commands of a person.
    Submit {
        /// Their idempotency key.
        id: IdempotencyKey,
        /// The commands.
        commands: Vec<NotebookCommand>,
    },
    /// Starts a runtime agent.
    StartAgent(AgentOptions),
    /// A runtime reports what happened.
    Report {
        /// Its session.
        session: RuntimeSessionId,
        /// What happened.
        report: AgentReport,
    },
    /// Time has passed.
    Tick,
    /// Asks for a position between two cells.
    Position {
        /// The position before it.
        after: Option<String>,
        /// The position behind it.
        before: Option<String>,
    },
    /// Asks for the hash of the state.
    Hash,
}

/// A notebook to open.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) notebook: NotebookId,
    /// The authenticated principal, as the daemon says.
    pub(crate) principal: String,
    /// What an earlier client left.
    pub(crate) journal: Option<StoreJournal>,
}

/// Reads a request, `{"now": …, "request": {"submit": …}}`, and its time.
pub(crate) fn read_request(text: &[u8]) -> Result<(MonotonicMs, ClientRequest), Error> {
    // As a string: serde_json reads some values from strings in any case, and would be in the module
    // twice.
    let text = std::str::from_utf8(text).map_err(Error::custom)?;
    let mut envelope = JsonFields::new(serde_json::from_str(text)?)?;
    let now = envelope.read("now")?;
    let (name, body) = JsonFields::new(envelope.take("request"))?.into_variant()?;
    if name == "receive" {
        return Ok((now, ClientRequest::Receive(read_message(body)?)));
    }
    let mut fields = JsonFields::new(body)?;
    let request = match name.as_str() {
        "open" => ClientRequest::Open(OpenRequest {
            notebook: fields.read("notebook")?,
            principal: fields.read("principal")?,
            journal: read_journal(fields.take("journal"))?,
        }),
        "connect" => ClientRequest::Connect,
        "disconnect" => ClientRequest::Disconnect,
        "submit" => ClientRequest::Submit {
            id: fields.read("id")?,
            commands: read_commands(fields.take("commands"))?,
        },
        "startAgent" => ClientRequest::StartAgent(AgentOptions {
            session: fields.read("session")?,
            runtime_id: fields.read("runtime_id")?,
            runtime_type: fields.read("runtime_type")?,
            slot: fields.read("slot")?,
            place: fields.read("place")?,
            capabilities: fields.read("capabilities")?,
        }),
        "report" => ClientRequest::Report {
            session: fields.read("session")?,
            report: fields.read("report")?,
        },
        "tick" => ClientRequest::Tick,
        "position" => {
            ClientRequest::Position { after: fields.read("after")?, before: fields.read("before")? }
        }
        "hash" => ClientRequest::Hash,
        _ => return Err(Error::custom(format_args!("unknown request `{name}`"))),
    };
    Ok((now, request))
}

/// What a runtime reports. Ids of outputs come from the page.
#[derive(Debug)]
pub(crate) enum AgentReport {
    /// The status of the language process.
    Status(RuntimeSessionStatus),
    /// An execution printed text.
    Stream {
        /// The execution.
        execution: ExecutionId,
        /// The id of the output, if a new one begins.
        output: OutputId,
        /// The stream.
        name: StreamName,
        /// The text.
        text: String,
    },
    /// An execution shows something.
    Display {
        /// The execution.
        execution: ExecutionId,
        /// The output.
        output: OutputId,
        /// Whether it is the value of the last expression.
        is_result: bool,
        /// Representations by MIME type.
        data: MimeBundle,
        /// Metadata by MIME type.
        metadata: Map<String, Value>,
        /// The name under which it can be replaced.
        display: Option<String>,
    },
    /// A display name gets other content.
    UpdateDisplay {
        /// The name.
        display: String,
        /// Representations by MIME type.
        data: MimeBundle,
        /// Metadata by MIME type.
        metadata: Map<String, Value>,
    },
    /// An exception.
    Error {
        /// The execution.
        execution: ExecutionId,
        /// The output.
        output: OutputId,
        /// Its class.
        name: String,
        /// Its message.
        value: String,
        /// The lines of the traceback.
        traceback: Vec<String>,
    },
    /// A new Markdown output, or more text for the last one.
    Markdown {
        /// The execution.
        execution: ExecutionId,
        /// The output.
        output: OutputId,
        /// The text.
        text: String,
        /// Whether it is appended.
        append: bool,
    },
    /// Clears the outputs.
    Clear {
        /// The execution.
        execution: ExecutionId,
        /// Whether they stay until the next output.
        wait: bool,
    },
    /// A program asks for input.
    AskInput {
        /// The execution.
        execution: ExecutionId,
        /// What it asks for.
        input: InputRequest,
    },
    /// The handler has returned.
    Finished {
        /// The execution.
        execution: ExecutionId,
        /// How it ended.
        outcome: ExecutionOutcome,
        /// Why it failed.
        why: Option<String>,
    },
    /// The runtime must stop.
    Shutdown {
        /// Why.
        reason: RuntimeEndReason,
        /// Why, as text for people.
        why: Option<String>,
    },
}

impl DecodeJson for AgentReport {
    fn read(value: Value) -> Result<Self, Error> {
        let (name, body) = JsonFields::new(value)?.into_variant()?;
        if name == "status" {
            return Ok(Self::Status(DecodeJson::read(body)?));
        }
        let mut fields = JsonFields::new(body)?;
        Ok(match name.as_str() {
            "updateDisplay" => Self::UpdateDisplay {
                display: fields.read("display")?,
                data: fields.read("data")?,
                metadata: read_metadata(&mut fields)?,
            },
            "shutdown" => {
                Self::Shutdown { reason: fields.read("reason")?, why: fields.read("why")? }
            }
            "clear" => {
                Self::Clear { execution: fields.read("execution")?, wait: fields.read("wait")? }
            }
            "askInput" => Self::AskInput {
                execution: fields.read("execution")?,
                input: fields.read("input")?,
            },
            "finished" => Self::Finished {
                execution: fields.read("execution")?,
                outcome: fields.read("outcome")?,
                why: fields.read("why")?,
            },
            _ => return read_output(&name, fields),
        })
    }
}

/// Reads the report of an output.
fn read_output(name: &str, mut fields: JsonFields) -> Result<AgentReport, Error> {
    let (execution, output) = (fields.read("execution")?, fields.read("output")?);
    Ok(match name {
        "stream" => AgentReport::Stream {
            execution,
            output,
            name: fields.read("name")?,
            text: fields.read("text")?,
        },
        "display" => AgentReport::Display {
            execution,
            output,
            is_result: fields.read("is_result")?,
            data: fields.read("data")?,
            metadata: read_metadata(&mut fields)?,
            display: fields.read("display")?,
        },
        "error" => AgentReport::Error {
            execution,
            output,
            name: fields.read("name")?,
            value: fields.read("value")?,
            traceback: fields.read("traceback")?,
        },
        "markdown" => AgentReport::Markdown {
            execution,
            output,
            text: fields.read("text")?,
            append: fields.read("append")?,
        },
        _ => return Err(Error::custom(format_args!("unknown report `{name}`"))),
    })
}

impl From<AgentReport> for AgentEvent {
    fn from(report: AgentReport) -> Self {
        match report {
            AgentReport::Status(status) => Self::StatusChanged(status),
            AgentReport::Stream { execution, output, name, text } => {
                Self::Output(execution, AgentOutput::Stream { output, name, text })
            }
            AgentReport::Display { execution, output, is_result, data, metadata, display } => {
                let shown = if is_result {
                    AgentOutput::Result { output, data, metadata, display }
                } else {
                    AgentOutput::Display { output, data, metadata, display }
                };
                Self::Output(execution, shown)
            }
            AgentReport::UpdateDisplay { display, data, metadata } => {
                Self::DisplayUpdated { display, data, metadata }
            }
            AgentReport::Error { execution, output, name, value, traceback } => {
                Self::Output(execution, AgentOutput::Error { output, name, value, traceback })
            }
            AgentReport::Markdown { execution, output, text, append } => {
                let markdown = if append {
                    AgentOutput::AppendMarkdown { output, text }
                } else {
                    AgentOutput::Markdown { output, text }
                };
                Self::Output(execution, markdown)
            }
            AgentReport::Clear { execution, wait } => {
                Self::Output(execution, AgentOutput::Clear { wait })
            }
            AgentReport::AskInput { execution, input } => Self::InputAsked(execution, input),
            AgentReport::Finished { execution, outcome, why } => {
                Self::Finished { execution, outcome, why }
            }
            AgentReport::Shutdown { reason, why } => Self::Shutdown { reason, why },
        }
    }
}
