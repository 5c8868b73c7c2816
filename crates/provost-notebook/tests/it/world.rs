//! A notebook in memory, with the facts that made it.

use provost_notebook::{
    CommandContext, CommandRights, FactMetadata, NotebookState, Refusal, create_notebook, decide,
    decide_all,
};
use provost_proto::notebook::{
    CellContent, CellKind, CreateNotebookRequest, ExecutionOutcome, NotebookCommand, NotebookFact,
    NotebookSlot, OutputContent, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
    RuntimeSessionStatus, StreamName,
};
use provost_proto::{CellId, Code, ExecutionId, NotebookId, OutputId, RuntimeSessionId};
use serde_json::{Map, Value};
use uuid::Uuid;

pub(crate) const ANN: &str = "local:ann";
pub(crate) const BOB: &str = "local:bob";

pub(crate) fn id<T: From<Uuid>>(number: u128) -> T {
    Uuid::from_u128(number).into()
}

pub(crate) const ALL: RuntimeCapabilities =
    RuntimeCapabilities { can_execute_code: true, can_execute_sql: true, can_execute_ai: true };

/// A recorded fact.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) at: u64,
    pub(crate) principal: String,
    pub(crate) fact: NotebookFact,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) state: NotebookState,
    pub(crate) log: Vec<Recorded>,
}

pub(crate) fn slot(name: &str, kinds: &[CellKind]) -> NotebookSlot {
    NotebookSlot { name: name.to_owned(), kinds: kinds.to_vec(), session: None, fence: 0 }
}

impl World {
    pub(crate) fn new() -> Self {
        let notebook: NotebookId = id(1);
        let slots =
            vec![slot("main", &[CellKind::Code, CellKind::Ai]), slot("sql", &[CellKind::Sql])];
        let request =
            CreateNotebookRequest { title: "Sales".to_owned(), language: None, slots: Some(slots) };
        let created = create_notebook(notebook, id(2), &request, &Map::new()).unwrap();
        let mut world = Self { state: NotebookState::new(notebook), log: Vec::new() };
        world.record(ANN, vec![created]);
        world
    }

    /// A notebook with a code cell.
    pub(crate) fn with_cell() -> Self {
        let mut world = Self::new();
        world.apply(create_cell(10, CellKind::Code, "a0", "print(1)"));
        world
    }

    fn record(&mut self, principal: &str, facts: Vec<NotebookFact>) {
        for fact in facts {
            let at = self.log.len() as u64 + 1;
            self.state.apply(FactMetadata { at, principal }, &fact);
            self.log.push(Recorded { at, principal: principal.to_owned(), fact });
        }
    }

    pub(crate) fn send(
        &mut self,
        principal: &str,
        rights: CommandRights,
        commands: &[NotebookCommand],
    ) -> Result<Vec<NotebookFact>, (usize, Refusal)> {
        // In the log each fact has a time of its own.
        let at = self.log.len() as u64 + 1;
        let context = CommandContext { principal, rights, at };
        let facts = match commands {
            [command] => decide(&self.state, &context, command).map_err(|refusal| (0, refusal))?,
            _ => decide_all(&mut self.state.clone(), &context, commands)?,
        };
        self.record(principal, facts.clone());
        Ok(facts)
    }

    /// Applies a command of Ann.
    #[track_caller]
    pub(crate) fn apply(&mut self, command: NotebookCommand) -> Vec<NotebookFact> {
        self.send(ANN, CommandRights::Edit, &[command]).unwrap()
    }

