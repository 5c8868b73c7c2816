//! How long something that was opened with a token may stay open.

use provost_proto::{Hash, UnixMicros};
use tokio::sync::watch;

/// The token that a stream or a connection was opened with. The stream ends when the token
/// is revoked or expires.
#[derive(Debug)]
pub struct TokenLease {
    /// `None` for the owner's token, which is valid as long as the daemon runs.
    pub(crate) digest: Option<Hash>,
    pub(crate) expires_at: Option<UnixMicros>,
    /// Changes when any token is revoked.
    pub(crate) revoked: watch::Receiver<u64>,
}
