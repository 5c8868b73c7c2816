//! `provost roles`: lists, checks and trusts the roles of a project.

use std::process::ExitCode;

use anyhow::bail;
use provost_proto::{
    ChangeRoleRequest, GovernanceFileKind, Hash, Project, RoleList, RoleView, TrustFileRequest,
    TrustedFile,
};

use crate::args::{RolesArgs, RolesCommand};
use crate::client::DaemonClient;
use crate::commands::lookup::resolve_project;
use crate::commands::project::projects::encode_path_segment;
use crate::config::Config;
use crate::output::{
    self, ask_confirmation, bold, faint, is_interactive, print_line, sanitize_diff, sanitize_lines,
    sanitize_text,
};

pub(crate) async fn run(args: RolesArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = DaemonClient::connect(config)?;
    let project = resolve_project(args.here.project.as_deref(), &client).await?;
    let list: RoleList = client.get(&format!("/api/projects/{}/roles", project.id.uuid())).await?;
    match args.what.unwrap_or(RolesCommand::List) {
        RolesCommand::List => print_roles(&list, args.here.json),
        RolesCommand::Check => check_roles(&list, args.here.json),
        RolesCommand::Trust { file, yes } => {
            trust_role_files(&client, &project, list, file.as_deref(), yes).await
        }
        RolesCommand::Model { role, model } => {
            let path =
                format!("/api/projects/{}/roles/{}", project.id.uuid(), encode_path_segment(&role));
            let role: RoleView = client.patch(&path, &ChangeRoleRequest { model }).await?;
            if args.here.json {
                output::print_json(&role)?;
            } else {
                print_line(&format_role_row(&role))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_roles(list: &RoleList, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::print_json(list)?;
        return Ok(ExitCode::SUCCESS);
    }
    if list.roles.is_empty() && list.rejected.is_empty() {
        print_line("No roles. Write one in .provost/roles/NAME.md; see docs/reference/roles.md.")?;
    }
    for role in &list.roles {
        print_line(&format_role_row(role))?;
        for note in &role.notes {
            print_line(&faint(&format!("  note: {}", sanitize_text(note))))?;
        }
    }
    for rejected in &list.rejected {
        print_line(&format!("invalid: {}", sanitize_lines(&rejected.why)))?;
    }
    if list.roles.iter().any(|role| !role.trusted) {
        print_line(&faint("`provost roles trust` shows untrusted roles and trusts them."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn format_role_row(role: &RoleView) -> String {
    let trusted = match (role.trusted, &role.diff) {
        (true, _) => "trusted",
        (false, _) => "NOT TRUSTED, no effect",
    };
    let model = role.model.as_deref().unwrap_or("no model");
    let skills = if role.skills.is_empty() { "none".to_owned() } else { role.skills.join(", ") };
    format!(
        "{}  {trusted}  {}\n  skills: {}\n  {}",
        bold(&sanitize_text(&role.name)),
        sanitize_text(model),
        sanitize_text(&skills),
        faint(&sanitize_text(&role.file)),
    )
}

fn check_roles(list: &RoleList, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::print_json(&list.rejected)?;
    } else if list.rejected.is_empty() {
        print_line(&format!("{} roles, no errors.", list.roles.len()))?;
    } else {
        for rejected in &list.rejected {
            print_line(&sanitize_lines(&rejected.why))?;
        }
    }
    Ok(if list.rejected.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn trust_role_files(
    client: &DaemonClient,
    project: &Project,
    list: RoleList,
    file: Option<&str>,
    yes: bool,
) -> anyhow::Result<ExitCode> {
    if let Some(file) = file
        && !list.roles.iter().any(|role| role.file == file)
    {
        bail!(
            "{} is not the file of a role\nhint: `provost roles` lists them",
            sanitize_text(file)
        );
    }
    let selected = |role: &RoleView| file.is_none_or(|file| role.file == file);
    let untrusted: Vec<_> =
        list.roles.into_iter().filter(|role| !role.trusted && selected(role)).collect();
    if untrusted.is_empty() {
        print_line("Everything is trusted already.")?;
    }
    let mut code = ExitCode::SUCCESS;
    for role in untrusted {
        let diff = role.diff.unwrap_or_default();
        let shown = TrustCandidate {
            what: GovernanceFileKind::Role,
            file: role.file,
            hash: role.hash,
            diff,
        };
        if !confirm_and_trust(client, project, shown, yes).await? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// A governance file to trust, with the diff to show.
pub(super) struct TrustCandidate {
    pub(super) what: GovernanceFileKind,
    pub(super) file: String,
    pub(super) hash: Hash,
    pub(super) diff: String,
}

/// Shows the file or its changes, and trusts it if the user confirms.
pub(super) async fn confirm_and_trust(
    client: &DaemonClient,
    project: &Project,
    shown: TrustCandidate,
    yes: bool,
) -> anyhow::Result<bool> {
    let TrustCandidate { what, file, hash, diff } = shown;
    print_line(&bold(&sanitize_text(&file)))?;
    print_line(&sanitize_diff(&diff))?;
    if !yes {
        if !is_interactive() {
            bail!("cannot ask for confirmation without a terminal\nhint: confirm with --yes");
        }
        if !ask_confirmation(&format!("Trust {} exactly as it is now?", sanitize_text(&file)))? {
            print_line("Not trusted.")?;
            return Ok(false);
        }
    }
    let path = format!("/api/projects/{}/trust", project.id.uuid());
    let trusted: TrustedFile = client.post(&path, &TrustFileRequest { what, file, hash }).await?;
    print_line(&format!("Trusted: {}", sanitize_text(&trusted.file)))?;
    Ok(true)
}
