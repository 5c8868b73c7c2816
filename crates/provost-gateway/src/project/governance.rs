//! What governs the projects, in memory: a copy of the views that every
//! decision needs, and of the files that a person trusted.
//!
//! Changes are made one at a time, by whoever has the turn, and each is in the
//! log before it is here. So a decision that is made with the turn in hand is
//! made on what the log says.

pub(crate) mod changes;
pub(crate) mod files;
mod refresh;
mod watch;

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{
    Fact, GovernanceFileKind, Grant, GrantId, Project, ProjectId, ProjectMode, ProjectModeView,
    ProjectStatus, TrustedFile, UnixMicros,
};
use provost_store::EventStore;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::{Gateway, GatewayError};
use files::{GovernanceFiles, UserRules};

/// What governs one project.
#[derive(Debug, Clone)]
pub(crate) struct ProjectGovernance {
    pub(crate) project: Arc<Project>,
    mode: Option<ProjectModeView>,
    /// Those that were not taken back.
    pub(crate) grants: Vec<Grant>,
    trusted: HashMap<(GovernanceFileKind, String), TrustedFile>,
    /// The roles and rules, as they were read last.
    pub(crate) files: Option<Arc<GovernanceFiles>>,
    /// The rules of all layers.
    pub(crate) rules: Arc<PolicyRules>,
    /// Why some rules could not be read.
    pub(crate) broken: Option<String>,
}

#[derive(Debug)]
pub(crate) struct GovernanceRegistry {
    projects: RwLock<HashMap<ProjectId, Arc<ProjectGovernance>>>,
    user: RwLock<Arc<UserRules>>,
    /// One change at a time.
    turn: Semaphore,
    /// A project was opened or closed.
    opened: Notify,
}

/// The right to change what governs. There is one.
pub(crate) struct GovernanceGuard<'a> {
    _permit: SemaphorePermit<'a>,
}

impl ProjectGovernance {
    fn new(project: Project) -> Self {
        Self {
            project: Arc::new(project),
            mode: None,
            grants: Vec::new(),
            trusted: HashMap::new(),
            files: None,
            rules: Arc::new(PolicyRules::new(
                Policy::empty(RuleLayer::Builtin),
                Policy::empty(RuleLayer::User),
                None,
            )),
            broken: None,
        }
    }

    /// The mode, now: one that has ended is the default again.
    pub(crate) fn mode(&self, now: UnixMicros) -> ProjectMode {
        let set = self.mode.as_ref().filter(|set| set.until.is_none_or(|end| now < end));
        set.map_or(ProjectMode::default(), |set| set.mode)
    }

    /// The mode as it was set; the default if it never was.
    pub(crate) fn mode_view(&self, now: UnixMicros) -> ProjectModeView {
        let set = self.mode.clone().filter(|set| set.until.is_none_or(|end| now < end));
        set.unwrap_or_else(|| ProjectModeView {
            project: self.project.id,
            mode: ProjectMode::default(),
            until: None,
            by: self.project.opened_by.clone(),
            at: self.project.opened_at,
        })
    }

    /// What was trusted of a file.
    pub(crate) fn find_trusted_file(
        &self,
        what: GovernanceFileKind,
        file: &str,
    ) -> Option<&TrustedFile> {
        self.trusted.get(&(what, file.to_owned()))
    }

    /// Folds what the log says into this copy.
    fn apply_document(&mut self, doc: ViewDocument) {
        match doc {
            ViewDocument::Mode(mode) => self.mode = Some(mode),
            ViewDocument::Grant(grant) => {
                self.grants.retain(|known| known.id != grant.id);
                if grant.revoked_at.is_none() {
                    self.grants.push(*grant);
                }
            }
            ViewDocument::Trusted(trusted) => {
                self.trusted.insert((trusted.what, trusted.file.clone()), *trusted);
            }
            ViewDocument::Project(project) => self.project = Arc::new(*project),
            ViewDocument::Token(_)
            | ViewDocument::Action(_)
            | ViewDocument::Kernel(_)
            | ViewDocument::Approval(_)
            | ViewDocument::Runtime(_)
            | ViewDocument::Session(_)
            | ViewDocument::Page(_)
            | ViewDocument::Draft(_)
            | ViewDocument::Usage(_)
            | ViewDocument::Look(_) => {}
        }
    }
}

