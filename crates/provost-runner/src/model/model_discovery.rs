//! Discovery of the models of a provider and of servers on this machine.

use std::time::Duration;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api_key::redact_keys;
use super::model_client::{add_provider_headers, connection_error};
use super::{ModelClient, ModelError, Provider, WireFormat, http_response};

/// Time limit for probing a server on this machine.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

/// Time limit for listing models.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);

/// Models that are read of a list.
const MAX_LISTED_MODELS: usize = 2000;

/// A model that a provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// Its full name, to be used in a request.
    pub name: String,
    /// What the provider calls it for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Context window in tokens, if the provider reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Output limit in tokens, if the provider reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl ModelClient {
    /// The models of a provider, as it lists them.
    pub async fn list_models(&self, provider: &Provider) -> Result<Vec<ModelInfo>, ModelError> {
        provider.check_key()?;
        let listed = tokio::time::timeout(LIST_TIMEOUT, self.fetch_model_list(provider)).await;
        let listed = listed.unwrap_or(Err(ModelError::Stalled(LIST_TIMEOUT)));
        let listed = listed.map(|list| parse_model_list(provider, &list));
        listed.map_err(|error| error.map_message(|text| redact_keys(provider.secrets(), text)))
    }

    /// The servers on this machine that answer within 300 ms, with their models.
    /// None of those that are known and not running costs more than that.
    pub async fn probe_local_servers(&self) -> Vec<(String, Vec<ModelInfo>)> {
        let is_local =
            |provider: &&Provider| provider.is_local && provider.wire == WireFormat::Chat;
        let local = self.registry().providers().filter(is_local);
        let probes = local.map(async |provider| {
            let listed = tokio::time::timeout(PROBE_TIMEOUT, self.fetch_model_list(provider)).await;
            // Nothing there, or something else on the same port, is the usual case.
            let list = listed.ok()?.ok()?;
            is_expected_server(provider, &list)
                .then(|| (provider.name.clone(), parse_model_list(provider, &list)))
        });
        join_all(probes).await.into_iter().flatten().collect()
    }

    async fn fetch_model_list(&self, provider: &Provider) -> Result<Value, ModelError> {
        let path = match provider.wire {
            WireFormat::Responses | WireFormat::Chat => "/models",
            WireFormat::Messages => "/v1/models?limit=1000",
            WireFormat::Gemini => "/models?pageSize=1000",
        };
        let request = self.http_client(provider)?.get(format!("{}{path}", provider.base));
        let mut request = add_provider_headers(request, provider);
        if provider.wire == WireFormat::Messages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let response = request.send().await.map_err(connection_error)?;
        let status = response.status();
        let retry_after = http_response::parse_retry_after(response.headers());
        let body = http_response::read_body(response, LIST_TIMEOUT).await?;
        if !status.is_success() {
            let fault = super::wire::provider_failure::ProviderFailure::from_body(
                status.as_u16(),
                &body,
                retry_after,
            );
            return Err(fault.into_error());
        }
        serde_json::from_str(&body)
            .map_err(|error| ModelError::Protocol(format!("its list of models: {error}")))
    }
}

/// Whether the response is from the expected server: others use port 8080 too.
fn is_expected_server(provider: &Provider, list: &Value) -> bool {
    let models = list["data"].as_array();
    let owner = models.and_then(|models| models.first()).map(|model| &model["owned_by"]);
    match provider.name.as_str() {
        "llamacpp" => owner.is_some_and(|owner| owner == "llamacpp"),
        "vllm" => owner.is_some_and(|owner| owner == "vllm"),
        _ => models.is_some(),
    }
}

fn parse_model_list(provider: &Provider, list: &Value) -> Vec<ModelInfo> {
    let models = list.as_array().or(list["data"].as_array()).or(list["models"].as_array());
    models
        .into_iter()
        .flatten()
        .filter_map(|model| parse_model_info(provider, model))
        .take(MAX_LISTED_MODELS)
        .collect()
}

fn parse_model_info(provider: &Provider, model: &Value) -> Option<ModelInfo> {
    let methods = model["supportedGenerationMethods"].as_array();
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let id = model["id"].as_str().or(model["name"].as_str())?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let first = |names: &[&str]| names.iter().find_map(|name| model[*name].as_u64());
    let title = ["display_name", "displayName", "name"].iter().find_map(|&n| model[n].as_str());
    Some(ModelInfo {
        name: format!("{}/{id}", provider.name),
        title: title
            .filter(|title| *title != id && !title.starts_with("models/"))
            .map(str::to_owned),
        context: first(&[
            "context_length",
            "context_window",
            "max_model_len",
            "max_context_length",
            "inputTokenLimit",
            "max_input_tokens",
        ])
        .or(model["meta"]["n_ctx_train"].as_u64()),
        output: first(&["outputTokenLimit", "max_completion_tokens", "max_tokens"]),
    })
}
