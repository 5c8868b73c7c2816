//! Random secrets, their digests, and comparison in constant time.

use std::fmt;

use provost_core::hash_chain;
use provost_proto::Hash;
use subtle::ConstantTimeEq;

use crate::GatewayError;

/// A token or a one-time code. `Debug` does not print it, so that it cannot reach a log by
/// accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// 256 random bits after a prefix that tells people and secret scanners what it is.
    pub fn random(prefix: &str) -> Result<Self, GatewayError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| GatewayError::NoRandomness(error.to_string()))?;
        Ok(Self(format!("{prefix}{}", Hash::new(bytes))))
    }

    /// Wraps a secret that was read from storage.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret as text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The digest, which may be stored.
    pub fn digest(&self) -> Hash {
        digest(&self.0)
    }
}

/// The digest of a secret, which may be stored.
pub(crate) fn digest(secret: &str) -> Hash {
    hash_chain::digest(secret.as_bytes())
}

/// Compares two digests in constant time.
pub(crate) fn constant_time_eq(a: &Hash, b: &Hash) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}
