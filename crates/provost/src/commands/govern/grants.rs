//! `provost grants`: answers that cover more than one action.

use std::process::ExitCode;

use provost_proto::{Grant, GrantList};
use provost_store::Clock;

use crate::args::{GrantsArgs, GrantsCommand};
use crate::client::DaemonClient;
use crate::commands::audit::events::encode_parameter;
use crate::commands::lookup::{find_by_short_id, resolve_project, short_id};
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, print_stderr, sanitize_text};

pub(crate) async fn run(args: GrantsArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.here.project.as_deref(), &client).await?;
    let (all, before) = match &args.what {
        Some(GrantsCommand::List { all, before }) => (*all, before.as_deref()),
        Some(GrantsCommand::Revoke { .. }) | None => (false, None),
    };
    let path = format!("/api/projects/{}/grants?all={all}", project.id.uuid());
    let path = format!("{path}{}", encode_parameter("before", before));
    let GrantList { grants, next } = client.get(&path).await?;
    if let Some(GrantsCommand::Revoke { id }) = args.what {
        let grant = find_by_short_id("active grant", &id, grants, |grant| grant.id.to_string())?;
        let grant: Grant = client.delete(&format!("/api/grants/{}", grant.id.uuid())).await?;
        if args.here.json {
            output::print_json(&grant)?;
        } else {
            print_line(&format!("Revoked: {}", sanitize_text(&grant.what)))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.here.json {
        output::print_json(&grants)?;
    } else if grants.is_empty() {
        print_line("No grants.")?;
    } else {
        let now = Clock::system().now();
        for grant in &grants {
            print_line(&format_grant_row(grant, now))?;
        }
    }
    if let Some(next) = next {
        let next = sanitize_text(&next);
        print_stderr(&faint(&format!(
            "`provost grants list --all --before {next}` lists older ones."
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn format_grant_row(grant: &Grant, now: u64) -> String {
    let end = match (grant.revoked_at, grant.until) {
        (Some(at), _) => format!("revoked {}", output::format_time(at)),
        (None, Some(end)) if end <= now => format!("expired {}", output::format_time(end)),
        (None, Some(end)) => format!("until {}", output::format_time(end)),
        (None, None) => "until its session or token ends".to_owned(),
    };
    let role = grant.role.as_deref().map(|role| format!(" in role {role}")).unwrap_or_default();
    format!(
        "{}  {}  {}",
        bold(&short_id(&grant.id.to_string())),
        sanitize_text(&grant.what),
        faint(&sanitize_text(&format!("for {}{role}, {end}, by {}", grant.grantee, grant.by)))
    )
}
