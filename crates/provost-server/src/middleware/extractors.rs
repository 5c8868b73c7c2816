//! Extractors for JSON bodies, queries, paths and idempotency keys, with errors that say what
//! was expected.

use std::error::Error;
use std::iter::successors;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use bytes::Bytes;
use provost_core::hash_chain;
use provost_proto::{Code, Hash, limits};
use provost_store::Idempotency;
use serde::de::DeserializeOwned;

use crate::api_error::ApiError;

/// Time limit for reading a body.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body and the request's idempotency key.
pub(crate) struct JsonBody<T> {
    pub(crate) value: T,
    pub(crate) command: Option<Idempotency>,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let content_type =
            request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = content_type.is_some_and(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            return Err(ApiError::new(
                Code::UnsupportedMediaType,
                "send JSON, with `Content-Type: application/json`",
            ));
        }
        let key = read_idempotency_key(&request)?.map(|key| (key, request_target(&request)));
        let bytes = read_body(request).await?;
        let value = parse_json(&bytes)?;
        let command =
            key.map(|(key, target)| Idempotency { key, request: digest_request(&target, &bytes) });
        Ok(Self { value, command })
    }
}

/// A body of bytes.
pub(crate) struct RawBody {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: Option<String>,
}

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let content_type = request.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self { content_type, bytes: read_body(request).await? })
    }
}

/// The idempotency key of a request without a body.
pub(crate) struct IdempotencyHeader(pub(crate) Option<Idempotency>);

impl<S: Send + Sync> FromRequest<S> for IdempotencyHeader {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let digest = || digest_request(&request_target(&request), b"");
        Ok(Self(read_idempotency_key(&request)?.map(|key| Idempotency { key, request: digest() })))
    }
}

/// Method and path, which an idempotency key is bound to.
fn request_target(request: &Request) -> String {
    format!("{} {}\n", request.method(), request.uri().path())
}

fn digest_request(target: &str, body: &[u8]) -> Hash {
    hash_chain::digest(&[target.as_bytes(), body].concat())
}

fn read_idempotency_key(request: &Request) -> Result<Option<String>, ApiError> {
    let Some(value) = request.headers().get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= limits::MAX_IDEMPOTENCY_KEY_BYTES => {
            Ok(Some(key.to_owned()))
        }
        Ok(_) | Err(_) => Err(ApiError::new(
            Code::InvalidRequest,
            "`Idempotency-Key` takes 1 to 128 visible ASCII characters",
        )),
    }
}

/// Largest body in bytes; that of an action may contain a file.
fn body_limit(path: &str) -> usize {
    let action = path.starts_with("/api/projects/") && path.ends_with("/actions");
    let import = path.starts_with("/api/projects/") && path.ends_with("/notebooks/import");
    let artifact = path.starts_with("/api/notebooks/") && path.contains("/artifacts/");
    if action || import {
        limits::MAX_ACTION_BODY_BYTES
    } else if artifact {
        limits::MAX_ARTIFACT_BYTES
    } else {
        limits::MAX_REQUEST_BODY_BYTES
    }
}

async fn read_body(request: Request) -> Result<Bytes, ApiError> {
    let limit = body_limit(request.uri().path());
    let too_large = || {
        let limit = limit / 1024;
        ApiError::new(Code::TooLarge, format!("the body is larger than {limit} KiB"))
    };
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if declared.and_then(|n| n.parse().ok()).is_some_and(|n: usize| n > limit) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_READ_TIMEOUT, to_bytes(request.into_body(), limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_incomplete_body(&error) => Err(ApiError::new(
            Code::BadJson,
            "the body is incomplete or its HTTP framing is invalid",
        )),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(ApiError::new(Code::RequestTimeout, "the body did not arrive within 30 s")),
    }
}

/// Whether a body is incomplete, rather than too large.
fn is_incomplete_body(error: &axum::Error) -> bool {
    let mut causes = successors(Some(error as &(dyn Error + 'static)), |&error| error.source());
    causes.any(<dyn Error>::is::<hyper::Error>)
}

fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde would accept an array of the fields as an object.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let error = "invalid body: expected a JSON object, not an array";
        return Err(ApiError::new(Code::InvalidRequest, error));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let code = if error.is_data() { Code::InvalidRequest } else { Code::BadJson };
        let error = if error.is_data() {
            format!("invalid body: {error}")
        } else {
            format!("the body is not JSON: {error}")
        };
        ApiError::new(code, error)
    })
}

/// The query of a request.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri).map(|query| Self(query.0)).map_err(|error| {
            let reason = std::error::Error::source(&error).map(ToString::to_string);
            let reason = reason.unwrap_or_else(|| error.to_string());
            ApiError::new(Code::InvalidRequest, format!("invalid query: {reason}"))
        })
    }
}

/// A parameter in the path of a request.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|error| {
            let reason = error.body_text();
            ApiError::new(Code::InvalidRequest, format!("invalid path: {reason}"))
        })
    }
}
