//! Notebooks as clients receive them, and what clients send.

use expect_test::expect_file;
use provost_proto::notebook::{
    AppendableOutput, AppliedNotebookCommands, Artifact, Cell, CellContent, CellKind,
    ClientSyncMessage, CreateNotebookRequest, CreatedNotebook, DisplayLocations, Execution,
    ExecutionOutcome, ExecutionStatus, ImportNotebookRequest, ImportedNotebook, LocalRuntime,
    LocalRuntimeList, Notebook, NotebookCommand, NotebookCommandsRequest, NotebookDetail,
    NotebookDocument, NotebookEvent, NotebookFact, NotebookFile, NotebookList, NotebookPresence,
    OutputLocation, OutputPage, OutputPart, ResumePoint, ResyncReason, RuntimeEndReason,
    RuntimeLocation, RuntimeSession, RuntimeSessionStatus, RuntimeType, ServerSyncMessage,
    StartRuntimeRequest, StreamName, SyncErrorInfo, SyncTicket,
};
use provost_proto::{Actor, Code};
use serde_json::{Map, Value, json};

use crate::notebook::{bundle, capabilities, contents, input, metadata, slots};
use crate::samples::{AT, hash, id, text, texts};
use crate::{Golden, assert_every_variant, decodes_to, notebook};

fn notebooks() -> Vec<Notebook> {
    let full = Notebook {
        id: id(3),
        project: id(1),
        title: text("Sales"),
        language: text("python"),
        slots: slots(),
        metadata: metadata(),
        file: Some(NotebookFile { path: text("a.ipynb"), hash: Some(hash(0xf1)), version: 7 }),
        executions: 2,
        created_at: AT,
        created_by: text("local:ann"),
        deleted_at: Some(AT + 9),
    };
    vec![full.clone(), Notebook { file: None, deleted_at: None, ..full }]
}

fn cells() -> Vec<Cell> {
    let full = Cell {
        id: id(31),
        notebook: id(3),
        kind: CellKind::Code,
        position: text("a0"),
        source: text("print(1)"),
        revision: 2,
        metadata: metadata(),
        slot: Some(text("main")),
        execution: Some(id(32)),
        created_at: AT,
        created_by: text("local:ann"),
        deleted_at: Some(AT + 1),
    };
    let bare = Cell {
        slot: None,
        execution: None,
        deleted_at: None,
        metadata: Map::new(),
        ..full.clone()
    };
    vec![full, bare]
}

fn executions() -> Vec<Execution> {
    let full = Execution {
        id: id(32),
        notebook: id(3),
        cell: id(31),
        kind: CellKind::Code,
        slot: text("main"),
        count: 1,
        revision: 2,
        source: text("print(1)"),
        status: ExecutionStatus::Running,
        outcome: Some(ExecutionOutcome::Error),
        why: Some(text("too slow")),
        requested_by: text("local:ann"),
        requested_at: AT,
        started_at: Some(AT + 1),
        finished_at: Some(AT + 2),
        session: Some(id(33)),
        fence: 1,
        cancelling: true,
        input: Some(input()),
        outputs: 9,
        first_output: 3,
        clear_pending: true,
        last_page: 1,
        last_page_parts: 2,
        last_page_bytes: 700,
        appendable: Some(AppendableOutput { output: id(46), stream: Some(StreamName::Stdout) }),
    };
    let bare = Execution {
        status: ExecutionStatus::Queued,
        outcome: None,
        why: None,
        started_at: None,
        finished_at: None,
        session: None,
        fence: 0,
        cancelling: false,
        input: None,
        clear_pending: false,
        appendable: None,
        ..full.clone()
    };
    let markdown = AppendableOutput { output: id(46), stream: None };
    vec![full.clone(), Execution { appendable: Some(markdown), ..full }, bare]
}

fn pages() -> Vec<OutputPage> {
    let parts = (0..)
        .zip(contents())
        .map(|(ordinal, content)| OutputPart {
            output: id(40 + u128::from(ordinal)),
            ordinal,
            continues: ordinal == 0,
            content,
        })
        .collect();
    vec![OutputPage { execution: id(32), notebook: id(3), page: 1, parts }]
}

