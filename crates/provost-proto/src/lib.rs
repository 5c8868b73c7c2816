//! What crosses a process boundary or rests on disk, and nothing else.
//!
//! Ids, the event envelope with its catalogue, the views folded from it, the
//! bodies of HTTP requests and answers, error codes, limits. Plain data: this
//! crate opens nothing, decides nothing and knows no clock. The TypeScript
//! types of the web UI are generated from it (`cargo xtask codegen`).

mod api;
mod code;
mod event;
mod hash;
mod id;
pub mod kernel;
pub mod limits;
mod output;
mod stream;
#[cfg(feature = "ts")]
pub mod typescript;
mod view;

pub use api::{
    ActionAnswer, AuditPage, AuditReport, BadEvent, CreateToken, CreatedToken, Health, LoginLink,
    OpenProject, Problem, ProjectList, RequestAction, TokenList,
};
pub use code::Code;
pub use event::{Actor, BlobRef, Command, Event, Fact, Kind, Micros, Principal, Seq, Version};
pub use hash::{Hash, NotAHash};
pub use id::{ActionId, ApprovalId, EventId, NotAnId, NotebookId, ProjectId, SessionId, TokenId};
pub use stream::{NotAStream, Stream};
pub use view::{
    ActionStatus, ActionView, KernelStatus, KernelView, Project, ProjectStatus, Token, TokenClass,
};
