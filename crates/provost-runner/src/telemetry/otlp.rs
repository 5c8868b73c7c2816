//! The collector: OTLP over HTTP, written as JSON.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::json;

use super::TelemetrySettings;
use super::span::{Span, otlp_attribute};
use crate::model::http_client_builder;

/// How often the same spans are tried.
const MAX_SEND_ATTEMPTS: u32 = 3;

/// How long one try may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The while before the second try; the third waits twice as long.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Why nothing can be sent there.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The address is none.
    #[error("`{0}` is no address of a collector; it is like `http://127.0.0.1:4318`")]
    InvalidAddress(String),
    /// A header is none.
    #[error("`{0}` is no header that can be sent")]
    InvalidHeader(String),
    /// No client can be made.
    #[error("nothing can be sent over HTTP: {0}")]
    HttpClient(String),
}

/// Where spans go.
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

    /// Sends the spans, and forgets them: what a collector does not take is lost, and
    /// said in the daemon's own log.
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
        let mut why = String::new();
        for attempt in 0..MAX_SEND_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(RETRY_DELAY.saturating_mul(attempt)).await;
            }
            let request = self.http.post(self.url.clone()).headers(self.headers.clone());
            match request.json(&body).send().await {
                Ok(answer) if answer.status().is_success() => return,
                Ok(answer) => {
                    why = format!("it answered {}", answer.status());
                    // Only these may go better another time.
                    if !matches!(answer.status().as_u16(), 429 | 502..=504) {
                        break;
                    }
                }
                Err(error) => why = error.without_url().to_string(),
            }
        }
        tracing::warn!(n = spans.len(), why, "the collector of telemetry took no spans");
    }
}
