//! Each guard: what is refused, with which code, and that nothing changed.

use provost_notebook::{CommandRights, create_notebook};
use provost_proto::notebook::{
    CellKind, CreateNotebookRequest, ExecutionOutcome, ExecutionStatus, InputRequest, MimeBundle,
    NotebookCommand, NotebookFact, OutputContent, RuntimeCapabilities, RuntimeEndReason,
    RuntimeSessionStatus,
};
use provost_proto::{Code, limits};
use serde_json::{Map, Value, json};

use crate::world::{
    ALL, ANN, BOB, World, append, cancel, claim, create_cell, edit, end_session, finish, id, print,
    slot, source, start, start_session,
};

#[test]
fn a_notebook_is_created_with_one_slot_for_all_kinds() {
    let request = CreateNotebookRequest { title: "Sales".to_owned(), language: None, slots: None };
    let fact = create_notebook(id(1), id(2), &request, &Map::new()).unwrap();
    let NotebookFact::NotebookCreated(created) = fact else { panic!("{fact:?}") };
    assert_eq!(created.language, "python");
    let [slot] = &created.slots[..] else { panic!("{:?}", created.slots) };
    assert_eq!(slot.kinds, [CellKind::Code, CellKind::Sql, CellKind::Ai]);
}

#[test]
fn a_notebook_without_a_valid_title_or_slots_is_not_created() {
    let long = "x".repeat(limits::MAX_NOTEBOOK_TITLE_CHARS + 1);
    let kinds = [CellKind::Code];
    for (title, slots, code) in [
        ("", None, Code::InvalidRequest),
        (" \t", None, Code::InvalidRequest),
        ("a\nb", None, Code::InvalidRequest),
        (&long, None, Code::TooLarge),
        ("ok", Some(vec![]), Code::InvalidRequest),
        ("ok", Some(vec![slot("a", &kinds), slot("a", &kinds)]), Code::InvalidRequest),
        ("ok", Some(vec![slot("", &kinds)]), Code::InvalidRequest),
        ("ok", Some((0..9).map(|n| slot(&n.to_string(), &kinds)).collect()), Code::InvalidRequest),
    ] {
        let request = CreateNotebookRequest { title: title.to_owned(), language: None, slots };
        let refusal = create_notebook(id(1), id(2), &request, &Map::new()).unwrap_err();
        assert_eq!(refusal.code, code, "{title}");
    }
}

#[test]
fn edits_are_refused_for_cells_that_do_not_exist_or_were_deleted() {
    let mut world = World::with_cell();
    let commands = |cell| {
        [
            edit(cell, 0, json!([8, [0, "x"]])),
            NotebookCommand::ReplaceCell { cell: id(cell), base: 0, source: "x".to_owned() },
            NotebookCommand::MoveCell { cell: id(cell), position: "a5".to_owned() },
            NotebookCommand::SetCellKind { cell: id(cell), kind: CellKind::Sql },
            NotebookCommand::SetCellMetadata {
                cell: id(cell),
                key: "k".to_owned(),
                value: json!(1),
            },
            NotebookCommand::SetCellSlot { cell: id(cell), slot: Some("sql".to_owned()) },
            NotebookCommand::ClearCellOutputs { cell: id(cell) },
            NotebookCommand::RequestExecution { execution: id(20), cell: id(cell), revision: 0 },
        ]
    };
    for command in commands(99) {
        assert_eq!(world.refusal(command), Code::CellNotFound);
    }
    world.apply(NotebookCommand::DeleteCell { cell: id(10) });
    for command in commands(10) {
        assert_eq!(world.refusal(command), Code::CellDeleted);
    }
    assert!(world.apply(NotebookCommand::DeleteCell { cell: id(10) }).is_empty());
    world.apply(NotebookCommand::RestoreCell { cell: id(10) });
    assert_eq!(source(&world.state, 10), "print(1)");
    for command in [
        NotebookCommand::DeleteCell { cell: id(99) },
        NotebookCommand::RestoreCell { cell: id(99) },
    ] {
        assert_eq!(world.refusal(command), Code::CellNotFound);
    }
}

