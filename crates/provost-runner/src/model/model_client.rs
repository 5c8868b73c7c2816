//! The client of all providers: connections, timeouts, headers.

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

/// Timeouts of requests to providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// For connecting.
    pub connect: Duration,
    /// Until the first chunk of the response.
    pub first: Duration,
    /// The same for providers that are usually silent at first: servers on this machine, which
    /// may have to load a model, and Gemini, which sends nothing while it thinks.
    pub first_of_silent: Duration,
    /// Between two chunks of the response.
    pub idle: Duration,
    /// Between the end of the completion and the end of the stream.
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

/// The base of every HTTP client of Provost.
///
/// `reqwest` is built without a TLS crypto provider, and a client panics if none is installed,
/// even for plain HTTP. This installs one, once per process.
pub fn http_client_builder() -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have installed the same one first.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    Client::builder()
}

/// The same for plain HTTP to servers on this machine: without a proxy, and without loading
/// certificates, which takes longer than a request.
pub fn local_http_client_builder() -> ClientBuilder {
    http_client_builder().no_proxy().tls_certs_only([])
}

/// The client of all models of a registry.
#[derive(Debug, Clone)]
pub struct ModelClient {
    registry: Arc<ProviderRegistry>,
    /// Uses the proxy that the environment names, if any. Built at first use, since it loads the
    /// machine's certificates, which is slow.
    remote_client: Arc<OnceLock<Result<Client, ModelError>>>,
    /// For plain HTTP to servers on this machine.
    local_client: Client,
    retry: RetryPolicy,
    timeouts: ModelTimeouts,
}

impl ModelClient {
    /// A client for the models of this registry.
    pub fn new(
        registry: ProviderRegistry,
        retry: RetryPolicy,
        timeouts: ModelTimeouts,
    ) -> Result<Self, ModelError> {
        let (registry, remote_client) = (Arc::new(registry), Arc::default());
        let local_client = build_client(local_http_client_builder(), timeouts.connect)?;
        Ok(Self { registry, remote_client, local_client, retry, timeouts })
    }

    /// The providers and scripts.
    pub fn registry(&self) -> &ProviderRegistry {
        &self.registry
    }

    /// Requests a completion of the model that the request names. Nothing is sent before the
    /// stream is polled, and dropping it closes the connection.
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
        let limited_origin = origin.clone();
        let target =
            ProviderTarget { provider, origin, retry: self.retry, timeouts: self.timeouts };
        let stream: ModelStream =
            Box::pin(stream::unfold(RetryingRequest::new(target, ready), RetryingRequest::next));
        Ok(match request.max_output_tokens {
            Some(max) => limit_output(stream, limited_origin, max),
            None => stream,
        })
    }

    pub(super) fn http_client(&self, provider: &Provider) -> Result<Client, ModelError> {
        if provider.is_local && provider.base.starts_with("http:") {
            return Ok(self.local_client.clone());
        }
        self.remote_client
            .get_or_init(|| build_client(http_client_builder(), self.timeouts.connect))
            .clone()
    }
}

fn build_client(builder: ClientBuilder, connect_timeout: Duration) -> Result<Client, ModelError> {
    let agent = concat!("provost/", env!("CARGO_PKG_VERSION"));
    // A redirect would send the key to an address that nobody configured.
    let builder = builder.connect_timeout(connect_timeout).redirect(redirect::Policy::none());
    builder.user_agent(agent).build().map_err(connection_error)
}

/// Adds the headers of a provider: its key, and those of the configuration.
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
        // Both were checked when the registry was built.
        if let (Ok(name), Ok(mut value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value))
        {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    request.headers(headers)
}

/// The error of a request that got no response: without the URL, with all causes.
pub(super) fn connection_error(error: reqwest::Error) -> ModelError {
    if error.is_connect() || error.is_builder() {
        ModelError::Connect(format_error_chain(error))
    } else {
        ModelError::Disconnected(format_error_chain(error))
    }
}

/// The message of an error with its causes, without the URL.
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
