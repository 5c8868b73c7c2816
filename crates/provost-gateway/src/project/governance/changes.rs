//! What a person changes about what governs: trust, modes, grants, roles' models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::role::{RoleSource, set_model};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    ChangeRoleRequest, Code, Fact, GovernanceFileKind, Grant, Hash, Project, ProjectMode,
    ProjectModeView, RoleList, RoleView, SetModeRequest, TrustFileRequest, TrustedFile,
};
use provost_sandbox::root_dir::{self, RootDir};
use provost_store::{AppendRequest, Durability};

use crate::project::actions::{RequestContext, build_append};
use crate::project::decisions::{build_trust_prompt, is_trusted};
use crate::project::governance::ProjectGovernance;
use crate::project::governance::files::{POLICY_PATH, RoleFile};
use crate::{Gateway, GatewayError, Operator, OperatorRequest};

/// How long `full` lasts if nobody says, in minutes.
const DEFAULT_FULL_MINUTES: u32 = 60;

/// The longest a mode may be set for, in minutes: a day.
const MAX_MODE_MINUTES: u32 = 24 * 60;

impl Gateway {
    /// The mode of a project.
    pub fn get_mode_view(&self, project: &Project) -> Result<ProjectModeView, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.id.to_string());
        let governance = self.governance.find_by_id(project.id).ok_or_else(missing)?;
        Ok(governance.mode_view(self.clock.now()))
    }

    /// Sets the mode of a project.
    pub async fn set_mode(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        wanted: SetModeRequest,
    ) -> Result<ProjectModeView, GatewayError> {
        let minutes = match (wanted.mode, wanted.minutes) {
            (_, Some(minutes)) if !(1..=MAX_MODE_MINUTES).contains(&minutes) => {
                let why = format!("is 1 to {MAX_MODE_MINUTES}");
                return Err(GatewayError::InvalidField { field: "minutes", why });
            }
            (ProjectMode::Full, None) => Some(DEFAULT_FULL_MINUTES),
            (ProjectMode::Sandbox | ProjectMode::Auto | ProjectMode::Full, minutes) => minutes,
        };
        let _guard = self.lock_governance().await?;
        let end = |minutes| self.clock.now() + u64::from(minutes) * 60_000_000;
        let until = minutes.map(end);
        let fact = Fact::ModeChanged { project: project.id, mode: wanted.mode, until };
        self.record_operator_change(request, project, vec![fact]).await?;
        self.get_mode_view(project)
    }

    /// What was granted in a project.
    pub async fn list_grants(
        &self,
        project: &Project,
        all: bool,
    ) -> Result<Vec<Grant>, GatewayError> {
        let now = self.clock.now();
        let docs = self
            .store
            .list_documents(ViewKind::Grants)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_grant);
        let holds = |grant: &Grant| {
            all || (grant.revoked_at.is_none() && grant.until.is_none_or(|end| now < end))
        };
        Ok(docs.filter(|grant| grant.project == project.id).filter(holds).collect())
    }

    /// Takes a grant back.
    pub async fn revoke_grant(
        &self,
        request: OperatorRequest<'_>,
        id: &str,
    ) -> Result<Grant, GatewayError> {
        let _guard = self.lock_governance().await?;
        let grant = self.find_grant(id).await?;
        if grant.revoked_at.is_none() {
            let missing = || GatewayError::ProjectNotFound(grant.project.to_string());
            let governance = self.governance.find_by_id(grant.project).ok_or_else(missing)?;
            let fact = Fact::GrantRevoked { grant: grant.id, project: grant.project };
            self.record_operator_change(request, &governance.project, vec![fact]).await?;
        }
        self.find_grant(id).await
    }

    /// The roles of a project, as their files are now.
    pub async fn list_roles(&self, project: &Project) -> Result<RoleList, GatewayError> {
        let governance = self.load_governance(project.id).await?;
        let Some(files) = &governance.files else {
            return Ok(RoleList { roles: Vec::new(), rejected: Vec::new() });
        };
        let roles = files.roles.iter().map(|file| role_view(&governance, file)).collect();
        Ok(RoleList { roles, rejected: files.rejected.clone() })
    }

    /// Changes the model in a role's file, and trusts the result if what was
    /// there was trusted: the person who changes it has seen it.
    pub async fn change_role_model(
        self: &Arc<Self>,
        request: OperatorRequest<'_>,
        project: &Project,
        role: &str,
        change: ChangeRoleRequest,
    ) -> Result<RoleView, GatewayError> {
        let guard = self.lock_governance().await?;
        let governance = self.refresh_governance(project.id, &guard).await?;
        let missing = || GatewayError::ItemNotFound { what: "role", name: role.to_owned() };
        let file = governance
            .files
            .as_ref()
            .and_then(|files| files.find_role(role))
            .ok_or_else(missing)?;
        let trusted = is_trusted(&governance, file);
        let changed = set_model(&file.role.file, &file.text, file.role.source, &change.model)
            .map_err(|error| bad_governance_error(error.to_string()))?;
        let hash = provost_core::role::Role::hash(changed.as_bytes());
        let (folder, name) = (PathBuf::from(&project.path), file.role.file.clone());
        let (before, text) = (file.text.clone(), changed.clone());
        let write = move || write_if_unchanged(&folder, &name, &before, &text);
        tokio::task::spawn_blocking(write).await.map_err(|_| GatewayError::Stopping)??;
        if trusted {
            let fact = Fact::FileTrusted {
                project: project.id,
                what: GovernanceFileKind::Role,
                file: file.role.file.clone(),
                hash,
                text: changed,
            };
            let person = operator_context(request.by, project);
            self.record_operator_change(request, project, vec![fact]).await?;
            self.recompile_rules(project.id);
            self.resume_trusted_actions(&person, hash, &file.role.file, &guard).await?;
        }
        let governance = self.refresh_governance(project.id, &guard).await?;
        let file = governance
            .files
            .as_ref()
            .and_then(|files| files.find_role(role))
            .ok_or_else(missing)?;
        Ok(role_view(&governance, file))
    }

    /// Trusts a file that governs, exactly as it was shown.
    pub async fn trust_file(
        self: &Arc<Self>,
        request: OperatorRequest<'_>,
        project: &Project,
        wanted: TrustFileRequest,
    ) -> Result<TrustedFile, GatewayError> {
        let guard = self.lock_governance().await?;
        let governance = self.refresh_governance(project.id, &guard).await?;
        let TrustFileRequest { what, file, hash } = wanted;
        let fact = file_trusted_fact(&governance, what, &file, hash)?;
        let person = operator_context(request.by, project);
        self.record_operator_change(request, project, vec![fact]).await?;
        self.recompile_rules(project.id);
        self.resume_trusted_actions(&person, hash, &file, &guard).await?;
        let governance = self.get_cached_governance(project)?;
        let missing = || GatewayError::ItemNotFound { what: "file", name: file.clone() };
        governance.find_trusted_file(what, &file).cloned().ok_or_else(missing)
    }

    fn get_cached_governance(
        &self,
        project: &Project,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.id.to_string());
        self.governance.find_by_id(project.id).ok_or_else(missing)
    }

    /// Writes a person's change and takes it into the copy.
    pub(crate) async fn record_operator_change(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let person = operator_context(request.by, project);
        let append = build_append(&person, Durability::Synced, facts.clone());
        self.append_redacted(AppendRequest { command: request.command, ..append }).await?;
        self.apply_governance_facts(&facts).await
    }
}