impl GovernanceRegistry {
    pub(crate) async fn load(
        store: &dyn EventStore,
        user: UserRules,
    ) -> Result<Self, GatewayError> {
        let mut projects = HashMap::new();
        for project in store
            .list_documents(ViewKind::Projects)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_project)
        {
            projects.insert(project.id, ProjectGovernance::new(project));
        }
        for view in [ViewKind::Modes, ViewKind::Grants, ViewKind::Trusted] {
            for doc in store.list_documents(view).await? {
                if let Some(governance) =
                    document_project_id(&doc).and_then(|id| projects.get_mut(&id))
                {
                    governance.apply_document(doc);
                }
            }
        }
        let projects =
            projects.into_iter().map(|(id, governance)| (id, Arc::new(governance))).collect();
        Ok(Self {
            projects: RwLock::new(projects),
            user: RwLock::new(Arc::new(user)),
            turn: Semaphore::new(1),
            opened: Notify::new(),
        })
    }

    /// What governs a project, if it is known.
    pub(crate) fn find_by_id(&self, project: ProjectId) -> Option<Arc<ProjectGovernance>> {
        self.projects.read().get(&project).cloned()
    }

    /// What governs the project with this id or slug.
    pub(crate) fn find_by_name(&self, name: &str) -> Option<Arc<ProjectGovernance>> {
        if let Ok(id) = name.parse() {
            return self.find_by_id(id);
        }
        let projects = self.projects.read();
        projects.values().find(|governance| governance.project.slug == name).cloned()
    }

    /// The projects that are open.
    fn list_open_projects(&self) -> Vec<ProjectId> {
        let projects = self.projects.read();
        let open = projects.values().filter(|known| known.project.status == ProjectStatus::Open);
        open.map(|known| known.project.id).collect()
    }

    pub(crate) fn user_rules(&self) -> Arc<UserRules> {
        Arc::clone(&self.user.read())
    }

    /// Takes what the log says now into the copy.
    pub(crate) fn apply_document(&self, doc: ViewDocument) {
        let mut projects = self.projects.write();
        if let ViewDocument::Project(project) = &doc
            && !projects.contains_key(&project.id)
        {
            projects.insert(project.id, Arc::new(ProjectGovernance::new(Project::clone(project))));
        }
        if let ViewDocument::Project(_) = &doc {
            self.opened.notify_one();
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
        | ViewDocument::Look(_) => None,
    }
}

impl Gateway {
    /// Waits for the turn to change what governs.
    pub(crate) async fn lock_governance(&self) -> Result<GovernanceGuard<'_>, GatewayError> {
        let permit = self.governance.turn.acquire().await;
        permit.map(|permit| GovernanceGuard { _permit: permit }).map_err(|_| GatewayError::Stopping)
    }

    /// Takes what these facts changed into the copy. They are in the log.
    pub(crate) async fn apply_governance_facts(&self, facts: &[Fact]) -> Result<(), GatewayError> {
        for fact in facts {
            for (key, _) in provost_core::fold::affected_documents(fact) {
                if let ViewKind::Modes | ViewKind::Grants | ViewKind::Trusted | ViewKind::Projects =
                    key.view
                    && let Some(doc) = self.store.get_document(key.view, key.key).await?
                {
                    self.governance.apply_document(doc);
                }
            }
        }
        Ok(())
    }

    /// The grant with this name, in whichever project.
    pub(crate) async fn find_grant(&self, id: &str) -> Result<Grant, GatewayError> {
        let missing = || GatewayError::ItemNotFound { what: "grant", name: id.to_owned() };
        let parsed: GrantId = id.parse().map_err(|_| missing())?;
        let doc = self.store.get_document(ViewKind::Grants, parsed.uuid()).await?;
        doc.and_then(ViewDocument::into_grant).ok_or_else(missing)
    }
}

/// The rules of all layers, and why some could not be read.
fn compile_rules(
    user: &UserRules,
    files: &GovernanceFiles,
    trusted: Option<&TrustedFile>,
) -> (PolicyRules, Option<String>) {
    let mut broken = user.errors.first().cloned();
    let project = files.policy.as_ref().and_then(|file| match &file.parsed {
        Ok(policy) => {
            let trust =
                files::trust_from_flag(trusted.is_some_and(|trusted| trusted.hash == file.hash));
            Some((policy.clone(), trust))
        }
        Err(errors) => {
            broken = broken.take().or_else(|| errors.first().cloned());
            None
        }
    });
    let builtin = Policy::builtin().unwrap_or_else(|errors| {
        // A test reads them; were they broken all the same, everything asks.
        broken = Some(errors.to_string());
        Policy::empty(RuleLayer::Builtin)
    });
    let own = user.policy.clone().unwrap_or_else(|| Policy::empty(RuleLayer::User));
    (PolicyRules::new(builtin, own, project), broken)
}
