//! `provost audit`: reports of actions, verification of the log, rebuilding of views.

mod actions;
pub(crate) mod events;
pub(crate) mod log;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_proto::AuditReport;
use provost_store::{Clock, EventStore, SqliteStore, StoreOptions};

use crate::args::{AuditArgs, AuditCommand, JsonArgs};
use crate::client::DaemonClient;
use crate::config::Config;
use crate::daemon::data_folder::DataFolder;
use crate::output::{self, print_line};

/// Exit code for a changed log.
const EXIT_TAMPERED: u8 = 4;

pub(crate) async fn run(args: AuditArgs, config: &Config) -> anyhow::Result<ExitCode> {
    match (args.what, args.action) {
        (Some(AuditCommand::Verify(json)), _) => verify_log(&json, config).await,
        (Some(AuditCommand::Rebuild), _) => rebuild_views(config).await,
        (None, Some(action)) => actions::show_action_report(&action, args.json.json, config).await,
        (None, None) => {
            let mut filter = events::encode_parameter("actor", args.actor.as_deref());
            filter.push_str(&events::encode_parameter("text", args.text.as_deref()));
            filter.push_str(&events::encode_parameter("project", args.project.as_deref()));
            actions::list_recent_actions(&filter, args.limit, args.json.json, config).await
        }
    }
}

async fn verify_log(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let report: AuditReport = match DaemonClient::connect_if_running(config)? {
        Some(client) => client.get("/api/audit/verify").await?,
        None => verify_log_file(find_data_folder(config)?.log_path()).await?,
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        if let Some(why) = &report.database {
            print_line(&format!(
                "The database of the log is damaged: {why}.\n\
                 Stop the daemon and put back a copy of the data folder, if you have one."
            ))?;
        }
        match (&report.bad, &report.views) {
            (None, None) if report.database.is_some() => {
                print_line(&format!(
                    "Its {} events are intact, up to {}.",
                    report.events, report.head
                ))?;
            }
            (None, None) => {
                print_line(&format!(
                    "The log is intact: {} events.\nHead: {}",
                    report.events, report.head
                ))?;
            }
            (None, Some(why)) => print_line(&format!(
                "The {} events are intact, but a view does not match them: {why}.\n\
                 Run `provost down`, then `provost audit rebuild`.",
                report.events
            ))?,
            (Some(bad), _) => print_line(&format!(
                "The log was changed. Event {} is invalid: {}.\nThe {} events before it are intact, up to {}.",
                bad.seq, bad.why, report.events, report.head
            ))?,
        }
    }
    Ok(if report.bad.is_some() || report.views.is_some() || report.database.is_some() {
        ExitCode::from(EXIT_TAMPERED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Rebuilds the views, under the daemon's lock.
async fn rebuild_views(config: &Config) -> anyhow::Result<ExitCode> {
    let folder = find_data_folder(config)?;
    if let Some(pid) = folder.lock_holder() {
        bail!("the daemon (pid {pid}) is using the views\nhint: `provost down` stops it");
    }
    let _lock = folder.lock()?;
    let AuditReport { events, bad, .. } = verify_log_file(folder.log_path()).await?;
    if let Some(bad) = bad {
        bail!("cannot rebuild the views: event {} of the log is invalid: {}", bad.seq, bad.why);
    }
    let options = StoreOptions { path: folder.log_path(), clock: Clock::system() };
    let store = SqliteStore::open(options).context("cannot open the log")?;
    store.rebuild_views().await?;
    print_line(&format!("The views were rebuilt from the {events} events of the log."))?;
    Ok(ExitCode::SUCCESS)
}

fn find_data_folder(config: &Config) -> anyhow::Result<DataFolder> {
    let folder = DataFolder::from_path(&config.data.value);
    if !folder.log_path().exists() {
        bail!("there is no log in {}", folder.path().display());
    }
    Ok(folder)
}

/// Verifies the file without a daemon and without a lock, so that a copy in a
/// read-only folder can be verified too.
async fn verify_log_file(log: PathBuf) -> anyhow::Result<AuditReport> {
    Ok(tokio::task::spawn_blocking(move || SqliteStore::verify_file(&log)).await??)
}
