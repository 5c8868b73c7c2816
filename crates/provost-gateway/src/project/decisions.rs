//! Decisions about actions: collecting what a decision depends on, and applying role, gates,
//! rules, grants and mode to an action.
//!
//! An action is evaluated once. The [`Evaluation`] carries the files and links that were
//! read for it, so that prompts and permits describe exactly what was decided about.

mod explain;
pub(crate) mod file_pins;
mod implied_command;
mod policy_inputs;
mod process_ownership;
mod repeat_counter;
mod rule_check;
mod runtime_trust;
mod set_aside_reason;
mod simulate;
pub(crate) mod symlinks;

use std::path::Path;
use std::sync::Arc;

use provost_core::action::Action;
use provost_core::decide::{ActionRequest, BoundAction, Decision, decide};
use provost_proto::kernel::Preconditions;
use provost_proto::{Hash, PinnedFile, Project, TokenClass};
use provost_sandbox::root_dir::SymlinkSnapshot;
use provost_store::StoreError;

use crate::GatewayError;
use crate::event_log::EventLog;
use crate::project::governance::{Governance, ProjectGovernance};
use file_pins::{pin_scripts, split_linked_programs};
use implied_command::ProcessStdinRegistry;
use policy_inputs::PolicyInputs;
use repeat_counter::RepeatCounter;
use symlinks::{collect_links, resolve_command_links, to_kernel_links};

/// Decides about actions.
#[derive(Debug)]
pub struct Decisions {
    log: Arc<EventLog>,
    governance: Arc<Governance>,
    /// The home folders of the machine, by all their names.
    homes: Vec<String>,
    repeats: RepeatCounter,
    process_stdin: ProcessStdinRegistry,
}

/// A decision, with what was read for it.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) decision: Decision,
    pub(crate) files: EvaluatedFiles,
}

/// The files and links that a decision is about, as they were read for it.
#[derive(Debug, Default)]
pub(crate) struct EvaluatedFiles {
    /// The scripts that the action would run.
    pub(crate) pins: Vec<PinnedFile>,
    /// Pinned programs that are reached through a link, so that another can take their place.
    pub(crate) linked_programs: Vec<String>,
    /// The links on the paths that the action names.
    pub(crate) links: SymlinkSnapshot,
    /// The text of `provost.toml`, if the action runs it and no person trusts it as it is.
    pub(crate) untrusted_runtime: Option<String>,
}

impl Decisions {
    pub(crate) fn new(log: Arc<EventLog>, governance: Arc<Governance>, homes: Vec<String>) -> Self {
        Self {
            log,
            governance,
            homes,
            repeats: RepeatCounter::default(),
            process_stdin: ProcessStdinRegistry::default(),
        }
    }

    /// Decides about an action, under the governance and with the files of now.
    pub(crate) async fn evaluate(
        &self,
        governance: &ProjectGovernance,
        role: Option<&str>,
        bound_action: BoundAction,
    ) -> Result<Evaluation, GatewayError> {
        let bound_action = self.resolve_implied_command(governance, bound_action).await?;
        self.evaluate_resolved(governance, role, bound_action).await
    }

    /// The same for an action whose implied command is resolved.
    pub(crate) async fn evaluate_resolved(
        &self,
        governance: &ProjectGovernance,
        role: Option<&str>,
        bound_action: BoundAction,
    ) -> Result<Evaluation, GatewayError> {
        // A person's own action follows whatever links there are when it runs.
        let bound_action = if role.is_some() {
            resolve_command_links(governance, bound_action).await?
        } else {
            bound_action
        };
        let mode = governance.mode(self.log.now());
        let inputs = self.collect_policy_inputs(governance, &bound_action, mode).await?;
        let folder = &governance.project.path;
        let (programs, linked_programs) =
            split_linked_programs(folder, &bound_action, &inputs.pins).await?;
        let bound_action = if role.is_some() {
            let (links, pins) = (to_kernel_links(&inputs.links), inputs.pins.clone());
            bound_action.with_preconditions(Preconditions { links, pins, programs })
        } else {
            bound_action
        };
        let foreign = self.deny_foreign_process(bound_action.request()).await?;
        let policy_context = inputs.as_policy_context(governance, &governance.rules);
        let acting_role = governance.resolve_acting_role(role);
        let decision = match (decide(bound_action, acting_role, &policy_context), foreign) {
            (denied @ Decision::Deny(_), _) => denied,
            (Decision::Allow(_) | Decision::RequireApproval(_), Some(denial)) => {
                Decision::Deny(denial)
            }
            (decision, None) => decision,
        };
        let PolicyInputs { pins, links, untrusted_runtime, .. } = inputs;
        let files = EvaluatedFiles { pins, linked_programs, links, untrusted_runtime };
        Ok(Evaluation { decision, files })
    }

    /// Decides about a read as if no path contained a link. Only valid where the kernel
    /// follows none.
    pub(crate) fn evaluate_without_links(
        &self,
        governance: &ProjectGovernance,
        role: &str,
        bound_action: BoundAction,
    ) -> Decision {
        let now = self.log.now();
        let n_repeats = self.repeat_count(&bound_action);
        let mode = governance.mode(now);
        let inputs = PolicyInputs::without_files(&self.homes, n_repeats, mode, now);
        let policy_context = inputs.as_policy_context(governance, &governance.rules);
        decide(
            bound_action.with_preconditions(Preconditions::default()),
            governance.resolve_acting_role(Some(role)),
            &policy_context,
        )
    }

    /// Reads the files that an action names without a decision, for a prompt that comes
    /// before it.
    pub(crate) async fn read_named_files(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
    ) -> Result<EvaluatedFiles, GatewayError> {
        let folder = &governance.project.path;
        let links = collect_links(Path::new(folder), bound_action);
        let pins = pin_scripts(folder, bound_action).await?;
        Ok(EvaluatedFiles { pins, links, ..EvaluatedFiles::default() })
    }

    /// Counts an allowed action, to detect that a principal repeats it.
    pub(crate) fn record_repeat(&self, principal: &str, repeat_key: Hash) {
        self.repeats.increment(principal, repeat_key);
    }

    /// Starts the count anew, because a person answered.
    pub(crate) fn reset_repeat_count(&self, principal: &str) {
        self.repeats.reset(principal);
    }

    fn repeat_count(&self, bound_action: &BoundAction) -> u32 {
        self.repeats.consecutive_count(&bound_action.request().principal, bound_action.repeat_key())
    }

    /// An action that nobody requested, bound to an agent for the sake of a decision.
    fn bind_hypothetical_action(
        &self,
        project: &Project,
        action: Action,
    ) -> Result<BoundAction, GatewayError> {
        let request = ActionRequest {
            id: self.log.clock().new_id(),
            project: project.id,
            principal: self.log.owner().principal.clone(),
            class: TokenClass::Agent,
            session: None,
            action,
        };
        Ok(BoundAction::new(request).map_err(StoreError::from)?)
    }
}

#[cfg(test)]
mod tests;
