//! The `[telemetry]` section of `config.toml`. Without it, nothing is exported.
//!
//! ```toml
//! [telemetry]
//! endpoint = "http://127.0.0.1:4318"   # an OpenTelemetry collector, OTLP over HTTP
//! content = false                      # whether messages, arguments and results are exported
//!
//! [telemetry.headers]
//! Authorization = "Bearer …"
//! ```

use std::collections::BTreeMap;

use provost_runner::telemetry::{ContentCapture, TelemetrySettings};
use serde::{Deserialize, Serialize};

/// The section as written. Serialized without the header values, which may be keys.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelemetrySection {
    endpoint: String,
    #[serde(default)]
    content: bool,
    #[serde(default, skip_serializing)]
    headers: BTreeMap<String, String>,
}

impl TelemetrySection {
    /// Values to redact.
    pub(super) fn secret_values(&self) -> impl Iterator<Item = &String> {
        self.headers.values()
    }

    /// The settings for the exporter.
    pub(crate) fn to_settings(&self) -> TelemetrySettings {
        TelemetrySettings {
            endpoint: self.endpoint.clone(),
            headers: self.headers.clone().into_iter().collect(),
            contents: if self.content { ContentCapture::Included } else { ContentCapture::Omitted },
        }
    }
}
