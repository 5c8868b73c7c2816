//! The way to a provider and back: connections, timeouts, retries.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::stream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, RequestBuilder, redirect};

use super::output_limiter::limit_output;
use super::registry::ResolvedModel;
use super::retrying_request::{ProviderTarget, RetryingRequest};
use super::{
    ModelError, ModelRequest, ModelStream, Provider, ProviderRegistry, RetryPolicy, UnknownModel,
    WireFormat,
};

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// To connect.
    pub connect: Duration,
    /// Until the first piece of the answer.
    pub first: Duration,
    /// The same for those of whom silence is usual: servers on this machine, which may
    /// have to load a model first, and Gemini, which says nothing while it thinks.
    pub first_of_silent: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// Between the end of what is said and that of the stream.
    pub end: Duration,
}

impl Default for ModelTimeouts {
    fn default() -> Self {
        let idle = Duration::from_mins(1);
        Self {
            connect: Duration::from_secs(10),
            first: idle,
            first_of_silent: Duration::from_mins(5),
            idle,
            end: Duration::from_secs(5),
        }
    }
}

/// The beginning of every HTTP client of Provost.
///
/// With `reqwest` built for TLS without a provider of cryptography, a client panics
/// where none is installed, though it may speak nothing but plain HTTP. This makes
/// sure that there is one, once per process.
pub fn http_client_builder() -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been quicker, with the same.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    Client::builder()
}

/// The same for what speaks plain HTTP with a server on this machine: through no
/// proxy, and without reading certificates, which takes longer than a request.
pub fn local_http_client_builder() -> ClientBuilder {
    http_client_builder().no_proxy().tls_certs_only([])
}

/// All models that can be asked.
#[derive(Debug, Clone)]
pub struct ModelClient {
    registry: Arc<ProviderRegistry>,
    /// Goes through the proxy that the environment names, if any. Made when it is
    /// first needed: it reads the certificates of the machine, which takes a while.
    outer: Arc<OnceLock<Result<Client, ModelError>>>,
    /// For plain HTTP with servers on this machine.
    inner: Client,
    retry: RetryPolicy,
    timeouts: ModelTimeouts,
}

impl ModelClient {
    /// Those of the registry.
    pub fn new(
        registry: ProviderRegistry,
        retry: RetryPolicy,
        timeouts: ModelTimeouts,
    ) -> Result<Self, ModelError> {
        let (registry, outer) = (Arc::new(registry), Arc::default());
        let inner = build_client(local_http_client_builder(), timeouts.connect)?;
        Ok(Self { registry, outer, inner, retry, timeouts })
    }

    /// The providers and scripts.
    pub fn registry(&self) -> &ProviderRegistry {
        &self.registry
    }

    /// Asks the model that the request names. Nothing is sent before the stream is
    /// polled, and dropping it closes the connection.
    pub fn stream_completion(&self, request: &ModelRequest) -> Result<ModelStream, UnknownModel> {
        let (provider, origin) = match self.registry.resolve_model(&request.model)? {
            ResolvedModel::Script(script, origin) => {
                return Ok(script.play_next_beat(request, origin));
            }
            ResolvedModel::Provider(provider, origin) => (provider, origin),
        };
        let encode = || provider.wire.encode(request, &origin, &provider.dialect);
        let client = || self.http_client(&provider);
        let ready = provider.check_key().and_then(|()| Ok((client()?, encode()?)));
        let asked = origin.clone();
        let way = ProviderTarget { provider, origin, retry: self.retry, timeouts: self.timeouts };
        let stream: ModelStream =
            Box::pin(stream::unfold(RetryingRequest::new(way, ready), RetryingRequest::next));
        Ok(match request.max_output_tokens {
            Some(most) => limit_output(stream, asked, most),
            None => stream,
        })
    }

    pub(super) fn http_client(&self, provider: &Provider) -> Result<Client, ModelError> {
        if provider.is_local && provider.base.starts_with("http:") {
            return Ok(self.inner.clone());
        }
        self.outer
            .get_or_init(|| build_client(http_client_builder(), self.timeouts.connect))
            .clone()
    }
}

fn build_client(builder: ClientBuilder, patience: Duration) -> Result<Client, ModelError> {
    let agent = concat!("provost/", env!("CARGO_PKG_VERSION"));
    // A redirect would carry the key to where nobody decided to send it.
    let builder = builder.connect_timeout(patience).redirect(redirect::Policy::none());
    builder.user_agent(agent).build().map_err(connection_error)
}

/// The headers that a provider wants: its key, and those of the configuration.
pub(super) fn add_provider_headers(request: RequestBuilder, provider: &Provider) -> RequestBuilder {
    let key = provider.key.iter().map(|key| match provider.wire {
        WireFormat::Responses | WireFormat::Chat => {
            ("authorization", format!("Bearer {}", key.expose_secret()))
        }
        WireFormat::Messages => ("x-api-key", key.expose_secret().to_owned()),
        WireFormat::Gemini => ("x-goog-api-key", key.expose_secret().to_owned()),
    });
    let own =
        provider.headers.iter().map(|(name, key)| (name.as_str(), key.expose_secret().to_owned()));
    let mut headers = HeaderMap::new();
    for (name, value) in key.chain(own) {
        // Both were checked when the registry was made.
        if let (Ok(name), Ok(mut value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value))
        {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    request.headers(headers)
}

/// A failure before there was an answer, without the address, and with what lies beneath.
pub(super) fn connection_error(error: reqwest::Error) -> ModelError {
    if error.is_connect() || error.is_builder() {
        ModelError::Connect(format_error_chain(error))
    } else {
        ModelError::Disconnected(format_error_chain(error))
    }
}

/// What an error says, with its causes and without the address.
pub(super) fn format_error_chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
