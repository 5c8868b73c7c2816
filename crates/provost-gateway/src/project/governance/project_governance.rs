//! What governs one project.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::decide::ActingRole;
use provost_core::fold::ViewDocument;
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{
    GovernanceFileKind, Grant, Project, ProjectMode, ProjectModeView, TrustPrompt, TrustedFile,
    UnixMicros,
};

use super::files::{GovernanceFiles, RoleFile};

/// Rules, roles, trust, mode and grants of one project.
#[derive(Debug, Clone)]
pub(crate) struct ProjectGovernance {
    pub(crate) project: Arc<Project>,
    mode: Option<ProjectModeView>,
    /// The grants that are not revoked.
    pub(crate) grants: Vec<Grant>,
    trusted: HashMap<(GovernanceFileKind, String), TrustedFile>,
    /// The roles and rules, as they were read last.
    pub(crate) files: Option<Arc<GovernanceFiles>>,
    /// The rules of all layers.
    pub(crate) rules: Arc<PolicyRules>,
    /// Why some rules could not be read.
    pub(crate) broken: Option<String>,
}

impl ProjectGovernance {
    pub(super) fn new(project: Project) -> Self {
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

    /// The mode now; an expired mode is the default again.
    pub(crate) fn mode(&self, now: UnixMicros) -> ProjectMode {
        let set = self.mode.as_ref().filter(|set| set.until.is_none_or(|end| now < end));
        set.map_or(ProjectMode::default(), |set| set.mode)
    }

    /// The mode with who set it; the default if it was never set or has expired.
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

    /// The version of a file that a person trusted last.
    pub(crate) fn find_trusted_file(
        &self,
        what: GovernanceFileKind,
        file: &str,
    ) -> Option<&TrustedFile> {
        self.trusted.get(&(what, file.to_owned()))
    }

    /// The role with this name, trusted or not.
    pub(crate) fn find_role(&self, name: &str) -> Option<&RoleFile> {
        self.files.as_ref().and_then(|files| files.find_role(name))
    }

    /// Whether a role is trusted as its file is now.
    pub(crate) fn is_role_trusted(&self, file: &RoleFile) -> bool {
        let trusted = self.find_trusted_file(GovernanceFileKind::Role, &file.role.file);
        trusted.is_some_and(|trusted| trusted.hash == file.hash)
    }

    /// The role of a request, if it can be used.
    pub(crate) fn resolve_acting_role<'a>(&'a self, role: Option<&'a str>) -> ActingRole<'a> {
        let Some(role) = role else { return ActingRole::NoRole };
        match self.find_role(role) {
            None => ActingRole::Unusable { role, why: "is missing or cannot be read" },
            Some(file) if self.is_role_trusted(file) => ActingRole::Trusted(&file.role),
            Some(_) => ActingRole::Unusable { role, why: "is not trusted as it is now" },
        }
    }

    /// The trust prompt for a role whose file must be trusted before anything is decided.
    pub(crate) fn find_untrusted_role(&self, role: Option<&str>) -> Option<TrustPrompt> {
        let file = self.find_role(role?)?;
        (!self.is_role_trusted(file)).then(|| self.build_trust_prompt(file))
    }

    /// What a person is shown before they trust a role.
    pub(crate) fn build_trust_prompt(&self, file: &RoleFile) -> TrustPrompt {
        let before = self.find_trusted_file(GovernanceFileKind::Role, &file.role.file);
        let old = before.map_or("", |before| &before.text);
        TrustPrompt {
            what: GovernanceFileKind::Role,
            file: file.role.file.clone(),
            hash: file.hash,
            before: before.map(|before| before.hash),
            diff: provost_core::diff::whole_diff(old, &file.text, &file.role.file),
        }
    }

    /// Applies a document that the log has.
    pub(super) fn apply_document(&mut self, doc: ViewDocument) {
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
            | ViewDocument::Look(_)
            | ViewDocument::Daemon(_)
            | ViewDocument::Governance(_)
            | ViewDocument::Turn(_)
            | ViewDocument::Output(_)
            | ViewDocument::Notebook(_) => {}
        }
    }
}
