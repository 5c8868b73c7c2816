//! The fold of governance: modes, approvals, grants and trusted files.

use provost_proto::{
    Approval, ApprovalAnswer, ApprovalStatus, Fact, GovernanceChanges, GovernanceFileKind, Grant,
    LogCursor, ProjectId, ProjectModeView, TrustedFile,
};
use uuid::Uuid;

use super::{EventMetadata, ViewDocument};

/// The key of a trusted file, derived from project, kind and file.
pub(super) fn trusted_file_key(project: ProjectId, what: GovernanceFileKind, file: &str) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(project.uuid().as_bytes());
    hasher.update(match what {
        GovernanceFileKind::Role => b"role/",
        GovernanceFileKind::Policy => b"plcy/",
        GovernanceFileKind::Runtime => b"runs/",
    });
    hasher.update(file.as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Uuid::from_bytes(key)
}

pub(super) fn new_mode(metadata: EventMetadata<'_>, fact: &Fact) -> Option<ProjectModeView> {
    let Fact::ModeChanged { project, mode, until } = fact else { return None };
    let by = metadata.principal.to_owned();
    Some(ProjectModeView { project: *project, mode: *mode, until: *until, by, at: metadata.at })
}

pub(super) fn new_trusted_file(metadata: EventMetadata<'_>, fact: &Fact) -> Option<TrustedFile> {
    let Fact::FileTrusted { project, what, file, hash, text } = fact else { return None };
    Some(TrustedFile {
        project: *project,
        what: *what,
        file: file.clone(),
        hash: *hash,
        text: text.clone(),
        by: metadata.principal.to_owned(),
        at: metadata.at,
    })
}

pub(super) fn new_grant(metadata: EventMetadata<'_>, fact: &Fact) -> Option<Grant> {
    let Fact::GrantCreated {
        grant,
        project,
        approval,
        grantee,
        role,
        session,
        covers,
        pins,
        rules,
        what,
        until,
    } = fact
    else {
        return None;
    };
    Some(Grant {
        id: *grant,
        project: *project,
        approval: *approval,
        grantee: grantee.clone(),
        role: role.clone(),
        session: *session,
        covers: covers.clone(),
        pins: pins.clone(),
        rules: rules.clone(),
        what: what.clone(),
        until: *until,
        by: metadata.principal.to_owned(),
        at: metadata.at,
        revoked_at: None,
    })
}

pub(super) fn new_approval(metadata: EventMetadata<'_>, fact: &Fact) -> Option<Approval> {
    let Fact::ApprovalAsked {
        approval,
        project,
        action,
        action_hash,
        class,
        role,
        session,
        question,
        expires_at,
    } = fact
    else {
        return None;
    };
    Some(Approval {
        id: *approval,
        project: *project,
        action: *action,
        action_hash: *action_hash,
        principal: metadata.principal.to_owned(),
        actor: metadata.actor.clone(),
        class: *class,
        role: role.clone(),
        session: *session,
        question: (**question).clone(),
        status: ApprovalStatus::Pending,
        asked_at: metadata.at,
        expires_at: *expires_at,
        resolved_at: None,
        resolved_by: None,
        scope: None,
        message: None,
        resolved_actor: None,
        resolved_command: None,
    })
}

/// The first answer counts: a resolved approval does not change any more.
pub(super) fn update_approval(
    approval: Approval,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Approval {
    if approval.status != ApprovalStatus::Pending {
        return approval;
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact resolves an approval")]
    let (status, scope, message) = match fact {
        Fact::ApprovalAnswered { decision, scope, message, .. } => {
            let status = match decision {
                ApprovalAnswer::Allow => ApprovalStatus::Allowed,
                ApprovalAnswer::Deny => ApprovalStatus::Denied,
            };
            (status, *scope, message.clone())
        }
        Fact::ApprovalExpired { .. } => (ApprovalStatus::Expired, None, None),
        Fact::ApprovalWithdrawn { why, .. } => (ApprovalStatus::Withdrawn, None, Some(why.clone())),
        _ => return approval,
    };
    Approval {
        status,
        scope,
        message,
        resolved_at: Some(metadata.at),
        resolved_by: Some(metadata.principal.to_owned()),
        resolved_actor: Some(metadata.actor.clone()),
        resolved_command: metadata.command.map(str::to_owned),
        ..approval
    }
}

/// Records which kind of governance file changed last.
pub(super) fn fold_changes(
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact is about such files")]
    let (project, is_role) = match fact {
        Fact::RoleLoaded { project, .. } | Fact::RoleRejected { project, .. } => {
            (Some(*project), true)
        }
        Fact::FileTrusted { project, what, .. } => {
            (Some(*project), *what == GovernanceFileKind::Role)
        }
        Fact::PolicyChanged { project, .. } => (*project, false),
        _ => return doc,
    };
    let mut changes = match doc {
        Some(ViewDocument::Governance(changes)) => changes,
        Some(_) | None => GovernanceChanges {
            project,
            roles_changed: LogCursor::START,
            policy_changed: LogCursor::START,
        },
    };
    if is_role {
        changes.roles_changed = metadata.cursor;
    } else {
        changes.policy_changed = metadata.cursor;
    }
    Some(ViewDocument::Governance(changes))
}
