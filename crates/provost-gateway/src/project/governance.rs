//! What governs the projects: rules, roles, trusted files, modes and grants.
//!
//! The service keeps a copy of the views and files that every decision needs. Changes are
//! made one at a time, by the holder of the [`GovernanceGuard`], and each is in the log
//! before it is in the copy. So a decision that is made under the guard agrees with the log.

pub(crate) mod changes;
pub(crate) mod files;
pub(crate) mod policy_view;
mod project_governance;
mod refresh;
pub(crate) mod trusted_files;
mod watch;

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind, affected_documents};
use provost_proto::{Fact, Grant, GrantId, Project, ProjectId, ProjectMode, ProjectStatus};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

pub(crate) use project_governance::ProjectGovernance;

use crate::event_log::EventLog;
use crate::{GatewayConfig, GatewayError};
use files::UserRules;

/// Rules, roles, trust, modes and grants of all projects.
#[derive(Debug)]
pub struct Governance {
    log: Arc<EventLog>,
    projects: RwLock<HashMap<ProjectId, Arc<ProjectGovernance>>>,
    user_rules: RwLock<Arc<UserRules>>,
    /// One change at a time.
    change_lock: Semaphore,
    /// A project was opened or closed.
    projects_changed: Notify,
}

/// The exclusive right to change what governs the projects.
pub(crate) struct GovernanceGuard<'a> {
    _permit: SemaphorePermit<'a>,
}

impl Governance {
    pub(crate) async fn load(
        log: Arc<EventLog>,
        config: &GatewayConfig,
    ) -> Result<Self, GatewayError> {
        let user_rules = UserRules::read(&config.policy, log.now());
        let mut projects = HashMap::new();
        for doc in log.store().list_documents(ViewKind::Projects).await? {
            if let Some(project) = doc.into_project() {
                projects.insert(project.id, ProjectGovernance::new(project));
            }
        }
        let mut docs = Vec::new();
        for view in [ViewKind::Modes, ViewKind::Trusted] {
            docs.extend(log.store().list_documents(view).await?);
        }
        // Only the valid grants: the others are history.
        docs.extend(log.list_open_documents(ViewKind::Grants).await?);
        for doc in docs {
            if let Some(governance) = document_project_id(&doc).and_then(|id| projects.get_mut(&id))
            {
                governance.apply_document(doc);
            }
        }
        let projects =
            projects.into_iter().map(|(id, governance)| (id, Arc::new(governance))).collect();
        Ok(Self {
            log,
            projects: RwLock::new(projects),
            user_rules: RwLock::new(Arc::new(user_rules)),
            change_lock: Semaphore::new(1),
            projects_changed: Notify::new(),
        })
    }

