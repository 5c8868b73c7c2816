//! Changes that a person makes: modes and grants; and the list of roles.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::role::RoleSource;
use provost_proto::{
    Fact, Grant, GrantList, Project, ProjectMode, ProjectModeView, RoleList, RoleView,
    SetModeRequest,
};
use provost_store::{AppendRequest, Durability, ListPosition, ListQuery};

use super::files::RoleFile;
use super::{Governance, ProjectGovernance};
use crate::document_lists::list_page;
use crate::project::request_context::RequestContext;
use crate::{GatewayError, OperatorRequest};

/// How long the mode `full` lasts by default, in minutes.
const DEFAULT_FULL_MINUTES: u32 = 60;

/// The longest time that a mode may be set for, in minutes: a day.
const MAX_MODE_MINUTES: u32 = 24 * 60;

impl Governance {
    /// The mode of a project, and who set it.
    pub fn get_mode_view(&self, project: &Project) -> Result<ProjectModeView, GatewayError> {
        Ok(self.get_by_id(project.id)?.mode_view(self.log.now()))
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
        let _guard = self.lock().await?;
        let until = minutes.map(|minutes| self.log.now() + u64::from(minutes) * 60_000_000);
        let fact = Fact::ModeChanged { project: project.id, mode: wanted.mode, until };
        self.record_operator_change(request, project, vec![fact]).await?;
        self.get_mode_view(project)
    }

    /// The valid grants of a project, in the order in which they were made.
    pub async fn list_valid_grants(&self, project: &Project) -> Result<GrantList, GatewayError> {
        let open = ListQuery::open(ViewKind::Grants, project.id.uuid());
        let valid = ListQuery { after: self.log.now(), ..open };
        let docs = self.log.store().list_under(vec![valid]).await?.into_iter();
        let mut grants: Vec<_> = docs.filter_map(|stored| stored.doc.into_grant()).collect();
        grants.sort_by_key(|grant| grant.id);
        Ok(GrantList { grants, next: None })
    }

    /// A page of the grants of a project: those that are valid, then those that ended last. The
    /// pages after the first have ended ones only.
    pub async fn list_all_grants(
        &self,
        project: &Project,
        before: Option<ListPosition>,
    ) -> Result<GrantList, GatewayError> {
        let mut list = match before {
            None => self.list_valid_grants(project).await?,
            Some(_) => GrantList { grants: Vec::new(), next: None },
        };
        let (view, id) = (ViewKind::Grants, project.id.uuid());
        let now = ListPosition::at_time(self.log.now().saturating_add(1));
        let expired = ListQuery { before: now, ..ListQuery::open(view, id) };
        let revoked = ListQuery::latest(view, id, usize::MAX);
        let before = before.unwrap_or(ListPosition::END);
        let page = list_page(&**self.log.store(), [expired, revoked], before).await?;
        list.grants.extend(page.documents.into_iter().filter_map(ViewDocument::into_grant));
        list.next = page.next.map(|next| next.to_string());
        Ok(list)
    }

    /// Revokes a grant.
    pub async fn revoke_grant(
        &self,
        request: OperatorRequest<'_>,
        id: &str,
    ) -> Result<Grant, GatewayError> {
        let _guard = self.lock().await?;
        let grant = self.find_grant(id).await?;
        if grant.revoked_at.is_none() {
            let governance = self.get_by_id(grant.project)?;
            let fact = Fact::GrantRevoked { grant: grant.id, project: grant.project };
            self.record_operator_change(request, &governance.project, vec![fact]).await?;
        }
        self.find_grant(id).await
    }

    /// The roles of a project, as their files are now.
    pub async fn list_roles(&self, project: &Project) -> Result<RoleList, GatewayError> {
        let governance = self.load_current(project.id).await?;
        let Some(files) = &governance.files else {
            return Ok(RoleList { roles: Vec::new(), rejected: Vec::new() });
        };
        let roles = files.roles.iter().map(|file| build_role_view(&governance, file)).collect();
        Ok(RoleList { roles, rejected: files.rejected.clone() })
    }

    /// Records a person's change, and updates the copy.
    pub(super) async fn record_operator_change(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let context = RequestContext::from_operator(request.by, project);
        let append = context.build_append(Durability::Synced, facts.clone());
        self.log.append(AppendRequest { command: request.command, ..append }).await?;
        self.apply_facts(&facts).await
    }
}

pub(super) fn build_role_view(governance: &ProjectGovernance, file: &RoleFile) -> RoleView {
    let trusted = governance.is_role_trusted(file);
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
        diff: (!trusted).then(|| governance.build_trust_prompt(file).diff),
        notes: role.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::TestProject;
    use provost_core::fold::ViewDocument;

    #[tokio::test]
    async fn a_mode_is_set_in_the_log_and_in_the_copy() {
        let test = TestProject::open(&[("a.txt", "a")]).await;
        let governance = &test.gateway.governance;
        assert_eq!(governance.current_mode(test.project.id), ProjectMode::default());
        let wanted = SetModeRequest { mode: ProjectMode::Full, minutes: None };
        let request = OperatorRequest { by: &test.operator, command: None };
        let view = governance.set_mode(request, &test.project, wanted).await.unwrap();
        assert!(view.until.is_some(), "full ends by itself");
        assert_eq!(governance.current_mode(test.project.id), ProjectMode::Full);
        let doc = test.gateway.store().get_document(ViewKind::Modes, test.project.id.uuid());
        assert!(matches!(doc.await.unwrap(), Some(ViewDocument::Mode(mode)) if mode == view));
    }
}
