//! `provost preview`: where a project can be seen.

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
            PreviewStatus::Lost => bail!("the dev server does not listen any more"),
            PreviewStatus::None | PreviewStatus::Detected | PreviewStatus::Ready => bail!(
                "nothing of the project listens\nhint: `provost run` starts it, `provost logs` \
                 shows what it printed"
            ),
        }
    };
    print_line(&url)?;
    print_stderr(&faint("It works once, for 5 minutes; then the browser that used it is let in."));
    if preview.status == PreviewStatus::Detected {
        print_stderr(&faint("The server listens, and has not answered yet."));
    }
    if !args.no_open && config.browser.display {
        launch::open_in_browser(&url, config.browser.preferred.as_deref())?;
    }
    Ok(ExitCode::SUCCESS)
}