/// The fact that a file is trusted, if it is what was shown.
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
        // That is trusted by running it.
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

/// A person, who changes what governs a project.
fn operator_context(by: &Operator, project: &Project) -> RequestContext {
    RequestContext {
        principal: by.principal().to_owned(),
        actor: by.actor().clone(),
        project: Arc::new(project.clone()),
        role: None,
        session: None,
        command: None,
    }
}

pub(crate) fn bad_governance_error(message: String) -> GatewayError {
    GatewayError::Fault(ErrorInfo { code: Code::BadGovernance, message, details: None })
}

fn role_view(governance: &ProjectGovernance, file: &RoleFile) -> RoleView {
    let trusted = is_trusted(governance, file);
    let role = &file.role;
    RoleView {
        name: role.name.clone(),
        description: role.description.clone(),
        model: role.model.clone(),
        skills: role.skills.iter().map(str::to_owned).collect(),
        file: role.file.clone(),
        imported: role.source == RoleSource::Claude,
        hash: file.hash,
        trusted,
        diff: (!trusted).then(|| build_trust_prompt(governance, file).diff),
        notes: role.notes.clone(),
    }
}

/// Writes a file of the project, if it is still what it was.
fn write_if_unchanged(
    folder: &Path,
    file: &str,
    before: &str,
    text: &str,
) -> Result<(), GatewayError> {
    let failed = |error: root_dir::RootDirError| {
        bad_governance_error(format!("cannot write {file}: {error}"))
    };
    let root = RootDir::open(folder).map_err(failed)?;
    let now = root
        .read(Path::new(file), provost_core::role::MAX_ROLE_FILE_BYTES as u64)
        .map_err(failed)?;
    if now != before.as_bytes() {
        return Err(bad_governance_error(format!(
            "{file} was changed by someone else just now; try again"
        )));
    }
    root.write(Path::new(file), text.as_bytes(), root_dir::FileWriteMode::Overwrite).map_err(failed)
}
