//! The `[log_archive]` section of `config.toml`: when older events move into segment files.
//!
//! ```toml
//! [log_archive]
//! age_days = 30    # events older than this
//! size_mib = 1024  # the oldest events, while the database holds more than this
//! ```

use std::time::Duration;

use anyhow::bail;
use provost_gateway::LogArchiveSettings;
use serde::{Deserialize, Serialize};

/// The section as written; without a value, nothing is archived by it.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase"))]
pub(crate) struct LogArchiveSection {
    age_days: Option<u32>,
    size_mib: Option<u64>,
}

impl LogArchiveSection {
    /// The settings for the gateway.
    pub(crate) fn to_settings(self) -> anyhow::Result<LogArchiveSettings> {
        if self.age_days == Some(0) || self.size_mib == Some(0) {
            bail!(
                "[log_archive] has a value of 0, which would archive everything at once\n\
                 hint: at least 1, or remove the value"
            );
        }
        let day = Duration::from_hours(24);
        Ok(LogArchiveSettings {
            max_age: self.age_days.map(|days| day * days),
            max_log_bytes: self.size_mib.map(|mib| mib.saturating_mul(1 << 20)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_archived_unless_it_is_set_and_zero_is_refused() {
        let settings = |text| toml::from_str::<LogArchiveSection>(text).unwrap().to_settings();
        assert_eq!(settings("").unwrap(), LogArchiveSettings::default());
        let set = settings("age_days = 2\nsize_mib = 3").unwrap();
        assert_eq!(set.max_age, Some(Duration::from_hours(48)));
        assert_eq!(set.max_log_bytes, Some(3 << 20));
        for zero in ["age_days = 0", "size_mib = 0"] {
            assert!(settings(zero).unwrap_err().to_string().contains("hint:"), "{zero}");
        }
    }
}
