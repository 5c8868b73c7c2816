//! Notebooks from and to `.ipynb` files.

use std::collections::{BTreeMap, HashMap};

use provost_gateway::{Gateway, GatewayError, NotebookAccess, NotebookImport};
use provost_ipynb::{IpynbCell, IpynbNotebook, KEPT, read_ipynb, write_ipynb};
use provost_notebook::position::position_between;
use provost_notebook::{
    CommandContext, CommandRights, FactMetadata, NotebookState, Refusal, create_notebook, decide,
};
use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{
    CellContent, CreateNotebookRequest, Execution, ExecutionOutcome, ImportNotebookRequest,
    ImportedNotebook, MimeData, NotebookCommand, NotebookDetail, NotebookFact, OutputContent,
    OutputPage, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
};
use provost_proto::{
    CellId, Code, ExecutionId, Hash, NotebookId, Project, RuntimeSessionId, limits,
};
use provost_store::{Clock, Idempotency};
use serde_json::Value;

/// Who is said to have executed the cells of a file.
const IMPORT_RUNTIME: &str = "import";

/// The title of a file that has none.
const UNTITLED: &str = "Untitled";

/// Creates a notebook with the content of a file.
pub async fn import_notebook(
    gateway: &Gateway,
    access: &NotebookAccess,
    project: &Project,
    request: ImportNotebookRequest,
    command: Option<Idempotency>,
) -> Result<ImportedNotebook, GatewayError> {
    let ImportNotebookRequest { title, content } = request;
    let (file, mut repaired) = read_ipynb(&content)
        .map_err(|error| GatewayError::InvalidField { field: "content", why: error.to_string() })?;
    let notebook = gateway.notebooks.new_notebook_id();
    let title = title.or_else(|| file.title.clone()).unwrap_or_else(|| UNTITLED.to_owned());
    let builder = ImportBuilder::new(notebook, access.principal(), gateway.clock());
    let facts = builder.build(project, title, file, &mut repaired).map_err(fault)?;
    let import = NotebookImport { notebook, facts };
    let notebook = gateway.notebooks.import(access, project, import, command).await?;
    Ok(ImportedNotebook { notebook, repaired })
}

/// A notebook as a file, in format 4.5.
pub async fn export_notebook(
    gateway: &Gateway,
    access: &NotebookAccess,
    id: NotebookId,
) -> Result<Value, GatewayError> {
    let detail = gateway.notebooks.show(access, id).await?;
    let notebook = collect_notebook(detail);
    let mut artifacts = BTreeMap::new();
    for hash in list_artifacts(&notebook) {
        let (_, bytes) = gateway.notebooks.get_artifact(access, id, hash).await?;
        artifacts.insert(hash, bytes);
    }
    Ok(write_ipynb(&notebook, &artifacts))
}

fn fault(Refusal { code, error: message }: Refusal) -> GatewayError {
    GatewayError::Fault(ErrorInfo { code, message, details: None })
}

/// The facts that make a notebook of a file. They are decided like commands, so that a notebook
/// that was imported is one that could have been typed and executed here.
struct ImportBuilder<'a> {
    state: NotebookState,
    principal: &'a str,
    clock: &'a Clock,
    facts: Vec<NotebookFact>,
}

impl<'a> ImportBuilder<'a> {
    fn new(notebook: NotebookId, principal: &'a str, clock: &'a Clock) -> Self {
        Self { state: NotebookState::new(notebook), principal, clock, facts: Vec::new() }
    }

