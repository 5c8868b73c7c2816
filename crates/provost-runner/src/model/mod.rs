//! The providers of models, behind one kind of request and one kind of event.
//!
//! ```text
//!            Request ──encode──▶ HTTP ──bytes──▶ sse ──events──▶ Decoder ──▶ ModelEvent
//!   Registry ──▶ Provider          ▲ transport: timeouts, retries          … End { turn }
//! ```
//!
//! A [`Registry`] says which [`Provider`] a name like `anthropic/claude-sonnet-5`
//! means; [`Models::stream`] sends it a [`ActionRequest`] and gives a stream of
//! [`ModelEvent`]s. Dropping the stream closes the connection. The last event of
//! a stream that succeeds is [`ModelEvent::ConnectionEnd`], with the finished [`BatchedAppendState`]; the
//! last of one that fails is an error. Nothing comes after either.
//!
//! A [`BatchedAppendState`] goes into the next request as it is ([`WriterMessage::Assistant`]). It
//! keeps, beside the neutral form of each [`SessionItem`], what the provider itself
//! wrote, and the same model gets that back unchanged: reasoning items, encrypted
//! reasoning, signatures of thoughts, ids. Another model gets the neutral form,
//! without the reasoning, which only the model that made it can read.
//!
//! What encodes and decodes ([`ActionJson`]) is pure: no clock, no network, so that
//! every stream can be tested cut at every byte. Nothing here reads the
//! environment; the binary gives it as a map ([`Registry::new`]). Keys are in
//! headers only, never in an address, and are taken out of every error.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use futures::StreamExt;
//! use provost_runner::model::{
//!     Message, ModelEvent, Models, Registry, Request, Retry, Script, Timeouts,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (configs, env) = (BTreeMap::new(), BTreeMap::new());
//! let script = Script::parse("title = 'A greeting'\n[[beat]]\nsay = 'Hello.'")?;
//! let registry = Registry::new(&configs, &env)?.with_script("greeting", script);
//! let models = Models::new(registry, Retry::default(), Timeouts::default())?;
//!
//! let mut request = Request::new("script/greeting", vec![Message::user("Hi")]);
//! let mut stream = models.stream(&request)?;
//! while let Some(event) = stream.next().await {
//!     if let ModelEvent::End { turn } = event? {
//!         assert_eq!(turn.text(), "Hello.");
//!         // The next request says what was said in this one.
//!         request.messages.push(Message::Assistant { turn });
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod asking;
mod builtin;
mod error;
mod event;
mod item;
mod key;
mod limit;
mod price;
mod probe;
mod registry;
mod request;
mod retry;
mod script;
mod sse;
mod transport;
mod wire;

pub use error::ModelError;
pub use event::{ModelEvent, ModelStream};
pub use item::{CallId, Content, Item, NotArguments, Origin, StopReason, ToolCall, Turn, Usage};
pub use key::Key;
pub use price::{NotPrices, Price, Prices, Usd};
pub use probe::ModelCard;
pub use registry::{ConfigError, Provider, ProviderConfig, Registry, Standing, UnknownModel};
pub use request::{Effort, Message, Request, ResultStatus, Thinking, Tool, ToolChoice, ToolResult};
pub use retry::Retry;
pub use script::{NotAScript, Script};
pub use sse::{Sse, SseEvent};
pub use transport::{Models, Timeouts, http, plain_http};
pub use wire::{Decoder, Dialect, EffortField, Encoded, Ids, Wire};
