//! Usage and cost of models, and the available models.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use provost_proto::session::{ModelList, ModelView, ProviderView, UsageReport};
use provost_runner::model::ProviderStatus;
use serde::Deserialize;

use super::JsonResult;
use crate::AppState;
use crate::middleware::auth::RequireOperator;
use crate::middleware::extractors::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageQuery {
    project: Option<String>,
    days: Option<u32>,
}

/// Show the usage and cost of models: the total, and a row for each day, project and model. With
/// `days`, the rows of as many days, of which today is one.
#[utoipa::path(get, path = "/api/usage", params(("project" = Option<String>, Query, description = "id or short name"), ("days" = Option<u32>, Query)), responses((status = 200, body = UsageReport)))]
pub(crate) async fn show_usage(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Query(UsageQuery { project, days }): Query<UsageQuery>,
) -> JsonResult<UsageReport> {
    let project = match project {
        Some(name) => Some(app.gateway.projects.get_project(&name).await?.id),
        None => None,
    };
    let mut report = app.runner.build_usage_report(project, days).await?;
    // A price table of the user has a date of its own.
    let models = report.rows.iter().map(|row| row.model.as_str());
    report.prices_as_of = app.runner.prices().price_dates(models).join(" and ");
    Ok(Json(report))
}

/// List the providers and the available models: scripts, those of servers on this machine, and
/// the priced ones of providers with a key. Other models of a provider can be used as
/// `provider/model`.
#[utoipa::path(get, path = "/api/models", responses((status = 200, body = ModelList)))]
pub(crate) async fn list_models(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
) -> JsonResult<ModelList> {
    let models = app.runner.models();
    let registry = models.registry();
    let script = |name: String| {
        let title = registry.script_title(&name).map(str::to_owned);
        ModelView { name, title, scripted: true }
    };
    let mut list: Vec<_> = registry.script_model_names().map(script).collect();
    let found = models.probe_local_servers().await;
    let is_here = |name: &str| found.iter().any(|(here, _)| here == name);
    let providers = registry.providers().map(|provider| {
        let (ready, missing) = match provider.status() {
            ProviderStatus::Ready => (true, None),
            ProviderStatus::NoKey(variables) => {
                (false, Some(format!("set {}", variables.join(" or "))))
            }
            ProviderStatus::Local if is_here(&provider.name) => (true, None),
            ProviderStatus::Local => (false, Some("it does not run on this machine".to_owned())),
        };
        ProviderView { name: provider.name.clone(), ready, missing }
    });
    let providers = providers.collect();
    let cards = found.into_iter().flat_map(|(_, cards)| cards);
    list.extend(cards.map(|card| ModelView {
        name: card.name,
        title: card.title,
        scripted: false,
    }));
    let ready = |name: &&str| {
        let provider = name.split_once('/').and_then(|(name, _)| registry.provider(name));
        provider.is_some_and(|provider| provider.status() == ProviderStatus::Ready)
    };
    let known = app.runner.prices().priced_models().filter(ready);
    list.extend(known.map(|name| ModelView { name: name.into(), title: None, scripted: false }));
    let default = app.runner.default_model().map(str::to_owned);
    Ok(Json(ModelList { models: list, providers, default }))
}
