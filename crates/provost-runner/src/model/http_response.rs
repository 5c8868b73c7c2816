//! The head of an HTTP response: whether a stream follows, or which error it is.

use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};

use super::ModelError;
use super::wire::provider_failure::ProviderFailure;

/// Bytes that are read of a body that is not a stream.
pub(super) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The response, if its body is a stream.
pub(super) async fn check_stream_response(
    response: Response,
    idle: Duration,
) -> Result<Response, ModelError> {
    let status = response.status();
    if status.is_redirection() {
        let message = format!("it redirects (status {status}); set its final address");
        return Err(ModelError::Protocol(message));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    if status.is_success() && !is_json {
        return Ok(response);
    }
    let retry_after = parse_retry_after(response.headers());
    let body = read_body(response, idle).await?;
    if status.is_success() && !body.contains("\"error\"") {
        return Err(ModelError::Protocol("the response is not a stream".to_owned()));
    }
    Err(ProviderFailure::from_body(status.as_u16(), &body, retry_after).into_error())
}

/// A body as text, as far as it arrives.
pub(super) async fn read_body(
    mut response: Response,
    idle: Duration,
) -> Result<String, ModelError> {
    let mut bytes = Vec::new();
    loop {
        match tokio::time::timeout(idle, response.chunk()).await {
            Err(_) => return Err(ModelError::Stalled(idle)),
            // A partial error message is better than none.
            Ok(Err(_) | Ok(None)) => break,
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
        }
        if bytes.len() > MAX_BODY_BYTES {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How long the provider asks to be left alone: in milliseconds, in seconds, or until
/// a date, which is compared with the date of the answer and not with our clock.
pub(super) fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let (until, now) = (date(after)?, date(text(DATE.as_str())?)?);
    // A date in the past means now.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_says_in_four_ways_when_to_come_back() {
        let now = "Mon, 16 Nov 2026 10:00:00 GMT";
        for (name, value, expected) in [
            ("retry-after-ms", "1500", Some(1500)),
            ("retry-after", "7", Some(7000)),
            ("retry-after", "0.25", Some(250)),
            ("retry-after", "Mon, 16 Nov 2026 10:00:30 GMT", Some(30_000)),
            ("retry-after", "Mon, 16 Nov 2026 09:00:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-3", None),
            ("retry-after", "1e300", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("date", now.parse().unwrap());
            headers.insert(name, value.parse().unwrap());
            let expected = expected.map(Duration::from_millis);
            assert_eq!(parse_retry_after(&headers), expected, "{name}: {value}");
        }
    }
}
