//! Everything that a decision depends on: role, rules, grants, mode, and who may answer.

use provost_proto::{
    Approval, Code, Grant, GrantId, GrantScope, PinnedFile, ProjectMode, RuleRef, TokenClass,
    UnixMicros,
};

use super::Denial;
use super::bound_action::BoundAction;
use crate::action::RelPath;
use crate::policy::PolicyRules;
use crate::role::Role;

/// The role of the requester.
#[derive(Debug, Clone, Copy)]
pub enum ActingRole<'a> {
    /// None: a person acts for themselves.
    NoRole,
    /// A role that an operator trusted with its current content.
    Trusted(&'a Role),
    /// A role that cannot be used.
    Unusable {
        /// Its name.
        role: &'a str,
        /// The reason: `is missing`, `is not trusted`.
        why: &'a str,
    },
}

/// Everything that a decision depends on, besides the action.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContext<'a> {
    /// The rules of all layers.
    pub rules: &'a PolicyRules,
    /// Why some rules could not be read. Then every action needs an approval.
    pub broken: Option<&'a str>,
    /// The absolute path of the project, for rules that are limited to one; `None` if unknown.
    pub folder: Option<&'a str>,
    /// The home folders that are known.
    pub homes: &'a [String],
    /// The grants of this project.
    pub grants: &'a [Grant],
    /// The current mode.
    pub mode: ProjectMode,
    /// The current time.
    pub now: UnixMicros,
    /// The scripts that the action would run, with their current hashes.
    pub pins: &'a [PinnedFile],
    /// The targets of links on the paths that it names, where they differ.
    pub link_targets: &'a [RelPath],
    /// Why what a file action writes would be set aside unless a person is shown it.
    pub set_aside_reason: Option<&'a str>,
    /// Why a person must review what it runs first: it changed since the last review.
    pub unreviewed_runtime: Option<&'a str>,
    /// How many of the requester's last actions were exactly this one, in a row.
    pub n_repeats: u32,
}

impl PolicyContext<'_> {
    /// The grant that covers the action, if there is one. `asking` are the rules that ask, which
    /// the grant's approval must have named.
    pub(super) fn find_grant(
        &self,
        bound: &BoundAction,
        role: &Role,
        asking_rules: &[RuleRef],
    ) -> Option<GrantId> {
        // A link can change its target, and a grant is for a path.
        if !self.link_targets.is_empty() {
            return None;
        }
        // Most grants are for commands and most requests are reads, so compare that first.
        let command = bound.effective_command().is_some();
        let may_cover = |grant: &&Grant| match &grant.covers {
            GrantScope::Command { .. } => command,
            GrantScope::Paths { name, .. } | GrantScope::Exact { name, .. } => {
                *name == bound.request.action.name()
            }
        };
        if !self.grants.iter().any(|grant| may_cover(&grant)) {
            return None;
        }
        let covers = bound.grant_scope().ok()?;
        let holds = |grant: &&Grant| {
            may_cover(grant)
                && grant.project == bound.request.project
                && grant.revoked_at.is_none()
                && grant.until.is_none_or(|end| self.now < end)
                && grant.grantee == bound.request.principal
                && grant.role.as_deref() == Some(&*role.name)
                && (grant.session.is_none() || grant.session == bound.request.session)
                && scope_covers(&grant.covers, &covers)
                && grant.pins == self.pins
                && asking_rules
                    .iter()
                    .all(|rule| rule.effect == "allow" || grant.rules.contains(rule))
        };
        self.grants.iter().find(holds).map(|grant| grant.id)
    }
}

/// Whether a grant for one scope covers the other.
fn scope_covers(granted: &GrantScope, requested: &GrantScope) -> bool {
    match (granted, requested) {
        // A grant with the network also covers the command without it.
        (
            GrantScope::Command { runs, writes, cwd, network },
            GrantScope::Command { runs: r, writes: w, cwd: c, network: n },
        ) => runs == r && writes == w && cwd == c && (*network || !n),
        (GrantScope::Paths { .. }, GrantScope::Paths { .. })
        | (GrantScope::Exact { .. }, GrantScope::Exact { .. }) => granted == requested,
        (GrantScope::Command { .. } | GrantScope::Paths { .. } | GrantScope::Exact { .. }, _) => {
            false
        }
    }
}

/// The person who answers an approval.
#[derive(Debug, Clone, Copy)]
pub struct Approver<'a> {
    /// On whose authority.
    pub principal: &'a str,
    /// The class of their token.
    pub class: TokenClass,
}

impl Approver<'_> {
    /// Fails unless this is a person, and not the requester. A person who tries out a role may
    /// answer for it, since they may do the same without the role.
    pub fn check_may_answer(&self, approval: &Approval) -> Result<(), Denial> {
        if self.class != TokenClass::Operator {
            return Err(Denial::new(Code::Forbidden, "only an operator may answer"));
        }
        if approval.class != TokenClass::Operator && approval.principal == self.principal {
            return Err(Denial::new(
                Code::OwnRequest,
                "requesters cannot answer their own approvals",
            ));
        }
        Ok(())
    }
}
