//! Opening and closing projects, and resuming them after a restart of the daemon: what needs
//! the team's and the projects' services together.

use std::sync::Arc;

use provost_proto::Project;

use crate::project::approvals::Approvals;
use crate::project::governance::Governance;
use crate::project::kernels::KernelPool;
use crate::team::projects::{CloseProjectOutcome, OpenProjectOutcome, Projects};
use crate::{GatewayError, NewProjectFolder, OperatorRequest};

/// Opens and closes projects.
#[derive(Debug)]
pub struct ProjectLifecycle {
    projects: Arc<Projects>,
    governance: Arc<Governance>,
    kernels: Arc<KernelPool>,
    approvals: Arc<Approvals>,
}

impl ProjectLifecycle {
    pub(crate) fn new(
        projects: Arc<Projects>,
        governance: Arc<Governance>,
        kernels: Arc<KernelPool>,
        approvals: Arc<Approvals>,
    ) -> Self {
        Self { projects, governance, kernels, approvals }
    }

    /// Opens a folder as a project. A folder that was a project before is the same project
    /// again, with its history.
    pub async fn open_project(
        &self,
        request: OperatorRequest<'_>,
        path: &str,
    ) -> Result<OpenProjectOutcome, GatewayError> {
        let outcome = self.projects.record_opened(request, path).await?;
        if let OpenProjectOutcome::Opened(project) = &outcome {
            self.governance.reload_project(project.id).await?;
        }
        Ok(outcome)
    }

    /// Creates a folder and opens it as a project. Nothing is overwritten: a folder that
    /// exists is refused.
    pub async fn create_project(
        &self,
        request: OperatorRequest<'_>,
        folder: NewProjectFolder,
    ) -> Result<Project, GatewayError> {
        let path = self.projects.create_folder(folder).await?;
        match self.open_project(request, &path.to_string_lossy()).await? {
            OpenProjectOutcome::Opened(project) | OpenProjectOutcome::AlreadyOpen(project) => {
                Ok(project)
            }
        }
    }

    /// Closes a project: withdraws its approvals and stops its kernel. Its folder and its
    /// history stay.
    pub async fn close_project(
        &self,
        request: OperatorRequest<'_>,
        name: &str,
    ) -> Result<Project, GatewayError> {
        let project = match self.projects.record_closed(request, name).await? {
            CloseProjectOutcome::Unchanged(project) => return Ok(project),
            CloseProjectOutcome::Closed(project) => project,
        };
        self.governance.reload_project(project.id).await?;
        self.approvals.withdraw_project_approvals(project.id).await?;
        self.kernels.stop_closed_kernel(project.id).await;
        self.kernels.mark_home_closed(project.id).await;
        Ok(project)
    }

    /// Reconnects to the kernels that kept running, and withdraws the approvals that cannot
    /// be answered any more. To be called once, after the start of the daemon.
    pub async fn resume_projects(&self) -> Result<(), GatewayError> {
        let projects = self.projects.list_projects().await?;
        self.kernels.reattach_kernels(&projects).await?;
        self.kernels.remove_unused_homes(&projects).await;
        self.approvals.withdraw_unrestorable_approvals().await
    }
}
