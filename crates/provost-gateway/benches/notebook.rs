//! Benchmark of notebooks in the daemon: what an output costs in log and fold, also after many
//! others, and how soon a large notebook is sent.
//!
//! `cargo xtask bench notebook`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_gateway::{
    DaemonOwner, Gateway, GatewayConfig, NotebookAccess, NotebookCommands, NotebookStart,
    OpenProjectOutcome, OperatorRequest, RequestCredentials, Secret,
};
use provost_notebook::position::position_sequence;
use provost_proto::notebook::{
    CellContent, CellKind, CellPosition, CreateNotebookRequest, ExecutionOutcome, MimeData,
    NotebookCommand, OutputContent, RuntimeCapabilities, RuntimeLocation, StreamName,
};
use provost_proto::{CellId, ExecutionId, NotebookId, OutputId, Project, RuntimeSessionId};
use provost_store::{Clock, SqliteStore, StoreOptions};
use serde_json::Map;
use tempfile::TempDir;

const OUTPUTS: usize = 100_000;

/// What the first and the last are that are compared.
const COMPARED: usize = 1_000;

const CELLS: usize = 1_000;
const OUTPUTS_PER_CELL: usize = 10;
const SNAPSHOTS: usize = 21;
const FENCE: u64 = 1;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    measure_outputs("a display of 100 bytes", |_| display()).await;
    measure_outputs("a printed line", |_| line()).await;
    measure_appended_lines().await;
    measure_snapshot().await;
}

/// The cost of outputs that are added one after another to one execution.
async fn measure_outputs(what: &str, output: impl Fn(usize) -> OutputContent) {
    let bench = BenchNotebook::open().await;
    let execution = bench.start_execution("a0".to_owned()).await;
    let mut cost = Vec::with_capacity(OUTPUTS);
    for n in 0..OUTPUTS {
        let output = bench.add_output(execution, output(n));
        let before = cpu_time();
        bench.apply(vec![output]).await;
        cost.push(cpu_time().saturating_sub(before));
    }
    print_costs(what, &cost);
}

/// The cost of lines that are appended to one output, which a runtime does while a program prints.
async fn measure_appended_lines() {
    let bench = BenchNotebook::open().await;
    let execution = bench.start_execution("a0".to_owned()).await;
    let output = bench.id();
    let added = NotebookCommand::AddOutput { execution, fence: FENCE, output, content: line() };
    bench.apply(vec![added]).await;
    let mut cost = Vec::with_capacity(OUTPUTS);
    for _ in 0..OUTPUTS {
        let text = "a line as programs print them, of about sixty-four characters ...\n".to_owned();
        let append = NotebookCommand::AppendOutput { execution, fence: FENCE, output, text };
        let before = cpu_time();
        bench.apply(vec![append]).await;
        cost.push(cpu_time().saturating_sub(before));
    }
    print_costs("a line appended to an output", &cost);
}

fn print_costs(what: &str, cost: &[Duration]) {
    let per_output = |part: &[Duration]| {
        part.iter().sum::<Duration>().as_secs_f64() * 1e6
            / f64::from(u32::try_from(part.len()).unwrap())
    };
    // Without the first hundred, in which buffers and statements are made.
    let first = per_output(&cost[100..100 + COMPARED]);
    let last = per_output(&cost[cost.len() - COMPARED..]);
    let all = per_output(cost);
    println!("{what}: {all:.1} µs of CPU each over {OUTPUTS}; first {first:.1}, last {last:.1}");
    print_result("CPU of an output in µs", all, 50.0);
    print_result("last thousand / first thousand", last / first, 1.3);
}

/// From the request of a client without a copy to all documents as JSON.
async fn measure_snapshot() {
    let bench = BenchNotebook::open().await;
    for position in position_sequence(CELLS) {
        let execution = bench.start_execution(position).await;
        let outputs = (0..OUTPUTS_PER_CELL).map(|_| bench.add_output(execution, display()));
        let mut commands: Vec<_> = outputs.collect();
        commands.push(NotebookCommand::FinishExecution {
            execution,
            fence: FENCE,
            outcome: ExecutionOutcome::Ok,
            why: None,
        });
        bench.apply(commands).await;
    }
    let mut took = Vec::new();
    let mut bytes = 0;
    for _ in 0..SNAPSHOTS {
        let began = Instant::now();
        let followed = bench.gateway.notebooks.follow(&bench.access, bench.notebook, None);
        let (start, _) = followed.await.unwrap();
        let NotebookStart::Snapshot { documents, .. } = start else {
            unreachable!("a client without a copy gets a snapshot")
        };
        bytes = documents.iter().map(|one| serde_json::to_vec(one).unwrap().len()).sum();
        took.push(began.elapsed());
    }
    took.sort();
    let p50 = took[took.len() / 2].as_secs_f64() * 1e3;
    println!("a snapshot of {CELLS} cells and {} outputs: {bytes} bytes", CELLS * OUTPUTS_PER_CELL);
    print_result("read and written as JSON in ms, p50", p50, 300.0);
}

