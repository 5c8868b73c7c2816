//! Issuing and revoking tokens.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::notebook::NotebookView;
use provost_proto::{
    Actor, CreateTokenRequest, Fact, Hash, NotebookId, ProjectId, Stream, TokenClass, TokenId,
    TokenView, UnixMicros, limits,
};
use provost_store::{AppendOutcome, AppendRequest, StoreError};

use super::Auth;
use crate::error::class_name;
use crate::team::projects::MAX_CONFLICT_RETRIES;
use crate::{GatewayError, Operator, OperatorRequest, Secret};

/// Who a new token speaks for.
pub(super) enum TokenHolder<'a> {
    /// The owner, in a browser.
    OwnerBrowser {
        /// Digest of the half that the page stores.
        page: Hash,
    },
    /// Itself; an operator requested it.
    OwnPrincipal(OperatorRequest<'a>),
}

impl TokenHolder<'_> {
    fn page(&self) -> Option<Hash> {
        match self {
            Self::OwnerBrowser { page } => Some(*page),
            Self::OwnPrincipal(_) => None,
        }
    }
}

impl Auth {
    /// Issues a token. The secret is returned only now and stored nowhere.
    pub async fn create_token(
        &self,
        request: OperatorRequest<'_>,
        wanted: CreateTokenRequest,
    ) -> Result<(Secret, TokenView), GatewayError> {
        validate_token_request(&wanted)?;
        self.issue_token(wanted, TokenHolder::OwnPrincipal(request)).await
    }

    pub(super) async fn issue_token(
        &self,
        wanted: CreateTokenRequest,
        holder: TokenHolder<'_>,
    ) -> Result<(Secret, TokenView), GatewayError> {
        let CreateTokenRequest { class, project, role, notebook, label, ttl_minutes } = wanted;
        let project = match project {
            Some(name) => Some(self.projects.get_project(&name).await?.id),
            None => None,
        };
        let project = match notebook {
            Some(notebook) => Some(self.find_notebook_project(notebook, project).await?),
            None => project,
        };
        let secret = Secret::random(&format!("provost_{}_", class_name(class)))?;
        let now = self.log.now();
        let page = holder.page();
        let (principal, actor, holder, command) = match holder {
            TokenHolder::OwnerBrowser { page: _ } => {
                let owner = self.log.owner().principal.clone();
                (owner.clone(), Actor::Ui, Some(owner), None)
            }
            TokenHolder::OwnPrincipal(OperatorRequest { by, command }) => {
                (by.principal().to_owned(), by.actor().clone(), None, command)
            }
        };
        let token = TokenView {
            id: self.log.clock().new_id(),
            class,
            project,
            role,
            holder,
            label: self.log.redactor().redact_text(&label.unwrap_or_default()).into_owned(),
            digest: secret.digest(),
            page,
            notebook,
            created_by: principal.clone(),
            created_at: now,
            expires_at: ttl_minutes.map(|ttl| now + minutes_to_micros(ttl)),
            revoked_at: None,
        };
        let append =
            AppendRequest::single_event(principal, actor, Stream::Sys, token_created_fact(&token));
        match self.log.append(AppendRequest { command, ..append }).await? {
            // The secret was shown then and is stored nowhere; this one was never valid.
            AppendOutcome::Replayed(_) => Err(GatewayError::TokenAlreadyShown),
            AppendOutcome::Appended(_) => {
                self.registry.add(token.clone());
                Ok((secret, token))
            }
        }
    }

    /// The project of a notebook, which is this one if one is named.
    async fn find_notebook_project(
        &self,
        notebook: NotebookId,
        wanted: Option<ProjectId>,
    ) -> Result<ProjectId, GatewayError> {
        let doc = self
            .log
            .store()
            .get_document(ViewKind::Notebook(NotebookView::Notebooks), notebook.uuid())
            .await?;
        let found = doc.and_then(ViewDocument::into_notebook).map(|notebook| notebook.project);
        found.filter(|found| wanted.is_none_or(|wanted| wanted == *found)).ok_or_else(|| {
            GatewayError::ItemNotFound { what: "notebook", name: notebook.to_string() }
        })
    }

