//! `provost config`: the resolved configuration, and what the running daemon uses.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use provost_proto::session::{ModelList, ProviderView};
use serde::Serialize;

use super::provider_keys::{RESTART_COMMAND, describe_missing_key, find_missing_keys};
use crate::args::JsonArgs;
use crate::client::DaemonClient;
use crate::config::{Config, ConfigSource};
use crate::daemon::data_folder::RunningDaemon;
use crate::output::{self, faint, print_line, quote_text, sanitize_text};

pub(crate) async fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let daemon = DaemonConfig::fetch(config).await?;
    if args.json {
        output::print_json(&PrintedConfig { config, daemon: daemon.as_ref() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let missing = if config.file.exists() { "" } else { " (does not exist)" };
    print_line(&faint(&format!("# {}{missing}", config.file.display())))?;
    let rows: [(&str, String, ConfigSource); 9] = [
        ("data", to_json_literal(&config.data.value), config.data.source),
        ("listen", to_json_literal(&config.listen.value.to_string()), config.listen.source),
        (
            "allow_hosts",
            serde_json::to_string(&config.allow_hosts.value)?,
            config.allow_hosts.source,
        ),
        (
            "preview_port",
            serde_json::to_string(&config.preview_port.value)?,
            config.preview_port.source,
        ),
        ("log", to_json_literal(&config.log.value), config.log.source),
        (
            "kernel_idle_minutes",
            config.kernel_idle_minutes.value.to_string(),
            config.kernel_idle_minutes.source,
        ),
        ("policy", to_json_literal(&config.policy.value), config.policy.source),
        (
            "approval_minutes",
            config.approval_minutes.value.to_string(),
            config.approval_minutes.source,
        ),
        ("model", to_json_literal(&config.model.value), config.model.source),
    ];
    for (name, value, source) in rows {
        let source = match source {
            ConfigSource::Default => "default",
            ConfigSource::File => "config.toml",
            ConfigSource::Environment => "environment",
            ConfigSource::Flag => "flag",
        };
        print_line(&format!(
            "{:<40} {}",
            format!("{name} = {value}"),
            faint(&format!("# {source}"))
        ))?;
    }
    let ready = config.models.ready.join(", ");
    let ready = if ready.is_empty() { "none" } else { &ready };
    print_line(&faint(&format!("# configured model providers: {ready}")))?;
    for line in daemon.iter().flat_map(|daemon| daemon.describe(config)) {
        print_line(&faint(&format!("# {line}")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is printed as JSON.
#[derive(Serialize)]
struct PrintedConfig<'a> {
    #[serde(flatten)]
    config: &'a Config,
    #[serde(skip_serializing_if = "Option::is_none")]
    daemon: Option<&'a DaemonConfig>,
}

/// What the running daemon uses: it read its configuration and its environment when it started.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DaemonConfig {
    pid: u32,
    /// Its `config.toml`.
    file: Option<PathBuf>,
    /// Whether that file was changed since the daemon started.
    file_changed: bool,
    /// The default model.
    model: Option<String>,
    /// The providers that are ready, as the daemon sees it.
    ready: Vec<String>,
    /// The providers that lack a key in the daemon and have one here.
    missing_keys: Vec<ProviderView>,
}

impl DaemonConfig {
    /// Asks the running daemon, if there is one.
    async fn fetch(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(client) = DaemonClient::connect_if_running(config)? else { return Ok(None) };
        let ModelList { providers, default, .. } = match client.get("/api/models").await {
            Ok(list) => list,
            Err(error) => {
                output::print_warning(&error.context("cannot ask the daemon what it uses"));
                return Ok(None);
            }
        };
        let RunningDaemon { pid, started_at, config: file, .. } = client.running;
        let changed_at = file.as_ref().and_then(|file| file.metadata().ok()?.modified().ok());
        let changed_at = changed_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let file_changed = changed_at.is_some_and(|at| at.as_micros() > u128::from(started_at));
        let missing_keys = find_missing_keys(&config.models.ready, &providers);
        let missing_keys = missing_keys.into_iter().cloned().collect();
        let ready = providers.into_iter().filter(|provider| provider.ready);
        let ready = ready.map(|provider| provider.name).collect();
        Ok(Some(Self { pid, file, file_changed, model: default, ready, missing_keys }))
    }

    /// One line for what it uses, and one for each difference.
    fn describe(&self, config: &Config) -> Vec<String> {
        let list = |names: &[String]| {
            if names.is_empty() { "none".to_owned() } else { sanitize_text(&names.join(", ")) }
        };
        let mut lines = vec![format!(
            "the daemon (pid {}) uses the model providers: {}",
            self.pid,
            list(&self.ready)
        )];
        if let Some(file) = &self.file {
            let other = std::path::absolute(&config.file).is_ok_and(|here| here != *file);
            let other = if other { ", another file than here" } else { "" };
            let missing = if file.exists() { "" } else { " (does not exist)" };
            let changed = if self.file_changed {
                format!(
                    ", as it was when it started; run `{RESTART_COMMAND}` to use it as it is now"
                )
            } else {
                String::new()
            };
            lines.push(format!("the daemon uses {}{missing}{other}{changed}", file.display()));
        }
        if self.model != config.model.value {
            let model = self.model.as_deref().map_or_else(|| "none".to_owned(), quote_text);
            lines.push(format!("the daemon's default model differs: {model}"));
        }
        lines.extend(self.missing_keys.iter().map(describe_missing_key));
        lines
    }
}

fn to_json_literal(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
