//! What a handler is given for one execution: the cell, the outputs, the abort signal.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_notebook::agent::{AgentOutput, ExecutionRequest};
use provost_proto::notebook::{CellKind, InputRequest, MimeBundle, MimeData, StreamName};
use provost_proto::{CellId, ExecutionId, OutputId};
use provost_store::Clock;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::driver::HandlerEvent;
use crate::store::ArtifactUploader;

/// Something to show, or the value of an expression.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RichOutput {
    /// Its representations.
    pub data: MimeBundle,
    /// Metadata by MIME type.
    pub metadata: Map<String, Value>,
    /// The name under which it can be replaced.
    pub display: Option<String>,
}

impl RichOutput {
    /// Plain text.
    pub fn plain_text(text: impl Into<String>) -> Self {
        let text = MimeData::Inline(Value::String(text.into()));
        Self { data: MimeBundle::from([("text/plain".to_owned(), text)]), ..Self::default() }
    }
}

/// Nobody will answer: the execution was aborted, or another one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the execution was interrupted before its input was answered")]
pub struct InputRefused;

/// What an earlier process of the runtime already reported of the execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PriorOutput {
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

/// One execution, as its handler sees it. Sending an output waits while many others wait.
#[derive(Debug, Clone)]
pub struct ExecutionContext {
    pub(crate) request: Arc<ExecutionRequest>,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) prior: PriorOutput,
    pub(crate) events: mpsc::Sender<HandlerEvent>,
    pub(crate) inputs: Arc<Mutex<mpsc::Receiver<String>>>,
    pub(crate) abort: CancellationToken,
    pub(crate) clock: Clock,
    pub(crate) artifacts: Arc<dyn ArtifactUploader>,
    pub(crate) artifact_threshold: usize,
}

impl ExecutionContext {
    /// The execution.
    pub fn execution(&self) -> ExecutionId {
        self.request.execution
    }

    /// The cell.
    pub fn cell(&self) -> CellId {
        self.request.cell
    }

    /// The kind of the cell.
    pub fn kind(&self) -> CellKind {
        self.request.kind
    }

    /// The number of the execution.
    pub fn count(&self) -> u32 {
        self.request.count
    }

    /// The source.
    pub fn source(&self) -> &str {
        &self.request.source
    }

    /// The parameters of the notebook: the value `parameters` of its metadata.
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// How many bytes of text of a stream were reported before, for a resumed execution.
    pub fn reported_bytes(&self, name: StreamName) -> u64 {
        match name {
            StreamName::Stdout => self.prior.stdout,
            StreamName::Stderr => self.prior.stderr,
        }
    }

    /// Whether the execution was aborted.
    pub fn is_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }

    /// Waits until the execution is aborted.
    pub async fn aborted(&self) {
        self.abort.cancelled().await;
    }

    fn new_output(&self) -> OutputId {
        self.clock.new_id()
    }

    async fn send(&self, output: AgentOutput) {
        // The driver has ended if nobody receives it.
        drop(self.events.send(HandlerEvent::Output(self.request.execution, output)).await);
    }

    /// Prints to a stream.
    pub async fn print(&self, name: StreamName, text: impl Into<String> + Send) {
        let (output, text) = (self.new_output(), text.into());
        self.send(AgentOutput::Stream { output, name, text }).await;
    }

    /// Prints to standard output.
    pub async fn stdout(&self, text: impl Into<String> + Send) {
        self.print(StreamName::Stdout, text).await;
    }

    /// Prints to standard error.
    pub async fn stderr(&self, text: impl Into<String> + Send) {
        self.print(StreamName::Stderr, text).await;
    }

    /// Shows something. Large images become artifacts.
    pub async fn display(&self, content: RichOutput) {
        let RichOutput { data, metadata, display } = content;
        let (output, data) = (self.new_output(), self.store_artifacts(data).await);
        self.send(AgentOutput::Display { output, data, metadata, display }).await;
    }

    /// Replaces everything that is shown under a display name, whichever execution showed it.
    pub async fn update_display(
        &self,
        display: &str,
        data: MimeBundle,
        metadata: Map<String, Value>,
    ) {
        let (display, data) = (display.to_owned(), self.store_artifacts(data).await);
        drop(self.events.send(HandlerEvent::DisplayUpdated { display, data, metadata }).await);
    }

    /// Reports the value of the last expression.
    pub async fn result(&self, content: RichOutput) {
        let RichOutput { data, metadata, display } = content;
        let (output, data) = (self.new_output(), self.store_artifacts(data).await);
        self.send(AgentOutput::Result { output, data, metadata, display }).await;
    }

    /// Reports an exception.
    pub async fn error(&self, name: &str, value: &str, traceback: Vec<String>) {
        let (name, value) = (name.to_owned(), value.to_owned());
        let output = self.new_output();
        self.send(AgentOutput::Error { output, name, value, traceback }).await;
    }

    /// Shows Markdown; returns its output, to which more can be appended while it is the last one.
    pub async fn markdown(&self, text: impl Into<String> + Send) -> OutputId {
        let (output, text) = (self.new_output(), text.into());
        self.send(AgentOutput::Markdown { output, text }).await;
        output
    }

    /// Appends to Markdown.
    pub async fn append_markdown(&self, output: OutputId, text: impl Into<String> + Send) {
        self.send(AgentOutput::AppendMarkdown { output, text: text.into() }).await;
    }

    /// Clears the outputs, at once or with the next one.
    pub async fn clear(&self, wait: bool) {
        self.send(AgentOutput::Clear { wait }).await;
    }

    /// Asks the person for input, and waits for it.
    ///
    /// # Errors
    /// If the execution is aborted before it is answered.
    pub async fn ask_input(&self, prompt: &str, secret: bool) -> Result<String, InputRefused> {
        let mut inputs = self.inputs.lock().await;
        let input = InputRequest { prompt: prompt.to_owned(), secret };
        let asked = HandlerEvent::InputAsked(self.request.execution, input);
        self.events.send(asked).await.map_err(|_| InputRefused)?;
        tokio::select! {
            () = self.abort.cancelled() => Err(InputRefused),
            answer = inputs.recv() => answer.ok_or(InputRefused),
        }
    }

    /// Stores large images as artifacts; one that cannot be stored stays where it is.
    async fn store_artifacts(&self, mut data: MimeBundle) -> MimeBundle {
        for (mime, representation) in &mut data {
            let MimeData::Inline(Value::String(text)) = representation else { continue };
            if !mime.starts_with("image/") || text.len() <= self.artifact_threshold {
                continue;
            }
            let bytes = if mime == "image/svg+xml" {
                text.clone().into_bytes()
            } else {
                let without_breaks: String = text.split_ascii_whitespace().collect();
                let Ok(bytes) = STANDARD.decode(without_breaks) else { continue };
                bytes
            };
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            match self.artifacts.upload(mime.clone(), bytes).await {
                Ok(hash) => *representation = MimeData::Artifact { hash, size },
                Err(error) => tracing::warn!(%error, "an image stays in its output"),
            }
        }
        data
    }
}
