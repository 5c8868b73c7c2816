//! `provost grants`: what was allowed beyond one action.

use std::process::ExitCode;

use provost_proto::{Grant, GrantList};
use provost_store::Clock;

use super::place::{pick, project, short};
use crate::args::{GrantsArgs, GrantsCommand};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, faint, line, plain};

pub(crate) async fn run(args: GrantsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.here.project.as_deref(), &client).await?;
    let all = matches!(args.what, Some(GrantsCommand::List { all: true }));
    let path = format!("/api/projects/{}/grants?all={all}", project.id.uuid());
    let GrantList { grants } = client.get(&path).await?;
    if let Some(GrantsCommand::Revoke { id }) = args.what {
        let grant = pick("grant that holds", &id, grants, |grant| grant.id.to_string())?;
        let grant: Grant = client.delete(&format!("/api/grants/{}", grant.id.uuid())).await?;
        if args.here.json {
            output::json(&grant)?;
        } else {
            line(&format!("Taken back: {}", plain(&grant.what)))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.here.json {
        output::json(&grants)?;
    } else if grants.is_empty() {
        line("Nothing was granted beyond single actions.")?;
    } else {
        let now = Clock::system().now();
        for grant in &grants {
            line(&row(grant, now))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(grant: &Grant, now: u64) -> String {
    let end = match (grant.revoked_at, grant.until) {
        (Some(at), _) => format!("taken back {}", output::time(at)),
        (None, Some(end)) if end <= now => format!("ended {}", output::time(end)),
        (None, Some(end)) => format!("until {}", output::time(end)),
        (None, None) => "as long as its session or token lives".to_owned(),
    };
    let role = grant.role.as_deref().map(|role| format!(" in role {role}")).unwrap_or_default();
    format!(
        "{}  {}  {}",
        bold(&short(&grant.id.to_string())),
        plain(&grant.what),
        faint(&plain(&format!("for {}{role}, {end}, by {}", grant.grantee, grant.by)))
    )
}
