//! The project that an event of another stream is about.

use provost_proto::{Fact, ProjectId};

/// The project that a fact names in its body. Facts that only streams of projects hold are left
/// out: their stream says it.
#[expect(clippy::wildcard_enum_match_arm, reason = "other facts are in the stream of a project")]
pub fn named_project(fact: &Fact) -> Option<ProjectId> {
    match fact {
        Fact::ProjectOpened { project, .. } | Fact::ProjectClosed { project } => Some(*project),
        Fact::TokenCreated { project, .. } | Fact::PolicyChanged { project, .. } => *project,
        Fact::SessionOpened(opened) => Some(opened.project),
        Fact::NotebookCreated(created) => Some(created.project),
        Fact::UsageRecorded(used) => Some(used.project),
        _ => None,
    }
}