    /// Waits for the exclusive right to change what governs the projects.
    pub(crate) async fn lock(&self) -> Result<GovernanceGuard<'_>, GatewayError> {
        let permit = self.change_lock.acquire().await;
        permit.map(|permit| GovernanceGuard { _permit: permit }).map_err(|_| GatewayError::Stopping)
    }

    /// What governs a project, as it was read last.
    pub(crate) fn find_by_id(&self, project: ProjectId) -> Option<Arc<ProjectGovernance>> {
        self.projects.read().get(&project).cloned()
    }

    /// The same; fails if there is no such project.
    pub(crate) fn get_by_id(
        &self,
        project: ProjectId,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        self.find_by_id(project).ok_or_else(|| GatewayError::ProjectNotFound(project.to_string()))
    }

    /// What governs the project with this id or slug.
    pub(crate) fn find_by_name(&self, name: &str) -> Option<Arc<ProjectGovernance>> {
        if let Ok(id) = name.parse() {
            return self.find_by_id(id);
        }
        let projects = self.projects.read();
        projects.values().find(|governance| governance.project.slug == name).cloned()
    }

    /// An open project by its slug.
    pub fn find_open_project_named(&self, slug: &str) -> Option<Project> {
        let governance = self.find_by_name(slug)?;
        let project = &governance.project;
        let matches = project.slug == slug && project.status == ProjectStatus::Open;
        matches.then(|| Project::clone(project))
    }

    /// An open project by its id.
    pub fn find_open_project(&self, id: ProjectId) -> Option<Project> {
        let governance = self.find_by_id(id)?;
        let project = &governance.project;
        (project.status == ProjectStatus::Open).then(|| Project::clone(project))
    }

    /// The mode of a project now.
    pub fn current_mode(&self, project: ProjectId) -> ProjectMode {
        let governance = self.find_by_id(project);
        governance.map_or(ProjectMode::Sandbox, |governance| governance.mode(self.log.now()))
    }

    fn list_open_projects(&self) -> Vec<Arc<Project>> {
        let projects = self.projects.read();
        let all = projects.values().map(|governance| &governance.project);
        all.filter(|project| project.status == ProjectStatus::Open).cloned().collect()
    }

    pub(crate) fn user_rules(&self) -> Arc<UserRules> {
        Arc::clone(&self.user_rules.read())
    }

    /// Updates the copy after a project was opened or closed.
    pub(crate) async fn reload_project(&self, id: ProjectId) -> Result<(), GatewayError> {
        // Under the guard, so that an older state never replaces a newer one.
        let _guard = self.lock().await?;
        if let Some(doc) = self.log.store().get_document(ViewKind::Projects, id.uuid()).await? {
            self.apply_document(doc);
        }
        Ok(())
    }

    /// Updates the copy after these facts were appended to the log.
    pub(crate) async fn apply_facts(&self, facts: &[Fact]) -> Result<(), GatewayError> {
        for fact in facts {
            for (key, _) in affected_documents(fact) {
                if let ViewKind::Modes | ViewKind::Grants | ViewKind::Trusted | ViewKind::Projects =
                    key.view
                    && let Some(doc) = self.log.store().get_document(key.view, key.key).await?
                {
                    self.apply_document(doc);
                }
            }
        }
        Ok(())
    }

    fn apply_document(&self, doc: ViewDocument) {
        let mut projects = self.projects.write();
        if let ViewDocument::Project(project) = &doc
            && !projects.contains_key(&project.id)
        {
            projects.insert(project.id, Arc::new(ProjectGovernance::new(Project::clone(project))));
        }
        if let ViewDocument::Project(_) = &doc {
            self.projects_changed.notify_one();
        }
        if let Some(governance) = document_project_id(&doc).and_then(|id| projects.get_mut(&id)) {
            Arc::make_mut(governance).apply_document(doc);
        }
    }

    fn update_project(&self, project: ProjectId, change: impl FnOnce(&mut ProjectGovernance)) {
        let mut projects = self.projects.write();
        if let Some(governance) = projects.get_mut(&project) {
            change(Arc::make_mut(governance));
        }
    }

    /// The grant with this id, in any project.
    /// One grant, valid or not.
    pub async fn find_grant(&self, id: &str) -> Result<Grant, GatewayError> {
        let missing = || GatewayError::ItemNotFound { what: "grant", name: id.to_owned() };
        let parsed: GrantId = id.parse().map_err(|_| missing())?;
        let doc = self.log.store().get_document(ViewKind::Grants, parsed.uuid()).await?;
        doc.and_then(ViewDocument::into_grant).ok_or_else(missing)
    }
}

fn document_project_id(doc: &ViewDocument) -> Option<ProjectId> {
    match doc {
        ViewDocument::Mode(mode) => Some(mode.project),
        ViewDocument::Grant(grant) => Some(grant.project),
        ViewDocument::Trusted(trusted) => Some(trusted.project),
        ViewDocument::Project(project) => Some(project.id),
        ViewDocument::Token(_)
        | ViewDocument::Action(_)
        | ViewDocument::Kernel(_)
        | ViewDocument::Approval(_)
        | ViewDocument::Runtime(_)
        | ViewDocument::Session(_)
        | ViewDocument::Page(_)
        | ViewDocument::Draft(_)
        | ViewDocument::Usage(_)
        | ViewDocument::Look(_)
        | ViewDocument::Daemon(_)
        | ViewDocument::Governance(_)
        | ViewDocument::Turn(_)
        | ViewDocument::Output(_)
        | ViewDocument::Notebook(_) => None,
    }
}
