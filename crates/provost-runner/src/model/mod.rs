//! The providers of models, behind one kind of request and one kind of event.
//!
//! ```text
//!            Request ──encode──▶ HTTP ──bytes──▶ sse ──events──▶ Decoder ──▶ ModelEvent
//!   Registry ──▶ Provider          ▲ transport: timeouts, retries          … End { turn }
//! ```
//!
//! A [`ProviderRegistry`] says which [`Provider`] a name like `anthropic/claude-sonnet-5`
//! means; [`ModelClient::stream_completion`] sends it a [`ActionRequest`] and gives a stream of
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
//! environment; the binary gives it as a map ([`ProviderRegistry::new`]). Keys are in
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

mod api_key;
mod builtin_providers;
mod completion;
mod error;
mod event;
mod http_response;
mod model_client;
mod model_discovery;
mod output_limiter;
mod price_table;
mod registry;
mod request;
mod retry_policy;
mod retrying_request;
mod script;
mod sse;
mod wire;

pub use api_key::ApiKey;
pub use completion::{
    CallId, Completion, CompletionContent, CompletionItem, CompletionUsage, ModelOrigin,
    StopReason, ToolArgumentsError, ToolCall,
};
pub use error::ModelError;
pub use event::{ModelEvent, ModelStream};
pub use model_client::{
    ModelClient, ModelTimeouts, http_client_builder, local_http_client_builder,
};
pub use model_discovery::ModelInfo;
pub use price_table::{ModelPrice, PriceTable, PriceTableError, Usd};
pub use registry::{
    Provider, ProviderConfig, ProviderConfigError, ProviderRegistry, ProviderStatus, UnknownModel,
};
pub use request::{
    ModelMessage, ModelRequest, ReasoningEffort, ThinkingConfig, ToolChoice, ToolDefinition,
    ToolResult, ToolResultStatus,
};
pub use retry_policy::RetryPolicy;
pub use script::{ModelScript, ModelScriptError};
pub use sse::{SseEvent, SseParser};
pub use wire::{
    CallIdFormat, ChatDialect, CompletionDecoder, EffortField, EncodedRequest, WireFormat,
};
