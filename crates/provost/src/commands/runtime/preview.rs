//! `provost preview`: opens a project's preview.

use std::process::ExitCode;

use anyhow::bail;
use provost_proto::runtime::{PreviewStatus, PreviewUrl};
use provost_sandbox::launch;

use crate::args::PreviewArgs;
use crate::client::DaemonClient;
use crate::commands::lookup::resolve_project;
use crate::config::Config;
use crate::output::{self, faint, print_line, print_stderr};

pub(crate) async fn run(args: PreviewArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.which.project.as_deref(), &client).await?;
    let port = args.port.map(|port| format!("?port={port}")).unwrap_or_default();
    let path = format!("/api/projects/{}/preview/url{port}", project.id.uuid());
    let preview: PreviewUrl = client.get(&path).await?;
    if args.json.json {
        output::print_json(&preview)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(url) = preview.url else {
        match preview.status {
            PreviewStatus::Lost => bail!("the dev server is no longer listening"),
            PreviewStatus::None | PreviewStatus::Detected | PreviewStatus::Ready => bail!(
                "the project is not listening on any port\nhint: `provost run` starts it, `provost logs` \
                 shows its output"
            ),
        }
    };
    print_line(&url)?;
    print_stderr(&faint(
        "The link is valid once, for 5 minutes; the browser that opens it stays logged in.",
    ));
    if preview.status == PreviewStatus::Detected {
        print_stderr(&faint("The server is listening, but has not responded yet."));
    }
    if !args.no_open && config.browser.display {
        launch::open_in_browser(&url, config.browser.preferred.as_deref())?;
    }
    Ok(ExitCode::SUCCESS)
}