fn sessions() -> Vec<RuntimeSession> {
    let full = RuntimeSession {
        id: id(33),
        notebook: id(3),
        slot: text("main"),
        fence: 1,
        runtime_id: text("py-1"),
        runtime_type: text("python"),
        place: RuntimeLocation::Remote,
        capabilities: capabilities(),
        client_id: text("local:ann"),
        status: RuntimeSessionStatus::Ended,
        execution: Some(id(32)),
        started_at: AT,
        ended_at: Some(AT + 1),
        end_reason: Some(RuntimeEndReason::Timeout),
        why: Some(text("no answer")),
    };
    let bare = RuntimeSession {
        execution: None,
        ended_at: None,
        end_reason: None,
        why: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn documents() -> Vec<NotebookDocument> {
    let artifact = |name| Artifact {
        hash: hash(0xc1),
        notebook: id(3),
        mime: text("image/png"),
        size: 70_000,
        name,
    };
    let place = OutputLocation { execution: id(32), page: 0, output: id(42), ordinal: 2 };
    let display =
        DisplayLocations { notebook: id(3), display: text("figure"), places: vec![place] };
    let mut documents: Vec<_> = notebooks()
        .into_iter()
        .map(|document| NotebookDocument::Notebooks(document.into()))
        .collect();
    documents.extend(cells().into_iter().map(|document| NotebookDocument::Cells(document.into())));
    let executions = executions().into_iter();
    documents.extend(executions.map(|document| NotebookDocument::Executions(document.into())));
    documents
        .extend(pages().into_iter().map(|document| NotebookDocument::OutputPages(document.into())));
    documents.push(NotebookDocument::Displays(display.into()));
    let sessions = sessions().into_iter();
    documents.extend(sessions.map(|document| NotebookDocument::RuntimeSessions(document.into())));
    documents.push(NotebookDocument::Artifacts(artifact(Some(text("figure.png"))).into()));
    documents.push(NotebookDocument::Artifacts(artifact(None).into()));
    assert_every_variant!(
        documents,
        NotebookDocument {
            Notebooks,
            Cells,
            Executions,
            OutputPages,
            Displays,
            RuntimeSessions,
            Artifacts
        }
    );
    documents
}

fn edit_commands() -> Vec<NotebookCommand> {
    let cell = id(31);
    vec![
        NotebookCommand::RenameNotebook { title: text("Sales") },
        NotebookCommand::SetNotebookMetadata { key: text("tags"), value: Value::Null },
        NotebookCommand::SetSlots { slots: slots() },
        NotebookCommand::BindFile { path: Some(text("a.ipynb")) },
        NotebookCommand::RecordSave { path: text("a.ipynb"), hash: hash(0xf1), saved: 7 },
        NotebookCommand::DeleteNotebook,
        NotebookCommand::CreateCell(CellContent {
            cell,
            kind: CellKind::Code,
            position: text("a0"),
            source: text("print(1)"),
            metadata: metadata(),
        }),
        NotebookCommand::EditCell { cell, base: 2, changes: json!([6, [1, "2"], 1]) },
        NotebookCommand::ReplaceCell { cell, base: 2, source: text("print(2)") },
        NotebookCommand::MoveCell { cell, position: text("a1") },
        NotebookCommand::SetCellKind { cell, kind: CellKind::Sql },
        NotebookCommand::SetCellMetadata { cell, key: text("tags"), value: json!(["slow"]) },
        NotebookCommand::SetCellSlot { cell, slot: None },
        NotebookCommand::DeleteCell { cell },
        NotebookCommand::RestoreCell { cell },
        NotebookCommand::ClearCellOutputs { cell },
        NotebookCommand::RequestExecution { execution: id(32), cell, revision: 2 },
        NotebookCommand::CancelExecution { execution: id(32), why: Some(text("too slow")) },
        NotebookCommand::CancelExecution { execution: id(32), why: None },
        NotebookCommand::AnswerInput { execution: id(32), text: text("yes") },
    ]
}

fn runtime_commands() -> Vec<NotebookCommand> {
    let (session, execution, output, fence) = (id(33), id(32), id(42), 1);
    let start = |slot| NotebookCommand::StartSession {
        session,
        slot,
        runtime_id: text("py-1"),
        runtime_type: text("python"),
        place: RuntimeLocation::Browser,
        capabilities: capabilities(),
    };
    let reason = RuntimeEndReason::Shutdown;
    let mut commands = vec![
        start(Some(text("main"))),
        start(None),
        NotebookCommand::SetSessionStatus { session, fence, status: RuntimeSessionStatus::Ready },
        NotebookCommand::EndSession { session, fence, reason, why: Some(text("bye")) },
        NotebookCommand::EndSession { session, fence, reason, why: None },
        NotebookCommand::ClaimExecution { execution, session, fence },
        NotebookCommand::StartExecution { execution, fence },
        NotebookCommand::AskInput { execution, fence, input: input() },
        NotebookCommand::AppendOutput { execution, fence, output, text: text("more") },
        NotebookCommand::ReplaceDisplay {
            session,
            fence,
            display: text("figure"),
            data: bundle(),
            metadata: metadata(),
        },
        NotebookCommand::ClearOutputs { execution, fence, wait: true },
        NotebookCommand::FinishExecution {
            execution,
            fence,
            outcome: ExecutionOutcome::Error,
            why: Some(text("ValueError")),
        },
        NotebookCommand::FinishExecution {
            execution,
            fence,
            outcome: ExecutionOutcome::Ok,
            why: None,
        },
    ];
    let contents = contents().into_iter();
    commands.extend(contents.map(|content| NotebookCommand::AddOutput {
        execution,
        fence,
        output,
        content,
    }));
    commands
}

#[test]
fn documents_of_notebooks_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("documents", &documents());
    golden.check(&expect_file!["files/notebook_documents.txt"]);
}

#[test]
fn commands_for_notebooks_keep_their_fields() {
    let commands = [edit_commands(), runtime_commands()].concat();
    assert_every_variant!(
        commands,
        NotebookCommand {
            RenameNotebook,
            SetNotebookMetadata,
            SetSlots,
            BindFile,
            RecordSave,
            DeleteNotebook,
            CreateCell,
            EditCell,
            ReplaceCell,
            MoveCell,
            SetCellKind,
            SetCellMetadata,
            SetCellSlot,
            DeleteCell,
            RestoreCell,
            ClearCellOutputs,
            RequestExecution,
            CancelExecution,
            AnswerInput,
            StartSession,
            SetSessionStatus,
            EndSession,
            ClaimExecution,
            StartExecution,
            AskInput,
            AddOutput,
            AppendOutput,
            ReplaceDisplay,
            ClearOutputs,
            FinishExecution,
        }
    );
    let mut golden = Golden::default();
    golden.section("commands", &commands);
    golden.check(&expect_file!["files/notebook_commands.txt"]);
}

const fn resume() -> ResumePoint {
    ResumePoint { version: 7, hash: provost_proto::Hash::new([0xa2; 32]) }
}

fn client_messages() -> Vec<ClientSyncMessage> {
    let notebook = id(3);
    let messages = vec![
        ClientSyncMessage::Hello { protocol: 1 },
        ClientSyncMessage::Subscribe { notebook, resume: Some(resume()) },
        ClientSyncMessage::Subscribe { notebook, resume: None },
        ClientSyncMessage::Unsubscribe { notebook },
        ClientSyncMessage::Commands {
            id: text("key-1"),
            notebook,
            commands: edit_commands().split_off(18),
        },
        ClientSyncMessage::RenewLease { notebook, session: id(33), fence: 1 },
        ClientSyncMessage::Presence { notebook, data: json!({ "cell": "x" }) },
        ClientSyncMessage::Ping,
    ];
    assert_every_variant!(
        messages,
        ClientSyncMessage { Hello, Subscribe, Unsubscribe, Commands, RenewLease, Presence, Ping }
    );
    messages
}

fn events() -> Vec<NotebookEvent> {
    let facts =
        notebook::facts().into_iter().take(2).filter_map(|fact| NotebookFact::from_fact(&fact));
    let event = |(command, fact)| NotebookEvent {
        version: 7,
        at: AT,
        principal: text("local:ann"),
        actor: Actor::Runtime(text("py-1")),
        command,
        hash: hash(0xa2),
        fact,
    };
    [Some(text("key-1")), None].into_iter().zip(facts).map(event).collect()
}

fn server_messages() -> Vec<ServerSyncMessage> {
    let (notebook, session) = (id(3), id(33));
    let error = || SyncErrorInfo { error: text("the cell was deleted"), code: Code::CellDeleted };
    let snapshot = |reason| ServerSyncMessage::Snapshot {
        notebook,
        at: resume(),
        part: 0,
        last: true,
        documents: documents().split_off(11),
        reason,
    };
    let presence = NotebookPresence {
        connection: 4,
        principal: text("local:ann"),
        actor: Actor::Ui,
        data: json!({ "cell": "x" }),
    };
    let messages = vec![
        ServerSyncMessage::Welcome {
            protocol: 1,
            server: text("0.1.0"),
            connection: 4,
            principal: text("local:ann"),
            actor: Actor::Ui,
            can_write: true,
        },
        snapshot(Some(ResyncReason::Diverged)),
        snapshot(Some(ResyncReason::Behind)),
        snapshot(None),
        ServerSyncMessage::Events { notebook, events: events() },
        ServerSyncMessage::Live { notebook, version: 7 },
        ServerSyncMessage::Accepted { id: text("key-1"), version: 7 },
        ServerSyncMessage::Refused { id: text("key-1"), error: error(), index: 1, version: 7 },
        ServerSyncMessage::LeaseRenewed { session, valid_ms: 30_000 },
        ServerSyncMessage::Fenced { session, why: text("displaced") },
        ServerSyncMessage::Input { execution: id(32), text: text("yes") },
        ServerSyncMessage::Presence { notebook, presence },
        ServerSyncMessage::Unsubscribed { notebook, error: error() },
        ServerSyncMessage::Error { error: error() },
        ServerSyncMessage::Pong,
    ];
    assert_every_variant!(
        messages,
        ServerSyncMessage {
            Welcome,
            Snapshot,
            Events,
            Live,
            Accepted,
            Refused,
            LeaseRenewed,
            Fenced,
            Input,
            Presence,
            Unsubscribed,
            Error,
            Pong
        }
    );
    messages
}

#[test]
fn messages_of_the_sync_protocol_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("client", &client_messages());
    golden.section("server", &server_messages());
    golden.check(&expect_file!["files/notebook_sync.txt"]);
}

