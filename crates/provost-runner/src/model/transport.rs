//! The way to a provider and back: connections, timeouts, retries.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::stream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, RequestBuilder, redirect};

use super::asking::{Asking, Way};
use super::limit::limited;
use super::registry::Found;
use super::{ModelError, ModelStream, Provider, Registry, Request, Retry, UnknownModel, Wire};

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
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

impl Default for Timeouts {
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
pub fn http() -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been quicker, with the same.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    Client::builder()
}

/// The same for what speaks plain HTTP with a server on this machine: through no
/// proxy, and without reading certificates, which takes longer than a request.
pub fn plain_http() -> ClientBuilder {
    http().no_proxy().tls_certs_only([])
}

/// All models that can be asked.
#[derive(Debug, Clone)]
pub struct Models {
    registry: Arc<Registry>,
    /// Goes through the proxy that the environment names, if any. Made when it is
    /// first needed: it reads the certificates of the machine, which takes a while.
    outer: Arc<OnceLock<Result<Client, ModelError>>>,
    /// For plain HTTP with servers on this machine.
    inner: Client,
    retry: Retry,
    timeouts: Timeouts,
}

impl Models {
    /// Those of the registry.
    pub fn new(registry: Registry, retry: Retry, timeouts: Timeouts) -> Result<Self, ModelError> {
        let (registry, outer) = (Arc::new(registry), Arc::default());
        let inner = built(plain_http(), timeouts.connect)?;
        Ok(Self { registry, outer, inner, retry, timeouts })
    }

    /// The providers and scripts.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Asks the model that the request names. Nothing is sent before the stream is
    /// polled, and dropping it closes the connection.
    pub fn stream(&self, request: &Request) -> Result<ModelStream, UnknownModel> {
        let (provider, origin) = match self.registry.find(&request.model)? {
            Found::Script(script, origin) => return Ok(script.play(request, origin)),
            Found::Model(provider, origin) => (provider, origin),
        };
        let encode = || provider.wire.encode(request, &origin, &provider.dialect);
        let client = || self.client(&provider);
        let ready = provider.check().and_then(|()| Ok((client()?, encode()?)));
        let asked = origin.clone();
        let way = Way { provider, origin, retry: self.retry, timeouts: self.timeouts };
        let stream: ModelStream = Box::pin(stream::unfold(Asking::new(way, ready), Asking::next));
        Ok(match request.max_output_tokens {
            Some(most) => limited(stream, asked, most),
            None => stream,
        })
    }

    pub(super) fn client(&self, provider: &Provider) -> Result<Client, ModelError> {
        if provider.is_local && provider.base.starts_with("http:") {
            return Ok(self.inner.clone());
        }
        self.outer.get_or_init(|| built(http(), self.timeouts.connect)).clone()
    }
}

fn built(builder: ClientBuilder, patience: Duration) -> Result<Client, ModelError> {
    let agent = concat!("provost/", env!("CARGO_PKG_VERSION"));
    // A redirect would carry the key to where nobody decided to send it.
    let builder = builder.connect_timeout(patience).redirect(redirect::Policy::none());
    builder.user_agent(agent).build().map_err(connect)
}

/// The headers that a provider wants: its key, and those of the configuration.
pub(super) fn with_headers(request: RequestBuilder, provider: &Provider) -> RequestBuilder {
    let key = provider.key.iter().map(|key| match provider.wire {
        Wire::Responses | Wire::Chat => ("authorization", format!("Bearer {}", key.secret())),
        Wire::Messages => ("x-api-key", key.secret().to_owned()),
        Wire::Gemini => ("x-goog-api-key", key.secret().to_owned()),
    });
    let own = provider.headers.iter().map(|(name, key)| (name.as_str(), key.secret().to_owned()));
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
pub(super) fn connect(error: reqwest::Error) -> ModelError {
    if error.is_connect() || error.is_builder() {
        ModelError::Connect(told(error))
    } else {
        ModelError::HungUp(told(error))
    }
}

/// What an error says, with its causes and without the address.
pub(super) fn told(error: reqwest::Error) -> String {
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
