//! The configured providers: addresses, keys, wire formats.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use serde::Deserialize;

use super::builtin_providers::{BUILTIN_PROVIDERS, BuiltinProvider, ollama_base_url};
use super::wire::ChatDialect;
use super::{ApiKey, ModelError, ModelOrigin, ModelScript, WireFormat};

/// The name under which scripts are found.
pub(super) const SCRIPT_PROVIDER: &str = "script";

/// The configuration of a provider: overrides of a built-in one, or a new one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderConfig {
    /// Its wire format; Chat Completions if it is not known.
    pub wire: Option<WireFormat>,
    /// Its base address, to which the paths of the wire format are added: with the
    /// version for all but Anthropic (`https://host/v1`).
    pub base_url: Option<String>,
    /// Headers to send along. They are treated like keys.
    pub headers: BTreeMap<String, ApiKey>,
    /// The variable that holds its key.
    pub key_env: Option<String>,
    /// Its key.
    pub key: Option<ApiKey>,
}

/// What is wrong in the configuration of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderConfigError {
    /// The name cannot be a part of a model's name.
    #[error("`{0}` is not a valid provider name: use letters, digits, `-` and `_`")]
    BadName(String),
    /// It is not built in and has no address.
    #[error("the provider `{0}` needs a `base_url`")]
    MissingBaseUrl(String),
    /// The address is malformed.
    #[error("the `base_url` of `{provider}` is not a valid address: {why}")]
    BadBaseUrl {
        /// The provider's name.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("`{header}` of the provider `{provider}` cannot be a header")]
    BadHeader {
        /// The provider's name.
        provider: String,
        /// The header's name.
        header: String,
    },
}

/// No provider has this model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`: {why}")]
pub struct UnknownModel {
    /// The requested name.
    pub name: String,
    /// What is wrong, and which providers or scripts exist.
    pub why: String,
}

/// One configured provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its name, the first part of its models' names.
    pub name: String,
    /// Its wire format.
    pub wire: WireFormat,
    pub(super) base: String,
    pub(super) is_local: bool,
    pub(super) headers: Vec<(String, ApiKey)>,
    pub(super) key: Option<ApiKey>,
    pub(super) dialect: ChatDialect,
    needs_key: bool,
    variables: Vec<String>,
}

/// Whether a provider can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderStatus {
    /// It has its key, or needs none and was set up by hand.
    Ready,
    /// It lacks a key, which one of these variables could hold.
    NoKey(Vec<String>),
    /// It is on this machine if it runs; see [`super::ModelClient::probe_local_servers`].
    Local,
}

impl Provider {
    /// Its key if it needs one; an error if it has none.
    pub(super) fn check_key(&self) -> Result<(), ModelError> {
        match self.status() {
            ProviderStatus::Ready | ProviderStatus::Local => Ok(()),
            ProviderStatus::NoKey(variables) => {
                Err(ModelError::NoKey { provider: self.name.clone(), variables })
            }
        }
    }

    /// Whether it can be used.
    pub fn status(&self) -> ProviderStatus {
        match (&self.key, self.needs_key, self.is_local) {
            (None, true, _) => ProviderStatus::NoKey(self.variables.clone()),
            (None, false, true) => ProviderStatus::Local,
            (Some(_), _, _) | (None, false, false) => ProviderStatus::Ready,
        }
    }

    /// Its secrets, to be redacted.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &ApiKey> {
        self.key.iter().chain(self.headers.iter().map(|(_, value)| value))
    }
}

/// All providers and scripts.
#[derive(Debug, Clone, Default)]
pub struct ProviderRegistry {
    providers: BTreeMap<String, Arc<Provider>>,
    scripts: BTreeMap<String, Arc<ModelScript>>,
}

/// What a model's name resolves to.
#[derive(Debug, Clone)]
pub(super) enum ResolvedModel {
    Provider(Arc<Provider>, ModelOrigin),
    Script(Arc<ModelScript>, ModelOrigin),
}

impl ProviderRegistry {
    /// The known providers and those of the configuration, with the keys that this
    /// environment holds.
    pub fn new(
        configs: &BTreeMap<String, ProviderConfig>,
        env: &BTreeMap<String, String>,
    ) -> Result<Self, ProviderConfigError> {
        let mut providers = BTreeMap::new();
        let none = ProviderConfig::default();
        for builtin in BUILTIN_PROVIDERS {
            let config = configs.get(builtin.name).unwrap_or(&none);
            let provider = build_provider(builtin.name, Some(builtin), config, env)?;
            providers.insert(builtin.name.to_owned(), Arc::new(provider));
        }
        for (name, config) in configs.iter().filter(|(name, _)| !is_builtin_provider(name)) {
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(letters) || name == SCRIPT_PROVIDER {
                return Err(ProviderConfigError::BadName(name.clone()));
            }
            providers.insert(name.clone(), Arc::new(build_provider(name, None, config, env)?));
        }
        Ok(Self { providers, scripts: BTreeMap::new() })
    }

