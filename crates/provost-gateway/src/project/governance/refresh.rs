//! Reading the governance files again when they changed, with an event for each change.

use std::path::PathBuf;
use std::sync::Arc;

use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{Actor, Fact, GovernanceFileKind, ProjectId, TrustedFile};

use super::files::{self, GovernanceFiles, POLICY_PATH, UserRules};
use super::{Governance, GovernanceGuard, ProjectGovernance};
use crate::GatewayError;

impl Governance {
    /// What governs a project, with its files as they are now.
    pub(crate) async fn load_current(
        &self,
        project: ProjectId,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        let governance = self.get_by_id(project)?;
        let fresh = governance.files.as_ref().is_some_and(|files| files.is_fresh());
        if fresh && self.user_rules().is_fresh() {
            return Ok(governance);
        }
        // Rare and large, so it is boxed and adds nothing to the callers' futures.
        Box::pin(async {
            let guard = self.lock().await?;
            self.refresh(project, &guard).await
        })
        .await
    }

    /// The same for a holder of the guard.
    pub(crate) async fn refresh(
        &self,
        project: ProjectId,
        _guard: &GovernanceGuard<'_>,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        let before = self.get_by_id(project)?;
        let user = self.user_rules();
        let stale = before.files.as_ref().is_none_or(|files| !files.is_fresh());
        if !stale && user.is_fresh() {
            return Ok(before);
        }
        let (folder, file) = (PathBuf::from(&before.project.path), user.file.clone());
        let now = self.log.now();
        let read = move || (GovernanceFiles::read(&folder, now), UserRules::read(&file, now));
        let (files, user_now) =
            tokio::task::spawn_blocking(read).await.map_err(|_| GatewayError::Stopping)?;
        let mut facts = governance_change_facts(&before, &files);
        if user_now.hash != user.hash || user_now.errors != user.errors {
            facts.push(user_policy_changed_fact(&user_now));
        }
        if !facts.is_empty() {
            self.log.record_project_events(project, Actor::Daemon, facts).await?;
        }
        self.store_files(project, Arc::new(files), &Arc::new(user_now));
        self.get_by_id(project)
    }

    /// Compiles the rules again, after something that they depend on changed.
    pub(crate) fn recompile_rules(&self, project: ProjectId) {
        let Some(governance) = self.find_by_id(project) else { return };
        if let Some(files) = &governance.files {
            self.store_files(project, Arc::clone(files), &self.user_rules());
        }
    }

    fn store_files(&self, project: ProjectId, files: Arc<GovernanceFiles>, user: &Arc<UserRules>) {
        *self.user_rules.write() = Arc::clone(user);
        self.update_project(project, |governance| {
            let trusted = governance.find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH);
            let (rules, broken) = compile_rules(user, &files, trusted);
            governance.rules = Arc::new(rules);
            governance.broken = broken;
            governance.files = Some(files);
        });
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
        // A test parses them. If they were broken all the same, everything needs approval.
        broken = Some(errors.to_string());
        Policy::empty(RuleLayer::Builtin)
    });
    let own = user.policy.clone().unwrap_or_else(|| Policy::empty(RuleLayer::User));
    (PolicyRules::new(builtin, own, project), broken)
}

/// The changes between two readings of a project's files, as facts.
fn governance_change_facts(before: &ProjectGovernance, now: &GovernanceFiles) -> Vec<Fact> {
    let project = before.project.id;
    let then = before.files.as_deref();
    let mut facts = Vec::new();
    for file in &now.roles {
        let known = then.and_then(|then| then.find_role(&file.role.name));
        if known.is_none_or(|known| known.hash != file.hash || known.role.file != file.role.file) {
            let trusted = before.find_trusted_file(GovernanceFileKind::Role, &file.role.file);
            facts.push(Fact::RoleLoaded {
                project,
                role: file.role.name.clone(),
                file: file.role.file.clone(),
                hash: file.hash,
                skills: file.role.skills.iter().map(str::to_owned).collect(),
                model: file.role.model.clone(),
                trusted: trusted.is_some_and(|trusted| trusted.hash == file.hash),
            });
        }
    }
    for refused in &now.rejected {
        if !then.is_some_and(|then| then.rejected.contains(refused)) {
            let (file, why) = (refused.file.clone(), refused.why.clone());
            facts.push(Fact::RoleRejected { project, file, why });
        }
    }
    for known in then.map(|then| &*then.roles).unwrap_or_default() {
        let file = &known.role.file;
        let there = now.roles.iter().any(|role| role.role.file == *file)
            || now.rejected.iter().any(|refused| refused.file == *file);
        if !there {
            let why = "the file is gone, and with it the role".to_owned();
            facts.push(Fact::RoleRejected { project, file: file.clone(), why });
        }
    }
    let (old, new) = (then.and_then(|then| then.policy.as_ref()), now.policy.as_ref());
    if old.map(|old| old.hash) != new.map(|new| new.hash) {
        let trusted = before
            .find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH)
            .map(|trusted| trusted.hash);
        let parsed = new.map(|new| &new.parsed);
        facts.push(Fact::PolicyChanged {
            project: Some(project),
            layer: "project".to_owned(),
            hash: new.map(|new| new.hash),
            rules: parsed.and_then(|parsed| parsed.as_ref().ok()).map_or(0, count_rules),
            trusted: new.is_some_and(|new| trusted == Some(new.hash)),
            errors: parsed.and_then(|parsed| parsed.as_ref().err()).cloned().unwrap_or_default(),
        });
    }
    facts
}

fn user_policy_changed_fact(now: &UserRules) -> Fact {
    Fact::PolicyChanged {
        project: None,
        layer: "user".to_owned(),
        hash: now.hash,
        rules: now.policy.as_ref().map_or(0, count_rules),
        trusted: true,
        errors: now.errors.clone(),
    }
}

fn count_rules(policy: &provost_core::policy::Policy) -> u32 {
    u32::try_from(policy.rules().len()).unwrap_or(u32::MAX)
}
