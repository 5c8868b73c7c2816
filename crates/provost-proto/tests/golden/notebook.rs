//! The events of a notebook.

use provost_proto::Fact;
use provost_proto::notebook::{
    ArtifactAdded, CellCreated, CellDeleted, CellEdited, CellKind, CellKindSet, CellMetadataSet,
    CellMoved, CellOutputsCleared, CellReplaced, CellRestored, CellSlotSet, ExecutionAssigned,
    ExecutionCancelled, ExecutionFinished, ExecutionInputAnswered, ExecutionInputAsked,
    ExecutionOutcome, ExecutionRequested, ExecutionReturned, ExecutionStarted, InputRequest,
    MimeBundle, MimeData, NotebookBound, NotebookCreated, NotebookDeleted, NotebookFact,
    NotebookMetadataSet, NotebookRenamed, NotebookSaved, NotebookSlot, NotebookSlotsSet,
    OutputAdded, OutputAppended, OutputContent, OutputReplaced, OutputsCleared,
    RuntimeCapabilities, RuntimeEndReason, RuntimeLocation, RuntimeSessionEnded,
    RuntimeSessionStarted, RuntimeSessionStatus, RuntimeSessionStatusSet, StreamName,
};
use serde_json::{Map, Value, json};

use crate::samples::{hash, id, text};

/// Facts in an order in which all of their documents exist.
pub(crate) fn facts() -> Vec<Fact> {
    let mut facts = notebook_facts();
    facts.extend(cell_facts());
    facts.extend(session_start());
    facts.extend(execution_facts());
    facts.extend(output_facts());
    facts.extend(ends());
    facts.into_iter().map(Fact::from).collect()
}

pub(crate) fn slots() -> Vec<NotebookSlot> {
    let slot =
        |name, kinds, session, fence| NotebookSlot { name: text(name), kinds, session, fence };
    vec![
        slot("main", vec![CellKind::Code, CellKind::Ai], None, 0),
        slot("sql", vec![CellKind::Sql], Some(id(34)), 3),
    ]
}

pub(crate) fn metadata() -> Map<String, Value> {
    Map::from_iter([(text("tags"), json!(["slow"])), (text("collapsed"), json!(true))])
}

pub(crate) const fn capabilities() -> RuntimeCapabilities {
    RuntimeCapabilities { can_execute_code: true, can_execute_sql: false, can_execute_ai: false }
}

pub(crate) fn input() -> InputRequest {
    InputRequest { prompt: text("Password: "), secret: true }
}

pub(crate) fn bundle() -> MimeBundle {
    let bundle = MimeBundle::from([
        (text("application/json"), MimeData::Inline(json!({ "b": 1.5, "a": null }))),
        (text("image/png"), MimeData::Artifact { hash: hash(0xc1), size: 70_000 }),
        (text("text/plain"), MimeData::Inline(json!("<Figure>"))),
    ]);
    let data: Vec<_> = bundle.values().cloned().collect();
    crate::assert_every_variant!(data, MimeData { Inline, Artifact });
    bundle
}

pub(crate) fn contents() -> Vec<OutputContent> {
    let stream = |name, text| OutputContent::Stream { name, text };
    let contents = vec![
        stream(StreamName::Stdout, text("\u{1b}[1mone\u{1b}[0m\rtwo\n")),
        stream(StreamName::Stderr, text("warning\n")),
        OutputContent::Display {
            data: bundle(),
            metadata: metadata(),
            display: Some(text("figure")),
        },
        OutputContent::Display { data: bundle(), metadata: Map::new(), display: None },
        OutputContent::Result {
            data: bundle(),
            metadata: metadata(),
            display: Some(text("figure")),
            count: 1,
        },
        OutputContent::Error {
            name: text("ValueError"),
            value: text("no"),
            traceback: vec![text("line 1")],
        },
        OutputContent::Markdown { text: text("**hi**") },
    ];
    crate::assert_every_variant!(
        contents,
        OutputContent { Stream, Display, Result, Error, Markdown }
    );
    contents
}

fn notebook_facts() -> Vec<NotebookFact> {
    let notebook = id(3);
    let metadata_set = |key, value| {
        NotebookFact::NotebookMetadataSet(NotebookMetadataSet { notebook, key: text(key), value })
    };
    vec![
        NotebookFact::NotebookCreated(NotebookCreated {
            notebook,
            project: id(1),
            title: text("Sales"),
            language: text("python"),
            slots: slots(),
            metadata: metadata(),
        }),
        NotebookFact::NotebookRenamed(NotebookRenamed { notebook, title: text("Sales 2026") }),
        metadata_set("kernelspec", json!({ "name": "python3" })),
        metadata_set("tags", Value::Null),
        NotebookFact::NotebookSlotsSet(NotebookSlotsSet { notebook, slots: slots() }),
        NotebookFact::NotebookBound(NotebookBound { notebook, path: None }),
        NotebookFact::NotebookBound(NotebookBound { notebook, path: Some(text("a.ipynb")) }),
        NotebookFact::NotebookSaved(NotebookSaved {
            notebook,
            path: text("a.ipynb"),
            hash: hash(0xf1),
            saved: 7,
        }),
    ]
}

