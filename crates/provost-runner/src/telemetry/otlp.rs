//! Sends spans to a collector: OTLP over HTTP, encoded as JSON.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::json;

use super::TelemetrySettings;
use super::span::{Span, otlp_attribute};
use crate::model::http_client_builder;

/// How often the same spans are sent.
const MAX_SEND_ATTEMPTS: u32 = 3;

/// Timeout of one attempt.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay before the second attempt; twice as long before the third.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Why a collector cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The address is not an HTTP URL.
    #[error("`{0}` is not the address of a collector; use a URL such as `http://127.0.0.1:4318`")]
    InvalidAddress(String),
    /// The name or value of a header is malformed.
    #[error("the header `{0}` for the collector is malformed")]
    InvalidHeader(String),
    /// The HTTP client cannot be built.
    #[error("cannot build an HTTP client for the collector: {0}")]
    HttpClient(String),
}

/// The connection to a collector.
#[derive(Debug)]
pub(super) struct OtlpCollector {
    http: Client,
    url: Url,
    headers: HeaderMap,
}

impl OtlpCollector {
    pub(super) fn new(settings: &TelemetrySettings) -> Result<Self, CollectorError> {
        let text = format!("{}/v1/traces", settings.endpoint.trim_end_matches('/'));
        let bad = || CollectorError::InvalidAddress(settings.endpoint.clone());
        let url: Url = text.parse().map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let bad = || CollectorError::InvalidHeader(name.clone());
            let key: HeaderName = name.parse().map_err(|_| bad())?;
            let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let http =
            http_client_builder().timeout(SEND_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        let http = http.build().map_err(|error| CollectorError::HttpClient(error.to_string()))?;
        Ok(Self { http, url, headers })
    }

    /// Sends the spans. Spans that the collector does not accept are dropped with a warning in
    /// the daemon's own log.
    pub(super) async fn send_batch(&self, batch: &mut Vec<Span>) {
        let spans = std::mem::take(batch);
        if spans.is_empty() {
            return;
        }
        let service = otlp_attribute("service.name", &json!("provost"));
        let version = otlp_attribute("service.version", &json!(env!("CARGO_PKG_VERSION")));
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [service, version] },
            "scopeSpans": [{
                "scope": { "name": "provost.sessions", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans.iter().map(Span::to_otlp).collect::<Vec<_>>(),
            }],
        }] });
        let mut reason = String::new();
        for attempt in 0..MAX_SEND_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(RETRY_DELAY.saturating_mul(attempt)).await;
            }
            let request = self.http.post(self.url.clone()).headers(self.headers.clone());
            match request.json(&body).send().await {
                Ok(response) if response.status().is_success() => return,
                Ok(response) => {
                    reason = format!("it answered {}", response.status());
                    // Only these are temporary.
                    if !matches!(response.status().as_u16(), 429 | 502..=504) {
                        break;
                    }
                }
                Err(error) => reason = error.without_url().to_string(),
            }
        }
        tracing::warn!(n = spans.len(), reason, "the telemetry collector did not accept spans");
    }
}