#[test]
fn a_change_of_an_older_revision_is_refused_and_overwrites_nothing() {
    let mut world = World::with_cell();
    world.apply(edit(10, 0, json!([8, [0, " # Ann"]])));
    assert_eq!(world.refusal(edit(10, 0, json!([8, [0, " # Bob"]]))), Code::StaleRevision);
    assert_eq!(world.refusal(edit(10, 2, json!([14, [0, "!"]]))), Code::StaleRevision);
    let replace = NotebookCommand::ReplaceCell { cell: id(10), base: 0, source: String::new() };
    assert_eq!(world.refusal(replace), Code::StaleRevision);
    let run = NotebookCommand::RequestExecution { execution: id(20), cell: id(10), revision: 0 };
    assert_eq!(world.refusal(run), Code::StaleRevision);
    assert_eq!(source(&world.state, 10), "print(1) # Ann");
}

#[test]
fn changes_that_do_not_fit_are_refused() {
    let mut world = World::with_cell();
    for changes in [json!([9]), json!([1, [8]]), json!("x"), json!([8, [0, "a\rb"]]), json!([-8])] {
        assert_eq!(world.refusal(edit(10, 0, changes)), Code::InvalidRequest);
    }
    let long = "x".repeat(limits::MAX_CELL_SOURCE_BYTES);
    assert_eq!(world.refusal(edit(10, 0, json!([8, [0, long]]))), Code::TooLarge);
    assert!(world.apply(edit(10, 0, json!([8]))).is_empty());
}

#[test]
fn a_source_has_the_line_breaks_that_editors_count() {
    let mut world = World::new();
    world.apply(create_cell(10, CellKind::Code, "a0", "a\r\nb\rc"));
    assert_eq!(source(&world.state, 10), "a\nb\nc");
}

#[test]
fn a_new_id_is_used_once() {
    let mut world = World::with_cell();
    assert_eq!(world.refusal(create_cell(10, CellKind::Raw, "a1", "")), Code::Exists);
    world.run(20, 10, 30);
    let again = NotebookCommand::RequestExecution { execution: id(20), cell: id(10), revision: 0 };
    assert_eq!(world.refusal(again), Code::Exists);
    assert_eq!(world.refusal(start_session(30)), Code::Exists);
}

#[test]
fn an_id_of_another_notebook_cannot_be_used() {
    let mut other = World::with_cell();
    other.run(20, 10, 30);
    let mut world = World::with_cell();
    world.apply(create_cell(11, CellKind::Code, "a1", ""));
    let mut foreign = provost_notebook::NotebookState::new(id(1));
    std::mem::swap(&mut foreign, &mut world.state);
    // The same documents, but of a notebook with another id.
    for (_, document) in other.state.documents() {
        let text = serde_json::to_string(document).unwrap();
        let moved = text.replace(
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-000000000005",
        );
        foreign.insert(serde_json::from_str(&moved).unwrap());
    }
    world.state = foreign;
    let run = NotebookCommand::RequestExecution { execution: id(20), cell: id(11), revision: 0 };
    assert_eq!(world.refusal(run), Code::Exists);
    assert_eq!(world.refusal(start_session(30)), Code::Exists);
    assert!(world.state.execution(id(20)).is_none());
}

#[test]
fn positions_kinds_and_slots_are_checked() {
    let mut world = World::with_cell();
    assert_eq!(world.refusal(create_cell(11, CellKind::Code, "", "")), Code::InvalidRequest);
    let moved = NotebookCommand::MoveCell { cell: id(10), position: "!".to_owned() };
    assert_eq!(world.refusal(moved), Code::InvalidRequest);
    let slot = NotebookCommand::SetCellSlot { cell: id(10), slot: Some("gpu".to_owned()) };
    assert_eq!(world.refusal(slot), Code::InvalidRequest);
    world.apply(create_cell(11, CellKind::Markdown, "a1", "# hi"));
    let run = NotebookCommand::RequestExecution { execution: id(20), cell: id(11), revision: 0 };
    assert_eq!(world.refusal(run), Code::InvalidRequest);
}

