//! `provost notebook run`: executes a notebook from the first cell to the last, for CI.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use provost_proto::kernel::OutputStream;
use provost_proto::notebook::{
    AppliedNotebookCommands, Cell, CellKind, ExecutionOutcome, ImportNotebookRequest, LocalRuntime,
    LocalRuntimeList, Notebook, NotebookCommand, NotebookCommandsRequest, NotebookDetail,
    NotebookFact, OutputContent, RuntimeSessionStatus, StartRuntimeRequest, StreamName,
};
use provost_proto::{ExecutionId, LogCursor, NotebookId, Project};
use provost_store::Clock;
use reqwest::Method;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::files::{import_content, print_repaired, read_file, title_of_file, write_file};
use super::parameters::{inject_parameters, parse_parameters};
use super::run_report::{CellOutcome, CellReport, write_junit};
use super::{describe_output, find_notebook};
use crate::args::NotebookRunArgs;
use crate::client::DaemonClient;
use crate::commands::audit::events::{drain_sse_events, fetch_head_cursor};
use crate::commands::lookup::resolve_project;
use crate::commands::project::projects::encode_path_segment;
use crate::output::{faint, print_stderr, sanitize_lines, sanitize_text};
use crate::program_output::print_program_output;

/// How long to wait for the end of a cell that was interrupted.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);

/// The pause before a lost stream of events is opened again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// The exit status of a run that took too long, as of `timeout`.
const TIMED_OUT: u8 = 124;

/// How a run ended.
enum RunEnd {
    Passed,
    Failed,
    TimedOut,
    Interrupted,
}

pub(super) async fn run(args: NotebookRunArgs, client: &DaemonClient) -> anyhow::Result<ExitCode> {
    let parameters = parse_parameters(&args.params)?;
    let project = resolve_project(args.project.project.as_deref(), client).await?;
    let path = Path::new(&args.notebook);
    let is_file = path.extension().is_some_and(|ending| ending == "ipynb") && path.is_file();
    // What is changed for the run is a copy.
    let (notebook, is_copy) = if is_file {
        let mut content = read_file(path)?;
        inject_parameters(&mut content, &parameters);
        let title = title_of_file(path, &content);
        (import_copy(client, &project, title, content).await?, true)
    } else {
        let notebook = find_notebook(client, &args.project, &args.notebook).await?;
        if parameters.is_empty() {
            (notebook, false)
        } else {
            let file = format!("/api/notebooks/{}/ipynb", notebook.id.uuid());
            let mut content: Value = client.get(&file).await?;
            inject_parameters(&mut content, &parameters);
            (import_copy(client, &project, Some(notebook.title), content).await?, true)
        }
    };
    let ended = run_notebook(client, &args, &notebook).await;
    if let Some(output) = &args.output
        && ended.is_ok()
    {
        let file = format!("/api/notebooks/{}/ipynb", notebook.id.uuid());
        write_file(output, &client.get::<Value>(&file).await?)?;
    }
    if is_copy && !args.keep {
        apply(client, notebook.id, vec![NotebookCommand::DeleteNotebook]).await?;
    }
    Ok(match ended? {
        RunEnd::Passed => ExitCode::SUCCESS,
        RunEnd::Failed => ExitCode::FAILURE,
        RunEnd::TimedOut => ExitCode::from(TIMED_OUT),
        RunEnd::Interrupted => ExitCode::from(130),
    })
}

async fn import_copy(
    client: &DaemonClient,
    project: &Project,
    title: Option<String>,
    content: Value,
) -> anyhow::Result<Notebook> {
    let title = title.map(|title| format!("{title} (run)"));
    let imported =
        import_content(client, project, &ImportNotebookRequest { title, content }).await?;
    print_repaired(&imported.repaired);
    Ok(imported.notebook)
}

async fn apply(
    client: &DaemonClient,
    notebook: NotebookId,
    commands: Vec<NotebookCommand>,
) -> anyhow::Result<()> {
    let path = format!("/api/notebooks/{}/commands", notebook.uuid());
    let _: AppliedNotebookCommands =
        client.post(&path, &NotebookCommandsRequest { commands }).await?;
    Ok(())
}

