//! `provost config`.

use std::process::ExitCode;

use crate::args::JsonArgs;
use crate::config::{Config, Source};
use crate::output::{self, faint, line};

pub(crate) fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    if args.json {
        output::json(config)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = if config.file.exists() { "" } else { " (not there)" };
    line(&faint(&format!("# {}{found}", config.file.display())))?;
    let rows: [(&str, String, Source); 9] = [
        ("data", quoted(&config.data.value), config.data.source),
        ("listen", quoted(&config.listen.value.to_string()), config.listen.source),
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
        ("log", quoted(&config.log.value), config.log.source),
        (
            "kernel_idle_minutes",
            config.kernel_idle_minutes.value.to_string(),
            config.kernel_idle_minutes.source,
        ),
        ("policy", quoted(&config.policy.value), config.policy.source),
        (
            "approval_minutes",
            config.approval_minutes.value.to_string(),
            config.approval_minutes.source,
        ),
        ("model", quoted(&config.model.value), config.model.source),
    ];
    for (name, value, source) in rows {
        let source = match source {
            Source::Default => "default",
            Source::File => "config.toml",
            Source::Environment => "environment",
            Source::Flag => "flag",
        };
        line(&format!("{:<40} {}", format!("{name} = {value}"), faint(&format!("# {source}"))))?;
    }
    let ready = config.models.ready.join(", ");
    let ready = if ready.is_empty() { "none" } else { &ready };
    line(&faint(&format!("# providers of models that can be asked: {ready}")))?;
    Ok(ExitCode::SUCCESS)
}

fn quoted(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
