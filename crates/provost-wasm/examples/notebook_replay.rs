//! Prints requests of a page and the replies: random logs of a notebook as the daemon sends them,
//! edits of a person in between, and the hash of the state after each. `cargo xtask test` compares
//! the replies with those in WebAssembly.

mod random;
#[path = "../../provost-notebook/tests/it/world.rs"]
#[expect(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "shared with the tests of the notebooks"
)]
mod world;

use std::io::{self, Write};

use provost_notebook::CommandRights;
use provost_proto::notebook::{
    CellKind, ExecutionOutcome, MimeBundle, MimeData, NotebookCommand, OutputContent,
    RuntimeSessionStatus,
};
use provost_wasm::NotebookClient;
use random::ReplayRandom;
use serde_json::{Map, Value, json};
use world::{
    ANN, BOB, World, append, cancel, claim, create_cell, edit, end_session, finish, id, print,
    start, start_session,
};

/// How many logs there are, and how many batches of commands each has.
const LOGS: u64 = 40;
const BATCHES: u64 = 150;

const TEXTS: [&str; 6] = ["", "a", "x\n", "ü👋", "two words ", "\u{1b}[31mred\r"];

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    (1..=LOGS).try_for_each(|seed| replay_log(seed, &mut out))
}

struct ReplayedPage<'a, W> {
    client: NotebookClient,
    now: u64,
    out: &'a mut W,
}

impl<W: Write> ReplayedPage<'_, W> {
    fn send(&mut self, request: &Value) -> io::Result<()> {
        self.now += 10;
        let request = json!({ "now": self.now, "request": request }).to_string();
        let reply = self.client.call(request.as_bytes());
        writeln!(self.out, "{request}\n{}", String::from_utf8_lossy(&reply))
    }
}

fn replay_log(seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut random = ReplayRandom::new(seed);
    let mut world = World::with_cell();
    let notebook = world.state.id();
    let mut page = ReplayedPage { client: NotebookClient::default(), now: 0, out };
    page.send(&json!({ "open": { "notebook": notebook, "principal": ANN } }))?;
    page.send(&json!({ "connect": {} }))?;
    let zero = "0".repeat(64);
    page.send(&json!({ "receive": {
        "type": "snapshot", "notebook": notebook, "at": { "version": 0, "hash": zero },
        "part": 0, "last": true, "documents": [],
    } }))?;
    let mut sent = 0;
    for batch in 0..BATCHES {
        let command = any_command(&mut random);
        let (rights, principal) =
            (CommandRights::Edit, if seed.is_multiple_of(2) { ANN } else { BOB });
        // Refused commands leave no facts.
        drop(world.send(principal, rights, &[command]));
        if random.below(3) == 0 {
            continue;
        }
        let events: Vec<Value> =
            (sent..world.log.len()).map(|index| event(&world, index)).collect();
        sent = world.log.len();
        page.send(
            &json!({ "receive": { "type": "events", "notebook": notebook, "events": events } }),
        )?;
        if batch == 20 {
            page.send(
                &json!({ "receive": { "type": "live", "notebook": notebook, "version": sent } }),
            )?;
        }
        if random.below(4) == 0 {
            let commands =
                [edit(10 + u128::from(random.below(3)), random.below(4), json!([[0, "t"]]))];
            page.send(
                &json!({ "submit": { "id": format!("{seed}-{batch}"), "commands": commands } }),
            )?;
        }
        page.send(&json!({ "hash": {} }))?;
    }
    page.send(&json!({ "position": { "after": "a0", "before": "a1" } }))
}

fn event(world: &World, index: usize) -> Value {
    let recorded = &world.log[index];
    let mut event = json!(recorded.fact);
    event["version"] = json!(index + 1);
    event["at"] = json!(recorded.at);
    event["principal"] = json!(recorded.principal);
    event["actor"] = json!("ui");
    event["hash"] = json!(format!("{:064x}", index + 1));
    event
}

fn any_command(random: &mut ReplayRandom) -> NotebookCommand {
    let text = (*random.choose(&TEXTS)).to_owned();
    let cell = 10 + u128::from(random.below(4));
    let execution = 20 + u128::from(random.below(6));
    let session = 30 + u128::from(random.below(3));
    let fence = random.below(4);
    let output = 40 + u128::from(fence);
    match random.below(24) {
        0 | 1 => create_cell(cell, CellKind::Code, &format!("a{}", cell - 10), &text),
        2 | 3 => edit(cell, fence, json!([random.below(9), [0, text]])),
        4 => NotebookCommand::ReplaceCell { cell: id(cell), base: fence, source: text },
        5 => {
            NotebookCommand::MoveCell { cell: id(cell), position: format!("a{}", random.below(9)) }
        }
        6 => NotebookCommand::DeleteCell { cell: id(cell) },
        7 => NotebookCommand::RestoreCell { cell: id(cell) },
        8..=10 => NotebookCommand::RequestExecution {
            execution: id(execution),
            cell: id(cell),
            revision: fence / 2,
        },
        11 => cancel(execution),
        12 => start_session(session),
        13 | 14 => NotebookCommand::SetSessionStatus {
            session: id(session),
            fence,
            status: RuntimeSessionStatus::Ready,
        },
        15 => end_session(session, fence),
        16 | 17 => claim(execution, session, fence),
        18 => start(execution, fence),
        19 => print(execution, fence, output, &text),
        20 => append(execution, fence, output, &text),
        21 => NotebookCommand::AddOutput {
            execution: id(execution),
            fence,
            output: id(output + 10),
            content: OutputContent::Display {
                data: MimeBundle::from([(
                    "text/plain".to_owned(),
                    MimeData::Inline(json!(1.25e-7)),
                )]),
                metadata: Map::new(),
                display: Some("d".to_owned()),
            },
        },
        22 => NotebookCommand::SetCellMetadata {
            cell: id(cell),
            key: "k".to_owned(),
            value: json!({ "x": [0.1, -1e300, fence], "b": null }),
        },
        _ => finish(execution, fence, ExecutionOutcome::Ok),
    }
}
