//! `provost logs`: what builds and dev servers printed.

use std::process::ExitCode;
use std::time::Duration;

use provost_proto::Project;
use provost_proto::kernel::OutputData;
use provost_proto::runtime::RuntimeLogPage;

use super::place::project;
use crate::args::LogsArgs;
use crate::client::{Client, Refused};
use crate::config::Config;
use crate::output::{self, faint, remark};

/// How often to look for more.
const LOOK: Duration = Duration::from_millis(150);

/// How long to wait before looking for the daemon again.
const AGAIN: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: LogsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.which.project.as_deref(), &client).await?;
    if args.follow {
        return follow(config, client, &project, args.after).await;
    }
    print_from(&client, &project, args.after).await?;
    Ok(ExitCode::SUCCESS)
}

async fn page(client: &Client, project: &Project, after: u64) -> anyhow::Result<RuntimeLogPage> {
    let path = format!("/api/projects/{}/runtime/logs?after={after}", project.id.uuid());
    client.get(&path).await
}

/// Where the log ends now.
pub(super) async fn end(client: &Client, project: &Project) -> anyhow::Result<u64> {
    Ok(page(client, project, u64::MAX).await?.end)
}

/// Prints what there is from a byte on; where it ends.
async fn print_from(client: &Client, project: &Project, mut after: u64) -> anyhow::Result<u64> {
    loop {
        let page = page(client, project, after).await?;
        // Another kernel has another log.
        if page.end < after {
            remark(&faint("… the log has begun anew …"));
            after = 0;
            continue;
        }
        if page.offset > after && after > 0 {
            remark(&faint(&format!("… {} bytes are not kept any more …", page.offset - after)));
        }
        if let OutputData::Bytes(bytes) = &page.data {
            output::bytes(bytes)?;
        }
        if page.next == after || page.next >= page.end {
            return Ok(page.next);
        }
        after = page.next;
    }
}

/// Prints as it is printed; comes back by itself when the daemon does.
pub(super) async fn follow(
    config: &Config,
    mut client: Client,
    project: &Project,
    mut after: u64,
) -> anyhow::Result<ExitCode> {
    loop {
        match print_from(&client, project, after).await {
            Ok(next) => after = next,
            Err(error) if error.is::<Refused>() || error.is::<output::Closed>() => {
                return Err(error);
            }
            Err(_) => {
                remark(&faint("Lost the daemon; waiting for it."));
                client = loop {
                    tokio::time::sleep(AGAIN).await;
                    if let Some(client) = Client::find(config)? {
                        break client;
                    }
                };
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Prints what is printed while something is waited for, and what is left then.
pub(super) async fn while_it_prints<T>(
    client: &Client,
    project: &Project,
    mut after: u64,
    work: impl Future<Output = T>,
) -> anyhow::Result<T> {
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(LOOK) => after = print_from(client, project, after).await?,
        }
    };
    print_from(client, project, after).await?;
    Ok(done)
}
