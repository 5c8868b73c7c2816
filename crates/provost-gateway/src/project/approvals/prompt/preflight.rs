//! Actions that cannot work, whatever a person answers.

use std::path::PathBuf;

use provost_core::action::{Action, EditFile, FileAction, MAX_FILE_WRITE_BYTES, RelPath};
use provost_core::decide::{ActingRole, BoundAction};
use provost_core::policy::{RequestLocation, RuleEffect, RuleQuery, RuleTarget};
use provost_kernel::files;
use provost_proto::kernel::ErrorInfo;
use provost_sandbox::root_dir::RootDir;

use crate::project::actions::RequestContext;
use crate::project::decisions::resolve_acting_role;
use crate::project::decisions::symlinks::find_link_targets;
use crate::project::governance::ProjectGovernance;
use crate::{Gateway, GatewayError};

/// What it takes to be told what is in a file.
const READ_SKILL: &str = "fs.readFile";

impl Gateway {
    /// Why an edit fails as the file is now, if it does: nobody needs to be asked
    /// then. Only for whoever may read the file unasked, since it tells of what is
    /// in it.
    pub(crate) async fn preflight_edit(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
    ) -> Result<Option<ErrorInfo>, GatewayError> {
        let Action::File(FileAction::EditFile(edit)) = &bound_action.request().action else {
            return Ok(None);
        };
        let folder = PathBuf::from(&governance.project.path);
        let mut paths = find_link_targets(&folder, bound_action);
        paths.push(edit.path.clone());
        if !paths.iter().all(|path| self.may_read(governance, context, path)) {
            return Ok(None);
        }
        let edit = edit.clone();
        let failing = tokio::task::spawn_blocking(move || find_edit_fault(&folder, &edit));
        failing.await.map_err(|_| GatewayError::Stopping)
    }

    fn may_read(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        path: &RelPath,
    ) -> bool {
        let ActingRole::Trusted(role) = resolve_acting_role(governance, context.role.as_deref())
        else {
            return false;
        };
        let subject = RuleQuery {
            skill: READ_SKILL,
            role: Some(&role.name),
            mode: governance.mode(self.clock.now()),
            target: RuleTarget::Path(path.as_str()),
            at: RequestLocation {
                project: Some(&governance.project.path),
                ..RequestLocation::default()
            },
        };
        let said = governance.rules.find_matches(&subject).combined_effect();
        governance.broken.is_none()
            && role.skills.has(READ_SKILL)
            && said <= Some(RuleEffect::Allow)
    }
}

fn find_edit_fault(folder: &std::path::Path, edit: &EditFile) -> Option<ErrorInfo> {
    let root = RootDir::open(folder).ok()?;
    // What is not there, or no file, is told when it is tried; that asks nobody to read.
    let present = root.read(edit.path.as_ref(), MAX_FILE_WRITE_BYTES as u64).ok()?;
    let error = files::edited(Some(&present), edit).err()?.with_path(&edit.path);
    Some(ErrorInfo { code: error.code, message: error.message, details: error.details })
}
