//! Which documents a page asks for.

use std::collections::BTreeSet;

use provost_core::fold::ViewKind;
use provost_core::hash_chain;
use provost_proto::{ProjectId, SessionId};

use crate::GatewayError;

/// The views that a page can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageView {
    /// The daemon.
    Daemon,
    /// All projects.
    Projects,
    /// All modes.
    Modes,
    /// The kernels of open projects.
    Kernels,
    /// The runtimes of open projects.
    Runtimes,
    /// The pending approvals, and the last resolved ones.
    Approvals,
    /// The valid grants, and the last ended ones.
    Grants,
    /// When governance files changed.
    Governance,
    /// What agents typed into the terminals; made from the actions.
    AgentInput,
    /// The sessions: the active and the latest ones.
    Sessions,
    /// The last items of one session.
    Pages,
    /// The completion that one session streams.
    Drafts,
    /// The last turns of one session.
    Turns,
    /// The open actions, or those of one session.
    Actions,
    /// What the running commands of one session print.
    Outputs,
}

impl PageView {
    /// All of them, in the order of a snapshot.
    pub const ALL: [Self; 15] = [
        Self::Daemon,
        Self::Projects,
        Self::Modes,
        Self::Kernels,
        Self::Runtimes,
        Self::Governance,
        Self::Approvals,
        Self::Grants,
        Self::AgentInput,
        Self::Sessions,
        Self::Pages,
        Self::Drafts,
        Self::Turns,
        Self::Actions,
        Self::Outputs,
    ];

    /// The name in requests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Daemon => ViewKind::Daemon.name(),
            Self::Projects => ViewKind::Projects.name(),
            Self::Modes => ViewKind::Modes.name(),
            Self::Kernels => ViewKind::Kernels.name(),
            Self::Runtimes => ViewKind::Runtimes.name(),
            Self::Approvals => ViewKind::Approvals.name(),
            Self::Grants => ViewKind::Grants.name(),
            Self::Governance => ViewKind::Governance.name(),
            Self::AgentInput => "agentInput",
            Self::Sessions => ViewKind::Sessions.name(),
            Self::Pages => ViewKind::Pages.name(),
            Self::Drafts => ViewKind::Drafts.name(),
            Self::Turns => ViewKind::Turns.name(),
            Self::Actions => ViewKind::Actions.name(),
            Self::Outputs => ViewKind::Outputs.name(),
        }
    }

    /// The view of a document that is sent as it is stored.
    pub(super) const fn from_kind(kind: ViewKind) -> Option<Self> {
        Some(match kind {
            ViewKind::Daemon => Self::Daemon,
            ViewKind::Projects => Self::Projects,
            ViewKind::Modes => Self::Modes,
            ViewKind::Kernels => Self::Kernels,
            ViewKind::Runtimes => Self::Runtimes,
            ViewKind::Approvals => Self::Approvals,
            ViewKind::Grants => Self::Grants,
            ViewKind::Governance => Self::Governance,
            ViewKind::Sessions => Self::Sessions,
            ViewKind::Pages => Self::Pages,
            ViewKind::Drafts => Self::Drafts,
            ViewKind::Turns => Self::Turns,
            ViewKind::Actions => Self::Actions,
            ViewKind::Outputs => Self::Outputs,
            ViewKind::Tokens
            | ViewKind::Trusted
            | ViewKind::Usage
            | ViewKind::Looks
            | ViewKind::Notebook(_) => {
                return None;
            }
        })
    }

    /// Whether its documents are of one conversation.
    const fn is_of_session(self) -> bool {
        matches!(self, Self::Pages | Self::Drafts | Self::Turns | Self::Outputs)
    }

    /// Whether a reader that is bound to a project is sent its documents: as with the log, only
    /// what the project's own stream tells.
    const fn is_of_project_stream(self) -> bool {
        !matches!(
            self,
            Self::Daemon
                | Self::Sessions
                | Self::Pages
                | Self::Drafts
                | Self::Turns
                | Self::Outputs
        )
    }
}

