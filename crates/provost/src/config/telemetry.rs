//! What `config.toml` says of telemetry. Without it, nothing is sent anywhere.
//!
//! ```toml
//! [telemetry]
//! endpoint = "http://127.0.0.1:4318"   # a collector of OpenTelemetry, OTLP over HTTP
//! content = false                      # whether messages, arguments and results are told
//!
//! [telemetry.headers]
//! Authorization = "Bearer …"
//! ```

use std::collections::BTreeMap;

use provost_runner::telemetry::{ContentCapture, TelemetrySettings};
use serde::{Deserialize, Serialize};

/// As it is written. Serialized without the values of the headers, which may be keys.
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
    /// What must not be stored or shown.
    pub(super) fn secret_values(&self) -> impl Iterator<Item = &String> {
        self.headers.values()
    }

    /// What it means.
    pub(crate) fn to_settings(&self) -> TelemetrySettings {
        TelemetrySettings {
            endpoint: self.endpoint.clone(),
            headers: self.headers.clone().into_iter().collect(),
            contents: if self.content { ContentCapture::Included } else { ContentCapture::Omitted },
        }
    }
}
