//! What a decision depends on and must be looked up for it.

use std::path::Path;

use provost_core::action::RelPath;
use provost_core::decide::{BoundAction, PolicyContext};
use provost_core::policy::PolicyRules;
use provost_proto::{PinnedFile, ProjectMode, UnixMicros};
use provost_sandbox::root_dir::SymlinkSnapshot;

use super::Decisions;
use super::file_pins::pin_scripts;
use super::runtime_trust::describe_untrusted_runtime;
use super::set_aside_reason::find_set_aside_reason;
use super::symlinks::{apply_links, collect_links};
use crate::GatewayError;
use crate::project::governance::ProjectGovernance;

/// Everything that a decision about one action depends on, except the governance.
pub(super) struct PolicyInputs<'g> {
    homes: &'g [String],
    pub(super) pins: Vec<PinnedFile>,
    pub(super) links: SymlinkSnapshot,
    link_targets: Vec<RelPath>,
    /// Why what the action writes would be set aside unless a person is shown it.
    set_aside_reason: Option<String>,
    pub(super) untrusted_runtime: Option<String>,
    /// Why a person must see the runtime file before it runs.
    unreviewed_runtime: Option<String>,
    n_repeats: u32,
    mode: ProjectMode,
    now: UnixMicros,
}

impl Decisions {
    /// Collects the inputs of a decision in this mode.
    pub(super) async fn collect_policy_inputs(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
        mode: ProjectMode,
    ) -> Result<PolicyInputs<'_>, GatewayError> {
        let folder = &governance.project.path;
        let links = collect_links(Path::new(folder), bound_action);
        let pins = pin_scripts(folder, bound_action).await?;
        let action = &bound_action.request().action;
        let set_aside_reason = find_set_aside_reason(folder, action, &links).await?;
        let untrusted_runtime = self.read_untrusted_runtime(governance, bound_action).await?;
        Ok(PolicyInputs {
            homes: &self.homes,
            pins,
            link_targets: apply_links(&links, bound_action),
            set_aside_reason,
            links,
            unreviewed_runtime: untrusted_runtime
                .as_ref()
                .map(|_| describe_untrusted_runtime(governance)),
            untrusted_runtime,
            n_repeats: self.repeat_count(bound_action),
            mode,
            now: self.log.now(),
        })
    }
}

impl<'g> PolicyInputs<'g> {
    /// The inputs of a decision that depends on no file.
    pub(super) fn without_files(
        homes: &'g [String],
        n_repeats: u32,
        mode: ProjectMode,
        now: UnixMicros,
    ) -> Self {
        Self {
            homes,
            pins: Vec::new(),
            links: SymlinkSnapshot::default(),
            link_targets: Vec::new(),
            set_aside_reason: None,
            untrusted_runtime: None,
            unreviewed_runtime: None,
            n_repeats,
            mode,
            now,
        }
    }

    /// The context of a decision under these rules.
    pub(super) fn as_policy_context<'a>(
        &'a self,
        governance: &'a ProjectGovernance,
        rules: &'a PolicyRules,
    ) -> PolicyContext<'a> {
        PolicyContext {
            rules,
            broken: governance.broken.as_deref(),
            folder: Some(&governance.project.path),
            homes: self.homes,
            grants: &governance.grants,
            mode: self.mode,
            now: self.now,
            pins: &self.pins,
            link_targets: &self.link_targets,
            set_aside_reason: self.set_aside_reason.as_deref(),
            unreviewed_runtime: self.unreviewed_runtime.as_deref(),
            n_repeats: self.n_repeats,
        }
    }
}
