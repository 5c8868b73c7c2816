//! The gateway: who may do what, and the only writer of the log.
//!
//! Frontends (HTTP, the command line, editors) translate requests into calls to the services
//! of a [`Gateway`], which check, record and answer. What only a person may do takes an
//! [`Operator`], which only a check of the caller creates.
//!
//! The services depend on each other in one direction, which a test enforces: the log, then
//! the team's services, then those of a project, then the lifecycle of projects.

mod audit_log;
mod caller;
mod config;
mod document_lists;
mod documents;
mod error;
mod event_log;
mod gateway;
#[cfg(test)]
mod layering;
mod live_drafts;
mod log_archive;
mod one_time_codes;
mod project;
mod project_lifecycle;
mod secret;
mod symlink_resolution;
mod team;
#[cfg(test)]
mod test_support;
mod token_lease;

pub use audit_log::{AuditCursor, AuditFilter, AuditLog};
pub use caller::{AuthorizedReader, Caller, NotebookAccess, Operator, OperatorRequest};
pub use config::{ByteAllowance, DaemonOwner, GatewayConfig, LogArchiveSettings, LogQuotaLimits};
pub use document_lists::{DocumentPage, list_page};
pub use documents::{DocumentFollower, DocumentMessage, DocumentSelection, Documents, PageView};
pub use error::GatewayError;
pub use event_log::EventLog;
pub use gateway::Gateway;
pub use live_drafts::{
    DraftFollower, DraftPart, DraftPosition, DraftState, DraftWriter, JournaledDraft, LiveDraft,
    LiveDrafts,
};
pub use log_archive::LogArchive;
pub use project::actions::{ActionService, ActionSubmission, SubmissionOutcome};
pub use project::approvals::Approvals;
pub use project::decisions::Decisions;
pub use project::executor::add_sandbox_notes;
pub use project::governance::Governance;
pub use project::kernels::{KernelPool, KernelState};
pub use project::notebooks::{
    ArtifactContent, CommandsError, LocalRuntimeGrant, LocalRuntimeName, NotALocalRuntime,
    NotebookCommands, NotebookFollower, NotebookImport, NotebookService, NotebookStart,
    RuntimeOrder, SyncAccess, SyncConnection, SyncInbox,
};
pub use project::preview::{IssuedPreviewCookie, PreviewAccess, VerifiedPreviewCookie};
pub use project::runtime::RuntimeService;
pub use project::sessions::{SessionAppend, SessionRole, Sessions, session_principal};
pub use project::terminal::{TerminalAccess, TerminalService};
pub use project::trust::TrustService;
pub use project_lifecycle::ProjectLifecycle;
pub use provost_kernel::{
    TerminalAttachOptions, TerminalAttachment, TerminalReader, TerminalWriter,
};
pub use secret::Secret;
pub use team::auth::{Auth, BrowserCredentials, RequestCredentials};
pub use team::project_template::NewProjectFolder;
pub use team::projects::{OpenProjectOutcome, Projects};
pub use token_lease::TokenLease;
