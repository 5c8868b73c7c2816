//! The settings of models in `config.toml`: providers, prices, budgets, limits.
//!
//! ```toml
//! model = "anthropic/claude-sonnet-5"
//! prices = "prices.toml"            # beside config.toml; overrides the built-in table
//!
//! [providers.work]                  # models are `work/<name>`
//! base_url = "https://llm.example.com/v1"
//! key_env = "WORK_LLM_KEY"
//!
//! [budget]
//! session_usd = 2.0
//! project_usd = 50.0
//! day_usd = 20.0
//!
//! [turn]
//! calls = 50
//! minutes = 60
//! ```

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use provost_core::session::turn_step::TurnLimits;
use provost_proto::session::SessionBudget;
use provost_runner::model::{
    ModelClient, ModelTimeouts, PriceTable, ProviderConfig, ProviderRegistry, ProviderStatus,
    RetryPolicy, Usd,
};
use provost_runner::session::SessionSettings;
use provost_runner::tour;
use serde::{Deserialize, Serialize};

use super::TelemetrySection;

/// The settings as written in the file. Unknown keys are rejected when a part is parsed.
#[derive(Debug, Default)]
pub(super) struct ModelsSection {
    pub(super) providers: BTreeMap<String, toml::Value>,
    pub(super) prices: Option<PathBuf>,
    pub(super) budget: BudgetSection,
    pub(super) turn: TurnSection,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, rename_all(serialize = "camelCase"))]
pub(super) struct BudgetSection {
    session_usd: Option<f64>,
    session_tokens: Option<u64>,
    project_usd: Option<f64>,
    day_usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, rename_all(serialize = "camelCase"))]
pub(super) struct TurnSection {
    calls: Option<u32>,
    tokens: Option<u64>,
    usd: Option<f64>,
    minutes: Option<u64>,
    compact_at: Option<u64>,
}

/// The resolved settings. Serialized without API keys.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelsConfig {
    /// Names of the providers that have what they need, such as a key.
    pub(crate) ready: Vec<String>,
    prices: Option<PathBuf>,
    budget: BudgetSection,
    turn: TurnSection,
    #[serde(skip)]
    registry: ProviderRegistry,
}

impl ModelsSection {
    /// The keys in the file; they are redacted like those of the environment.
    pub(super) fn collect_secrets(&self, telemetry: Option<&TelemetrySection>) -> Vec<String> {
        let headers = |provider: &toml::Value| {
            let table = provider.get("headers").and_then(toml::Value::as_table).cloned();
            table.into_iter().flatten().map(|(_, value)| value).collect::<Vec<_>>()
        };
        let all = self
            .providers
            .values()
            .flat_map(|provider| provider.get("key").cloned().into_iter().chain(headers(provider)));
        let all = all.filter_map(|value| value.as_str().map(str::to_owned));
        all.chain(telemetry.into_iter().flat_map(TelemetrySection::secret_values).cloned())
            .collect()
    }
}

impl ModelsConfig {
    pub(super) fn resolve(written: ModelsSection, file: &Path) -> anyhow::Result<Self> {
        let mut providers = BTreeMap::new();
        for (name, value) in written.providers {
            let read: ProviderConfig = value.try_into().map_err(|error: toml::de::Error| {
                anyhow!("[providers.{name}] in {}: {}", file.display(), error.message())
            })?;
            providers.insert(name, read);
        }
        let env: BTreeMap<String, String> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let registry = ProviderRegistry::new(&providers, &env)
            .with_context(|| format!("cannot use the providers in {}", file.display()))?
            .with_script(tour::TOUR_SCRIPT_NAME, tour::parse_tour_script()?);
        let ready =
            registry.providers().filter(|provider| provider.status() == ProviderStatus::Ready);
        let ready = ready.map(|provider| provider.name.clone()).collect();
        let beside = |prices: PathBuf| file.parent().map_or(prices.clone(), |at| at.join(prices));
        let (prices, budget, turn) = (written.prices.map(beside), written.budget, written.turn);
        let config = Self { ready, prices, budget, turn, registry };
        config.build_session_settings(None)?;
        Ok(config)
    }

    /// The client of the providers.
    pub(crate) fn build_models(&self) -> anyhow::Result<ModelClient> {
        let (retry, timeouts) = (RetryPolicy::default(), ModelTimeouts::default());
        Ok(ModelClient::new(self.registry.clone(), retry, timeouts)?)
    }

    /// The built-in prices, overridden by the user's own.
    pub(crate) fn load_prices(&self) -> anyhow::Result<PriceTable> {
        let built_in = PriceTable::built_in()?;
        let Some(file) = &self.prices else { return Ok(built_in) };
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let own = PriceTable::parse(&text).with_context(|| format!("in {}", file.display()))?;
        Ok(built_in.with_overrides(own))
    }

    /// Limits, budgets and the default model of sessions.
    pub(crate) fn build_session_settings(
        &self,
        model: Option<String>,
    ) -> anyhow::Result<SessionSettings> {
        let nanos = |name: &str, dollars: Option<f64>| match dollars {
            None => Ok(None),
            Some(dollars) => {
                Usd::from_dollars(dollars).map(|usd| Some(usd.as_nanos())).ok_or_else(|| {
                    anyhow!("`{name}` is {dollars}, which is not a valid amount of dollars")
                })
            }
        };
        let (default, turn, budget) = (TurnLimits::default(), &self.turn, &self.budget);
        Ok(SessionSettings {
            limits: TurnLimits {
                calls: turn.calls.unwrap_or(default.calls),
                tokens: turn.tokens,
                cost: nanos("turn.usd", turn.usd)?,
                millis: turn
                    .minutes
                    .map_or(default.millis, |minutes| minutes.saturating_mul(60_000)),
                compact_at: default.compact_at,
            },
            compact_at: turn.compact_at,
            budget: SessionBudget {
                nanos: nanos("budget.session_usd", budget.session_usd)?,
                tokens: budget.session_tokens,
            },
            project: nanos("budget.project_usd", budget.project_usd)?,
            day: nanos("budget.day_usd", budget.day_usd)?,
            model,
        })
    }
}