    /// Adds a script as the model `script/<name>`.
    #[must_use]
    pub fn with_script(mut self, name: impl Into<String>, script: ModelScript) -> Self {
        self.scripts.insert(name.into(), Arc::new(script));
        self
    }

    /// All providers, by name.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values().map(AsRef::as_ref)
    }

    /// The names of the scripts, as models.
    pub fn script_model_names(&self) -> impl Iterator<Item = String> {
        self.scripts.keys().map(|name| format!("{SCRIPT_PROVIDER}/{name}"))
    }

    /// The title of a script.
    pub fn script_title(&self, model: &str) -> Option<&str> {
        let name = model.strip_prefix(SCRIPT_PROVIDER)?.strip_prefix('/')?;
        self.scripts.get(name).map(|script| script.title.as_str())
    }

    /// A provider by its name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.get(name).map(AsRef::as_ref)
    }

    pub(super) fn resolve_model(&self, name: &str) -> Result<ResolvedModel, UnknownModel> {
        let unknown = |why: String| UnknownModel { name: name.to_owned(), why };
        let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
        else {
            return Err(unknown("write it as `provider/model`".to_owned()));
        };
        let origin =
            |wire| ModelOrigin { provider: provider.to_owned(), wire, model: model.to_owned() };
        if provider == SCRIPT_PROVIDER {
            let script = self.scripts.get(model);
            let all: Vec<_> = self.script_model_names().collect();
            return script
                .map(|script| ResolvedModel::Script(Arc::clone(script), origin(None)))
                .ok_or_else(|| unknown(format!("the scripts are {}", all.join(", "))));
        }
        let known = self.providers.get(provider);
        let all: Vec<_> = self.providers.keys().map(String::as_str).collect();
        known
            .map(|known| ResolvedModel::Provider(Arc::clone(known), origin(Some(known.wire))))
            .ok_or_else(|| unknown(format!("the providers are {}", all.join(", "))))
    }
}

fn is_builtin_provider(name: &str) -> bool {
    BUILTIN_PROVIDERS.iter().any(|builtin| builtin.name == name)
}

fn build_provider(
    name: &str,
    builtin: Option<&BuiltinProvider>,
    config: &ProviderConfig,
    env: &BTreeMap<String, String>,
) -> Result<Provider, ProviderConfigError> {
    let from = |variable: &str| env.get(variable).map(|value| value.trim());
    let address =
        config.base_url.clone().or_else(|| {
            let builtin = builtin?;
            let set = from(builtin.base_variable).filter(|value| !value.is_empty());
            let set = set.map(|value| {
                if builtin.name == "ollama" { ollama_base_url(value) } else { value.into() }
            });
            Some(set.unwrap_or_else(|| builtin.base.to_owned()))
        });
    let address = address.ok_or_else(|| ProviderConfigError::MissingBaseUrl(name.to_owned()))?;
    let (base, is_local) = parse_base_url(name, &address)?;
    let mut variables: Vec<String> = config.key_env.iter().cloned().collect();
    if let Some(builtin) = builtin {
        variables.extend(builtin.key_variables.iter().map(|&name| name.to_owned()));
    }
    let key = config.key.clone();
    let key = key.or_else(|| variables.iter().filter_map(|name| from(name)).find_map(ApiKey::new));
    for header in config.headers.keys() {
        if reqwest::header::HeaderName::from_bytes(header.as_bytes()).is_err() {
            let (provider, header) = (name.to_owned(), header.clone());
            return Err(ProviderConfigError::BadHeader { provider, header });
        }
    }
    // A configured address may be a proxy that adds the key itself.
    let own_address = builtin.is_none_or(|builtin| builtin.base != address);
    let needs_key = builtin.is_some_and(|builtin| builtin.needs_key) && !own_address
        || config.key_env.is_some();
    Ok(Provider {
        name: name.to_owned(),
        wire: config.wire.or(builtin.map(|builtin| builtin.wire)).unwrap_or(WireFormat::Chat),
        base,
        is_local,
        headers: config.headers.iter().map(|(name, key)| (name.clone(), key.clone())).collect(),
        key,
        dialect: builtin.map_or(ChatDialect::PLAIN, |builtin| builtin.dialect),
        needs_key,
        variables,
    })
}

/// The address without a slash at its end, and whether it is on this machine.
fn parse_base_url(provider: &str, address: &str) -> Result<(String, bool), ProviderConfigError> {
    let bad = |why: &str| ProviderConfigError::BadBaseUrl {
        provider: provider.to_owned(),
        why: why.to_owned(),
    };
    let url = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must start with http:// or https://"));
    }
    // Addresses are shown; keys belong into headers.
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(bad("it must not contain a user name, a password or a query; use `key`"));
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        |host: &str| host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let is_local = host == "localhost" || host.ends_with(".localhost") || is_loopback(host);
    Ok((url.as_str().trim_end_matches('/').to_owned(), is_local))
}