#[test]
fn metadata_is_set_removed_and_limited() {
    let mut world = World::with_cell();
    let set = |value: Value| NotebookCommand::SetCellMetadata {
        cell: id(10),
        key: "tags".to_owned(),
        value,
    };
    assert_eq!(world.apply(set(json!(["a"]))).len(), 1);
    assert!(world.apply(set(json!(["a"]))).is_empty());
    assert_eq!(world.apply(set(Value::Null)).len(), 1);
    assert!(world.apply(set(Value::Null)).is_empty());
    assert!(world.state.cell(id(10)).unwrap().metadata.is_empty());
    let large = json!("x".repeat(limits::MAX_CELL_METADATA_BYTES));
    assert_eq!(world.refusal(set(large)), Code::TooLarge);
    let empty = NotebookCommand::SetNotebookMetadata { key: String::new(), value: json!(1) };
    assert_eq!(world.refusal(empty), Code::InvalidRequest);
}

#[test]
fn files_are_bound_inside_of_the_project_and_only_the_daemon_records_saves() {
    let mut world = World::new();
    for path in ["", "/etc/passwd", "a/../b", "./a", "a//b", "a\0b", "a/"] {
        let bind = NotebookCommand::BindFile { path: Some(path.to_owned()) };
        assert_eq!(world.refusal(bind), Code::InvalidRequest, "{path}");
    }
    world.apply(NotebookCommand::BindFile { path: Some("a/b.ipynb".to_owned()) });
    let save = |path: &str| NotebookCommand::RecordSave {
        path: path.to_owned(),
        hash: provost_proto::Hash::ZERO,
        saved: 2,
    };
    assert_eq!(world.refusal(save("a/b.ipynb")), Code::Forbidden);
    let daemon = CommandRights::Daemon;
    assert_eq!(world.refusal_of("daemon", daemon, save("c.ipynb")), Code::Conflict);
    world.send("daemon", daemon, &[save("a/b.ipynb")]).unwrap();
    assert_eq!(world.state.notebook().unwrap().file.as_ref().unwrap().version, 2);
}

#[test]
fn a_runtime_edits_nothing_and_reports_for_its_own_sessions_only() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    let runtime = CommandRights::Runtime;
    for command in [
        create_cell(11, CellKind::Code, "a1", ""),
        edit(10, 0, json!([8, [0, "x"]])),
        NotebookCommand::RequestExecution { execution: id(21), cell: id(10), revision: 0 },
        cancel(20),
        NotebookCommand::DeleteNotebook,
    ] {
        assert_eq!(world.refusal_of(ANN, runtime, command), Code::Forbidden);
    }
    for rights in [runtime, CommandRights::Edit] {
        for command in [
            print(20, fence, 40, "forged"),
            finish(20, fence, ExecutionOutcome::Ok),
            NotebookCommand::SetSessionStatus {
                session: id(30),
                fence,
                status: RuntimeSessionStatus::Unresponsive,
            },
        ] {
            assert_eq!(world.refusal_of(BOB, rights, command), Code::Forbidden);
        }
    }
    assert_eq!(world.refusal_of(BOB, runtime, end_session(30, fence)), Code::Forbidden);
    world.send(ANN, runtime, &[print(20, fence, 40, "own")]).unwrap();
}

#[test]
fn a_session_reports_a_status_that_can_be_reported() {
    let mut world = World::new();
    let fence = world.start_session(30);
    let set = |fence, status| NotebookCommand::SetSessionStatus { session: id(30), fence, status };
    for status in [RuntimeSessionStatus::Ended, RuntimeSessionStatus::Starting] {
        assert_eq!(world.refusal(set(fence, status)), Code::InvalidRequest);
    }
    assert_eq!(world.refusal(set(fence + 1, RuntimeSessionStatus::Ready)), Code::StaleFence);
    for reason in [RuntimeEndReason::Timeout, RuntimeEndReason::Displaced] {
        let end = NotebookCommand::EndSession { session: id(30), fence, reason, why: None };
        assert_eq!(world.refusal(end), Code::InvalidRequest);
    }
    world.apply(end_session(30, fence));
    assert!(world.apply(end_session(30, fence)).is_empty(), "to end it again changes nothing");
}