async fn run_notebook(
    client: &DaemonClient,
    args: &NotebookRunArgs,
    notebook: &Notebook,
) -> anyhow::Result<RunEnd> {
    let started = ensure_runtime(client, args, notebook).await?;
    let deadline = args.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let executed = execute_cells(client, notebook, deadline).await;
    if let Some(runtime) = started {
        let (notebook, id) = (notebook.id.uuid(), encode_path_segment(&runtime.runtime_id));
        let path = format!("/api/notebooks/{notebook}/runtimes/{id}");
        client.send_no_content(Method::DELETE, &path).await?;
    }
    let (end, cells) = executed?;
    if let Some(path) = &args.junit {
        write_junit(path, &notebook.title, &cells)?;
    }
    let n_passed = cells.iter().filter(|cell| cell.outcome == CellOutcome::Passed).count();
    print_stderr(&faint(&format!("{n_passed} of {} cells passed.", cells.len())));
    Ok(end)
}

/// Starts a runtime in the daemon, unless the notebook has one; returns it if it must be stopped.
async fn ensure_runtime(
    client: &DaemonClient,
    args: &NotebookRunArgs,
    notebook: &Notebook,
) -> anyhow::Result<Option<LocalRuntime>> {
    let path = format!("/api/notebooks/{}", notebook.id.uuid());
    let detail: NotebookDetail = client.get(&path).await?;
    let is_active = detail.sessions.iter().any(|it| it.status != RuntimeSessionStatus::Ended);
    if is_active && args.runtime_type.is_none() {
        return Ok(None);
    }
    let runtimes = format!("{path}/runtimes");
    let LocalRuntimeList { runtimes: before, types } = client.get(&runtimes).await?;
    let runtime_type = match &args.runtime_type {
        Some(wanted) => wanted.clone(),
        None => match &*notebook.language {
            "bash" | "sh" => "shell".to_owned(),
            language => language.to_owned(),
        },
    };
    if !types.iter().any(|it| it.runtime_type == runtime_type) {
        let known: Vec<_> = types.iter().map(|it| it.runtime_type.as_str()).collect();
        bail!(
            "this daemon has no runtime of the type `{}`\nhint: --type takes {}; `provost runtime` \
             starts one elsewhere, which is used then",
            sanitize_text(&runtime_type),
            known.join(" or "),
        );
    }
    let request = StartRuntimeRequest { runtime_type, slot: None, role: args.role.clone() };
    let started: LocalRuntime = client.post(&runtimes, &request).await?;
    let was_running = before.iter().any(|it| it.runtime_id == started.runtime_id);
    Ok((!was_running).then_some(started))
}

async fn execute_cells(
    client: &DaemonClient,
    notebook: &Notebook,
    deadline: Option<Instant>,
) -> anyhow::Result<(RunEnd, Vec<CellReport>)> {
    let detail: NotebookDetail =
        client.get(&format!("/api/notebooks/{}", notebook.id.uuid())).await?;
    let is_executed = |cell: &Cell| match cell.kind {
        CellKind::Code | CellKind::Sql | CellKind::Ai => !cell.source.trim().is_empty(),
        CellKind::Markdown | CellKind::Raw => false,
    };
    let cells: Vec<_> =
        detail.cells.iter().enumerate().filter(|(_, cell)| is_executed(cell)).collect();
    let (mut reports, mut end) = (Vec::new(), RunEnd::Passed);
    for (number, cell) in cells {
        let line = cell.source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let name = format!("{}: {}", number + 1, line.trim());
        if !matches!(end, RunEnd::Passed) {
            let (outcome, duration) = (CellOutcome::Skipped, Duration::ZERO);
            reports.push(CellReport { name, outcome, duration, output: String::new() });
            continue;
        }
        print_stderr(&faint(&format!("[{}]", sanitize_text(&name))));
        let began = Instant::now();
        let mut follower = ExecutionFollower::new(client, notebook.id).await?;
        let outcome = follower.execute(cell, deadline).await?;
        if let CellOutcome::Failed(why) = &outcome {
            print_stderr(&format!("Cell {} failed: {}", number + 1, sanitize_text(why)));
            end = follower.end.take().unwrap_or(RunEnd::Failed);
        }
        let (duration, output) = (began.elapsed(), follower.output);
        reports.push(CellReport { name, outcome, duration, output });
    }
    Ok((end, reports))
}

/// Follows one execution, and prints what it outputs.
struct ExecutionFollower<'a> {
    client: &'a DaemonClient,
    notebook: NotebookId,
    execution: ExecutionId,
    seen: LogCursor,
    output: String,
    /// Whether the last output was text of this stream.
    stream: StreamName,
    /// Why the run ends, if it is not because of the cell.
    end: Option<RunEnd>,
}

