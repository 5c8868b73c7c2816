//! Clients that edit at once: they converge, nothing typed is lost, nothing is confirmed twice.

use std::collections::VecDeque;

use proptest::prelude::*;
use provost_notebook::client_store::{ClientStore, CommandBatch, MissingEvents};
use provost_notebook::text::ChangeSet;
use provost_notebook::{CommandRights, Refusal};
use provost_proto::notebook::{
    CellKind, NotebookCommand, NotebookDocument, NotebookEvent, ResumePoint,
};
use provost_proto::{Actor, Code, Hash};
use serde_json::json;

use crate::world::{ANN, BOB, World, create_cell, edit, id, source};

/// The daemon: the log, and who asked for what.
struct Daemon {
    world: World,
    events: Vec<NotebookEvent>,
    answers: Vec<(String, u64)>,
}

impl Daemon {
    fn new() -> Self {
        let mut daemon =
            Self { world: World::with_cell(), events: Vec::new(), answers: Vec::new() };
        daemon.record(0, ANN, None);
        daemon
    }

    fn record(&mut self, from: usize, principal: &str, command: Option<&str>) {
        for index in from..self.world.log.len() {
            let recorded = &self.world.log[index];
            self.events.push(NotebookEvent {
                version: index as u64 + 1,
                at: recorded.at,
                principal: principal.to_owned(),
                actor: Actor::Ui,
                command: command.map(str::to_owned),
                hash: Hash::ZERO,
                fact: recorded.fact.clone(),
            });
        }
    }

    fn version(&self) -> u64 {
        self.events.len() as u64
    }

    fn send(&mut self, principal: &str, batch: &CommandBatch) -> Answer {
        if let Some((_, version)) = self.answers.iter().find(|(id, _)| *id == batch.id) {
            return Answer::Accepted(batch.id.clone(), *version);
        }
        let from = self.world.log.len();
        match self.world.send(principal, CommandRights::Edit, &batch.commands) {
            Ok(_) => {
                self.record(from, principal, Some(&batch.id));
                self.answers.push((batch.id.clone(), self.version()));
                Answer::Accepted(batch.id.clone(), self.version())
            }
            Err((index, refusal)) => {
                Answer::Refused(batch.id.clone(), index, refusal, self.version())
            }
        }
    }

    fn documents(&self) -> Vec<NotebookDocument> {
        self.world.state.documents().map(|(_, document)| document.clone()).collect()
    }
}

#[derive(Debug, Clone)]
enum Answer {
    Accepted(String, u64),
    Refused(String, usize, Refusal, u64),
}

struct Client {
    name: &'static str,
    store: ClientStore,
    answers: VecDeque<Answer>,
    submitted: u64,
    rejected: Vec<(String, Code)>,
    confirmed: Vec<String>,
}

impl Client {
    fn new(name: &'static str, daemon: &Daemon) -> Self {
        let store = ClientStore::new(daemon.world.state.id(), name);
        let mut client = Self {
            name,
            store,
            answers: VecDeque::new(),
            submitted: 0,
            rejected: Vec::new(),
            confirmed: Vec::new(),
        };
        client.take_snapshot(daemon);
        client
    }

    fn take_snapshot(&mut self, daemon: &Daemon) {
        let at = ResumePoint { version: daemon.version(), hash: Hash::ZERO };
        let documents = daemon.documents();
        let (first, rest) = documents.split_at(1);
        self.store.apply_snapshot(at, 0, false, first.to_vec());
        let change = self.store.apply_snapshot(at, 1, true, rest.to_vec());
        self.note(change);
        self.store.went_live();
    }

    fn note(&mut self, change: provost_notebook::client_store::StoreChange) {
        let rejected = change.rejected.into_iter();
        self.rejected.extend(rejected.map(|batch| (batch.id, batch.refusal.code)));
        for id in change.confirmed {
            assert!(!self.confirmed.contains(&id), "{id} is confirmed once");
            self.confirmed.push(id);
        }
    }

    fn submit(&mut self, commands: Vec<NotebookCommand>) -> Result<String, Code> {
        self.submitted += 1;
        let id = format!("{}-{}", self.name, self.submitted);
        match self.store.submit(id.clone(), commands) {
            Ok(change) => {
                self.note(change);
                Ok(id)
            }
            Err((_, refusal)) => Err(refusal.code),
        }
    }