    fn build(
        mut self,
        project: &Project,
        title: String,
        file: IpynbNotebook,
        repaired: &mut Vec<String>,
    ) -> Result<Vec<NotebookFact>, Refusal> {
        let IpynbNotebook { language, metadata, cells, .. } = file;
        let request = CreateNotebookRequest { title, language, slots: None };
        let created = create_notebook(self.state.id(), project.id, &request, &metadata)?;
        self.record(vec![created]);
        let mut created = Vec::with_capacity(cells.len());
        let mut position: Option<String> = None;
        for cell in cells {
            let id: CellId = self.clock.new_id();
            let next = position_between(position.as_deref(), None)
                .map_err(|error| Refusal { code: Code::Internal, error: error.to_string() })?;
            self.apply(&NotebookCommand::CreateCell(CellContent {
                cell: id,
                kind: cell.kind,
                position: next.clone(),
                source: cell.source.clone(),
                metadata: cell.metadata.clone(),
            }))?;
            position = Some(next);
            created.push((id, cell));
        }
        created.retain(|(_, cell)| cell.count.is_some() || !cell.outputs.is_empty());
        if !created.is_empty() {
            self.add_executions(created, repaired)?;
        }
        Ok(self.facts)
    }

    /// Records what the file holds of executions, in a session of the import.
    fn add_executions(
        &mut self,
        cells: Vec<(CellId, IpynbCell)>,
        repaired: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        let session: RuntimeSessionId = self.clock.new_id();
        self.apply(&NotebookCommand::StartSession {
            session,
            slot: None,
            runtime_id: IMPORT_RUNTIME.to_owned(),
            runtime_type: IMPORT_RUNTIME.to_owned(),
            place: RuntimeLocation::Native,
            capabilities: RuntimeCapabilities {
                can_execute_code: true,
                can_execute_sql: true,
                can_execute_ai: true,
            },
        })?;
        let fence = self.state.session(session).map_or(0, |session| session.fence);
        for (cell, content) in cells {
            self.add_execution(cell, content, (session, fence), repaired)?;
        }
        self.apply(&NotebookCommand::EndSession {
            session,
            fence,
            reason: RuntimeEndReason::Shutdown,
            why: Some("the outputs of the file were imported".to_owned()),
        })
    }

    fn add_execution(
        &mut self,
        cell: CellId,
        content: IpynbCell,
        (session, fence): (RuntimeSessionId, u64),
        repaired: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        let execution: ExecutionId = self.clock.new_id();
        let request = NotebookCommand::RequestExecution { execution, cell, revision: 0 };
        let mut requested = self.decide(&request)?;
        for fact in &mut requested {
            if let NotebookFact::ExecutionRequested(requested) = fact {
                requested.count = content.count.unwrap_or(0);
            }
        }
        self.record(requested);
        self.apply(&NotebookCommand::ClaimExecution { execution, session, fence })?;
        self.apply(&NotebookCommand::StartExecution { execution, fence })?;
        let is_error = |output: &OutputContent| matches!(output, OutputContent::Error { .. });
        let outcome = if content.outputs.iter().any(is_error) {
            ExecutionOutcome::Error
        } else {
            ExecutionOutcome::Ok
        };
        for content in content.outputs {
            match self.add_output(execution, fence, content) {
                Err(Refusal { code: Code::TooLarge, error }) => {
                    repaired.push(format!("an output was left out: {error}"));
                }
                added => added?,
            }
        }
        self.apply(&NotebookCommand::FinishExecution { execution, fence, outcome, why: None })
    }

    /// Adds an output; of a long text, the rest is appended.
    fn add_output(
        &mut self,
        execution: ExecutionId,
        fence: u64,
        mut content: OutputContent,
    ) -> Result<(), Refusal> {
        let output = self.clock.new_id();
        let mut rest = match &mut content {
            OutputContent::Stream { text, .. } | OutputContent::Markdown { text } => {
                split_rest(text)
            }
            OutputContent::Display { .. }
            | OutputContent::Result { .. }
            | OutputContent::Error { .. } => String::new(),
        };
        self.apply(&NotebookCommand::AddOutput { execution, fence, output, content })?;
        while !rest.is_empty() {
            let mut text = rest;
            rest = split_rest(&mut text);
            self.apply(&NotebookCommand::AppendOutput { execution, fence, output, text })?;
        }
        Ok(())
    }

