//! Any commands, from anybody, in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use provost_notebook::{
    CommandRights, FactMetadata, affected_documents, fold_document, mentioned_documents,
};
use provost_proto::ExecutionId;
use provost_proto::notebook::{
    CellKind, ExecutionOutcome, InputRequest, MimeBundle, MimeData, NotebookCommand, NotebookFact,
    OutputContent, RuntimeEndReason, RuntimeSessionStatus,
};
use serde_json::{Map, json};

use crate::world::{
    ANN, BOB, World, append, cancel, claim, create_cell, edit, end_session, finish, id, print,
    slot, start, start_session,
};

fn any_cell_command() -> impl Strategy<Value = NotebookCommand> {
    let kinds = prop::sample::select(vec![CellKind::Code, CellKind::Sql, CellKind::Markdown]);
    (0..14_u8, 10..14_u128, 0..3_u64, 0..12_u64, "[a-z\n👋]{0,4}", kinds).prop_map(
        |(which, n, base, length, text, kind)| match which {
            0..=2 => create_cell(n, kind, &format!("a{n}"), &text),
            3 | 4 => edit(n, base, json!([[length, text]])),
            5 => edit(n, base, json!([length, [0, text]])),
            6 => NotebookCommand::ReplaceCell { cell: id(n), base, source: text },
            7 => NotebookCommand::MoveCell { cell: id(n), position: format!("a{length}") },
            8 => NotebookCommand::SetCellKind { cell: id(n), kind },
            9 => NotebookCommand::SetCellMetadata {
                cell: id(n),
                key: "k".to_owned(),
                value: json!(base),
            },
            10 => NotebookCommand::SetCellSlot { cell: id(n), slot: Some("sql".to_owned()) },
            11 => NotebookCommand::DeleteCell { cell: id(n) },
            12 => NotebookCommand::RestoreCell { cell: id(n) },
            _ => NotebookCommand::ClearCellOutputs { cell: id(n) },
        },
    )
}

fn any_run_command() -> impl Strategy<Value = NotebookCommand> {
    (0..24_u8, 20..26_u128, 10..14_u128, 30..33_u128, 0..4_u64, "[a-z\n]{0,4}").prop_map(
        |(which, execution, cell, session, fence, text)| match which {
            0..=3 => NotebookCommand::RequestExecution {
                execution: id(execution),
                cell: id(cell),
                revision: fence / 2,
            },
            4 => cancel(execution),
            5 | 6 => start_session(session),
            7 | 8 => NotebookCommand::SetSessionStatus {
                session: id(session),
                fence,
                status: RuntimeSessionStatus::Ready,
            },
            9 => end_session(session, fence),
            10..=12 => claim(execution, session, fence),
            13 | 14 => start(execution, fence),
            15 | 16 => print(execution, fence, 40 + u128::from(fence), &text),
            17 => append(execution, fence, 40 + u128::from(fence), &text),
            18 => NotebookCommand::AddOutput {
                execution: id(execution),
                fence,
                output: id(50 + u128::from(fence)),
                content: OutputContent::Display {
                    data: MimeBundle::from([(text, MimeData::Inline(json!(null)))]),
                    metadata: Map::new(),
                    display: Some("d".to_owned()),
                },
            },
            19 => NotebookCommand::ReplaceDisplay {
                session: id(session),
                fence,
                display: "d".to_owned(),
                data: MimeBundle::new(),
                metadata: Map::new(),
            },
            20 => NotebookCommand::ClearOutputs {
                execution: id(execution),
                fence,
                wait: cell % 2 == 0,
            },
            21 => NotebookCommand::AskInput {
                execution: id(execution),
                fence,
                input: InputRequest { prompt: text, secret: fence == 1 },
            },
            22 => NotebookCommand::AnswerInput { execution: id(execution), text },
            _ => finish(execution, fence, ExecutionOutcome::Ok),
        },
    )
}

fn any_notebook_command() -> impl Strategy<Value = NotebookCommand> {
    (0..6_u8, "[a-z]{0,4}").prop_map(|(which, text)| match which {
        0 => NotebookCommand::RenameNotebook { title: text },
        1 => NotebookCommand::SetNotebookMetadata { key: text, value: json!(1) },
        2 => NotebookCommand::SetSlots {
            slots: vec![slot("main", &[CellKind::Code]), slot("sql", &[CellKind::Sql])],
        },
        3 => NotebookCommand::BindFile { path: Some(text) },
        4 => NotebookCommand::EndSession {
            session: id(30),
            fence: 1,
            reason: RuntimeEndReason::Timeout,
            why: None,
        },
        _ => NotebookCommand::DeleteNotebook,
    })
}