    /// Types at a place, as an editor does: on what is shown.
    fn type_at(&mut self, place: usize, text: &str) {
        let cell = self.store.state().cell(id(10)).unwrap();
        let (old, base) = (cell.source.clone(), cell.revision);
        let mut new = old.clone();
        let place = new.floor_char_boundary(place.min(new.len()));
        new.insert_str(place, text);
        let changes = ChangeSet::between(&old, &new).to_json().unwrap();
        self.submit(vec![edit(10, base, changes)]).unwrap();
    }

    fn send(&mut self, daemon: &mut Daemon) {
        while let Some(batch) = self.store.take_outgoing() {
            let answer = daemon.send(self.name, &batch);
            self.answers.push_back(answer);
        }
    }

    fn receive(&mut self, daemon: &Daemon, count: usize) {
        let known = self.store.resume_point().unwrap().version;
        let new = daemon.events.iter().filter(|event| event.version > known);
        let events: Vec<_> = new.take(count).cloned().collect();
        let change = self.store.apply_events(&events).unwrap();
        self.note(change);
    }

    fn take_answer(&mut self) {
        let change = match self.answers.pop_front() {
            Some(Answer::Accepted(id, version)) => self.store.accepted(&id, version),
            Some(Answer::Refused(id, index, refusal, version)) => {
                self.store.refused(&id, index, refusal, version)
            }
            None => return,
        };
        self.note(change);
    }

    fn settle(&mut self, daemon: &mut Daemon) {
        for _ in 0..200 {
            self.send(daemon);
            self.receive(daemon, usize::MAX);
            while !self.answers.is_empty() {
                self.take_answer();
            }
        }
        assert_eq!(
            self.store.pending().count(),
            0,
            "{:?}",
            self.store.pending().collect::<Vec<_>>()
        );
    }

    fn source(&self) -> String {
        source(self.store.state(), 10)
    }
}

#[test]
fn an_edit_is_shown_at_once_and_confirmed_by_its_key() {
    let mut daemon = Daemon::new();
    let mut ann = Client::new(ANN, &daemon);
    ann.type_at(8, " # x");
    assert_eq!(ann.source(), "print(1) # x");
    assert_eq!(source(&daemon.world.state, 10), "print(1)");
    ann.settle(&mut daemon);
    assert_eq!(ann.confirmed, ["local:ann-1"]);
    assert_eq!(ann.store.state(), &daemon.world.state);
}

#[test]
fn two_clients_that_edit_one_cell_offline_merge() {
    let mut daemon = Daemon::new();
    let (mut ann, mut bob) = (Client::new(ANN, &daemon), Client::new(BOB, &daemon));
    for text in ["a", "n", "n"] {
        ann.type_at(0, text);
    }
    for text in ["b", "o", "b"] {
        bob.type_at(8, text);
    }
    ann.settle(&mut daemon);
    bob.settle(&mut daemon);
    ann.settle(&mut daemon);
    assert_eq!(ann.source(), "nnaprint(1)bob".replace("bob", &bob.source()[11..]));
    assert_eq!(ann.source(), bob.source());
    assert!(ann.rejected.is_empty() && bob.rejected.is_empty());
    assert_eq!(ann.source().len(), "print(1)".len() + 6);
}

#[test]
fn a_replacement_by_somebody_else_keeps_what_was_typed() {
    let mut daemon = Daemon::new();
    let (mut ann, mut bob) = (Client::new(ANN, &daemon), Client::new(BOB, &daemon));
    let source = "print(12)".to_owned();
    bob.submit(vec![NotebookCommand::ReplaceCell { cell: id(10), base: 0, source }]).unwrap();
    ann.type_at(0, "# Ann\n");
    bob.settle(&mut daemon);
    ann.settle(&mut daemon);
    assert_eq!(ann.source(), "# Ann\nprint(12)");
}

#[test]
fn a_replacement_of_an_older_revision_is_rejected_with_the_reason() {
    let mut daemon = Daemon::new();
    let (mut ann, mut bob) = (Client::new(ANN, &daemon), Client::new(BOB, &daemon));
    bob.type_at(0, "# Bob\n");
    let replace = NotebookCommand::ReplaceCell { cell: id(10), base: 0, source: "mine".to_owned() };
    ann.submit(vec![replace]).unwrap();
    assert_eq!(ann.source(), "mine");
    bob.settle(&mut daemon);
    ann.settle(&mut daemon);
    assert_eq!(ann.rejected, [("local:ann-1".to_owned(), Code::StaleRevision)]);
    assert_eq!(ann.source(), "# Bob\nprint(1)");
}

