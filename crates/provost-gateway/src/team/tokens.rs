//! Tokens: handing them out, taking them back, and knowing who holds one.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::time::Duration;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{
    Actor, CreateTokenRequest, Fact, Hash, Principal, Stream, TokenClass, TokenId, TokenView,
    UnixMicros, limits,
};
use provost_store::{AppendOutcome, AppendRequest, EventStore, StoreError};
use tokio::sync::watch;

use crate::error::class_name;
use crate::team::login::minutes_to_micros;
use crate::team::projects::MAX_CONFLICT_RETRIES;
use crate::{Caller, Gateway, GatewayError, Operator, OperatorRequest, Secret, secret};

/// How often a token that holds a stream open is looked at, at least.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// The tokens that were handed out and not taken back, by digest. A copy of
/// the view, since every request needs it.
#[derive(Debug, Default)]
pub(crate) struct TokenRegistry {
    tokens: RwLock<HashMap<Hash, TokenView>>,
    /// How many were taken back; whoever holds a stream open watches it.
    revoked: watch::Sender<u64>,
}

impl TokenRegistry {
    pub(crate) async fn load(store: &dyn EventStore) -> Result<Self, GatewayError> {
        let tokens = store
            .list_documents(ViewKind::Tokens)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_token);
        let alive = tokens.filter(|token| token.revoked_at.is_none());
        let tokens = RwLock::new(alive.map(|token| (token.digest, token)).collect());
        Ok(Self { tokens, revoked: watch::Sender::default() })
    }

    fn find(&self, digest: &Hash) -> Option<TokenView> {
        self.tokens.read().get(digest).cloned()
    }

    fn find_by_id(&self, id: TokenId) -> Option<TokenView> {
        let tokens = self.tokens.read();
        tokens.values().find(|token| token.id == id).cloned()
    }

    fn has(&self, digest: &Hash) -> bool {
        self.tokens.read().contains_key(digest)
    }

    fn add(&self, token: TokenView) {
        self.tokens.write().insert(token.digest, token);
    }

    fn remove(&self, id: TokenId) {
        let mut tokens = self.tokens.write();
        tokens.retain(|_, token| token.id != id);
        drop(tokens);
        self.revoked.send_modify(|n| *n += 1);
    }

    /// Whether a token that works speaks for this principal.
    pub(crate) fn has_valid_token(&self, principal: &str, now: UnixMicros) -> bool {
        let tokens = self.tokens.read();
        let own = principal.strip_prefix("token:").unwrap_or_default();
        tokens.values().any(|token| {
            token.id.uuid().to_string() == own && token.expires_at.is_none_or(|end| now < end)
        })
    }

    fn list(&self) -> Vec<TokenView> {
        let mut list: Vec<_> = self.tokens.read().values().cloned().collect();
        list.sort_by_key(|token| token.id);
        list
    }
}

/// On whose authority a token is handed out, and for whom it speaks.
pub(crate) enum TokenHolder<'a> {
    /// A browser of the owner's.
    OwnerBrowser {
        /// What may be stored of its page's half.
        page: Hash,
    },
    /// Itself; an operator asked for it.
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

/// How a token reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestCredentials<'a> {
    /// In the `Authorization` header.
    Header(&'a str),
    /// From a browser, in two halves. Cookies go to every port of a host, so what
    /// else listens there may know the one; what a page keeps, only pages of our
    /// own origin can read.
    Browser {
        /// What the cookie holds.
        cookie: &'a str,
        /// What the page keeps, and sends in a header.
        page: Option<&'a str>,
    },
}

impl RequestCredentials<'_> {
    fn digest(self) -> Hash {
        match self {
            Self::Header(token) => secret::digest(token),
            Self::Browser { cookie, page: _ } => secret::digest(cookie),
        }
    }
}

/// What keeps a stream open: the token it was opened with, as long as it works.
#[derive(Debug)]
pub struct TokenLease {
    /// `None` for the owner's token, which ends with the daemon only.
    digest: Option<Hash>,
    expires_at: Option<UnixMicros>,
    revoked: watch::Receiver<u64>,
}

