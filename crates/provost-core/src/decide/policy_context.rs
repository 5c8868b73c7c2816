//! How things stand when a decision is made: in which role, under which rules,
//! grants and mode, and who may answer.

use provost_proto::{
    Approval, Code, Grant, GrantId, GrantScope, PinnedFile, ProjectMode, RuleRef, TokenClass,
    UnixMicros,
};

use super::Denial;
use super::bound_action::BoundAction;
use crate::action::RelPath;
use crate::policy::PolicyRules;
use crate::role::Role;

/// In which role something is asked for.
#[derive(Debug, Clone, Copy)]
pub enum ActingRole<'a> {
    /// In none: a person, for themselves.
    NoRole,
    /// In this role, which an operator trusted as it is.
    Trusted(&'a Role),
    /// In a role that cannot be used.
    Unusable {
        /// Its name.
        role: &'a str,
        /// Why not: `is missing`, `is not trusted`.
        why: &'a str,
    },
}

/// How things stand.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContext<'a> {
    /// The rules, of all layers.
    pub rules: &'a PolicyRules,
    /// Why some rules could not be read. Then everything asks.
    pub broken: Option<&'a str>,
    /// The project's folder, for rules that are for one; `None` if it is not known.
    pub folder: Option<&'a str>,
    /// The folders that are someone's home, as far as they are known.
    pub homes: &'a [String],
    /// What people granted in this project.
    pub grants: &'a [Grant],
    /// The mode, as it is now.
    pub mode: ProjectMode,
    /// When.
    pub now: UnixMicros,
    /// The scripts that the action would run, as they are now.
    pub pins: &'a [PinnedFile],
    /// Where links lead the paths that it names, for those that are elsewhere.
    pub leads_to: &'a [RelPath],
    /// Why a person must look first, if they must: what it runs changed since they last did.
    pub unseen: Option<&'a str>,
    /// How often exactly this action was the last that the asker did.
    pub again: u32,
}

impl PolicyContext<'_> {
    /// The grant that covers this, if one does. `asking` are the rules that ask,
    /// which its question must have named.
    pub(super) fn find_grant(
        &self,
        matter: &BoundAction,
        role: &Role,
        asking: &[RuleRef],
    ) -> Option<GrantId> {
        // A link can be made to lead elsewhere, and what was granted was a place.
        if !self.leads_to.is_empty() {
            return None;
        }
        // Most grants are for commands, and most of what is asked for are reads.
        let command = matter.effective_command().is_some();
        let may_cover = |grant: &&Grant| match &grant.covers {
            GrantScope::Command { .. } => command,
            GrantScope::Paths { name, .. } | GrantScope::Exact { name, .. } => {
                *name == matter.request.action.name()
            }
        };
        if !self.grants.iter().any(|grant| may_cover(&grant)) {
            return None;
        }
        let covers = matter.grant_scope().ok()?;
        let holds = |grant: &&Grant| {
            may_cover(grant)
                && grant.project == matter.request.project
                && grant.revoked_at.is_none()
                && grant.until.is_none_or(|end| self.now < end)
                && grant.grantee == matter.request.principal
                && grant.role.as_deref() == Some(&*role.name)
                && (grant.session.is_none() || grant.session == matter.request.session)
                && scope_covers(&grant.covers, &covers)
                && grant.pins == self.pins
                && asking.iter().all(|rule| rule.effect == "allow" || grant.rules.contains(rule))
        };
        self.grants.iter().find(holds).map(|grant| grant.id)
    }
}

/// Whether a grant for the one is a grant for the other.
fn scope_covers(granted: &GrantScope, asked: &GrantScope) -> bool {
    match (granted, asked) {
        // What was granted with the network is granted without it.
        (
            GrantScope::Command { runs, writes, cwd, network },
            GrantScope::Command { runs: r, writes: w, cwd: c, network: n },
        ) => runs == r && writes == w && cwd == c && (*network || !n),
        (GrantScope::Paths { .. }, GrantScope::Paths { .. })
        | (GrantScope::Exact { .. }, GrantScope::Exact { .. }) => granted == asked,
        (GrantScope::Command { .. } | GrantScope::Paths { .. } | GrantScope::Exact { .. }, _) => {
            false
        }
    }
}

/// Who answers a question.
#[derive(Debug, Clone, Copy)]
pub struct Approver<'a> {
    /// On whose authority.
    pub principal: &'a str,
    /// What kind of token they hold.
    pub class: TokenClass,
}

impl Approver<'_> {
    /// Fails unless this is a person, and not the one who asks. A person who
    /// tries a role may answer for it: they may do the same without one.
    pub fn check_may_answer(&self, approval: &Approval) -> Result<(), Denial> {
        if self.class != TokenClass::Operator {
            return Err(Denial::new(Code::Forbidden, "only an operator may answer"));
        }
        if approval.class != TokenClass::Operator && approval.principal == self.principal {
            return Err(Denial::new(Code::OwnRequest, "nobody may answer their own request"));
        }
        Ok(())
    }
}