/// Which documents a page asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentSelection {
    /// The views by name; those of the page if absent.
    pub views: Option<Vec<String>>,
    /// Only documents of this project.
    pub project: Option<ProjectId>,
    /// Also the conversation of this session.
    pub session: Option<SessionId>,
}

/// The same, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedSelection {
    pub(super) views: BTreeSet<PageView>,
    pub(super) project: Option<ProjectId>,
    pub(super) session: Option<SessionId>,
    /// The views of which the open and the latest documents were asked for, besides those of the
    /// conversation.
    pub(super) listed: BTreeSet<PageView>,
    /// Whether the reader sees this project only.
    pub(super) is_bound: bool,
}

impl DocumentSelection {
    /// What of it a reader may see that may be bound to one project. Asking for what it may not
    /// see is an error.
    pub(super) fn restrict_to(
        self,
        bound: Option<ProjectId>,
    ) -> Result<AllowedSelection, GatewayError> {
        if let (Some(only), Some(project)) = (bound, self.project)
            && only != project
        {
            return Err(GatewayError::BoundToOtherProject);
        }
        if bound.is_some() && self.session.is_some() {
            return Err(GatewayError::BoundToOtherProject);
        }
        let is_visible = |view: &PageView| bound.is_none() || view.is_of_project_stream();
        let mut views: BTreeSet<_> = if let Some(names) = self.views {
            let views: BTreeSet<_> =
                names.iter().map(|name| parse_view(name)).collect::<Result<_, _>>()?;
            if !views.iter().all(is_visible) {
                return Err(GatewayError::BoundToOtherProject);
            }
            views
        } else {
            let page = |view: &PageView| !view.is_of_session() && *view != PageView::Actions;
            PageView::ALL.into_iter().filter(page).filter(is_visible).collect()
        };
        let listed = views.clone();
        if self.session.is_some() {
            let conversation = |view: &PageView| view.is_of_session();
            views.extend(PageView::ALL.into_iter().filter(conversation));
            views.extend([PageView::Sessions, PageView::Actions, PageView::Approvals]);
        } else {
            views.retain(|view| !view.is_of_session());
        }
        Ok(AllowedSelection {
            views,
            project: bound.or(self.project),
            session: self.session,
            listed,
            is_bound: bound.is_some(),
        })
    }
}

fn parse_view(name: &str) -> Result<PageView, GatewayError> {
    PageView::ALL.into_iter().find(|view| view.name() == name).ok_or_else(|| {
        let names: Vec<_> = PageView::ALL.into_iter().map(PageView::name).collect();
        let why = format!("has no view `{name}`; there are {}", names.join(", "));
        GatewayError::InvalidField { field: "views", why }
    })
}

impl AllowedSelection {
    /// Whether a view was asked for.
    pub(super) fn has(&self, view: PageView) -> bool {
        self.views.contains(&view)
    }

    /// Whether the open and the latest documents of a view were asked for, not only those of the
    /// conversation.
    pub(super) fn lists(&self, view: PageView) -> bool {
        self.listed.contains(&view)
    }

    /// Whether documents of a project were asked for.
    pub(super) fn has_project(&self, project: ProjectId) -> bool {
        self.project.is_none_or(|only| only == project)
    }

    /// Tells selections apart in a cursor.
    pub(super) fn fingerprint(&self) -> u32 {
        let names = |views: &BTreeSet<PageView>| {
            views.iter().map(|view| view.name()).collect::<Vec<_>>().join(",")
        };
        let text = format!(
            "{} {:?} {:?} {} {}",
            names(&self.views),
            self.project,
            self.session,
            names(&self.listed),
            self.is_bound
        );
        provost_proto::DocumentCursor::hash_prefix(&hash_chain::digest(text.as_bytes()))
    }
}
