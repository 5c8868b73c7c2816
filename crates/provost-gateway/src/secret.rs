//! Random secrets, and comparing them without telling how far they agree.

use std::fmt;

use provost_core::hash_chain;
use provost_proto::Hash;
use subtle::ConstantTimeEq;

use crate::GatewayError;

/// A token or login code as text. It is not shown by `{:?}`, so that no log
/// line can hold one by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// 256 random bits behind a prefix that tells people and scanners what it is.
    pub fn random(prefix: &str) -> Result<Self, GatewayError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| GatewayError::NoRandomness(error.to_string()))?;
        Ok(Self(format!("{prefix}{}", Hash::new(bytes))))
    }

    /// A secret that was read from where it is kept.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What may be stored of it.
    pub fn digest(&self) -> Hash {
        digest(&self.0)
    }
}

/// What may be stored of a secret.
pub(crate) fn digest(secret: &str) -> Hash {
    hash_chain::digest(secret.as_bytes())
}

/// Whether two digests are equal, in a time that does not tell where they differ.
pub(crate) fn constant_time_eq(a: &Hash, b: &Hash) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}
