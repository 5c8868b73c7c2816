//! `provost logs`: output of builds and dev servers.

use std::process::ExitCode;
use std::time::Duration;

use provost_proto::Project;
use provost_proto::kernel::{OutputData, OutputStream};
use provost_proto::runtime::RuntimeLogPage;

use crate::args::LogsArgs;
use crate::client::{DaemonClient, RequestRejected};
use crate::commands::lookup::resolve_project;
use crate::config::Config;
use crate::output::{self, faint, print_stderr};
use crate::program_output::print_program_output;

/// Interval between polls for new output.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Interval between attempts to reconnect.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: LogsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.which.project.as_deref(), &client).await?;
    if args.follow {
        return follow_logs(config, client, &project, args.after).await;
    }
    print_from_offset(&client, &project, args.after).await?;
    Ok(ExitCode::SUCCESS)
}

async fn fetch_page(
    client: &DaemonClient,
    project: &Project,
    after: u64,
) -> anyhow::Result<RuntimeLogPage> {
    let path = format!("/api/projects/{}/runtime/logs?after={after}", project.id.uuid());
    client.get(&path).await
}

/// The current end of the log, in bytes.
pub(crate) async fn fetch_end_offset(
    client: &DaemonClient,
    project: &Project,
) -> anyhow::Result<u64> {
    Ok(fetch_page(client, project, u64::MAX).await?.end)
}

/// Prints the log from a byte offset on; returns the offset of its end.
async fn print_from_offset(
    client: &DaemonClient,
    project: &Project,
    mut after: u64,
) -> anyhow::Result<u64> {
    loop {
        let page = fetch_page(client, project, after).await?;
        // A new kernel starts a new log.
        if page.end < after {
            print_stderr(&faint("… new log …"));
            after = 0;
            continue;
        }
        if page.offset > after && after > 0 {
            print_stderr(&faint(&format!("… {} bytes were dropped …", page.offset - after)));
        }
        if let OutputData::Bytes(bytes) = &page.data {
            print_program_output(OutputStream::Stdout, bytes)?;
        }
        if page.next == after || page.next >= page.end {
            return Ok(page.next);
        }
        after = page.next;
    }
}

/// Prints new output; reconnects when the daemon restarts.
pub(crate) async fn follow_logs(
    config: &Config,
    mut client: DaemonClient,
    project: &Project,
    mut after: u64,
) -> anyhow::Result<ExitCode> {
    loop {
        match print_from_offset(&client, project, after).await {
            Ok(next) => after = next,
            Err(error) if error.is::<RequestRejected>() || error.is::<output::OutputClosed>() => {
                return Err(error);
            }
            Err(_) => {
                print_stderr(&faint("Lost the connection to the daemon; waiting for it."));
                client = loop {
                    tokio::time::sleep(RECONNECT_INTERVAL).await;
                    if let Some(client) = DaemonClient::connect_if_running(config)? {
                        break client;
                    }
                };
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Prints new output until `work` is done, and then the rest.
pub(crate) async fn print_while_pending<T>(
    client: &DaemonClient,
    project: &Project,
    mut after: u64,
    work: impl Future<Output = T>,
) -> anyhow::Result<T> {
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(POLL_INTERVAL) => after = print_from_offset(client, project, after).await?,
        }
    };
    print_from_offset(client, project, after).await?;
    Ok(done)
}