#[test]
fn bodies_of_notebook_routes_keep_their_fields() {
    let mut golden = Golden::default();
    let create = |language, slots| CreateNotebookRequest { title: text("Sales"), language, slots };
    golden.section("create", &[create(Some(text("r")), Some(slots())), create(None, None)]);
    let import = |title| ImportNotebookRequest { title, content: json!({ "cells": [] }) };
    golden.section("import", &[import(Some(text("Sales"))), import(None)]);
    let notebook = notebooks().remove(1);
    let repaired = texts(["cell 3 had no id"]);
    golden.section("imported", &[ImportedNotebook { notebook: notebook.clone(), repaired }]);
    golden.section("created", &[CreatedNotebook { notebook: notebook.clone() }]);
    golden.section("notebooks", &[NotebookList { notebooks: notebooks() }]);
    let detail = NotebookDetail {
        notebook,
        version: 7,
        cells: cells(),
        executions: executions(),
        outputs: pages(),
        sessions: sessions(),
    };
    golden.section("notebook", &[detail]);
    let rename = NotebookCommand::RenameNotebook { title: text("Sales") };
    golden.section("commands", &[NotebookCommandsRequest { commands: vec![rename] }]);
    golden.section("applied", &[AppliedNotebookCommands { version: 8 }]);
    let start = |slot, role| StartRuntimeRequest { runtime_type: text("shell"), slot, role };
    golden.section("start", &[start(Some(text("main")), Some(text("dev"))), start(None, None)]);
    let local = |role, slot, session| LocalRuntime {
        runtime_id: text("local-shell"),
        runtime_type: text("shell"),
        role,
        slot,
        session,
    };
    let running =
        vec![local(Some(text("dev")), Some(text("main")), Some(id(9))), local(None, None, None)];
    golden.section("runtime", &running);
    let runtime_type = |obstacle| RuntimeType {
        runtime_type: text("shell"),
        description: text("Runs commands."),
        capabilities: capabilities(),
        obstacle,
    };
    let types = vec![runtime_type(Some(text("it is not installed"))), runtime_type(None)];
    golden.section("runtimes", &[LocalRuntimeList { runtimes: running, types }]);
    golden.section("ticket", &[SyncTicket { ticket: text("t1") }]);
    golden.check(&expect_file!["files/notebook_bodies.txt"]);
    decodes_to(r#"{"title":"Sales"}"#, &create(None, None));
}