#[test]
fn an_edit_of_a_cell_that_somebody_deleted_is_rejected_and_can_be_offered_again() {
    let mut daemon = Daemon::new();
    let (mut ann, mut bob) = (Client::new(ANN, &daemon), Client::new(BOB, &daemon));
    bob.submit(vec![NotebookCommand::DeleteCell { cell: id(10) }]).unwrap();
    ann.type_at(0, "x");
    bob.settle(&mut daemon);
    ann.settle(&mut daemon);
    assert_eq!(ann.rejected, [("local:ann-1".to_owned(), Code::CellDeleted)]);
    assert!(ann.store.state().cells_in_order().is_empty());
}

#[test]
fn an_edit_that_does_not_hold_is_refused_at_once() {
    let daemon = Daemon::new();
    let mut ann = Client::new(ANN, &daemon);
    assert_eq!(ann.submit(vec![edit(10, 5, json!([8]))]), Err(Code::StaleRevision));
    assert_eq!(ann.submit(vec![edit(11, 0, json!([]))]), Err(Code::CellNotFound));
    assert_eq!(ann.store.pending().count(), 0);
}

#[test]
fn a_run_is_not_shown_before_it_was_accepted() {
    let mut daemon = Daemon::new();
    let mut ann = Client::new(ANN, &daemon);
    let run = || NotebookCommand::RequestExecution { execution: id(20), cell: id(10), revision: 0 };
    assert_eq!(ann.submit(vec![run(), edit(10, 0, json!([8]))]), Err(Code::InvalidRequest));
    ann.submit(vec![run()]).unwrap();
    assert!(ann.store.state().execution(id(20)).is_none());
    ann.settle(&mut daemon);
    assert!(ann.store.state().execution(id(20)).is_some());
}

#[test]
fn events_that_are_known_change_nothing_and_a_gap_is_noticed() {
    let mut daemon = Daemon::new();
    let mut ann = Client::new(ANN, &daemon);
    let mut bob = Client::new(BOB, &daemon);
    for text in ["x", "y", "z"] {
        bob.type_at(0, text);
        bob.settle(&mut daemon);
    }
    let all = daemon.events.clone();
    ann.store.apply_events(&all).unwrap();
    ann.store.apply_events(&all).unwrap();
    assert_eq!(ann.store.state(), &daemon.world.state);
    bob.type_at(0, "1");
    bob.type_at(0, "2");
    bob.settle(&mut daemon);
    let last = daemon.events.last().cloned().unwrap();
    assert_eq!(ann.store.apply_events(&[last]), Err(MissingEvents(daemon.version())));
    ann.receive(&daemon, usize::MAX);
    assert_eq!(ann.store.state(), &daemon.world.state);
}

#[test]
fn what_was_sent_before_the_connection_was_lost_is_applied_once() {
    for was_applied in [true, false] {
        for has_snapshot in [true, false] {
            let mut daemon = Daemon::new();
            let mut ann = Client::new(ANN, &daemon);
            let mut bob = Client::new(BOB, &daemon);
            ann.type_at(8, "a");
            ann.type_at(9, "b");
            let batch = ann.store.take_outgoing().unwrap();
            assert!(ann.store.take_outgoing().is_none(), "one batch at a time");
            if was_applied {
                daemon.send(ANN, &batch);
            }
            ann.store.disconnected();
            bob.settle(&mut daemon);
            bob.type_at(0, "# Bob\n");
            bob.settle(&mut daemon);
            if has_snapshot {
                ann.take_snapshot(&daemon);
            } else {
                ann.receive(&daemon, usize::MAX);
                ann.store.went_live();
            }
            ann.settle(&mut daemon);
            assert_eq!(ann.source(), "# Bob\nprint(1)ab", "{was_applied} {has_snapshot}");
            assert_eq!(ann.store.state(), &daemon.world.state);
            assert!(ann.rejected.is_empty());
        }
    }
}