#[test]
fn executions_are_claimed_in_the_order_of_their_requests() {
    let mut world = World::with_cell();
    world.apply(create_cell(11, CellKind::Code, "a1", ""));
    let fence = world.start_session(30);
    world.request(21, 11);
    world.request(20, 10);
    assert_eq!(world.refusal(claim(20, 30, fence)), Code::ExecutionState);
    world.apply(claim(21, 30, fence));
    assert_eq!(world.refusal(claim(20, 30, fence)), Code::ExecutionState, "one at a time");
    assert_eq!(world.refusal(claim(21, 30, fence)), Code::ExecutionState, "once");
    assert_eq!(world.refusal(claim(99, 30, fence)), Code::ExecutionNotFound);
}

#[test]
fn a_runtime_claims_only_what_it_can_execute_in_its_slot() {
    let mut world = World::with_cell();
    world.apply(create_cell(11, CellKind::Sql, "a1", ""));
    world.apply(create_cell(12, CellKind::Ai, "a2", ""));
    let NotebookCommand::StartSession { session, slot, runtime_id, runtime_type, place, .. } =
        start_session(30)
    else {
        panic!()
    };
    let capabilities = RuntimeCapabilities { can_execute_ai: false, ..ALL };
    world.apply(NotebookCommand::StartSession {
        session,
        slot,
        runtime_id,
        runtime_type,
        place,
        capabilities,
    });
    world.request(21, 11);
    world.request(22, 12);
    world.request(20, 10);
    assert_eq!(world.refusal(claim(21, 30, 1)), Code::ExecutionState, "it is in another slot");
    assert_eq!(world.refusal(claim(22, 30, 1)), Code::NoRuntime);
    world.apply(claim(20, 30, 1));
}

#[test]
fn a_cell_waits_once_and_is_not_executed_without_a_slot() {
    let mut world = World::with_cell();
    world.request(20, 10);
    let again = NotebookCommand::RequestExecution { execution: id(21), cell: id(10), revision: 0 };
    assert_eq!(world.refusal(again), Code::ExecutionState);
    world.apply(cancel(20));
    let only_sql = NotebookCommand::SetSlots { slots: vec![slot("sql", &[CellKind::Sql])] };
    world.apply(only_sql);
    let run = NotebookCommand::RequestExecution { execution: id(21), cell: id(10), revision: 0 };
    assert_eq!(world.refusal(run), Code::NoRuntime);
}

#[test]
fn slots_are_not_exchanged_under_a_runtime_or_a_queue_and_their_fences_never_fall() {
    let mut world = World::with_cell();
    let fence = world.start_session(30);
    let slots = |names: &[&str]| NotebookCommand::SetSlots {
        slots: names.iter().map(|name| slot(name, &[CellKind::Code])).collect(),
    };
    assert_eq!(world.refusal(slots(&["gpu"])), Code::RuntimeActive);
    world.apply(end_session(30, fence));
    world.request(20, 10);
    assert_eq!(world.refusal(slots(&["gpu"])), Code::ExecutionState);
    world.apply(cancel(20));
    world.apply(slots(&["gpu"]));
    world.apply(slots(&["main"]));
    assert_eq!(world.start_session(31), fence + 1);
}

#[test]
fn input_is_asked_while_running_and_answered_once_and_a_secret_is_not_recorded() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    let answer = || NotebookCommand::AnswerInput { execution: id(20), text: "hunter2".to_owned() };
    assert_eq!(world.refusal(answer()), Code::ExecutionState);
    let ask = || NotebookCommand::AskInput {
        execution: id(20),
        fence,
        input: InputRequest { prompt: "Password: ".to_owned(), secret: true },
    };
    world.apply(ask());
    assert_eq!(world.refusal(ask()), Code::ExecutionState);
    let facts = world.apply(answer());
    assert!(!serde_json::to_string(&facts).unwrap().contains("hunter2"));
    assert_eq!(world.refusal(answer()), Code::ExecutionState);
}

