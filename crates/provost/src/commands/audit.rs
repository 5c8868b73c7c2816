//! `provost audit`.

mod tale;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_proto::AuditReport;
use provost_store::{Clock, EventStore, SqliteStore, StoreOptions};

use crate::args::{AuditArgs, AuditCommand, JsonArgs};
use crate::client::Client;
use crate::config::Config;
use crate::daemon::folder::Folder;
use crate::output::{self, line};

/// The exit code for "an event was changed".
const TAMPERED: u8 = 4;

pub(crate) async fn run(args: AuditArgs, config: &Config) -> anyhow::Result<ExitCode> {
    match (args.what, args.action) {
        (Some(AuditCommand::Verify(json)), _) => verify(&json, config).await,
        (Some(AuditCommand::Rebuild), _) => rebuild(config).await,
        (None, Some(action)) => tale::of(&action, args.json.json, config).await,
        (None, None) => {
            tale::latest(args.project.as_deref(), args.limit, args.json.json, config).await
        }
    }
}

async fn verify(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let report: AuditReport = match Client::find(config)? {
        Some(client) => client.get("/api/audit/verify").await?,
        None => walk(there(config)?.log()).await?,
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
                "The {} events are whole, but what was folded from them is not what they say: {why}.\n\
                 `provost down`, then `provost audit rebuild` folds it again.",
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

/// Folds the views again, under the daemon's lock.
async fn rebuild(config: &Config) -> anyhow::Result<ExitCode> {
    let folder = there(config)?;
    if let Some(pid) = folder.holder() {
        bail!("the daemon (pid {pid}) is using the views\nhint: `provost down` stops it");
    }
    let _lock = folder.lock()?;
    let AuditReport { events, bad, .. } = walk(folder.log()).await?;
    if let Some(bad) = bad {
        bail!("the views come from the log, and its event {} is bad: {}", bad.seq, bad.why);
    }
    let options = StoreOptions { path: folder.log(), clock: Clock::system() };
    let store = SqliteStore::open(options).context("cannot open the log")?;
    store.rebuild_views().await?;
    line(&format!("The views were folded again from the {events} events of the log."))?;
    Ok(ExitCode::SUCCESS)
}

fn there(config: &Config) -> anyhow::Result<Folder> {
    let folder = Folder::at(&config.data.value);
    if !folder.log().exists() {
        bail!("there is no log in {}", folder.path().display());
    }
    Ok(folder)
}

/// Without a daemon: reads the file as it lies there, and takes no lock, so
/// that a copy in a folder that cannot be written is verified too.
async fn walk(log: PathBuf) -> anyhow::Result<AuditReport> {
    Ok(tokio::task::spawn_blocking(move || SqliteStore::verify_file(&log)).await??)
}