#[test]
fn a_command_that_changes_nothing_is_confirmed_by_its_answer() {
    let mut daemon = Daemon::new();
    let mut ann = Client::new(ANN, &daemon);
    let title = "Sales".to_owned();
    ann.submit(vec![NotebookCommand::RenameNotebook { title }]).unwrap();
    ann.settle(&mut daemon);
    assert_eq!(ann.confirmed.len(), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Type(bool, usize, String),
    Delete(bool, usize),
    Create(bool, u128),
    Send(bool),
    Receive(bool, usize),
    Answer(bool),
    Drop(bool, bool),
}

fn any_step() -> impl Strategy<Value = Step> {
    let who = any::<bool>;
    prop_oneof![
        6 => (who(), 0..20_usize, "[a-z👋\n]{1,3}").prop_map(|(who, at, text)| Step::Type(who, at, text)),
        2 => (who(), 0..20_usize).prop_map(|(who, at)| Step::Delete(who, at)),
        1 => (who(), 100..104_u128).prop_map(|(who, cell)| Step::Create(who, cell)),
        4 => who().prop_map(Step::Send),
        4 => (who(), 1..4_usize).prop_map(|(who, count)| Step::Receive(who, count)),
        3 => who().prop_map(Step::Answer),
        1 => (who(), who()).prop_map(|(who, snapshot)| Step::Drop(who, snapshot)),
    ]
}

fn delete_at(client: &mut Client, place: usize) {
    let cell = client.store.state().cell(id(10)).unwrap();
    let (old, base) = (cell.source.clone(), cell.revision);
    let place = old.floor_char_boundary(place.min(old.len()));
    let Some(c) = old[place..].chars().next() else { return };
    let mut new = old.clone();
    new.replace_range(place..place + c.len_utf8(), "");
    let changes = ChangeSet::between(&old, &new).to_json().unwrap();
    client.submit(vec![edit(10, base, changes)]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn clients_converge_whatever_is_late_or_lost(steps in prop::collection::vec(any_step(), 0..80)) {
        let mut daemon = Daemon::new();
        let mut clients = [Client::new(ANN, &daemon), Client::new(BOB, &daemon)];
        for step in steps {
            match step {
                Step::Type(who, at, text) => clients[usize::from(who)].type_at(at, &text),
                Step::Delete(who, at) => delete_at(&mut clients[usize::from(who)], at),
                Step::Create(who, cell) => {
                    let create = create_cell(cell, CellKind::Code, "a5", "");
                    // Both may choose the same id: one is refused.
                    drop(clients[usize::from(who)].submit(vec![create]));
                }
                Step::Send(who) => clients[usize::from(who)].send(&mut daemon),
                Step::Receive(who, count) => clients[usize::from(who)].receive(&daemon, count),
                Step::Answer(who) => clients[usize::from(who)].take_answer(),
                Step::Drop(who, has_snapshot) => {
                    let client = &mut clients[usize::from(who)];
                    client.answers.clear();
                    client.store.disconnected();
                    if has_snapshot {
                        client.take_snapshot(&daemon);
                    } else {
                        client.receive(&daemon, usize::MAX);
                        client.store.went_live();
                    }
                }
            }
        }
        for _ in 0..3 {
            for client in &mut clients {
                client.settle(&mut daemon);
            }
        }
        for client in &clients {
            prop_assert_eq!(client.store.state(), &daemon.world.state);
            for (_, code) in &client.rejected {
                prop_assert_eq!(*code, Code::Exists);
            }
        }
    }
}

#[test]
fn what_a_client_left_is_applied_once_by_the_next_one() {
    for (was_sent, was_applied) in [(false, false), (true, false), (true, true)] {
        let mut daemon = Daemon::new();
        let mut ann = Client::new(ANN, &daemon);
        let mut bob = Client::new(BOB, &daemon);
        ann.type_at(8, "a");
        ann.type_at(9, "b");
        let batch = was_sent.then(|| ann.store.take_outgoing().unwrap());
        let journal = ann.store.journal();
        if was_applied {
            daemon.send(ANN, &batch.unwrap());
        }
        bob.settle(&mut daemon);
        bob.type_at(0, "# Bob\n");
        bob.settle(&mut daemon);

        let (store, change) = ClientStore::restore(daemon.world.state.id(), ANN, journal);
        assert!(change.rejected.is_empty());
        assert_eq!(source(store.state(), 10), "print(1)ab", "shown before the daemon answers");
        let mut ann = Client { store, ..Client::new(ANN, &daemon) };
        ann.take_snapshot(&daemon);
        ann.settle(&mut daemon);
        assert_eq!(ann.source(), "# Bob\nprint(1)ab", "sent: {was_sent}, applied: {was_applied}");
        assert_eq!(ann.store.state(), &daemon.world.state);
        assert_eq!(ann.store.journal().pending, []);
    }
}