impl Gateway {
    /// Who holds this token.
    pub fn authenticate(
        &self,
        credentials: RequestCredentials<'_>,
    ) -> Result<Caller, GatewayError> {
        let digest = credentials.digest();
        if self.is_owner(credentials, &digest) {
            let principal = self.owner.principal.clone();
            return Ok(Caller::new(principal, Actor::Cli, TokenClass::Operator, None, None));
        }
        let token = self
            .registry
            .find(&digest)
            .filter(|token| secret::constant_time_eq(&token.digest, &digest))
            .ok_or(GatewayError::Unauthenticated("this token is unknown or was revoked"))?;
        if token.expires_at.is_some_and(|end| end <= self.clock.now()) {
            return Err(GatewayError::Unauthenticated("this token has expired"));
        }
        check_credential_halves(&token, credentials)?;
        let actor = match (token.class, credentials) {
            (TokenClass::Agent, _) => Actor::Agent(token.role.clone().unwrap_or_default()),
            (TokenClass::Runtime, _) => Actor::Runtime(token.id.uuid().to_string()),
            (TokenClass::Operator | TokenClass::Viewer, RequestCredentials::Browser { .. }) => {
                Actor::Ui
            }
            (TokenClass::Operator | TokenClass::Viewer, RequestCredentials::Header(_)) => {
                Actor::Cli
            }
        };
        let principal = token.holder.unwrap_or_else(|| format!("token:{}", token.id.uuid()));
        let caller = Caller::new(principal, actor, token.class, token.project, token.role);
        Ok(caller.with_token(token.id))
    }

    /// The owner's token is for programs; a browser gets one of its own.
    fn is_owner(&self, credentials: RequestCredentials<'_>, digest: &Hash) -> bool {
        matches!(credentials, RequestCredentials::Header(_))
            && secret::constant_time_eq(digest, &self.owner.digest)
    }

    /// A pass for something that lasts longer than a request.
    pub fn lease_token(
        &self,
        credentials: RequestCredentials<'_>,
    ) -> Result<TokenLease, GatewayError> {
        self.authenticate(credentials)?;
        let revoked = self.registry.revoked.subscribe();
        let digest = credentials.digest();
        if self.is_owner(credentials, &digest) {
            return Ok(TokenLease { digest: None, expires_at: None, revoked });
        }
        let expires_at = self.registry.find(&digest).and_then(|token| token.expires_at);
        Ok(TokenLease { digest: Some(digest), expires_at, revoked })
    }

    /// A pass for what this token was used to open; `None` names the owner's. There is
    /// none for a token that works no more.
    pub(crate) fn lease_token_by_id(&self, token: Option<TokenId>) -> Option<TokenLease> {
        let revoked = self.registry.revoked.subscribe();
        let Some(id) = token else {
            return Some(TokenLease { digest: None, expires_at: None, revoked });
        };
        let TokenView { digest, expires_at, .. } = self.registry.find_by_id(id)?;
        let pass = TokenLease { digest: Some(digest), expires_at, revoked };
        self.is_lease_valid(&pass).then_some(pass)
    }

    /// Whether the token behind a pass still works.
    pub fn is_lease_valid(&self, pass: &TokenLease) -> bool {
        pass.digest.as_ref().is_none_or(|digest| self.registry.has(digest))
            && pass.expires_at.is_none_or(|end| end > self.clock.now())
    }

