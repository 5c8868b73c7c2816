//! Which models a provider has, and which servers run on this machine.

use std::time::Duration;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::scrub;
use super::transport::{connect, with_headers};
use super::{ModelError, Models, Provider, Wire, answer};

/// How long a server on this machine may take to say that it is there.
const PROBE: Duration = Duration::from_millis(300);

/// How long a list of models may take.
const LIST: Duration = Duration::from_secs(15);

/// The most models that are taken from a list.
const MOST: usize = 2000;

/// A model that a provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCard {
    /// Its full name, to be used in a request.
    pub name: String,
    /// What the provider calls it for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many tokens it can read, if the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// How many tokens it can write, if the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl Models {
    /// The models of a provider, as it lists them.
    pub async fn list(&self, provider: &Provider) -> Result<Vec<ModelCard>, ModelError> {
        provider.check()?;
        let listed = tokio::time::timeout(LIST, self.listed(provider)).await;
        let listed = listed.unwrap_or(Err(ModelError::Stalled(LIST)));
        let listed = listed.map(|list| cards(provider, &list));
        listed.map_err(|error| error.map(|text| scrub(provider.secrets(), text)))
    }

    /// The servers on this machine that answer within 300 ms, with their models.
    /// None of those that are known and not running costs more than that.
    pub async fn probe(&self) -> Vec<(String, Vec<ModelCard>)> {
        let is_local = |provider: &&Provider| provider.is_local && provider.wire == Wire::Chat;
        let local = self.registry().providers().filter(is_local);
        let probes = local.map(async |provider| {
            let listed = tokio::time::timeout(PROBE, self.listed(provider)).await;
            // Nothing there, or something else on the same port, is the usual case.
            let list = listed.ok()?.ok()?;
            is_it(provider, &list).then(|| (provider.name.clone(), cards(provider, &list)))
        });
        join_all(probes).await.into_iter().flatten().collect()
    }

    async fn listed(&self, provider: &Provider) -> Result<Value, ModelError> {
        let path = match provider.wire {
            Wire::Responses | Wire::Chat => "/models",
            Wire::Messages => "/v1/models?limit=1000",
            Wire::Gemini => "/models?pageSize=1000",
        };
        let request = self.client(provider)?.get(format!("{}{path}", provider.base));
        let mut request = with_headers(request, provider);
        if provider.wire == Wire::Messages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let response = request.send().await.map_err(connect)?;
        let status = response.status();
        let retry_after = answer::retry_after(response.headers());
        let body = answer::body(response, LIST).await?;
        if !status.is_success() {
            let fault = super::wire::fault::Fault::of_body(status.as_u16(), &body, retry_after);
            return Err(fault.into_error());
        }
        serde_json::from_str(&body)
            .map_err(|error| ModelError::Protocol(format!("its list of models: {error}")))
    }
}

/// Whether what answers is the server that was looked for: others use port 8080 too.
fn is_it(provider: &Provider, list: &Value) -> bool {
    let models = list["data"].as_array();
    let owner = models.and_then(|models| models.first()).map(|model| &model["owned_by"]);
    match provider.name.as_str() {
        "llamacpp" => owner.is_some_and(|owner| owner == "llamacpp"),
        "vllm" => owner.is_some_and(|owner| owner == "vllm"),
        _ => models.is_some(),
    }
}

fn cards(provider: &Provider, list: &Value) -> Vec<ModelCard> {
    let models = list.as_array().or(list["data"].as_array()).or(list["models"].as_array());
    models.into_iter().flatten().filter_map(|model| card(provider, model)).take(MOST).collect()
}

fn card(provider: &Provider, model: &Value) -> Option<ModelCard> {
    let methods = model["supportedGenerationMethods"].as_array();
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
        return None;
    }
    let id = model["id"].as_str().or(model["name"].as_str())?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let first = |names: &[&str]| names.iter().find_map(|name| model[*name].as_u64());
    let title = ["display_name", "displayName", "name"].iter().find_map(|&n| model[n].as_str());
    Some(ModelCard {
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
