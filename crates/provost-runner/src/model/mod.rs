//! Clients of all model providers, behind one kind of request and one kind of event.
//!
//! ```text
//!   ModelRequest ──encode──▶ HTTP ──bytes──▶ SseParser ──▶ CompletionDecoder ──▶ ModelEvent
//!   ProviderRegistry ──▶ Provider  ▲ RetryingRequest: timeouts, retries      … End { turn }
//! ```
//!
//! A [`ProviderRegistry`] resolves a name such as `anthropic/claude-sonnet-5` to a [`Provider`];
//! [`ModelClient::stream_completion`] sends it a [`ModelRequest`] and returns a stream of
//! [`ModelEvent`]s. Dropping the stream closes the connection. The last event of a stream that
//! succeeds is [`ModelEvent::End`] with the finished [`Completion`]; the last of one that fails
//! is an error. Nothing follows either.
//!
//! A [`Completion`] goes into the next request as it is ([`ModelMessage::Assistant`]). Beside the
//! neutral form of each [`CompletionItem`] it keeps what the provider wrote, and the same model
//! gets that back unchanged: reasoning items, encrypted reasoning, signatures of thoughts, ids.
//! Another model gets the neutral form without the reasoning, which only the model that made it
//! can read.
//!
//! Encoding and decoding ([`WireFormat`]; one folder per format below `wire/`) are pure: no
//! clock, no network, so that tests can cut every stream at every byte. Nothing here reads the
//! environment; the binary passes it as a map ([`ProviderRegistry::new`]). Keys are in headers
//! only, never in a URL, and are redacted from every error.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use futures::StreamExt;
//! use provost_runner::model::{
//!     ModelClient, ModelEvent, ModelMessage, ModelRequest, ModelScript, ModelTimeouts,
//!     ProviderRegistry, RetryPolicy,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (configs, env) = (BTreeMap::new(), BTreeMap::new());
//! let script = ModelScript::parse("title = 'A greeting'\n[[beat]]\nsay = 'Hello.'")?;
//! let registry = ProviderRegistry::new(&configs, &env)?.with_script("greeting", script);
//! let models = ModelClient::new(registry, RetryPolicy::default(), ModelTimeouts::default())?;
//!
//! let mut request = ModelRequest::new("script/greeting", vec![ModelMessage::user("Hi")]);
//! let mut stream = models.stream_completion(&request)?;
//! while let Some(event) = stream.next().await {
//!     if let ModelEvent::End { turn } = event? {
//!         assert_eq!(turn.text(), "Hello.");
//!         // The next request contains this completion.
//!         request.messages.push(ModelMessage::Assistant { turn });
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
    ModelMessage, ModelRequest, ModelToolResult, ModelToolResultStatus, ReasoningEffort,
    ThinkingConfig, ToolChoice, ToolDefinition,
};
pub use retry_policy::RetryPolicy;
pub use script::{ModelScript, ModelScriptError};
pub use sse::{SseEvent, SseParser};
pub use wire::{
    CallIdFormat, ChatDialect, CompletionDecoder, EffortField, EncodedRequest, WireFormat,
};