    /// Returns when the token behind a pass works no more.
    pub async fn wait_lease_end(&self, pass: &mut TokenLease) {
        while self.is_lease_valid(pass) {
            let left = pass.expires_at.map(|end| end.saturating_sub(self.clock.now()));
            // Not much longer than the rest, and never long: the clock may be set.
            let wait = left.map_or(LEASE_CHECK_INTERVAL, |left| {
                Duration::from_micros(left + 1).min(LEASE_CHECK_INTERVAL)
            });
            tokio::select! {
                changed = pass.revoked.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Hands out a token. The secret is returned this once and stored nowhere.
    pub async fn create_token(
        &self,
        request: OperatorRequest<'_>,
        wanted: CreateTokenRequest,
    ) -> Result<(Secret, TokenView), GatewayError> {
        validate_token_request(&wanted)?;
        self.issue_token(wanted, TokenHolder::OwnPrincipal(request)).await
    }

    pub(crate) async fn issue_token(
        &self,
        wanted: CreateTokenRequest,
        holder: TokenHolder<'_>,
    ) -> Result<(Secret, TokenView), GatewayError> {
        let CreateTokenRequest { class, project, role, label, ttl_minutes } = wanted;
        let project = match project {
            Some(name) => Some(self.get_project(&name).await?.id),
            None => None,
        };
        let secret = Secret::random(&format!("provost_{}_", class_name(class)))?;
        let now = self.clock.now();
        let page = holder.page();
        let (principal, actor, holder, command) = match holder {
            TokenHolder::OwnerBrowser { page: _ } => {
                let owner = self.owner.principal.clone();
                (owner.clone(), Actor::Ui, Some(owner), None)
            }
            TokenHolder::OwnPrincipal(OperatorRequest { by, command }) => {
                (by.principal().to_owned(), by.actor().clone(), None, command)
            }
        };
        let token = TokenView {
            id: self.clock.new_id(),
            class,
            project,
            role,
            holder,
            label: self.redactor.redact_text(&label.unwrap_or_default()).into_owned(),
            digest: secret.digest(),
            page,
            created_by: principal.clone(),
            created_at: now,
            expires_at: ttl_minutes.map(|ttl| now + minutes_to_micros(ttl)),
            revoked_at: None,
        };
        let append =
            AppendRequest::single_event(principal, actor, Stream::Sys, token_created_fact(&token));
        match self.append_redacted(AppendRequest { command, ..append }).await? {
            // The secret that was shown then is stored nowhere; this one was never valid.
            AppendOutcome::Replayed(_) => Err(GatewayError::TokenAlreadyShown),
            AppendOutcome::Appended(_) => {
                self.registry.add(token.clone());
                Ok((secret, token))
            }
        }
    }

    /// The tokens that still work.
    pub fn list_tokens(&self, _by: &Operator) -> Vec<TokenView> {
        let now = self.clock.now();
        let mut list = self.registry.list();
        list.retain(|token| token.expires_at.is_none_or(|end| end > now));
        list
    }

    /// Takes a token back. It stops working before this returns.
    pub async fn revoke_token(&self, by: &Operator, id: &str) -> Result<(), GatewayError> {
        let not_found = || GatewayError::TokenNotFound(id.to_owned());
        let token: TokenId = id.parse().map_err(|_| not_found())?;
        for _ in 0..MAX_CONFLICT_RETRIES {
            // First the version, then the look: what changes after is a conflict.
            let version = self.store.stream_version(Stream::Sys).await?;
            let doc = self.store.get_document(ViewKind::Tokens, token.uuid()).await?;
            if doc.and_then(ViewDocument::into_token).is_none_or(|known| known.revoked_at.is_some())
            {
                return Err(not_found());
            }
            let (principal, actor): (Principal, _) =
                (by.principal().to_owned(), by.actor().clone());
            let append = AppendRequest::single_event(
                principal,
                actor,
                Stream::Sys,
                Fact::TokenRevoked { token },
            );
            match self
                .append_redacted(AppendRequest { expect: vec![(Stream::Sys, version)], ..append })
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

/// Whether a token came as it must: one for programs alone, a browser's with both
/// of its halves.
fn check_credential_halves(
    token: &TokenView,
    credentials: RequestCredentials<'_>,
) -> Result<(), GatewayError> {
    let no = |why| Err(GatewayError::Unauthenticated(why));
    match (credentials, &token.page) {
        // Whoever has seen the cookie could send it as if it were a program's token.
        (RequestCredentials::Header(_), _) if token.holder.is_some() => {
            no("what a browser was given works in that browser only")
        }
        (RequestCredentials::Header(_), _) => Ok(()),
        (RequestCredentials::Browser { .. }, None) => {
            no("this login was made by an older Provost, and a cookie alone is nobody now")
        }
        (RequestCredentials::Browser { page: None, .. }, Some(_)) => {
            no("the cookie of a login is nobody without what its page keeps (`Provost-Page`)")
        }
        (RequestCredentials::Browser { page: Some(page), .. }, Some(kept)) => {
            if secret::constant_time_eq(kept, &secret::digest(page)) {
                Ok(())
            } else {
                no("the cookie and the page are of different logins")
            }
        }
    }
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
            invalid("ttlMinutes", "it lies between 1 and 527040, a year")
        }
        Some(_) | None => Ok(()),
    }
}
