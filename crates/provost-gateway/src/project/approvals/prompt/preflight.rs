//! Preflight: failing an action that cannot succeed, instead of requesting an approval.

use std::path::PathBuf;

use provost_core::action::{
    Action, EditFile, FileAction, MAX_FILE_WRITE_BYTES, RelPath, RestoreFile,
};
use provost_core::decide::{ActingRole, BoundAction};
use provost_core::policy::{RequestLocation, RuleEffect, RuleQuery, RuleTarget};
use provost_kernel::files;
use provost_kernel::quarantine::QuarantineStore;
use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use provost_sandbox::root_dir::RootDir;

use super::open_quarantine;
use crate::GatewayError;
use crate::project::approvals::Approvals;
use crate::project::decisions::EvaluatedFiles;
use crate::project::decisions::symlinks::apply_links;
use crate::project::governance::ProjectGovernance;
use crate::project::request_context::RequestContext;

/// The skill that permits to see the content of a file.
const READ_SKILL: &str = "fs.readFile";

impl Approvals {
    /// Why an action fails whatever the answer, if it does.
    pub(crate) async fn preflight_action(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
        files: &EvaluatedFiles,
    ) -> Result<Option<ErrorInfo>, GatewayError> {
        match &bound_action.request().action {
            Action::File(FileAction::EditFile(edit)) => {
                self.preflight_edit(governance, context, bound_action, files, edit).await
            }
            Action::File(FileAction::RestoreFile(restore)) => {
                let store = open_quarantine(&self.config.data, governance.project.id);
                let restore = restore.clone();
                let fault =
                    tokio::task::spawn_blocking(move || find_restore_fault(&store, &restore));
                fault.await.map_err(|_| GatewayError::Stopping)
            }
            Action::File(_) | Action::Process(_) | Action::Runtime(_) => Ok(None),
        }
    }

    /// Why an edit fails on the file as it is now. Only for a requester that may read the file
    /// without approval, since the error reveals its content.
    async fn preflight_edit(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
        files: &EvaluatedFiles,
        edit: &EditFile,
    ) -> Result<Option<ErrorInfo>, GatewayError> {
        let folder = PathBuf::from(&governance.project.path);
        let mut paths = apply_links(&files.links, bound_action);
        paths.push(edit.path.clone());
        if !paths.iter().all(|path| self.may_read(governance, context, path)) {
            return Ok(None);
        }
        let edit = edit.clone();
        let fault = tokio::task::spawn_blocking(move || find_edit_fault(&folder, &edit));
        fault.await.map_err(|_| GatewayError::Stopping)
    }

    fn may_read(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        path: &RelPath,
    ) -> bool {
        let ActingRole::Trusted(role) = governance.resolve_acting_role(context.role.as_deref())
        else {
            return false;
        };
        let query = RuleQuery {
            skill: READ_SKILL,
            role: Some(&role.name),
            mode: governance.mode(self.log.now()),
            target: RuleTarget::Path(path.as_str()),
            at: RequestLocation {
                project: Some(&governance.project.path),
                ..RequestLocation::default()
            },
        };
        let effect = governance.rules.find_matches(&query).combined_effect();
        governance.broken.is_none()
            && role.skills.has(READ_SKILL)
            && effect <= Some(RuleEffect::Allow)
    }
}

fn find_restore_fault(store: &QuarantineStore, restore: &RestoreFile) -> Option<ErrorInfo> {
    let (code, message) = match store.read(&restore.id, restore.path.as_str()) {
        Ok(stored) => (Code::Conflict, stored.find_obstacle()?),
        Err(_) => {
            (Code::NotFound, "nothing with this id was set aside here, or it is not kept any more")
        }
    };
    let message = format!("{}: {message}", restore.path.display_quoted());
    Some(ErrorInfo { code, message, details: None })
}

fn find_edit_fault(folder: &std::path::Path, edit: &EditFile) -> Option<ErrorInfo> {
    let root = RootDir::open(folder).ok()?;
    // Whether the file exists is reported when the edit is tried.
    let present = root.read(edit.path.as_ref(), MAX_FILE_WRITE_BYTES as u64).ok()?;
    let error = files::edited(Some(&present), edit).err()?.with_path(&edit.path);
    Some(ErrorInfo { code: error.code, message: error.message, details: error.details })
}