#[test]
fn only_what_runs_outputs_and_only_text_is_appended_to_the_last_output() {
    let mut world = World::with_cell();
    let fence = world.start_session(30);
    world.request(20, 10);
    assert_eq!(world.refusal(print(20, fence, 40, "x")), Code::StaleFence);
    world.apply(claim(20, 30, fence));
    assert_eq!(world.refusal(print(20, fence, 40, "x")), Code::ExecutionState);
    assert_eq!(world.refusal(finish(20, fence, ExecutionOutcome::Ok)), Code::ExecutionState);
    world.apply(start(20, fence));
    assert_eq!(world.refusal(append(20, fence, 40, "x")), Code::ExecutionState);
    world.apply(print(20, fence, 40, "x"));
    assert_eq!(world.refusal(print(20, fence, 40, "x")), Code::Exists);
    world.apply(NotebookCommand::AddOutput {
        execution: id(20),
        fence,
        output: id(41),
        content: OutputContent::Display {
            data: MimeBundle::new(),
            metadata: Map::new(),
            display: None,
        },
    });
    for output in [40, 41] {
        assert_eq!(world.refusal(append(20, fence, output, "y")), Code::ExecutionState);
    }
    let large = "x".repeat(limits::MAX_OUTPUT_BYTES + 1);
    assert_eq!(world.refusal(print(20, fence, 42, &large)), Code::TooLarge);
    assert!(world.apply(print(20, fence, 42, "")).is_empty());
    assert_eq!(world.refusal(finish(20, fence, ExecutionOutcome::Lost)), Code::InvalidRequest);
    world.apply(finish(20, fence, ExecutionOutcome::Ok));
    assert_eq!(world.refusal(print(20, fence, 43, "late")), Code::ExecutionState);
    assert_eq!(world.refusal(finish(20, fence, ExecutionOutcome::Ok)), Code::ExecutionState);
    assert_eq!(world.refusal(cancel(20)), Code::ExecutionState);
}

#[test]
fn a_deleted_cell_takes_its_execution_with_it() {
    let mut world = World::with_cell();
    world.request(20, 10);
    world.apply(NotebookCommand::DeleteCell { cell: id(10) });
    let outcome = world.state.execution(id(20)).unwrap().outcome;
    assert_eq!(outcome, Some(ExecutionOutcome::Cancelled));
}

#[test]
fn nothing_goes_on_in_a_deleted_notebook() {
    let mut world = World::with_cell();
    world.apply(create_cell(11, CellKind::Code, "a1", ""));
    let fence = world.run(20, 10, 30);
    world.request(21, 11);
    world.apply(NotebookCommand::DeleteNotebook);
    assert_eq!(world.state.unfinished().count(), 0);
    assert!(world.state.active_session("main").is_none());
    let status = world.state.execution(id(21)).unwrap().status;
    assert_eq!(status, ExecutionStatus::Finished);
    for command in [print(20, fence, 40, "x"), NotebookCommand::DeleteNotebook, start_session(31)] {
        assert_eq!(world.refusal(command), Code::NotebookNotFound);
    }
}

#[test]
fn commands_of_a_batch_are_applied_together_or_not_at_all() {
    let mut world = World::with_cell();
    let before = world.state.clone();
    let commands = [
        create_cell(11, CellKind::Code, "a1", "x"),
        edit(11, 0, json!([1, [0, "y"]])),
        NotebookCommand::DeleteCell { cell: id(10) },
        edit(10, 0, json!([8, [0, "z"]])),
    ];
    let mut state = world.state.clone();
    let context =
        provost_notebook::CommandContext { principal: ANN, rights: CommandRights::Edit, at: 9 };
    let (index, refusal) =
        provost_notebook::decide_all(&mut state, &context, &commands).unwrap_err();
    assert_eq!((index, refusal.code), (3, Code::CellDeleted));
    assert_eq!(state, before);
    world.send(ANN, CommandRights::Edit, &commands[..3]).unwrap();
    assert_eq!(source(&world.state, 11), "xy");
}
