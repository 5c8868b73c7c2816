//! Keeping the copy of the files true: read again when they changed, with an
//! event for each change.

use std::path::PathBuf;
use std::sync::Arc;

use provost_proto::{Actor, Fact, GovernanceFileKind, ProjectId, Stream};
use provost_store::{AppendRequest, Durability, NewEvent};

use super::files::{GovernanceFiles, POLICY_PATH, UserRules};
use super::{ProjectGovernance, compile_rules};
use crate::{Gateway, GatewayError};

impl Gateway {
    /// What governs a project, with its files as they are now.
    pub(crate) async fn load_governance(
        &self,
        project: ProjectId,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.to_string());
        let governance = self.governance.find_by_id(project).ok_or_else(missing)?;
        let fresh = governance.files.as_ref().is_some_and(|files| files.is_fresh());
        if fresh && self.governance.user_rules().is_fresh() {
            return Ok(governance);
        }
        // Rare and large, and so not a part of everybody who looks here.
        Box::pin(async {
            let guard = self.lock_governance().await?;
            self.refresh_governance(project, &guard).await
        })
        .await
    }

    /// The same for one who has the turn.
    pub(crate) async fn refresh_governance(
        &self,
        project: ProjectId,
        _guard: &super::GovernanceGuard<'_>,
    ) -> Result<Arc<ProjectGovernance>, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.to_string());
        let before = self.governance.find_by_id(project).ok_or_else(missing)?;
        let user = self.governance.user_rules();
        let stale = before.files.as_ref().is_none_or(|files| !files.is_fresh());
        if !stale && user.is_fresh() {
            return Ok(before);
        }
        let (folder, file) = (PathBuf::from(&before.project.path), user.file.clone());
        let now = self.clock.now();
        let read = move || (GovernanceFiles::read(&folder, now), UserRules::read(&file, now));
        let (files, now) =
            tokio::task::spawn_blocking(read).await.map_err(|_| GatewayError::Stopping)?;
        let mut facts = governance_change_facts(&before, &files);
        if now.hash != user.hash || now.errors != user.errors {
            facts.push(user_policy_changed_fact(&now));
        }
        if !facts.is_empty() {
            self.record_governance_facts(project, facts).await?;
        }
        self.store_governance_files(project, Arc::new(files), &Arc::new(now));
        self.governance.find_by_id(project).ok_or_else(missing)
    }

    /// Puts the rules together again, after something they depend on changed.
    pub(crate) fn recompile_rules(&self, project: ProjectId) {
        let Some(governance) = self.governance.find_by_id(project) else { return };
        if let Some(files) = &governance.files {
            self.store_governance_files(project, Arc::clone(files), &self.governance.user_rules());
        }
    }

    fn store_governance_files(
        &self,
        project: ProjectId,
        files: Arc<GovernanceFiles>,
        user: &Arc<UserRules>,
    ) {
        *self.governance.user.write() = Arc::clone(user);
        self.governance.update_project(project, |governance| {
            let trusted = governance.find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH);
            let (rules, broken) = compile_rules(user, &files, trusted);
            governance.rules = Arc::new(rules);
            governance.broken = broken;
            governance.files = Some(files);
        });
    }

    async fn record_governance_facts(
        &self,
        project: ProjectId,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let stream = Stream::Project(project);
        let events = facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None });
        self.append_redacted(AppendRequest {
            principal: self.owner.principal.clone(),
            actor: Actor::Daemon,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Buffered,
            events: events.collect(),
        })
        .await?;
        Ok(())
    }
}

/// What changed in a project's files, as facts.
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
