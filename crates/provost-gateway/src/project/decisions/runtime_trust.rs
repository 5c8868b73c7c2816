//! Whether a person has seen the `provost.toml` that an action would run.

use std::path::PathBuf;

use provost_core::decide::BoundAction;
use provost_core::role::Role;
use provost_core::runtime::plan::{PLAN_FILE, ProjectFiles as _};
use provost_kernel::RootProjectFiles;
use provost_proto::{Fact, GovernanceFileKind};
use provost_sandbox::root_dir::RootDir;

use super::{Decisions, EvaluatedFiles};
use crate::GatewayError;
use crate::project::governance::ProjectGovernance;

impl Decisions {
    /// The text of `provost.toml`, if the action runs it and it is not what a person trusted.
    /// The kernel refuses a file that is not text.
    pub(super) async fn read_untrusted_runtime(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
    ) -> Result<Option<String>, GatewayError> {
        if !bound_action.runs_project() {
            return Ok(None);
        }
        let folder = PathBuf::from(&governance.project.path);
        let read = move || RootProjectFiles(&RootDir::open(&folder).ok()?).read_text(PLAN_FILE);
        let text = tokio::task::spawn_blocking(read).await.map_err(|_| GatewayError::Stopping)?;
        let trusted = governance
            .find_trusted_file(GovernanceFileKind::Runtime, PLAN_FILE)
            .map(|trusted| trusted.hash);
        Ok(text.filter(|text| trusted != Some(Role::hash(text.as_bytes()))))
    }
}

impl EvaluatedFiles {
    /// The fact that a person ran the runtime file or approved it, if that is not known yet.
    pub(crate) fn runtime_trusted_fact(&self, governance: &ProjectGovernance) -> Option<Fact> {
        let text = self.untrusted_runtime.clone()?;
        Some(Fact::FileTrusted {
            project: governance.project.id,
            what: GovernanceFileKind::Runtime,
            file: PLAN_FILE.to_owned(),
            hash: Role::hash(text.as_bytes()),
            text,
        })
    }
}

/// Why a person must approve what `provost.toml` runs.
pub(super) fn describe_untrusted_runtime(governance: &ProjectGovernance) -> String {
    match governance.find_trusted_file(GovernanceFileKind::Runtime, PLAN_FILE) {
        Some(_) => format!("{PLAN_FILE} changed since a person last ran it or said yes to it"),
        None => format!("no person has run what {PLAN_FILE} says, or said yes to it"),
    }
}
