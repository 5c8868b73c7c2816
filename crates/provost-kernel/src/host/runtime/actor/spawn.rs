//! Starts a process tree in the sandbox.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use provost_core::runtime::plan::RuntimePlan;
use provost_core::runtime::state_machine::{RuntimeInput, RuntimeProcessKind};
use provost_proto::ActionId;
use provost_proto::kernel::ErrorInfo;
use provost_sandbox::confine::SandboxStdio;

use super::super::super::preview::{self, PreviewTarget};
use super::super::plan;
use super::super::process_tree::{ProcessTreeHandle, TreeSupervisionContext};
use super::super::runtime_change::LastTreeRun;
use super::super::tree_output_tail::{self, TreeOutputTail};
use super::{PreparedRun, RuntimeActor, kind_index};
use crate::host::process::disk_space::DiskSpaceGuard;
use crate::host::process::set_aside::spawn_watched;

impl RuntimeActor {
    pub(super) async fn spawn_tree(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
    ) -> RuntimeInput {
        let run = match which {
            RuntimeProcessKind::Build => self.prepared.get(&action).or(self.current.as_ref()),
            RuntimeProcessKind::Dev => self.current.as_ref(),
        };
        let Some(run) = run.cloned() else { return RuntimeInput::SpawnFailed { which } };
        let command = self.describe_command(&run.plan, which);
        let last_run = LastTreeRun {
            command,
            started_at: Some(std::time::Instant::now()),
            ..LastTreeRun::default()
        };
        self.last_runs[kind_index(which)] = last_run;
        match self.start_tree(which, action, run).await {
            Ok(pid) => RuntimeInput::Spawned { which, pid },
            Err(mut why) => {
                self.redact(&mut why);
                self.write_log_mark(&format!("did not start: {why}"));
                self.last_runs[kind_index(which)].why = Some(why);
                RuntimeInput::SpawnFailed { which }
            }
        }
    }

    async fn start_tree(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
        run: PreparedRun,
    ) -> Result<u32, String> {
        let PreparedRun { plan, write_denials } = run;
        let read_only = self.context.commands.find_read_only_paths(write_denials).await;
        let read_only = read_only.map_err(|error| error.message)?;
        let redactor = self.context.shared_redactor.redactor().map_err(|error| error.message)?;
        if self.sandbox.is_none() {
            let sandbox =
                self.context.commands.sandboxes.create_server_sandbox(&self.context.own_program);
            self.sandbox = Some(sandbox.map_err(|error| error.message)?);
        }
        let Some(sandbox) = &self.sandbox else { return Err("the sandbox is missing".to_owned()) };
        let policy = sandbox.policy();
        let disk_space = DiskSpaceGuard::new([policy.project.clone(), policy.scratch.clone()]);
        disk_space.check().map_err(|ErrorInfo { message, .. }| message)?;
        let environment: &[(OsString, OsString)] = self.context.commands.environment();
        let mut command = plan::build_command(&plan, which, &self.context.own_program, environment);
        command.read_only_paths = read_only;
        let failed = |error: io::Error| format!("cannot create a pipe for its output: {error}");
        // One pipe for both streams keeps the order of lines.
        let (output, input) = io::pipe().map_err(failed)?;
        let second = input.try_clone().map_err(failed)?;
        command.stdio =
            [SandboxStdio::Null, SandboxStdio::Fd(input.into()), SandboxStdio::Fd(second.into())];
        let verb = match which {
            RuntimeProcessKind::Build => "build",
            RuntimeProcessKind::Dev => "run",
        };
        self.write_log_mark(&format!("{verb}: {}", self.describe_command(&plan, which)));
        let mut holds = self.context.commands.holds.write().await;
        holds.remove_ended();
        command.held_paths = holds.held_paths();
        let spawned = spawn_watched(&self.context.commands.quarantine, sandbox, command).await;
        let (child, watch) = spawned.map_err(|error| error.message)?;
        let limit = match which {
            RuntimeProcessKind::Build => tree_output_tail::BUILD_TAIL_BYTES,
            RuntimeProcessKind::Dev => tree_output_tail::DEV_TAIL_BYTES,
        };
        let supervision = TreeSupervisionContext {
            which,
            output: output.into(),
            output_tail: Arc::new(TreeOutputTail::new(limit)),
            log: Arc::clone(&self.context.log),
            redactor,
            disk_space,
            watch,
            exits: self.exits.0.clone(),
        };
        let tree = ProcessTreeHandle::new(child, supervision);
        holds.add_process_tree(tree.holds.clone());
        drop(holds);
        let pid = tree.pid;
        if which == RuntimeProcessKind::Dev {
            self.start_preview_watch(action, &plan, &tree);
        }
        self.trees.insert(which, tree);
        Ok(pid)
    }

    fn start_preview_watch(
        &mut self,
        action: ActionId,
        plan: &RuntimePlan,
        tree: &ProcessTreeHandle,
    ) {
        let target = PreviewTarget {
            action,
            root: tree.pid,
            configured: plan.port,
            output_tail: Arc::clone(&tree.output_tail),
            reporter: Arc::clone(&self.context.reporter),
        };
        self.preview = Some(tokio::spawn(preview::watch_preview(target)).abort_handle());
    }

    /// The redacted command, for people.
    pub(super) fn describe_command(&self, plan: &RuntimePlan, which: RuntimeProcessKind) -> String {
        let mut command = plan::describe_command(plan, which);
        self.redact(&mut command);
        command
    }

    fn redact(&self, text: &mut String) {
        if let Ok(redactor) = self.context.shared_redactor.redactor() {
            redactor.redact_string(text);
        }
    }

    fn write_log_mark(&self, text: &str) {
        if let Err(error) = self.context.log.append_mark(text) {
            tracing::error!(%error, "cannot write the project's log");
        }
    }
}
