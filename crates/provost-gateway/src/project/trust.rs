//! Trusting governance files, which lets the actions continue that waited for it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use provost_proto::{ChangeRoleRequest, Project, RoleView, TrustFileRequest, TrustedFile};

use crate::project::approvals::Approvals;
use crate::project::governance::Governance;
use crate::project::request_context::RequestContext;
use crate::{GatewayError, OperatorRequest};

/// Changes of trust by a person.
#[derive(Debug)]
pub struct TrustService {
    governance: Arc<Governance>,
    approvals: Arc<Approvals>,
}

impl TrustService {
    pub(crate) fn new(governance: Arc<Governance>, approvals: Arc<Approvals>) -> Self {
        Self { governance, approvals }
    }

    /// Trusts a governance file exactly as it was shown.
    pub async fn trust_file(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        wanted: TrustFileRequest,
    ) -> Result<TrustedFile, GatewayError> {
        let guard = self.governance.lock().await?;
        let context = RequestContext::from_operator(request.by, project);
        let trusted = self.governance.trust_file(request, project, &wanted, &guard).await?;
        self.approvals.resume_trusted_actions(&context, &trusted, &guard).await?;
        self.governance.get_trusted_file(project, wanted.what, &wanted.file)
    }

    /// Changes the model in a role's file. A trusted role stays trusted.
    pub async fn change_role_model(
        &self,
        request: OperatorRequest<'_>,
        project: &Project,
        role: &str,
        change: ChangeRoleRequest,
    ) -> Result<RoleView, GatewayError> {
        let guard = self.governance.lock().await?;
        let context = RequestContext::from_operator(request.by, project);
        let changed =
            self.governance.change_role_model(request, project, role, &change.model, &guard);
        if let Some(trusted) = changed.await? {
            self.approvals.resume_trusted_actions(&context, &trusted, &guard).await?;
        }
        self.governance.get_role_view(project, role, &guard).await
    }
}
