//! The valid tokens in memory.

use parking_lot::RwLock;
use std::collections::HashMap;

use provost_core::fold::ViewKind;
use provost_proto::{Hash, TokenId, TokenView, UnixMicros};
use provost_store::{EventStore, ListPosition, ListQuery};
use tokio::sync::watch;
use uuid::Uuid;

use crate::GatewayError;

/// How many tokens that expired are known after a start, so that their holders are told why they
/// are refused.
const MAX_EXPIRED_TOKENS: usize = 100;

/// The tokens that are not revoked, by digest. A copy of the view in memory, since every
/// request needs it.
#[derive(Debug, Default)]
pub(super) struct TokenRegistry {
    tokens: RwLock<HashMap<Hash, TokenView>>,
    /// How many tokens were revoked; open streams watch it.
    revoked: watch::Sender<u64>,
}

impl TokenRegistry {
    pub(super) async fn load(
        store: &dyn EventStore,
        now: UnixMicros,
    ) -> Result<Self, GatewayError> {
        let open = ListQuery::open(ViewKind::Tokens, Uuid::nil());
        let before = ListPosition::at_time(now.saturating_add(1));
        let queries = vec![
            ListQuery { after: now, ..open },
            ListQuery { before, limit: MAX_EXPIRED_TOKENS, ..open },
        ];
        let docs = store.list_under(queries).await?.into_iter();
        let tokens = docs.filter_map(|stored| stored.doc.into_token());
        let tokens = RwLock::new(tokens.map(|token| (token.digest, token)).collect());
        Ok(Self { tokens, revoked: watch::Sender::default() })
    }

    pub(super) fn find(&self, digest: &Hash) -> Option<TokenView> {
        self.tokens.read().get(digest).cloned()
    }

    pub(super) fn find_by_id(&self, id: TokenId) -> Option<TokenView> {
        let tokens = self.tokens.read();
        tokens.values().find(|token| token.id == id).cloned()
    }

    pub(super) fn contains(&self, digest: &Hash) -> bool {
        self.tokens.read().contains_key(digest)
    }

    pub(super) fn add(&self, token: TokenView) {
        self.tokens.write().insert(token.digest, token);
    }

    pub(super) fn remove(&self, id: TokenId) {
        let mut tokens = self.tokens.write();
        tokens.retain(|_, token| token.id != id);
        drop(tokens);
        self.revoked.send_modify(|n| *n += 1);
    }

    pub(super) fn subscribe_revocations(&self) -> watch::Receiver<u64> {
        self.revoked.subscribe()
    }

    /// Whether this principal has a valid token.
    pub(super) fn has_valid_token(&self, principal: &str, now: UnixMicros) -> bool {
        let tokens = self.tokens.read();
        let own = principal.strip_prefix("token:").unwrap_or_default();
        tokens.values().any(|token| {
            token.id.uuid().to_string() == own && token.expires_at.is_none_or(|end| now < end)
        })
    }

    pub(super) fn list(&self) -> Vec<TokenView> {
        let mut list: Vec<_> = self.tokens.read().values().cloned().collect();
        list.sort_by_key(|token| token.id);
        list
    }
}
