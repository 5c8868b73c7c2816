//! `provost audit`.

use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_proto::AuditReport;
use provost_store::{Clock, Sqlite, Store, StoreOptions};

use crate::args::JsonArgs;
use crate::client::Client;
use crate::config::Config;
use crate::daemon::folder::Folder;
use crate::output::{self, line};

/// The exit code for "an event was changed".
const TAMPERED: u8 = 4;

pub(crate) async fn verify(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let report: AuditReport = match Client::find(config)? {
        Some(client) => client.get("/api/audit/verify").await?,
        None => directly(config).await?,
    };
    if args.json {
        output::json(&report)?;
    } else {
        match (&report.bad, &report.views) {
            (None, None) => {
                line(&format!(
                    "The log is whole: {} events.\nHead: {}",
                    report.events, report.head
                ))?;
            }
            (None, Some(why)) => line(&format!(
                "The {} events are whole, but what was folded from them was changed: {why}.",
                report.events
            ))?,
            (Some(bad), _) => line(&format!(
                "The log was changed. Event {} is bad: {}.\nThe {} before it are good, up to {}.",
                bad.seq, bad.why, report.events, report.head
            ))?,
        }
    }
    Ok(if report.bad.is_some() || report.views.is_some() {
        ExitCode::from(TAMPERED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Without a daemon, under its lock.
async fn directly(config: &Config) -> anyhow::Result<AuditReport> {
    let folder = Folder::at(&config.data.value);
    if !folder.log().exists() {
        bail!("there is no log in {}", folder.path().display());
    }
    let _lock = folder.lock()?;
    let options = StoreOptions { path: folder.log(), clock: Clock::system() };
    let store = Sqlite::open(options).context("cannot open the log")?;
    Ok(store.verify().await?)
}
