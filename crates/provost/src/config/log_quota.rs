//! The `[log_quota]` section of `config.toml`: how much agents may add to the log.
//!
//! ```toml
//! [log_quota]
//! token_mib = 256               # at once, by one token
//! token_kib_per_second = 512    # then
//! project_mib = 1024            # at once, by all agents of a project
//! project_kib_per_second = 1024 # then
//! log_mib = 65536               # size of the log beyond which agents are refused
//! ```

use anyhow::bail;
use provost_gateway::{ByteAllowance, LogQuotaLimits};
use serde::{Deserialize, Serialize};

/// The section as written; what is not set has its default.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
pub(crate) struct LogQuotaSection {
    token_mib: Option<u64>,
    token_kib_per_second: Option<u64>,
    project_mib: Option<u64>,
    project_kib_per_second: Option<u64>,
    log_mib: Option<u64>,
}

impl LogQuotaSection {
    /// The limits for the gateway.
    pub(crate) fn to_limits(self) -> anyhow::Result<LogQuotaLimits> {
        let default = LogQuotaLimits::default();
        let to_bytes = |name, written: Option<u64>, unit: u64, default| match written {
            None => Ok(default),
            Some(0) => bail!("[log_quota] {name} is 0, so no agent could act\nhint: at least 1"),
            Some(n) => Ok(n.saturating_mul(unit)),
        };
        let (kib, mib) = (1 << 10, 1 << 20);
        let per_second = |name, written, default| to_bytes(name, written, kib, default);
        let most = |name, written, default| to_bytes(name, written, mib, default);
        Ok(LogQuotaLimits {
            principal: ByteAllowance {
                most: most("token_mib", self.token_mib, default.principal.most)?,
                per_second: per_second(
                    "token_kib_per_second",
                    self.token_kib_per_second,
                    default.principal.per_second,
                )?,
            },
            project: ByteAllowance {
                most: most("project_mib", self.project_mib, default.project.most)?,
                per_second: per_second(
                    "project_kib_per_second",
                    self.project_kib_per_second,
                    default.project.per_second,
                )?,
            },
            max_log_bytes: most("log_mib", self.log_mib, default.max_log_bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_has_its_default_and_nothing_is_zero() {
        let limits = |text| toml::from_str::<LogQuotaSection>(text).unwrap().to_limits();
        assert_eq!(limits("").unwrap(), LogQuotaLimits::default());
        let raised = limits("token_mib = 3\nproject_kib_per_second = 5\nlog_mib = 7").unwrap();
        assert_eq!(raised.principal.most, 3 << 20);
        assert_eq!(raised.principal.per_second, LogQuotaLimits::default().principal.per_second);
        assert_eq!(raised.project.per_second, 5 << 10);
        assert_eq!(raised.max_log_bytes, 7 << 20);
        let error = limits("project_mib = 0").unwrap_err().to_string();
        assert!(error.contains("project_mib") && error.contains("hint:"), "{error}");
    }
}