fn cell_facts() -> Vec<NotebookFact> {
    let (notebook, cell) = (id(3), id(31));
    vec![
        NotebookFact::CellCreated(CellCreated {
            notebook,
            cell,
            cell_kind: CellKind::Markdown,
            position: text("a0"),
            source: text("print(1)\n"),
            metadata: metadata(),
        }),
        NotebookFact::CellEdited(CellEdited {
            notebook,
            cell,
            revision: 1,
            changes: json!([6, [1, "2", ""], 2]),
        }),
        NotebookFact::CellReplaced(CellReplaced {
            notebook,
            cell,
            revision: 2,
            source: text("print(2)"),
        }),
        NotebookFact::CellMoved(CellMoved { notebook, cell, position: text("a1V") }),
        NotebookFact::CellKindSet(CellKindSet { notebook, cell, cell_kind: CellKind::Code }),
        NotebookFact::CellMetadataSet(CellMetadataSet {
            notebook,
            cell,
            key: text("tags"),
            value: json!(["fast"]),
        }),
        NotebookFact::CellSlotSet(CellSlotSet { notebook, cell, slot: Some(text("main")) }),
        NotebookFact::CellSlotSet(CellSlotSet { notebook, cell, slot: None }),
        NotebookFact::CellDeleted(CellDeleted { notebook, cell }),
        NotebookFact::CellRestored(CellRestored { notebook, cell }),
        NotebookFact::CellOutputsCleared(CellOutputsCleared { notebook, cell }),
    ]
}

fn session_start() -> Vec<NotebookFact> {
    let (notebook, session) = (id(3), id(33));
    vec![
        NotebookFact::RuntimeSessionStarted(RuntimeSessionStarted {
            notebook,
            session,
            slot: text("main"),
            fence: 1,
            runtime_id: text("py-1"),
            runtime_type: text("python"),
            place: RuntimeLocation::Native,
            capabilities: capabilities(),
        }),
        NotebookFact::RuntimeSessionStatusSet(RuntimeSessionStatusSet {
            notebook,
            session,
            status: RuntimeSessionStatus::Ready,
        }),
    ]
}

fn execution_facts() -> Vec<NotebookFact> {
    let (notebook, execution, session, fence) = (id(3), id(32), id(33), 1);
    let requested = |execution, count| {
        NotebookFact::ExecutionRequested(ExecutionRequested {
            notebook,
            execution,
            cell: id(31),
            cell_kind: CellKind::Code,
            slot: text("main"),
            count,
            revision: 2,
            source: text("print(2)"),
        })
    };
    let assigned = |execution| {
        NotebookFact::ExecutionAssigned(ExecutionAssigned { notebook, execution, session, fence })
    };
    vec![
        requested(id(35), 1),
        requested(execution, 2),
        assigned(id(35)),
        assigned(execution),
        NotebookFact::ExecutionReturned(ExecutionReturned { notebook, execution: id(35) }),
        NotebookFact::ExecutionStarted(ExecutionStarted { notebook, execution, session, fence }),
        NotebookFact::ExecutionInputAsked(ExecutionInputAsked {
            notebook,
            execution,
            input: input(),
        }),
        NotebookFact::ExecutionInputAnswered(ExecutionInputAnswered {
            notebook,
            execution,
            text: None,
        }),
        NotebookFact::ExecutionInputAnswered(ExecutionInputAnswered {
            notebook,
            execution,
            text: Some(text("yes")),
        }),
    ]
}

fn output_facts() -> Vec<NotebookFact> {
    let (notebook, execution) = (id(3), id(32));
    let mut facts: Vec<_> = (0..)
        .zip(contents())
        .map(|(ordinal, content)| {
            let output = id(40 + u128::from(ordinal));
            let added =
                OutputAdded { notebook, execution, output, ordinal, page: 0, first: 0, content };
            NotebookFact::OutputAdded(added)
        })
        .collect();
    let appended = |page, more| {
        NotebookFact::OutputAppended(OutputAppended {
            notebook,
            execution,
            output: id(46),
            ordinal: 6,
            page,
            content: OutputContent::Markdown { text: text(more) },
        })
    };
    facts.extend([
        appended(0, " there"),
        appended(1, ", go on"),
        NotebookFact::OutputReplaced(OutputReplaced {
            notebook,
            execution,
            page: 0,
            output: id(42),
            data: bundle(),
            metadata: Map::new(),
        }),
        NotebookFact::OutputsCleared(OutputsCleared { notebook, execution, wait: true }),
    ]);
    facts
}

fn ends() -> Vec<NotebookFact> {
    let (notebook, execution, session) = (id(3), id(32), id(33));
    let artifact = |name| {
        NotebookFact::ArtifactAdded(ArtifactAdded {
            notebook,
            artifact: hash(0xc1),
            mime: text("image/png"),
            size: 70_000,
            name,
        })
    };
    vec![
        NotebookFact::ExecutionCancelled(ExecutionCancelled {
            notebook,
            execution,
            why: Some(text("too slow")),
        }),
        NotebookFact::ExecutionFinished(ExecutionFinished {
            notebook,
            execution,
            session: Some(session),
            outcome: ExecutionOutcome::Cancelled,
            why: Some(text("too slow")),
        }),
        NotebookFact::RuntimeSessionEnded(RuntimeSessionEnded {
            notebook,
            session,
            slot: text("main"),
            reason: RuntimeEndReason::Displaced,
            why: Some(text("another runtime took over")),
        }),
        artifact(Some(text("figure.png"))),
        artifact(None),
        NotebookFact::NotebookDeleted(NotebookDeleted { notebook }),
    ]
}