impl<'a> ExecutionFollower<'a> {
    async fn new(client: &'a DaemonClient, notebook: NotebookId) -> anyhow::Result<Self> {
        // All events of the execution come after this one.
        let seen = fetch_head_cursor(client).await?;
        let execution = Clock::system().new_id();
        let (output, stream, end) = (String::new(), StreamName::Stdout, None);
        Ok(Self { client, notebook, execution, seen, output, stream, end })
    }

    async fn execute(
        &mut self,
        cell: &Cell,
        deadline: Option<Instant>,
    ) -> anyhow::Result<CellOutcome> {
        let (execution, revision) = (self.execution, cell.revision);
        let request = NotebookCommand::RequestExecution { execution, cell: cell.id, revision };
        apply(self.client, self.notebook, vec![request]).await?;
        let left = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            outcome = self.follow() => return outcome,
            () = left => {
                self.end = Some(RunEnd::TimedOut);
                "the time is up"
            }
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                self.end = Some(RunEnd::Interrupted);
                "interrupted"
            }
        };
        let cancel = NotebookCommand::CancelExecution { execution, why: Some(why.to_owned()) };
        apply(self.client, self.notebook, vec![cancel]).await?;
        // What it still printed is part of the report.
        if timeout(CANCEL_TIMEOUT, self.follow()).await.is_err() {
            print_stderr(&faint("The cell does not end."));
        }
        Ok(CellOutcome::Failed(why.to_owned()))
    }

    /// Prints outputs until the execution has ended.
    async fn follow(&mut self) -> anyhow::Result<CellOutcome> {
        loop {
            match self.follow_stream().await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(error) if error.is::<reqwest::Error>() => {}
                Err(error) => return Err(error).context("cannot follow the cell"),
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn follow_stream(&mut self) -> anyhow::Result<Option<CellOutcome>> {
        let (notebook, seen) = (self.notebook.uuid(), &self.seen);
        let path = format!("/api/events?stream=notebook/{notebook}&after={seen}&bodies=whole");
        let mut chunks = self.client.get_stream(&path).await?.bytes_stream();
        let mut rest = Vec::new();
        while let Some(chunk) = chunks.next().await {
            rest.extend_from_slice(&chunk?);
            for event in drain_sse_events(&mut rest)? {
                self.seen = event.cursor();
                let fact = event.fact().and_then(|fact| NotebookFact::from_fact(&fact));
                if let Some(outcome) = fact.map(|fact| self.take_fact(&fact)).transpose()?.flatten()
                {
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(None)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about output")]
    fn take_fact(&mut self, fact: &NotebookFact) -> anyhow::Result<Option<CellOutcome>> {
        match fact {
            NotebookFact::OutputAdded(added) if added.execution == self.execution => {
                match &added.content {
                    OutputContent::Stream { name, text } => {
                        self.stream = *name;
                        self.print(text)?;
                    }
                    OutputContent::Error { traceback, .. } if !traceback.is_empty() => {
                        self.stream = StreamName::Stderr;
                        self.print(&format!("{}\n", traceback.join("\n")))?;
                    }
                    content => {
                        self.stream = StreamName::Stdout;
                        let text = sanitize_lines(&describe_output(content));
                        self.print(&format!("{text}\n"))?;
                    }
                }
                Ok(None)
            }
            NotebookFact::OutputAppended(appended) if appended.execution == self.execution => {
                if let OutputContent::Stream { text, .. } | OutputContent::Markdown { text } =
                    &appended.content
                {
                    self.print(text)?;
                }
                Ok(None)
            }
            NotebookFact::ExecutionFinished(finished) if finished.execution == self.execution => {
                let why = || finished.why.clone();
                Ok(Some(match finished.outcome {
                    ExecutionOutcome::Ok => CellOutcome::Passed,
                    ExecutionOutcome::Error => {
                        CellOutcome::Failed(why().unwrap_or_else(|| "it failed".to_owned()))
                    }
                    ExecutionOutcome::Cancelled => {
                        CellOutcome::Failed(why().unwrap_or_else(|| "it was cancelled".to_owned()))
                    }
                    ExecutionOutcome::Lost => {
                        CellOutcome::Failed(why().unwrap_or_else(|| "its runtime ended".to_owned()))
                    }
                }))
            }
            _ => Ok(None),
        }
    }

    fn print(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.push_str(text);
        let stream = match self.stream {
            StreamName::Stdout => OutputStream::Stdout,
            StreamName::Stderr => OutputStream::Stderr,
        };
        print_program_output(stream, text.as_bytes())
    }
}
