//! What crosses a process boundary or is stored on disk, and nothing else.
//!
//! Ids, the event envelope with its catalog, the views folded from it, the bodies of HTTP
//! requests and responses, error codes, limits. Plain data: this crate opens nothing, decides
//! nothing and reads no clock. The TypeScript types of the web UI are generated from it (`cargo
//! xtask codegen`).

mod api;
mod document;
mod error_code;
mod event;
mod governance;
mod hash;
mod id;
pub mod kernel;
pub mod limits;
mod log_segment;
pub mod notebook;
mod output;
mod raw_json;
pub mod runtime;
pub mod session;
mod stream;
pub mod terminal;
#[cfg(feature = "ts")]
pub mod typescript;
mod view;

pub use api::{
    ActionResponse, AnswerApprovalRequest, ApprovalList, AuditPage, AuditReport,
    CancelActionResponse, ChangeRoleRequest, CorruptEvent, CreateTokenRequest, CreatedToken,
    DecisionDifference, ErrorResponse, EventBodies, ExplainPolicyRequest, GrantList, Health,
    KernelHealth, LoginLink, OpenProjectRequest, PolicyExplanation, PolicyLayer, PolicySimulation,
    PolicyView, ProjectList, RejectedRole, RoleList, RoleView, RuleView, SetModeRequest,
    SimulatePolicyRequest, SubmitActionRequest, TokenList, TrustFileRequest,
};
pub use document::{
    AgentInputLog, AppendedPart, ApprovalDocument, DocumentAppend, DocumentChange, DocumentChanges,
    DocumentContent, DocumentCursor, DocumentSnapshot, DocumentsLive, EventsPage,
    ParseDocumentCursorError, TypedInput,
};
pub use error_code::Code;
pub use event::{
    Actor, BlobRef, Event, EventKind, Fact, IdempotencyKey, LogCursor, Principal, Seq,
    StreamVersion, UnixMicros,
};
pub use governance::{
    AllowedBy, AnswerScope, Approval, ApprovalAnswer, ApprovalChoice, ApprovalPrompt,
    ApprovalStatus, CommandEffectView, GovernanceFileKind, Grant, GrantScope, PinnedFile,
    ProjectMode, ProjectModeView, RuleRef, TrustPrompt, TrustedFile,
};
pub use hash::{Hash, ParseHashError};
pub use id::{
    ActionId, ApprovalId, CellId, EventId, ExecutionId, GrantId, MessageId, NotebookId, OutputId,
    ParseIdError, ProjectId, RuntimeSessionId, SessionId, TokenId, TurnId,
};
pub use log_segment::{ArchiveLogRequest, ArchiveLogResult, LogSegment, LogSegmentList};
pub use raw_json::RawJson;
pub use stream::{ParseStreamError, Stream};
pub use view::{
    ActionStatus, ActionView, AgentInput, CommandOutput, DaemonStatus, DaemonView,
    GovernanceChanges, KernelStatus, KernelView, Project, ProjectStatus, TokenClass, TokenView,
};
