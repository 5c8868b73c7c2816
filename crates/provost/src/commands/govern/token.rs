//! `provost token`: creates, lists and revokes tokens.

use std::process::ExitCode;

use provost_proto::{CreateTokenRequest, CreatedToken, RoleList, TokenList};
use reqwest::Method;

use crate::args::{JsonArgs, TokenCommand};
use crate::client::DaemonClient;
use crate::commands::project::projects::encode_path_segment;
use crate::config::Config;
use crate::output::{self, bold, faint, print_line, print_stderr, sanitize_text};

/// Why a new token cannot do anything yet, if that is so.
async fn find_unusable_reason(
    client: &DaemonClient,
    request: &CreateTokenRequest,
) -> Option<String> {
    let (project, role) = (request.project.as_deref()?, request.role.as_deref()?);
    let path = format!("/api/projects/{}/roles", encode_path_segment(project));
    // The token was created, so a failure to list roles is not reported.
    let RoleList { roles, .. } = client.get(&path).await.ok()?;
    let shown = sanitize_text(role);
    match roles.iter().find(|known| known.name == role) {
        Some(known) if known.trusted => None,
        Some(_) => Some(format!(
            "The role `{shown}` is not trusted yet; its first request will ask you to trust it."
        )),
        None => Some(format!(
            "There is no role `{shown}` in this project; the token has no effect until there is. \
             `provost roles` lists the roles."
        )),
    }
}

pub(crate) async fn run(what: TokenCommand, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    match what {
        TokenCommand::Create { class, project, role, notebook, label, minutes, json } => {
            let request = CreateTokenRequest {
                class: class.into(),
                project,
                role,
                notebook,
                label,
                ttl_minutes: minutes,
            };
            let created: CreatedToken = client.post("/api/tokens", &request).await?;
            if let Some(why) = find_unusable_reason(&client, &request).await {
                print_stderr(&why);
            }
            if json.json {
                output::print_json(&created)?;
            } else {
                print_stderr(&faint(&format!(
                    "{}; the token is shown only once:",
                    created.entry.id
                )));
                print_line(&created.token)?;
            }
        }
        TokenCommand::List(JsonArgs { json }) => {
            let TokenList { tokens } = client.get("/api/tokens").await?;
            if json {
                output::print_json(&tokens)?;
            } else {
                for token in tokens {
                    let end = token.expires_at.map_or_else(
                        || "until revoked".to_owned(),
                        |end| format!("until {}", output::format_time(end)),
                    );
                    let class = serde_json::to_string(&token.class)?;
                    let role = token.role.map(|role| format!(":{role}")).unwrap_or_default();
                    print_line(&format!(
                        "{}  {}  {}  {}",
                        token.id,
                        bold(&format!("{}{}", class.trim_matches('"'), sanitize_text(&role))),
                        sanitize_text(&token.label),
                        faint(&end)
                    ))?;
                }
            }
        }
        TokenCommand::Revoke { id } => {
            client
                .send_no_content(
                    Method::DELETE,
                    &format!("/api/tokens/{}", encode_path_segment(&id)),
                )
                .await?;
            print_line("Revoked.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