    /// The valid tokens.
    pub fn list_tokens(&self, _by: &Operator) -> Vec<TokenView> {
        let now = self.log.now();
        let mut list = self.registry.list();
        list.retain(|token| token.expires_at.is_none_or(|end| end > now));
        list
    }

    /// Revokes a token. It is invalid before this returns.
    pub async fn revoke_token(&self, by: &Operator, id: &str) -> Result<(), GatewayError> {
        let not_found = || GatewayError::TokenNotFound(id.to_owned());
        let token: TokenId = id.parse().map_err(|_| not_found())?;
        for _ in 0..MAX_CONFLICT_RETRIES {
            // The version is read first, so that a later change is a conflict.
            let version = self.log.store().stream_version(Stream::Sys).await?;
            let doc = self.log.store().get_document(ViewKind::Tokens, token.uuid()).await?;
            if doc.and_then(ViewDocument::into_token).is_none_or(|known| known.revoked_at.is_some())
            {
                return Err(not_found());
            }
            let fact = Fact::TokenRevoked { token };
            let append =
                AppendRequest::single_event(by.principal(), by.actor().clone(), Stream::Sys, fact);
            match self
                .log
                .append(AppendRequest { expect: vec![(Stream::Sys, version)], ..append })
                .await
            {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    self.registry.remove(token);
                    return Ok(());
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }
}

/// Microseconds in a number of minutes.
pub(super) const fn minutes_to_micros(n: u32) -> UnixMicros {
    n as UnixMicros * 60_000_000
}

fn token_created_fact(token: &TokenView) -> Fact {
    let token = token.clone();
    Fact::TokenCreated {
        token: token.id,
        class: token.class,
        project: token.project,
        role: token.role,
        holder: token.holder,
        label: token.label,
        digest: token.digest,
        page: token.page,
        notebook: token.notebook,
        expires_at: token.expires_at,
    }
}

fn validate_token_request(wanted: &CreateTokenRequest) -> Result<(), GatewayError> {
    let invalid = |field, why: &str| Err(GatewayError::InvalidField { field, why: why.to_owned() });
    let too_long =
        |text: &Option<String>| text.as_ref().is_some_and(|t| t.len() > limits::MAX_NAME_BYTES);
    match wanted.class {
        TokenClass::Agent if wanted.project.is_none() => {
            return invalid("project", "an agent's token is bound to a project; name one");
        }
        TokenClass::Agent if wanted.role.as_ref().is_none_or(String::is_empty) => {
            return invalid("role", "an agent's token is bound to a role; name one");
        }
        TokenClass::Operator if wanted.project.is_some() => {
            return invalid("project", "an operator is not bound to a project; leave it out");
        }
        TokenClass::Operator | TokenClass::Runtime | TokenClass::Viewer
            if wanted.role.is_some() =>
        {
            return invalid("role", "only an agent's token has a role; leave it out");
        }
        TokenClass::Agent | TokenClass::Operator | TokenClass::Viewer
            if wanted.notebook.is_some() =>
        {
            return invalid("notebook", "only a runtime's token names a notebook; leave it out");
        }
        TokenClass::Agent | TokenClass::Operator | TokenClass::Runtime | TokenClass::Viewer => {}
    }
    if too_long(&wanted.role) {
        return invalid("role", "it is longer than 128 bytes");
    }
    if too_long(&wanted.label) {
        return invalid("label", "it is longer than 128 bytes");
    }
    match wanted.ttl_minutes {
        Some(ttl) if ttl == 0 || ttl > limits::MAX_TOKEN_MINUTES => {
            invalid("ttlMinutes", "it must be between 1 and 527040, which is a year")
        }
        Some(_) | None => Ok(()),
    }
}
