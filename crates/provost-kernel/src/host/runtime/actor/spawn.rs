//! Starting a tree behind the wall, with all that hears of it.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use provost_core::runtime::plan::RuntimePlan;
use provost_core::runtime::state_machine::{RuntimeInput, RuntimeProcessKind};
use provost_proto::ActionId;
use provost_proto::kernel::ErrorInfo;
use provost_sandbox::confine::SandboxStdio;

use super::super::super::commands::refused;
use super::super::super::preview::{self, Watched};
use super::super::super::space::Space;
use super::super::child::{Along, Tree};
use super::super::heard::{self, Heard};
use super::super::plan;
use super::super::said::Known;
use super::{Actor, index};

impl Actor {
    pub(super) async fn spawn(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
    ) -> RuntimeInput {
        let plan = match which {
            RuntimeProcessKind::Build => self.plans.get(&action).or(self.plan.as_ref()),
            RuntimeProcessKind::Dev => self.plan.as_ref(),
        };
        let Some(plan) = plan.map(Arc::clone) else { return RuntimeInput::SpawnFailed { which } };
        let command = self.words(&plan, which);
        let known = Known { command, began: Some(std::time::Instant::now()), ..Known::default() };
        self.known[index(which)] = known;
        match self.start(which, action, &plan).await {
            Ok(pid) => RuntimeInput::Spawned { which, pid },
            Err(mut why) => {
                self.redact(&mut why);
                self.mark(&format!("did not start: {why}"));
                self.known[index(which)].why = Some(why);
                RuntimeInput::SpawnFailed { which }
            }
        }
    }

    async fn start(
        &mut self,
        which: RuntimeProcessKind,
        action: ActionId,
        plan: &RuntimePlan,
    ) -> Result<u32, String> {
        let redactor = self.means.redacting.redactor().map_err(|error| error.message)?;
        if self.wall.is_none() {
            let wall = self.means.commands.walls.to_serve(&self.means.own);
            self.wall = Some(wall.map_err(|error| error.message)?);
        }
        let Some(wall) = &self.wall else { return Err("there is no sandbox".to_owned()) };
        let policy = wall.policy();
        let space = Space::new([policy.project.clone(), policy.scratch.clone()]);
        space.check().map_err(|ErrorInfo { message, .. }| message)?;
        let absent = policy.find_missing_paths();
        let environment: &[(OsString, OsString)] = self.means.commands.environment();
        let mut command = plan::command(plan, which, &self.means.own, environment);
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
        self.mark(&format!("{what}: {}", self.words(plan, which)));
        let mut holds = self.means.commands.holds.write().await;
        holds.tidy();
        command.held = holds.paths();
        let child = wall.spawn(command).map_err(|error| refused(&error).message)?;
        let limit = match which {
            RuntimeProcessKind::Build => heard::BUILD,
            RuntimeProcessKind::Dev => heard::DEV,
        };
        let along = Along {
            which,
            output: output.into(),
            heard: Arc::new(Heard::new(limit)),
            log: Arc::clone(&self.means.log),
            redactor,
            space,
            absent,
            news: self.news.0.clone(),
        };
        let tree = Tree::new(child, along);
        holds.know(tree.holds.clone());
        drop(holds);
        let pid = tree.pid;
        if which == RuntimeProcessKind::Dev {
            let watched = Watched {
                action,
                root: pid,
                configured: plan.port,
                heard: Arc::clone(&tree.heard),
                now: Arc::clone(&self.means.now),
            };
            self.preview = Some(tokio::spawn(preview::watch(watched)).abort_handle());
        }
        self.trees.insert(which, tree);
        Ok(pid)
    }

    /// What runs, as people read it, without secrets.
    pub(super) fn words(&self, plan: &RuntimePlan, which: RuntimeProcessKind) -> String {
        let mut words = plan::words(plan, which);
        self.redact(&mut words);
        words
    }

    fn redact(&self, text: &mut String) {
        if let Ok(redactor) = self.means.redacting.redactor() {
            redactor.redact_string(text);
        }
    }

    fn mark(&self, text: &str) {
        if let Err(error) = self.means.log.mark(text) {
            tracing::error!(%error, "the log of the project cannot be written");
        }
    }
}
