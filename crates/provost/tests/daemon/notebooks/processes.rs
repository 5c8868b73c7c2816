//! `provost runtime` as a process: displaced, stopped, killed, raced.

use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_proto::NotebookId;
use provost_proto::notebook::{
    ExecutionOutcome, NotebookCommand, NotebookFact, OutputContent, RuntimeEndReason,
    RuntimeSessionStatus,
};
use provost_proto::{CellId, ExecutionId};
use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process};

use super::client::{SyncClient, id};
use super::replace;
use crate::Home;
use crate::held_process::HeldProcess;

/// A runtime in a process of its own, which does not outlive the test.
pub(super) struct RuntimeProcess {
    pid: Pid,
    held: HeldProcess,
    log: PathBuf,
}

impl RuntimeProcess {
    fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    fn kill(&self) {
        self.held.kill();
    }

    /// Waits for its end, and returns what it printed.
    fn wait(&self) -> String {
        assert!(self.held.exits_within(Duration::from_mins(1)), "{}", self.printed());
        self.printed()
    }

    fn printed(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for RuntimeProcess {
    fn drop(&mut self) {
        if !self.held.has_exited() {
            self.held.kill();
        }
    }
}

impl Home {
    /// Starts a runtime with a token of its own, in the folder of the project.
    pub(super) fn start_runtime(
        &self,
        notebook: NotebookId,
        runtime_type: &str,
        name: &str,
    ) -> RuntimeProcess {
        let token = self.path(&format!("{name}.token"));
        std::fs::write(&token, self.runtime_token(notebook)).unwrap();
        let log = self.path(&format!("{name}.log"));
        let script = format!(
            "cd '{}' && exec '{}' runtime --notebook {notebook} --type {runtime_type} --id {name} \
             --token-file '{}'",
            self.path("app").display(),
            env!("CARGO_BIN_EXE_provost"),
            token.display(),
        );
        let environment = [
            ("HOME".into(), self.path("").into()),
            ("PROVOST_DATA".into(), self.data().into()),
            ("PROVOST_POLICY".into(), self.path("policy.toml").into()),
        ];
        let pid =
            launch::spawn_detached(Path::new("/bin/sh"), &["-c", &script], &log, &environment);
        let pid = Pid::from_raw(i32::try_from(pid.unwrap()).unwrap()).unwrap();
        RuntimeProcess { pid, held: HeldProcess::open(pid).unwrap(), log }
    }
}

impl SyncClient {
    /// Reads until something is found in a fact; returns it.
    async fn until_found<T>(&mut self, find: impl Fn(&NotebookFact) -> Option<T>) -> T {
        let mut next = 0;
        loop {
            while let Some(event) = self.events.get(next) {
                if let Some(found) = find(&event.fact) {
                    return found;
                }
                next += 1;
            }
            assert!(self.read().await, "the connection ended");
        }
    }

    /// Reads until a fact is one that is looked for.
    pub(super) async fn until_fact(&mut self, is_wanted: impl Fn(&NotebookFact) -> bool) {
        self.until_found(|fact| is_wanted(fact).then_some(())).await;
    }

    /// Reads until a runtime executes cells; returns its session.
    pub(super) async fn until_ready(&mut self, name: &str) -> provost_proto::RuntimeSessionId {
        let session = self
            .until_found(|fact| {
                let NotebookFact::RuntimeSessionStarted(started) = fact else { return None };
                (started.runtime_id == name).then_some(started.session)
            })
            .await;
        self.until_fact(|fact| {
            matches!(fact, NotebookFact::RuntimeSessionStatusSet(it)
                if it.session == session && it.status == RuntimeSessionStatus::Ready)
        })
        .await;
        session
    }

    /// Reads until an execution has ended.
    pub(super) async fn until_finished(&mut self, execution: ExecutionId) -> ExecutionOutcome {
        self.until_found(|fact| {
            let NotebookFact::ExecutionFinished(finished) = fact else { return None };
            (finished.execution == execution).then_some(finished.outcome)
        })
        .await
    }

    /// Reads until an execution has printed this.
    pub(super) async fn until_printed(&mut self, execution: ExecutionId, text: &str) {
        while !self.printed(execution).contains(text) {
            assert!(self.read().await, "the connection ended");
        }
    }

    /// All text that an execution has printed.
    pub(super) fn printed(&self, execution: ExecutionId) -> String {
        let texts = self.events.iter().filter_map(|event| {
            let content = find_output(&event.fact, execution)?;
            if let OutputContent::Stream { text, .. } = content {
                Some(text.as_str())
            } else {
                None
            }
        });
        texts.collect()
    }

    /// Requests an execution of a cell that was never changed.
    async fn run_cell(&mut self, notebook: NotebookId, cell: CellId) -> ExecutionId {
        self.request_execution(notebook, cell).await
    }
}

/// What a fact adds to the output of an execution.
fn find_output(fact: &NotebookFact, execution: ExecutionId) -> Option<&OutputContent> {
    let (of, content) = if let NotebookFact::OutputAdded(added) = fact {
        (added.execution, &added.content)
    } else if let NotebookFact::OutputAppended(more) = fact {
        (more.execution, &more.content)
    } else {
        return None;
    };
    (of == execution).then_some(content)
}

/// Numbers, one in a line.
pub(super) fn count_script(lines: usize) -> String {
    format!("for ((i = 1; i <= {lines}; i++)); do echo $i; done")
}

#[track_caller]
pub(super) fn assert_counted(text: &str, lines: usize) {
    let found: Vec<_> = text.lines().collect();
    let wrong = (1..=lines).zip(&found).find(|(n, line)| n.to_string() != **line);
    assert_eq!((wrong, found.len()), (None, lines));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_executes_until_it_is_told_to_stop() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Echo").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "hello").await;
    // It waits for a runtime.
    let execution = person.run_cell(notebook, cell).await;
    let runtime = home.start_runtime(notebook, "echo", "echo-1");
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok);
    assert_eq!(person.printed(execution), "hello\n");
    runtime.signal(Signal::TERM);
    let printed = runtime.wait();
    assert!(printed.contains("The echo runtime executes the cells of `Echo`."), "{printed}");
    assert!(printed.contains("[1] done") && printed.contains("was stopped"), "{printed}");
    let ended = person.until("RUNTIME_SESSION_ENDED").await;
    let NotebookFact::RuntimeSessionEnded(ended) = ended.fact else { panic!("{ended:?}") };
    assert_eq!((ended.reason, ended.why.as_deref()), (RuntimeEndReason::Shutdown, Some("SIGTERM")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_is_displaced_while_idle_executing_and_printing_and_stops_itself() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Displaced").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let idle = home.start_runtime(notebook, "shell", "idle");
    person.until_ready("idle").await;
    let silent = home.start_runtime(notebook, "shell", "silent");
    person.until_ready("silent").await;
    assert!(idle.wait().contains("another runtime"), "{}", idle.printed());

    let marker = "sleep 6123";
    let cell = person.create_cell(notebook, &format!("echo begun; {marker}")).await;
    let lost = person.run_cell(notebook, cell).await;
    person.until_printed(lost, "begun").await;
    let printing = home.start_runtime(notebook, "shell", "printing");
    person.until_ready("printing").await;
    assert!(silent.wait().contains("another runtime"), "{}", silent.printed());
    assert_eq!(person.until_finished(lost).await, ExecutionOutcome::Lost);
    assert!(!is_running(marker), "what it executed ended with it");

    let endless = person.create_cell(notebook, "while true; do echo again; done").await;
    let endless_run = person.run_cell(notebook, endless).await;
    person.until_printed(endless_run, "again").await;
    let final_one = home.start_runtime(notebook, "echo", "last");
    person.until_ready("last").await;
    assert!(printing.wait().contains("another runtime"), "{}", printing.printed());
    assert_eq!(person.until_finished(endless_run).await, ExecutionOutcome::Lost);
    let text = person.printed(endless_run);
    let after = person.run_cell(notebook, cell).await;
    assert_eq!(person.until_finished(after).await, ExecutionOutcome::Ok);
    assert_eq!(person.printed(endless_run), text, "nothing of the displaced one came later");
    final_one.kill();
}

/// Whether a command line holds this text.
fn is_running(text: &str) -> bool {
    let text = text.replace(' ', "\0");
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).starts_with(&text)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_runtime_that_wakes_up_writes_nothing_more() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Asleep").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "while true; do echo old; sleep 0.01; done").await;
    let asleep = home.start_runtime(notebook, "shell", "asleep");
    let lost = person.run_cell(notebook, cell).await;
    person.until_printed(lost, "old").await;
    asleep.signal(Signal::STOP);
    let awake = home.start_runtime(notebook, "echo", "awake");
    person.until_ready("awake").await;
    let ended = person.until_finished(lost).await;
    assert_eq!(ended, ExecutionOutcome::Lost);
    let text = person.printed(lost);
    asleep.signal(Signal::CONT);
    assert!(asleep.wait().contains("another runtime"), "{}", asleep.printed());
    let after = person.run_cell(notebook, cell).await;
    assert_eq!(person.until_finished(after).await, ExecutionOutcome::Ok);
    assert_eq!(person.printed(lost), text);
    awake.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runtimes_that_start_at_once_execute_what_waits_once() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Race").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let mut waiting = Vec::new();
    for n in 0..20 {
        let cell = person.create_cell(notebook, &format!("echo run >> run-{n}")).await;
        waiting.push(person.run_cell(notebook, cell).await);
    }
    let both = ["one", "other"].map(|name| home.start_runtime(notebook, "shell", name));
    for execution in &waiting {
        person.until_finished(*execution).await;
    }
    for (n, execution) in waiting.iter().enumerate() {
        let starts = person.facts("EXECUTION_STARTED").into_iter().filter(
            |fact| matches!(fact, NotebookFact::ExecutionStarted(it) if it.execution == *execution),
        );
        assert_eq!(starts.count(), 1, "{n}");
        let text = std::fs::read_to_string(home.path(&format!("app/run-{n}")));
        assert!(matches!(text.as_deref(), Ok("run\n") | Err(_)), "{n}: {text:?}");
    }
    both.iter().for_each(RuntimeProcess::kill);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_execution_is_cancelled_before_while_and_after_it_runs() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Cancel").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "echo begun; sleep 6124").await;
    let other = person.create_cell(notebook, "echo other").await;
    let running = person.run_cell(notebook, cell).await;
    let queued = person.run_cell(notebook, other).await;
    let runtime = home.start_runtime(notebook, "shell", "cancel");
    person.until_printed(running, "begun").await;
    let cancel =
        |execution| NotebookCommand::CancelExecution { execution, why: Some("enough".to_owned()) };
    person.command(notebook, cancel(queued)).await.unwrap();
    assert_eq!(person.until_finished(queued).await, ExecutionOutcome::Cancelled);
    person.command(notebook, cancel(running)).await.unwrap();
    assert_eq!(person.until_finished(running).await, ExecutionOutcome::Cancelled);
    assert!(!is_running("sleep 6124"));
    person.command(notebook, cancel(running)).await.unwrap_err();
    assert_eq!(person.printed(queued), "");
    // SIGINT does the same to what runs, and nothing to the runtime.
    let interrupted = person.run_cell(notebook, cell).await;
    person.until_printed(interrupted, "begun").await;
    runtime.signal(Signal::INT);
    assert_eq!(person.until_finished(interrupted).await, ExecutionOutcome::Cancelled);
    let after = person.run_cell(notebook, other).await;
    assert_eq!(person.until_finished(after).await, ExecutionOutcome::Ok);
    runtime.signal(Signal::INT);
    assert!(runtime.wait().contains("was stopped"), "{}", runtime.printed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_is_lost_or_doubled_when_the_daemon_is_killed_while_a_runtime_prints() {
    const LINES: usize = 30_000;
    let home = Home::new();
    let mut daemon = home.up();
    let notebook = daemon.create_notebook("Killed").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, &count_script(LINES)).await;
    let runtime = home.start_runtime(notebook, "shell", "survivor");
    person.until_ready("survivor").await;
    for round in 0..3 {
        let at = person.at;
        let execution = person.run_cell(notebook, cell).await;
        person.until_printed(execution, "\n").await;
        daemon.kill();
        daemon = home.up();
        person = daemon.sync(&daemon.token).await;
        person.subscribe(notebook, at).await;
        assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok, "{round}");
        assert_counted(&person.printed(execution), LINES);
        // What was queued meanwhile is executed too.
        person.until_fact(|fact| matches!(fact, NotebookFact::ExecutionFinished(_))).await;
    }
    runtime.signal(Signal::TERM);
    runtime.wait();
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_runtime_printed_stays_and_the_next_one_goes_on_with_the_queue() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Killed").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let endless = "for ((i = 1; ; i++)); do echo $i; done";
    let cell = person.create_cell(notebook, endless).await;
    let next = person.create_cell(notebook, "echo next").await;
    let killed = home.start_runtime(notebook, "shell", "worker");
    let lost = person.run_cell(notebook, cell).await;
    let queued = person.run_cell(notebook, next).await;
    person.until_printed(lost, "\n100\n").await;
    killed.kill();
    let again = home.start_runtime(notebook, "shell", "worker");
    assert_eq!(person.until_finished(queued).await, ExecutionOutcome::Ok);
    assert_eq!(person.until_finished(lost).await, ExecutionOutcome::Lost);
    let text = person.printed(lost);
    let whole = text.rsplit_once('\n').unwrap().0;
    assert_counted(whole, whole.lines().count());
    again.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_is_told_at_once_why_it_cannot_start() {
    let home = Home::new();
    let daemon = home.up();
    let (own, foreign) =
        (daemon.create_notebook("Own").await, daemon.create_notebook("Foreign").await);
    let token = home.path("token");
    std::fs::write(&token, home.runtime_token(own)).unwrap();
    let token = token.to_str().unwrap();
    let start = |args: &[&str]| {
        let args = [&["runtime", "--type", "echo"], args].concat();
        home.run_failing(&args, 1)
    };
    let foreign = foreign.to_string();
    let why = start(&["--notebook", &foreign, "--token-file", token]);
    assert!(why.contains("NOTEBOOK_NOT_FOUND"), "{why}");
    let why = start(&["--notebook", "Own", "--token-file", token]);
    assert!(why.contains("is not the id of a notebook"), "{why}");
    let why = start(&["--notebook", "Nothing", "--project", "app"]);
    assert!(why.contains("there is no notebook `Nothing`"), "{why}");
    let own = own.to_string();
    let why = start(&["--notebook", &own, "--server", &daemon.base]);
    assert!(why.contains("needs a token"), "{why}");
    let why =
        start(&["--notebook", &own, "--server", "https://example.org", "--token-file", token]);
    assert!(why.contains("ssh -L"), "{why}");
    let viewer = home.path("viewer");
    std::fs::write(&viewer, home.token(&["viewer"])).unwrap();
    let why = start(&["--notebook", &own, "--token-file", viewer.to_str().unwrap()]);
    assert!(why.contains("may only read"), "{why}");
    // Nobody else can report for a session: not even with its id and fence.
    let notebook = own.parse().unwrap();
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let runtime = home.start_runtime(notebook, "echo", "owner");
    let session = person.until_ready("owner").await;
    let mut forger = daemon.sync(&home.runtime_token(notebook)).await;
    let status = RuntimeSessionStatus::Unresponsive;
    let command = NotebookCommand::SetSessionStatus { session, fence: 1, status };
    let refused = forger.command(notebook, command).await.unwrap_err();
    assert_eq!(refused.0, provost_proto::Code::Forbidden);
    let cell = person.create_cell(notebook, "still here").await;
    let edited = person.command(notebook, replace(cell, 0, "still there")).await.unwrap();
    person.until_version(edited).await;
    let execution = id();
    let request = NotebookCommand::RequestExecution { execution, cell, revision: 1 };
    person.command(notebook, request).await.unwrap();
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok);
    assert_eq!(person.printed(execution), "still there\n");
    runtime.kill();
}
