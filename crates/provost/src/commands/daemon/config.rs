//! `provost config`: the resolved configuration.

use std::process::ExitCode;

use crate::args::JsonArgs;
use crate::config::{Config, ConfigSource};
use crate::output::{self, faint, print_line};

pub(crate) fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    if args.json {
        output::print_json(config)?;
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
    Ok(ExitCode::SUCCESS)
}

fn to_json_literal(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
