//! What a person is shown before they decide.

mod file_change_summary;
mod preflight;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use provost_core::action::{Action, ProcessAction, RelPath};
use provost_core::command::CommandInvocation;
use provost_core::decide::{BoundAction, UnapprovedAction};
use provost_core::policy::PolicyRule;
use provost_proto::{AnswerScope, ApprovalChoice, ApprovalPrompt, TrustPrompt};

use crate::project::decisions::symlinks::{apply_links, describe_link_targets, load_decided_links};
use crate::project::decisions::{pin_scripts, split_linked_programs};
use crate::project::executor::select_sandbox_profile;
use crate::project::governance::ProjectGovernance;
use crate::{Gateway, GatewayError};

/// What is said where no pin holds what runs.
const UNPINNED_NOTE: &str = "what it runs can change after you answer";

impl Gateway {
    /// The question that an action raises.
    pub(crate) async fn build_approval_prompt(
        &self,
        governance: &ProjectGovernance,
        role: Option<&str>,
        unapproved: &UnapprovedAction,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let bound_action = unapproved.bound_action();
        let mut prompt = self.build_base_prompt(governance, bound_action).await?;
        prompt.why.clone_from(&unapproved.why);
        prompt.rules.clone_from(&unapproved.rules);
        prompt.gate.clone_from(&unapproved.gate);
        // A hard gate, or rules that cannot be read, are opened once and no more; so is
        // what holds a secret, because a grant or a rule would have to keep it.
        let secret_actions = self.holds_secret(&bound_action.request().action);
        // Whoever says yes for longer would say it to what nobody has seen.
        let folder = &governance.project.path;
        let (_, linked) = split_linked_programs(folder, bound_action, &prompt.pins).await?;
        let through =
            apply_links(&load_decided_links(Path::new(folder), bound_action), bound_action);
        let linked = linked.first().map(|path| format!("{path} lies behind a link"));
        let loose = bound_action.unpinned_reason(folder, &prompt.pins).or(linked);
        let once = unapproved.gate.is_some()
            || governance.broken.is_some()
            || secret_actions
            || loose.is_some()
            || !through.is_empty();
        prompt.notes.extend(loose.map(|why| format!("{UNPINNED_NOTE}: {why}")));
        prompt.choices = if once {
            vec![build_once_choice()]
        } else {
            build_answer_choices(governance, bound_action, role)
        };
        Ok(prompt)
    }

    /// The question whether a file may govern.
    pub(crate) async fn build_trust_approval_prompt(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let mut prompt = self.build_base_prompt(governance, bound_action).await?;
        prompt.why = match trust.before {
            None => format!("{} was never trusted, and this acts in its role", trust.file),
            Some(_) => format!("{} changed since it was trusted", trust.file),
        };
        let remembers = format!("trust {} exactly as it is now", trust.file);
        prompt.choices = vec![ApprovalChoice { scope: AnswerScope::Once, remembers, rule: None }];
        prompt.trust = Some(trust);
        Ok(prompt)
    }

    /// All of a question but why it is asked, and what can be answered.
    pub(crate) async fn build_base_prompt(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let action = &bound_action.request().action;
        let folder = PathBuf::from(&governance.project.path);
        let path = self.config.path.clone();
        let demands = bound_action
            .describe_effects(|run| find_program_path(&folder, &path, bound_action, run));
        let wanted = action.clone();
        let source = bound_action.implied_command_source().map(str::to_owned);
        let links = load_decided_links(&folder, bound_action);
        let look = move || {
            let mut change = file_change_summary::summarize_file_change(&folder, &wanted);
            let mut notes = describe_link_targets(&folder, &wanted, &links);
            notes.append(&mut change.notes);
            notes.extend(source);
            (change.diff, notes)
        };
        let (diff, notes) =
            tokio::task::spawn_blocking(look).await.map_err(|_| GatewayError::Stopping)?;
        Ok(ApprovalPrompt {
            name: action.name().to_owned(),
            params: action.params(),
            what: action.describe(),
            why: String::new(),
            demands,
            cwd: bound_action.cwd().as_str().to_owned(),
            diff,
            notes,
            profile: select_sandbox_profile(bound_action).unwrap_or("none").to_owned(),
            network: bound_action.needs_network(),
            rules: Vec::new(),
            gate: None,
            pins: pin_scripts(&governance.project.path, bound_action).await?,
            choices: Vec::new(),
            trust: None,
        })
    }
}

