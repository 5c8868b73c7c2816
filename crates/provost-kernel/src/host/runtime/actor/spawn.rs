//! Starting a tree behind the wall, with all that hears of it.

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
use super::{RuntimeActor, kind_index};
use crate::host::process::action_error_from_sandbox;
use crate::host::process::disk_space::DiskSpaceGuard;

impl RuntimeActor {
    pub(super) async fn spawn_tree(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
    ) -> RuntimeInput {
        let plan = match which {
            RuntimeProcessKind::Build => self.plans.get(&action).or(self.plan.as_ref()),
            RuntimeProcessKind::Dev => self.plan.as_ref(),
        };
        let Some(plan) = plan.map(Arc::clone) else { return RuntimeInput::SpawnFailed { which } };
        let command = self.describe_command(&plan, which);
        let known = LastTreeRun {
            command,
            began: Some(std::time::Instant::now()),
            ..LastTreeRun::default()
        };
        self.known[kind_index(which)] = known;
        match self.start_tree(which, action, &plan).await {
            Ok(pid) => RuntimeInput::Spawned { which, pid },
            Err(mut why) => {
                self.redact(&mut why);
                self.write_log_mark(&format!("did not start: {why}"));
                self.known[kind_index(which)].why = Some(why);
                RuntimeInput::SpawnFailed { which }
            }
        }
    }

    async fn start_tree(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
        plan: &RuntimePlan,
    ) -> Result<u32, String> {
        let redactor = self.means.redacting.redactor().map_err(|error| error.message)?;
        if self.wall.is_none() {
            let wall = self.means.commands.walls.create_server_sandbox(&self.means.own);
            self.wall = Some(wall.map_err(|error| error.message)?);
        }
        let Some(wall) = &self.wall else { return Err("there is no sandbox".to_owned()) };
        let policy = wall.policy();
        let space = DiskSpaceGuard::new([policy.project.clone(), policy.scratch.clone()]);
        space.check().map_err(|ErrorInfo { message, .. }| message)?;
        let absent = policy.find_missing_paths();
        let environment: &[(OsString, OsString)] = self.means.commands.environment();
        let mut command = plan::build_command(plan, which, &self.means.own, environment);
        let failed = |error: io::Error| format!("no pipe for what it prints: {error}");
        // One pipe for both, so that lines keep the order in which they were printed.
        let (output, input) = io::pipe().map_err(failed)?;
        let second = input.try_clone().map_err(failed)?;
        command.stdio =
            [SandboxStdio::Null, SandboxStdio::Fd(input.into()), SandboxStdio::Fd(second.into())];
        let what = match which {
            RuntimeProcessKind::Build => "build",
            RuntimeProcessKind::Dev => "run",
        };
        self.write_log_mark(&format!("{what}: {}", self.describe_command(plan, which)));
        let mut holds = self.means.commands.holds.write().await;
        holds.remove_ended();
        command.held = holds.held_paths();
        let child =
            wall.spawn(command).map_err(|error| action_error_from_sandbox(&error).message)?;
        let limit = match which {
            RuntimeProcessKind::Build => tree_output_tail::BUILD_TAIL_BYTES,
            RuntimeProcessKind::Dev => tree_output_tail::DEV_TAIL_BYTES,
        };
        let along = TreeSupervisionContext {
            which,
            output: output.into(),
            heard: Arc::new(TreeOutputTail::new(limit)),
            log: Arc::clone(&self.means.log),
            redactor,
            space,
            absent,
            news: self.news.0.clone(),
        };
        let tree = ProcessTreeHandle::new(child, along);
        holds.add_process_tree(tree.holds.clone());
        drop(holds);
        let pid = tree.pid;
        if which == RuntimeProcessKind::Dev {
            let watched = PreviewTarget {
                action,
                root: pid,
                configured: plan.port,
                heard: Arc::clone(&tree.heard),
                now: Arc::clone(&self.means.now),
            };
            self.preview = Some(tokio::spawn(preview::watch_preview(watched)).abort_handle());
        }
        self.trees.insert(which, tree);
        Ok(pid)
    }

    /// What runs, as people read it, without secrets.
    pub(super) fn describe_command(&self, plan: &RuntimePlan, which: RuntimeProcessKind) -> String {
        let mut words = plan::describe_command(plan, which);
        self.redact(&mut words);
        words
    }

    fn redact(&self, text: &mut String) {
        if let Ok(redactor) = self.means.redacting.redactor() {
            redactor.redact_string(text);
        }
    }

    fn write_log_mark(&self, text: &str) {
        if let Err(error) = self.means.log.append_mark(text) {
            tracing::error!(%error, "the log of the project cannot be written");
        }
    }
}