    /// The code with which a command of Ann is refused; nothing changes.
    #[track_caller]
    pub(crate) fn refusal(&mut self, command: NotebookCommand) -> Code {
        self.refusal_of(ANN, CommandRights::Edit, command)
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "tests make commands in place")]
    pub(crate) fn refusal_of(
        &mut self,
        principal: &str,
        rights: CommandRights,
        command: NotebookCommand,
    ) -> Code {
        let before = self.state.clone();
        let (index, refusal) =
            self.send(principal, rights, std::slice::from_ref(&command)).expect_err("is refused");
        assert_eq!((index, &before), (0, &self.state));
        assert!(!refusal.error.is_empty(), "{command:?} is refused without a reason");
        refusal.code
    }

    /// A session that is ready, in the first slot.
    pub(crate) fn start_session(&mut self, session: u128) -> u64 {
        self.apply(start_session(session));
        let fence = self.state.session(id(session)).unwrap().fence;
        self.apply(NotebookCommand::SetSessionStatus {
            session: id(session),
            fence,
            status: RuntimeSessionStatus::Ready,
        });
        fence
    }

    pub(crate) fn request(&mut self, execution: u128, cell: u128) {
        let revision = self.state.cell(id(cell)).unwrap().revision;
        let (execution, cell) = (id(execution), id(cell));
        self.apply(NotebookCommand::RequestExecution { execution, cell, revision });
    }

    /// An execution that runs in a new session.
    pub(crate) fn run(&mut self, execution: u128, cell: u128, session: u128) -> u64 {
        let fence = self.start_session(session);
        self.request(execution, cell);
        self.apply(claim(execution, session, fence));
        self.apply(start(execution, fence));
        fence
    }

    /// What the facts give when each document is folded alone.
    pub(crate) fn replay(&self) -> NotebookState {
        let mut state = NotebookState::new(self.state.id());
        for recorded in &self.log {
            let metadata = FactMetadata { at: recorded.at, principal: &recorded.principal };
            state.apply(metadata, &recorded.fact);
        }
        state
    }
}

pub(crate) fn create_cell(
    cell: u128,
    kind: CellKind,
    position: &str,
    source: &str,
) -> NotebookCommand {
    NotebookCommand::CreateCell(CellContent {
        cell: id(cell),
        kind,
        position: position.to_owned(),
        source: source.to_owned(),
        metadata: Map::new(),
    })
}

pub(crate) fn edit(cell: u128, base: u64, changes: Value) -> NotebookCommand {
    NotebookCommand::EditCell { cell: id(cell), base, changes }
}

pub(crate) fn start_session(session: u128) -> NotebookCommand {
    NotebookCommand::StartSession {
        session: id(session),
        slot: None,
        runtime_id: format!("runtime-{session}"),
        runtime_type: "echo".to_owned(),
        place: RuntimeLocation::Native,
        capabilities: ALL,
    }
}

pub(crate) fn claim(execution: u128, session: u128, fence: u64) -> NotebookCommand {
    let (execution, session): (ExecutionId, RuntimeSessionId) = (id(execution), id(session));
    NotebookCommand::ClaimExecution { execution, session, fence }
}

pub(crate) fn start(execution: u128, fence: u64) -> NotebookCommand {
    NotebookCommand::StartExecution { execution: id(execution), fence }
}

pub(crate) fn finish(execution: u128, fence: u64, outcome: ExecutionOutcome) -> NotebookCommand {
    NotebookCommand::FinishExecution { execution: id(execution), fence, outcome, why: None }
}

pub(crate) fn cancel(execution: u128) -> NotebookCommand {
    NotebookCommand::CancelExecution { execution: id(execution), why: None }
}

pub(crate) fn end_session(session: u128, fence: u64) -> NotebookCommand {
    let reason = RuntimeEndReason::Shutdown;
    NotebookCommand::EndSession { session: id(session), fence, reason, why: None }
}

pub(crate) fn print(execution: u128, fence: u64, output: u128, text: &str) -> NotebookCommand {
    NotebookCommand::AddOutput {
        execution: id(execution),
        fence,
        output: id(output),
        content: OutputContent::Stream { name: StreamName::Stdout, text: text.to_owned() },
    }
}

pub(crate) fn append(execution: u128, fence: u64, output: u128, text: &str) -> NotebookCommand {
    let (execution, output): (ExecutionId, OutputId) = (id(execution), id(output));
    NotebookCommand::AppendOutput { execution, fence, output, text: text.to_owned() }
}

pub(crate) fn source(state: &NotebookState, cell: u128) -> String {
    let cell: CellId = id(cell);
    state.cell(cell).unwrap().source.clone()
}

/// The text of all outputs that are shown.
pub(crate) fn shown_text(state: &NotebookState, execution: u128) -> String {
    let outputs = state.outputs(id(execution));
    let texts = outputs.into_iter().map(|part| match &part.content {
        OutputContent::Stream { text, .. } | OutputContent::Markdown { text } => text.as_str(),
        OutputContent::Display { .. }
        | OutputContent::Result { .. }
        | OutputContent::Error { .. } => "",
    });
    texts.collect()
}
