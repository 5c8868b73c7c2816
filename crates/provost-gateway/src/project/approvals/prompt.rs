//! What a person is shown before they answer.

mod fetched_hosts;
mod file_change_summary;
mod grant_scope;
mod preflight;
mod restore_summary;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use provost_core::command::CommandInvocation;
use provost_core::decide::{BoundAction, UnapprovedAction};
use provost_kernel::quarantine::QuarantineStore;
use provost_proto::{AnswerScope, ApprovalChoice, ApprovalPrompt, ProjectId, TrustPrompt};

pub(crate) use grant_scope::describe_grant_scope;

use super::Approvals;
use crate::GatewayError;
use crate::project::decisions::EvaluatedFiles;
use crate::project::decisions::symlinks::{apply_links, describe_link_targets};
use crate::project::executor::select_sandbox_profile;
use crate::project::governance::ProjectGovernance;
use grant_scope::build_narrowest_rule;

/// The note on an action that runs a file which no pin holds.
const UNPINNED_NOTE: &str = "what it runs can change after you answer";

impl Approvals {
    /// The prompt for an action that needs approval.
    pub(super) async fn build_approval_prompt(
        &self,
        governance: &ProjectGovernance,
        role: Option<&str>,
        unapproved: &UnapprovedAction,
        files: &EvaluatedFiles,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let bound_action = unapproved.bound_action();
        let mut prompt = self.build_base_prompt(governance, bound_action, files).await?;
        prompt.why.clone_from(&unapproved.why);
        prompt.rules.clone_from(&unapproved.rules);
        prompt.gate.clone_from(&unapproved.gate);
        let linked = files.linked_programs.first().map(|path| format!("{path} lies behind a link"));
        let unpinned =
            bound_action.unpinned_reason(&governance.project.path, &files.pins).or(linked);
        // A hard gate and broken rules are passed once only. An action that holds a secret
        // too, because a grant or a rule would have to contain it. A longer answer to an
        // action with unpinned files or links would cover what nobody has seen.
        let only_once = unapproved.gate.is_some()
            || governance.broken.is_some()
            || self.log.holds_secret(&bound_action.request().action)
            || unpinned.is_some()
            || !apply_links(&files.links, bound_action).is_empty();
        prompt.notes.extend(unpinned.map(|why| format!("{UNPINNED_NOTE}: {why}")));
        prompt.choices = if only_once {
            vec![build_once_choice()]
        } else {
            build_answer_choices(governance, bound_action, role)
        };
        Ok(prompt)
    }

    /// The prompt to trust the file of a role.
    pub(super) async fn build_trust_approval_prompt(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let files = self.decisions.read_named_files(governance, bound_action).await?;
        let mut prompt = self.build_base_prompt(governance, bound_action, &files).await?;
        prompt.why = match trust.before {
            None => format!("{} was never trusted, and this acts in its role", trust.file),
            Some(_) => format!("{} changed since it was trusted", trust.file),
        };
        let remembers = format!("trust {} exactly as it is now", trust.file);
        prompt.choices = vec![ApprovalChoice { scope: AnswerScope::Once, remembers, rule: None }];
        prompt.trust = Some(trust);
        Ok(prompt)
    }

    /// A prompt without the reason and the choices.
    pub(super) async fn build_base_prompt(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
        files: &EvaluatedFiles,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let action = &bound_action.request().action;
        let folder = PathBuf::from(&governance.project.path);
        let search_path = &self.config.path;
        let effects = bound_action
            .describe_effects(|run| find_program_path(&folder, search_path, bound_action, run));
        let summarized = action.clone();
        let source = bound_action.implied_command_source().map(str::to_owned);
        let links = files.links.clone();
        let lists = bound_action.address_lists(&governance.project.path);
        let pins = files.pins.clone();
        let store = open_quarantine(&self.config.data, governance.project.id);
        let summarize = move || {
            let mut change =
                file_change_summary::summarize_file_change(&folder, &store, &summarized);
            let mut notes = describe_link_targets(&folder, &summarized, &links);
            notes.append(&mut change.notes);
            notes.extend(source);
            if !lists.is_empty() {
                notes.extend(fetched_hosts::describe_fetched_hosts(&folder, &lists, &pins));
            }
            (change.diff, notes)
        };
        let (diff, notes) =
            tokio::task::spawn_blocking(summarize).await.map_err(|_| GatewayError::Stopping)?;
        Ok(ApprovalPrompt {
            name: action.name().to_owned(),
            params: action.params(),
            what: action.describe(),
            why: String::new(),
            demands: effects,
            cwd: bound_action.cwd().as_str().to_owned(),
            diff,
            notes,
            profile: select_sandbox_profile(bound_action).unwrap_or("none").to_owned(),
            network: bound_action.needs_network(),
            rules: Vec::new(),
            gate: None,
            pins: files.pins.clone(),
            choices: Vec::new(),
            trust: None,
        })
    }
}

/// What was set aside in a project.
fn open_quarantine(data: &Path, project: ProjectId) -> QuarantineStore {
    QuarantineStore::new(data, &project.uuid().simple().to_string())
}

fn build_once_choice() -> ApprovalChoice {
    let remembers = "this action, once; nothing is remembered".to_owned();
    ApprovalChoice { scope: AnswerScope::Once, remembers, rule: None }
}

/// The answers that allow, and what each of them covers.
fn build_answer_choices(
    governance: &ProjectGovernance,
    bound_action: &BoundAction,
    role: Option<&str>,
) -> Vec<ApprovalChoice> {
    let again = describe_grant_scope(bound_action);
    let session =
        if bound_action.request().session.is_some() { "this session" } else { "its token" };
    let choice = |scope, remembers| ApprovalChoice { scope, remembers, rule: None };
    let mut choices = vec![
        build_once_choice(),
        choice(AnswerScope::Session, format!("{again}, until {session} ends")),
        choice(AnswerScope::Until, format!("{again}, until the time you enter")),
    ];
    // A rule has no pins: it would allow whatever the script contains later.
    let folder = &governance.project.path;
    let runs_code = !bound_action.script_paths(folder).is_empty();
    if let (false, Some(rule)) = (runs_code, build_narrowest_rule(folder, bound_action, role)) {
        let remembers = format!(
            "{again}, in the role {} and in the project {folder} only, by this rule in your \
             policy.toml, until you remove it",
            role.unwrap_or("none")
        );
        choices.push(ApprovalChoice { scope: AnswerScope::Always, remembers, rule: Some(rule) });
    }
    choices
}

/// The path of the program that would run, if it is found.
fn find_program_path(
    folder: &Path,
    path: &[PathBuf],
    bound_action: &BoundAction,
    run: &CommandInvocation,
) -> Option<String> {
    let name = run.argv.first()?;
    if name.contains('/') {
        let start = folder.join(bound_action.cwd().as_str());
        let inner = run.folders.first().map_or("", String::as_str);
        let found = start.join(inner).join(name);
        return found.exists().then(|| found.display().to_string());
    }
    let is_executable = |file: &PathBuf| {
        let meta = std::fs::metadata(file);
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = path.iter().map(|folder| folder.join(name)).find(is_executable)?;
    Some(found.display().to_string())
}

/// A number of bytes, for people.
fn format_size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