fn any_commands() -> impl Strategy<Value = Vec<(bool, CommandRights, Vec<NotebookCommand>)>> {
    let command = prop_oneof![
        30 => any_cell_command(),
        60 => any_run_command(),
        2 => any_notebook_command(),
    ];
    let rights = prop::sample::select(vec![
        CommandRights::Edit,
        CommandRights::Edit,
        CommandRights::Edit,
        CommandRights::Runtime,
        CommandRights::Daemon,
    ]);
    let sent = (prop::bool::weighted(0.8), rights, prop::collection::vec(command, 1..4));
    prop::collection::vec(sent, 0..120)
}

fn run(commands: &[(bool, CommandRights, Vec<NotebookCommand>)]) -> World {
    let mut world = World::with_cell();
    for (is_ann, rights, commands) in commands {
        let before = world.state.clone();
        let principal = if *is_ann { ANN } else { BOB };
        if let Err((index, refusal)) = world.send(principal, *rights, commands) {
            assert!(index < commands.len() && !refusal.error.is_empty());
            assert_eq!(world.state, before, "a refused batch changes nothing");
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn facts_folded_one_document_at_a_time_give_the_state(commands in any_commands()) {
        let world = run(&commands);
        let mut documents = BTreeMap::new();
        for recorded in &world.log {
            let metadata = FactMetadata { at: recorded.at, principal: &recorded.principal };
            for key in affected_documents(&recorded.fact).into_iter().flatten() {
                let prior = documents.remove(&key);
                if let Some(next) = fold_document(key.view, prior, metadata, &recorded.fact) {
                    documents.insert(key, next);
                }
            }
        }
        let state: Vec<_> = world.state.documents().collect();
        prop_assert_eq!(documents.iter().collect::<Vec<_>>(), state);
        prop_assert_eq!(world.replay().hash().unwrap(), world.state.hash().unwrap());
    }

    #[test]
    fn each_execution_is_started_and_ends_at_most_once(commands in any_commands()) {
        let world = run(&commands);
        let mut starts: BTreeMap<ExecutionId, u32> = BTreeMap::new();
        let mut ends: BTreeMap<ExecutionId, u32> = BTreeMap::new();
        let mut claimed: BTreeMap<ExecutionId, bool> = BTreeMap::new();
        for recorded in &world.log {
            if let NotebookFact::ExecutionAssigned(fact) = &recorded.fact {
                prop_assert_ne!(claimed.insert(fact.execution, true), Some(true));
            }
            if let NotebookFact::ExecutionReturned(fact) = &recorded.fact {
                claimed.insert(fact.execution, false);
            }
            if let NotebookFact::ExecutionStarted(fact) = &recorded.fact {
                *starts.entry(fact.execution).or_default() += 1;
            }
            if let NotebookFact::ExecutionFinished(fact) = &recorded.fact {
                *ends.entry(fact.execution).or_default() += 1;
            }
        }
        prop_assert!(starts.values().chain(ends.values()).all(|count| *count == 1));
    }

    #[test]
    fn a_slot_has_one_active_session_and_fences_only_rise(commands in any_commands()) {
        let world = run(&commands);
        let mut highest = BTreeMap::new();
        for recorded in &world.log {
            if let NotebookFact::RuntimeSessionStarted(started) = &recorded.fact {
                let before = highest.insert(started.slot.clone(), started.fence).unwrap_or(0);
                prop_assert_eq!(started.fence, before + 1);
            }
        }
        for session in world.state.sessions() {
            let is_active = session.status != RuntimeSessionStatus::Ended;
            let slot = world.state.slot(&session.slot).unwrap();
            prop_assert_eq!(slot.session == Some(session.id), is_active);
            prop_assert!(is_active || session.execution.is_none());
        }
        for execution in world.state.unfinished() {
            if let Some(session) = execution.session {
                prop_assert_eq!(world.state.session(session).unwrap().execution, Some(execution.id));
            }
        }
    }

    #[test]
    fn a_command_is_decided_from_the_documents_that_it_mentions(commands in any_commands()) {
        // What a command changes, it names, or the state always holds it.
        let mut world = World::with_cell();
        for (_, rights, commands) in &commands {
            for command in commands {
                let mentioned = mentioned_documents(world.state.id(), command);
                if let Ok(facts) = world.send(ANN, *rights, std::slice::from_ref(command)) {
                    for fact in facts {
                        if let NotebookFact::CellCreated(_)
                        | NotebookFact::ExecutionRequested(_)
                        | NotebookFact::RuntimeSessionStarted(_) = &fact
                        {
                            let created = affected_documents(&fact)[0].unwrap();
                            prop_assert!(mentioned.contains(&created));
                        }
                    }
                }
            }
        }
    }
}