    fn decide(&self, command: &NotebookCommand) -> Result<Vec<NotebookFact>, Refusal> {
        let rights = CommandRights::Daemon;
        let context = CommandContext { principal: self.principal, rights, at: self.clock.now() };
        decide(&self.state, &context, command)
    }

    fn apply(&mut self, command: &NotebookCommand) -> Result<(), Refusal> {
        let facts = self.decide(command)?;
        self.record(facts);
        Ok(())
    }

    fn record(&mut self, facts: Vec<NotebookFact>) {
        let metadata = FactMetadata { at: self.clock.now(), principal: self.principal };
        for fact in &facts {
            self.state.apply(metadata, fact);
        }
        self.facts.extend(facts);
    }
}

/// Takes what is beyond the longest text of one command.
fn split_rest(text: &mut String) -> String {
    text.split_off(text.floor_char_boundary(limits::MAX_APPENDED_BYTES / 4))
}

/// A notebook as a file has it.
fn collect_notebook(detail: NotebookDetail) -> IpynbNotebook {
    let NotebookDetail { notebook, cells, executions, outputs, .. } = detail;
    let executions: HashMap<_, _> = executions.into_iter().map(|it| (it.id, it)).collect();
    let mut pages: HashMap<ExecutionId, Vec<OutputPage>> = HashMap::new();
    for page in outputs {
        pages.entry(page.execution).or_default().push(page);
    }
    let cells = cells.into_iter().map(|cell| {
        let execution = cell.execution.and_then(|id| executions.get(&id));
        let pages = execution.and_then(|execution| pages.remove(&execution.id));
        IpynbCell {
            kind: cell.kind,
            source: cell.source,
            metadata: cell.metadata,
            count: execution.map(|execution| execution.count).filter(|count| *count > 0),
            outputs: execution
                .map(|execution| collect_outputs(execution, pages.unwrap_or_default()))
                .unwrap_or_default(),
        }
    });
    let cells = cells.collect();
    // A file that was imported keeps what it said of itself, and no more.
    let is_own = !notebook.metadata.contains_key(KEPT);
    let has_title = notebook.metadata.contains_key("title");
    IpynbNotebook {
        title: (is_own || has_title).then_some(notebook.title),
        language: is_own.then_some(notebook.language),
        metadata: notebook.metadata,
        cells,
    }
}

/// The outputs of an execution that are shown, each in one piece.
fn collect_outputs(execution: &Execution, mut pages: Vec<OutputPage>) -> Vec<OutputContent> {
    pages.sort_by_key(|page| page.page);
    let parts = pages.into_iter().filter(|page| page.page <= execution.last_page);
    let parts = parts.flat_map(|page| page.parts);
    let mut outputs: Vec<OutputContent> = Vec::new();
    for part in parts.filter(|part| part.ordinal >= execution.first_output) {
        let more = match &part.content {
            OutputContent::Stream { text, .. } | OutputContent::Markdown { text } => Some(text),
            OutputContent::Display { .. }
            | OutputContent::Result { .. }
            | OutputContent::Error { .. } => None,
        };
        if part.continues
            && let Some(more) = more
            && let Some(OutputContent::Stream { text, .. } | OutputContent::Markdown { text }) =
                outputs.last_mut()
        {
            text.push_str(more);
        } else {
            outputs.push(part.content);
        }
    }
    outputs
}

fn list_artifacts(notebook: &IpynbNotebook) -> Vec<Hash> {
    let outputs = notebook.cells.iter().flat_map(|cell| &cell.outputs);
    let bundles = outputs.filter_map(|output| match output {
        OutputContent::Display { data, .. } | OutputContent::Result { data, .. } => Some(data),
        OutputContent::Stream { .. }
        | OutputContent::Markdown { .. }
        | OutputContent::Error { .. } => None,
    });
    let hashes = bundles.flat_map(|data| data.values()).filter_map(|data| match data {
        MimeData::Artifact { hash, .. } => Some(*hash),
        MimeData::Inline(_) => None,
    });
    hashes.collect()
}
