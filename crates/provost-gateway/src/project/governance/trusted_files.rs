//! Trusting a governance file, and changing the model of a role.

use std::path::{Path, PathBuf};

use provost_core::role::{MAX_ROLE_FILE_BYTES, Role, set_model};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    Code, Fact, GovernanceFileKind, Hash, Project, RoleView, TrustFileRequest, TrustedFile,
};
use provost_sandbox::root_dir::{FileWriteMode, RootDir, RootDirError};

use super::changes::build_role_view;
use super::files::POLICY_PATH;
use super::{Governance, GovernanceGuard, ProjectGovernance};
use crate::{GatewayError, OperatorRequest};

/// A file that a person just trusted.
pub(crate) struct NewlyTrustedFile {
    pub(crate) file: String,
    pub(crate) hash: Hash,
}

impl Governance {
    /// Trusts a governance file exactly as it was shown.
    pub(crate) async fn trust_file(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        wanted: &TrustFileRequest,
        guard: &GovernanceGuard<'_>,
    ) -> Result<NewlyTrustedFile, GatewayError> {
        let governance = self.refresh(project.id, guard).await?;
        let fact = file_trusted_fact(&governance, wanted.what, &wanted.file, wanted.hash)?;
        self.record_operator_change(request, project, vec![fact]).await?;
        self.recompile_rules(project.id);
        Ok(NewlyTrustedFile { file: wanted.file.clone(), hash: wanted.hash })
    }

    /// The trusted version of a file.
    pub(crate) fn get_trusted_file(
        &self,
        project: &Project,
        what: GovernanceFileKind,
        file: &str,
    ) -> Result<TrustedFile, GatewayError> {
        let missing = || GatewayError::ItemNotFound { what: "file", name: file.to_owned() };
        self.get_by_id(project.id)?.find_trusted_file(what, file).cloned().ok_or_else(missing)
    }

    /// Changes the model in a role's file. If the file was trusted, the result is trusted too:
    /// the person who changes it has seen it.
    pub(crate) async fn change_role_model(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        role: &str,
        model: &str,
        guard: &GovernanceGuard<'_>,
    ) -> Result<Option<NewlyTrustedFile>, GatewayError> {
        let governance = self.refresh(project.id, guard).await?;
        let file = governance.find_role(role).ok_or_else(|| missing_role_error(role))?;
        let trusted = governance.is_role_trusted(file);
        let changed = set_model(&file.role.file, &file.text, file.role.source, model)
            .map_err(|error| bad_governance_error(error.to_string()))?;
        let hash = Role::hash(changed.as_bytes());
        let (folder, name) = (PathBuf::from(&project.path), file.role.file.clone());
        let (before, text) = (file.text.clone(), changed.clone());
        let write = move || write_if_unchanged(&folder, &name, &before, &text);
        tokio::task::spawn_blocking(write).await.map_err(|_| GatewayError::Stopping)??;
        if !trusted {
            return Ok(None);
        }
        let file = file.role.file.clone();
        let what = GovernanceFileKind::Role;
        let fact = Fact::FileTrusted {
            project: project.id,
            what,
            file: file.clone(),
            hash,
            text: changed,
        };
        self.record_operator_change(request, project, vec![fact]).await?;
        self.recompile_rules(project.id);
        Ok(Some(NewlyTrustedFile { file, hash }))
    }

    /// A role, as its file is now.
    pub(crate) async fn get_role_view(
        &self,
        project: &Project,
        role: &str,
        guard: &GovernanceGuard<'_>,
    ) -> Result<RoleView, GatewayError> {
        let governance = self.refresh(project.id, guard).await?;
        let file = governance.find_role(role).ok_or_else(|| missing_role_error(role))?;
        Ok(build_role_view(&governance, file))
    }
}

/// The fact that a file is trusted, if it is still what was shown.
pub(crate) fn file_trusted_fact(
    governance: &ProjectGovernance,
    what: GovernanceFileKind,
    file: &str,
    hash: Hash,
) -> Result<Fact, GatewayError> {
    let missing =
        || GatewayError::ItemNotFound { what: "file that governs", name: file.to_owned() };
    let files = governance.files.as_ref().ok_or_else(missing)?;
    let found = match what {
        GovernanceFileKind::Role => files
            .roles
            .iter()
            .find(|role| role.role.file == file)
            .map(|role| (role.hash, &role.text)),
        GovernanceFileKind::Policy if file == POLICY_PATH => {
            let policy = files.policy.as_ref();
            if let Some(Err(errors)) = policy.map(|policy| &policy.parsed) {
                return Err(bad_governance_error(errors.join("\n")));
            }
            policy.map(|policy| (policy.hash, &policy.text))
        }
        // A runtime file is trusted by running it.
        GovernanceFileKind::Policy | GovernanceFileKind::Runtime => None,
    };
    let (now, text) = found.ok_or_else(missing)?;
    if now != hash {
        return Err(GatewayError::Fault(ErrorInfo {
            code: Code::HashMismatch,
            message: format!("{file} is not what was shown; look again before you trust it"),
            details: None,
        }));
    }
    let (file, text) = (file.to_owned(), text.clone());
    Ok(Fact::FileTrusted { project: governance.project.id, what, file, hash, text })
}

/// Rules or roles that cannot be read or written.
pub(crate) fn bad_governance_error(message: String) -> GatewayError {
    GatewayError::Fault(ErrorInfo { code: Code::BadGovernance, message, details: None })
}

fn missing_role_error(role: &str) -> GatewayError {
    GatewayError::ItemNotFound { what: "role", name: role.to_owned() }
}

/// Writes a file of the project, if it still has the text that it was read with.
fn write_if_unchanged(
    folder: &Path,
    file: &str,
    before: &str,
    text: &str,
) -> Result<(), GatewayError> {
    let failed =
        |error: RootDirError| bad_governance_error(format!("cannot write {file}: {error}"));
    let root = RootDir::open(folder).map_err(failed)?;
    let now = root.read(Path::new(file), MAX_ROLE_FILE_BYTES as u64).map_err(failed)?;
    if now != before.as_bytes() {
        return Err(bad_governance_error(format!(
            "{file} was changed by someone else just now; try again"
        )));
    }
    root.write(Path::new(file), text.as_bytes(), FileWriteMode::Overwrite).map_err(failed)
}
