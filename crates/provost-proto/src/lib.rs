//! What crosses a process boundary or rests on disk, and nothing else.
//!
//! Ids, the event envelope with its catalogue, the views folded from it, the
//! bodies of HTTP requests and answers, error codes, limits. Plain data: this
//! crate opens nothing, decides nothing and knows no clock. The TypeScript
//! types of the web UI are generated from it (`cargo xtask codegen`).

mod api;
mod code;
mod event;
mod governance;
mod hash;
mod id;
pub mod kernel;
pub mod limits;
mod output;
mod raw;
pub mod runtime;
pub mod session;
mod stream;
pub mod terminal;
#[cfg(feature = "ts")]
pub mod typescript;
mod view;

pub use api::{
    ActionAnswer, Answer, ApprovalList, AuditPage, AuditReport, BadEvent, ChangeRole, CreateToken,
    CreatedToken, Difference, Explain, Explanation, GrantList, Health, LoginLink, OpenProject,
    PolicyLayer, PolicyView, Problem, ProjectList, RejectedRole, RequestAction, RoleList, RoleView,
    RuleView, SetMode, Simulate, Simulation, TokenList, Trust,
};
pub use code::Code;
pub use event::{Actor, BlobRef, Command, Event, Fact, Kind, Micros, Principal, Seq, Version};
pub use governance::{
    AllowedBy, AnswerScope, Approval, ApprovalStatus, Choice, Covers, Decision, DemandView,
    Governing, Grant, Mode, ModeView, Pin, Question, RuleRef, TrustQuestion, Trusted,
};
pub use hash::{Hash, NotAHash};
pub use id::{
    ActionId, ApprovalId, EventId, GrantId, MessageId, NotAnId, NotebookId, ProjectId, SessionId,
    TokenId, TurnId,
};
pub use raw::Raw;
pub use stream::{NotAStream, Stream};
pub use view::{
    ActionStatus, ActionView, KernelStatus, KernelView, Project, ProjectStatus, Token, TokenClass,
};