fn build_once_choice() -> ApprovalChoice {
    let remembers = "this action, once; nothing is remembered".to_owned();
    ApprovalChoice { scope: AnswerScope::Once, remembers, rule: None }
}

/// The answers that allow, and what each remembers.
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
        choice(AnswerScope::Session, format!("{again}, as long as {session} lives")),
        choice(AnswerScope::Until, format!("{again}, until the time you say")),
    ];
    // A rule knows no pin: it would allow whatever the script holds by then, also one that
    // is not there yet.
    let folder = &governance.project.path;
    let runs_code = !bound_action.script_paths(folder).is_empty();
    if let (false, Some(rule)) = (runs_code, build_narrowest_rule(folder, bound_action, role)) {
        let remembers = format!(
            "{again}, in the role {} and in the project {folder} only, by this rule in your \
             policy.toml, until you take it out",
            role.unwrap_or("none")
        );
        choices.push(ApprovalChoice { scope: AnswerScope::Always, remembers, rule: Some(rule) });
    }
    choices
}

/// "The same again", in words.
pub(crate) fn describe_grant_scope(bound_action: &BoundAction) -> String {
    let action = &bound_action.request().action;
    match action {
        Action::File(_) => {
            let paths: Vec<_> = action.paths().iter().map(RelPath::display_quoted).collect();
            format!("{} on {}", action.name(), paths.join(", "))
        }
        Action::Process(_) if bound_action.is_opaque() => "exactly this command line".to_owned(),
        Action::Process(_) | Action::Runtime(_) => format!("to {}", action.describe()),
    }
}

/// The narrowest rule that allows this, if a rule can: in this project and role
/// only, and of a command exactly this line, or exactly these words, in this folder.
pub(crate) fn build_narrowest_rule(
    project: &str,
    bound_action: &BoundAction,
    role: Option<&str>,
) -> Option<String> {
    let role = role?;
    let action = &bound_action.request().action;
    let mut rules = Vec::new();
    let cwd = bound_action.cwd();
    match action {
        Action::File(_) => {
            for path in action.paths() {
                let named = PolicyRule::allow_path(action.name(), path.as_str()).ok()?;
                rules.push(named.restrict_to_project(project, None).ok()?);
            }
        }
        Action::Process(ProcessAction::RunCommand(run)) => {
            // Variables are allowed by no rule, and what is given to read is not part of one.
            if bound_action.is_opaque()
                || bound_action.needs_network()
                || !run.env.is_empty()
                || run.stdin.is_some()
                || run.background
            {
                return None;
            }
            let exact = match (&run.command, &run.argv) {
                (Some(line), _) => PolicyRule::allow_exact_line(line),
                // What it writes would take a rule about files, which allows more than this.
                (None, _) if bound_action.command_effects().len() > 1 => return None,
                (None, argv) => PolicyRule::allow_exact_command(argv.as_deref()?),
            };
            rules.push(exact.ok()?.restrict_to_project(project, Some(cwd.as_str())).ok()?);
        }
        // What a project runs changes with its files; a rule would not see that.
        Action::Process(_) | Action::Runtime(_) => return None,
    }
    let texts: Option<Vec<_>> =
        rules.into_iter().map(|rule| Some(rule.restrict_to_role(role).ok()?.to_toml())).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

/// The program that would run, if it is found: the first on the path, or the
/// file that is named.
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
    let runs = |file: &PathBuf| {
        let meta = std::fs::metadata(file);
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = path.iter().map(|folder| folder.join(name)).find(runs)?;
    Some(found.display().to_string())
}

/// How much something is, for people.
fn format_size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