fn print_result(what: &str, value: f64, at_most: f64) {
    let word = if value <= at_most { "holds" } else { "MISSED" };
    println!("{word}: {what} = {value:.2} (promised ≤ {at_most})\n");
}

/// CPU time of this process, with all its threads.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

fn display() -> OutputContent {
    let text = MimeData::Inline("<b>a representation</b> of one hundred bytes".repeat(2).into());
    let data = BTreeMap::from([("text/html".to_owned(), text)]);
    OutputContent::Display { data, metadata: Map::new(), display: None }
}

fn line() -> OutputContent {
    let text = "a line as programs print them, of about sixty-four characters ...\n".to_owned();
    OutputContent::Stream { name: StreamName::Stdout, text }
}

/// A notebook in a new log, with an active runtime session.
struct BenchNotebook {
    gateway: Arc<Gateway>,
    access: NotebookAccess,
    notebook: NotebookId,
    clock: Clock,
    session: RuntimeSessionId,
    _folder: TempDir,
}

impl BenchNotebook {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["data", "home", "project"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let config = GatewayConfig {
            home: Some(base.join("home")),
            data: base.join("data"),
            policy: base.join("config/policy.toml"),
            config: base.join("config/config.toml"),
            ..GatewayConfig::default()
        };
        let clock = Clock::system();
        let options = StoreOptions { path: base.join("log.db"), clock: clock.clone() };
        let store = Arc::new(SqliteStore::open(options).unwrap());
        let digest = Secret::from_text("owner").digest();
        let owner = DaemonOwner { principal: "local:owner".to_owned(), digest };
        let gateway = Arc::new(Gateway::open(store, clock.clone(), owner, config).await.unwrap());
        let log_in = || gateway.auth.authenticate(RequestCredentials::Header("owner")).unwrap();
        let operator = log_in().into_operator().unwrap();
        let access = log_in().into_notebook_access().unwrap();
        let request = OperatorRequest { by: &operator, command: None };
        let root = base.join("project");
        let opened = gateway.lifecycle.open_project(request, root.to_str().unwrap()).await.unwrap();
        let OpenProjectOutcome::Opened(project) = opened else { unreachable!("{opened:?}") };
        let notebook = create_notebook(&gateway, &access, &project).await;
        let session = clock.new_id();
        let bench = Self { gateway, access, notebook, clock, session, _folder: folder };
        bench.apply(vec![start_session(session)]).await;
        bench
    }

    fn id<Id: From<uuid::Uuid>>(&self) -> Id {
        self.clock.new_id()
    }

    async fn apply(&self, commands: Vec<NotebookCommand>) {
        let request =
            NotebookCommands { notebook: self.notebook, commands, key: None, connection: None };
        self.gateway.notebooks.apply_commands(&self.access, request).await.unwrap();
    }

    /// Creates a cell as the last one, and starts to execute it.
    async fn start_execution(&self, position: CellPosition) -> ExecutionId {
        let (cell, execution): (CellId, ExecutionId) = (self.id(), self.id());
        let content = CellContent {
            cell,
            kind: CellKind::Code,
            position,
            source: "print('a line')".to_owned(),
            metadata: Map::new(),
        };
        let commands = vec![
            NotebookCommand::CreateCell(content),
            NotebookCommand::RequestExecution { execution, cell, revision: 0 },
            NotebookCommand::ClaimExecution { execution, session: self.session, fence: FENCE },
            NotebookCommand::StartExecution { execution, fence: FENCE },
        ];
        self.apply(commands).await;
        execution
    }

    fn add_output(&self, execution: ExecutionId, content: OutputContent) -> NotebookCommand {
        let output: OutputId = self.id();
        NotebookCommand::AddOutput { execution, fence: FENCE, output, content }
    }
}

async fn create_notebook(
    gateway: &Gateway,
    access: &NotebookAccess,
    project: &Project,
) -> NotebookId {
    let request =
        CreateNotebookRequest { title: "Outputs".to_owned(), language: None, slots: None };
    gateway.notebooks.create(access, project, &request, None).await.unwrap().id
}

fn start_session(session: RuntimeSessionId) -> NotebookCommand {
    NotebookCommand::StartSession {
        session,
        slot: None,
        runtime_id: "bench".to_owned(),
        runtime_type: "echo".to_owned(),
        place: RuntimeLocation::Native,
        capabilities: RuntimeCapabilities {
            can_execute_code: true,
            can_execute_sql: false,
            can_execute_ai: false,
        },
    }
}
