//! The error response: its JSON body is `{error, code, status}`, and its code is chosen here.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use provost_gateway::GatewayError;
use provost_proto::{Code, ErrorResponse};
use provost_runner::session::RunnerError;
use provost_store::StoreError;

/// An error that becomes a response.
#[derive(Debug)]
pub(crate) struct ApiError(ErrorResponse);

impl ApiError {
    /// An error with a message for people.
    pub(crate) fn new(code: Code, error: impl Into<String>) -> Self {
        Self(ErrorResponse { error: error.into(), code, status: code.status(), details: None })
    }
}

impl ApiError {
    /// The body, for responses in another format.
    pub(crate) fn into_error_body(self) -> ErrorResponse {
        self.0
    }
}

/// Attached to the response of an error: the daemon logs it if the client is not at fault, and
/// a browser gets it as a page.
#[derive(Debug, Clone)]
pub(crate) struct AttachedError {
    pub(crate) code: Code,
    pub(crate) error: String,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let attached = AttachedError { code: self.0.code, error: self.0.error.clone() };
        (status, Extension(attached), Json(self.0)).into_response()
    }
}

impl From<GatewayError> for ApiError {
    fn from(error: GatewayError) -> Self {
        let code = match &error {
            GatewayError::Unauthenticated(_) => Code::Unauthenticated,
            GatewayError::LoginExpired => Code::LoginExpired,
            GatewayError::Forbidden { .. }
            | GatewayError::BoundToOtherProject
            | GatewayError::SessionOwnedByOther => Code::Forbidden,
            GatewayError::BoundToOtherRole(_) => Code::SkillDenied,
            GatewayError::ProjectNotFound(_) => Code::ProjectNotFound,
            GatewayError::TokenNotFound(_)
            | GatewayError::ActionNotFound(_)
            | GatewayError::ItemNotFound { .. } => Code::NotFound,
            GatewayError::TokenAlreadyShown | GatewayError::ProjectClosed => Code::Conflict,
            GatewayError::PathNotFound(_) => Code::PathNotFound,
            GatewayError::NotADirectory(_) => Code::NotADirectory,
            GatewayError::PathRefused { .. } => Code::PathRefused,
            GatewayError::InvalidField { .. } => Code::InvalidRequest,
            GatewayError::BadAction(_) => Code::InvalidAction,
            GatewayError::Fault(fault) => {
                let body = Self::new(fault.code, fault.message.clone());
                return Self(ErrorResponse { details: fault.details.clone(), ..body.0 });
            }
            GatewayError::TooManySecrets(_) => Code::Internal,
            GatewayError::NoRandomness(_) | GatewayError::Stopping => Code::Unavailable,
            GatewayError::Store(error) => code_for_store_error(error),
        };
        Self::new(code, error.to_string())
    }
}

impl From<RunnerError> for ApiError {
    fn from(error: RunnerError) -> Self {
        let code = match &error {
            RunnerError::SessionNotFound(_) => Code::NotFound,
            RunnerError::SessionClosed => Code::SessionClosed,
            RunnerError::NothingToContinue => Code::NothingToContinue,
            RunnerError::MessageNotQueued => Code::Conflict,
            RunnerError::IdempotencyKeyReused => Code::CommandReused,
            RunnerError::QueueFull => Code::TooManyMessages,
            RunnerError::BadMessage(_) => Code::InvalidRequest,
            RunnerError::NoModel(_) => Code::NoModel,
            RunnerError::UnknownModel(_) => Code::UnknownModel,
            RunnerError::Stopping => Code::Unavailable,
            RunnerError::Gateway(error) => return error.clone().into(),
        };
        Self::new(code, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::new(code_for_store_error(&error), error.to_string())
    }
}

fn code_for_store_error(error: &StoreError) -> Code {
    match error {
        StoreError::NoSpace => Code::NoSpace,
        StoreError::Conflict { .. } | StoreError::DocumentChanged { .. } => Code::Conflict,
        StoreError::CommandReused(_) => Code::CommandReused,
        StoreError::TooLarge { .. } => Code::TooLarge,
        StoreError::Closed | StoreError::Locked => Code::Unavailable,
        StoreError::NotCanonical(_) => Code::InvalidRequest,
        StoreError::Damaged(_)
        | StoreError::UnreadableView { .. }
        | StoreError::UnreadableSegment { .. }
        | StoreError::NotALog { .. }
        | StoreError::NewerSchema { .. }
        | StoreError::Io { .. }
        | StoreError::Database(_) => Code::Internal,
    }
}
