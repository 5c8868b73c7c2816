//! `provost roles`: the roles of a project, and trust in them.

use std::process::ExitCode;

use anyhow::bail;
use provost_proto::{
    ChangeRoleRequest, GovernanceFileKind, Hash, Project, RoleList, RoleView, TrustFileRequest,
    TrustedFile,
};

use super::place::project;
use super::projects::segment;
use crate::args::{RolesArgs, RolesCommand};
use crate::client::Client;
use crate::config::Config;
use crate::output::{self, bold, can_answer, confirmed, faint, line, plain, plain_lines};

pub(crate) async fn run(args: RolesArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config)?;
    let project = project(args.here.project.as_deref(), &client).await?;
    let list: RoleList = client.get(&format!("/api/projects/{}/roles", project.id.uuid())).await?;
    match args.what.unwrap_or(RolesCommand::List) {
        RolesCommand::List => show(&list, args.here.json),
        RolesCommand::Check => check(&list, args.here.json),
        RolesCommand::Trust { file, yes } => {
            trust_files(&client, &project, list, file.as_deref(), yes).await
        }
        RolesCommand::Model { role, model } => {
            let path = format!("/api/projects/{}/roles/{}", project.id.uuid(), segment(&role));
            let role: RoleView = client.patch(&path, &ChangeRoleRequest { model }).await?;
            if args.here.json {
                output::json(&role)?;
            } else {
                line(&row(&role))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn show(list: &RoleList, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(list)?;
        return Ok(ExitCode::SUCCESS);
    }
    if list.roles.is_empty() && list.rejected.is_empty() {
        line(
            "There are no roles. Write one in .provost/roles/NAME.md; `docs/reference/roles.md` says how.",
        )?;
    }
    for role in &list.roles {
        line(&row(role))?;
        for note in &role.notes {
            line(&faint(&format!("  note: {}", plain(note))))?;
        }
    }
    for rejected in &list.rejected {
        line(&format!("no role: {}", plain_lines(&rejected.why)))?;
    }
    if list.roles.iter().any(|role| !role.trusted) {
        line(&faint("`provost roles trust` shows what is not trusted, and trusts it."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(role: &RoleView) -> String {
    let trusted = match (role.trusted, &role.diff) {
        (true, _) => "trusted",
        (false, _) => "NOT TRUSTED, without effect",
    };
    let model = role.model.as_deref().unwrap_or("no model");
    let skills =
        if role.skills.is_empty() { "no skills".to_owned() } else { role.skills.join(", ") };
    format!(
        "{}  {trusted}  {}\n  may ask for: {}\n  {}",
        bold(&plain(&role.name)),
        plain(model),
        plain(&skills),
        faint(&plain(&role.file)),
    )
}

fn check(list: &RoleList, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(&list.rejected)?;
    } else if list.rejected.is_empty() {
        line(&format!("{} roles, nothing wrong with them.", list.roles.len()))?;
    } else {
        for rejected in &list.rejected {
            line(&plain_lines(&rejected.why))?;
        }
    }
    Ok(if list.rejected.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn trust_files(
    client: &Client,
    project: &Project,
    list: RoleList,
    file: Option<&str>,
    yes: bool,
) -> anyhow::Result<ExitCode> {
    if let Some(file) = file
        && !list.roles.iter().any(|role| role.file == file)
    {
        bail!("{} is no role's file\nhint: `provost roles` lists them", plain(file));
    }
    let asked = |role: &RoleView| file.is_none_or(|file| role.file == file);
    let wanted: Vec<_> =
        list.roles.into_iter().filter(|role| !role.trusted && asked(role)).collect();
    if wanted.is_empty() {
        line("Nothing is left to trust.")?;
    }
    let mut code = ExitCode::SUCCESS;
    for role in wanted {
        let diff = role.diff.unwrap_or_default();
        let shown =
            Shown { what: GovernanceFileKind::Role, file: role.file, hash: role.hash, diff };
        if !trust(client, project, shown, yes).await? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// A file that governs, as it will be shown.
pub(super) struct Shown {
    pub(super) what: GovernanceFileKind,
    pub(super) file: String,
    pub(super) hash: Hash,
    pub(super) diff: String,
}

/// Shows a file, or what changed in it, and trusts it if the person agrees.
pub(super) async fn trust(
    client: &Client,
    project: &Project,
    shown: Shown,
    yes: bool,
) -> anyhow::Result<bool> {
    let Shown { what, file, hash, diff } = shown;
    line(&bold(&plain(&file)))?;
    line(&plain_lines(&diff))?;
    if !yes {
        if !can_answer() {
            bail!("nobody is there to agree\nhint: agree with --yes");
        }
        if !confirmed(&format!("Trust {} exactly as it is now?", plain(&file)))? {
            line("Not trusted.")?;
            return Ok(false);
        }
    }
    let path = format!("/api/projects/{}/trust", project.id.uuid());
    let trusted: TrustedFile = client.post(&path, &TrustFileRequest { what, file, hash }).await?;
    line(&format!("Trusted: {}", plain(&trusted.file)))?;
    Ok(true)
}
