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
        governed: &ProjectGovernance,
        role: Option<&str>,
        asking: &UnapprovedAction,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let matter = asking.bound_action();
        let mut question = self.build_base_prompt(governed, matter).await?;
        question.why.clone_from(&asking.why);
        question.rules.clone_from(&asking.rules);
        question.gate.clone_from(&asking.gate);
        // A hard gate, or rules that cannot be read, are opened once and no more; so is
        // what holds a secret, because a grant or a rule would have to keep it.
        let unkept = self.holds_secret(&matter.request().action);
        // Whoever says yes for longer would say it to what nobody has seen.
        let folder = &governed.project.path;
        let (_, linked) = split_linked_programs(folder, matter, &question.pins).await?;
        let through = apply_links(&load_decided_links(Path::new(folder), matter), matter);
        let linked = linked.first().map(|path| format!("{path} lies behind a link"));
        let loose = matter.unpinned_reason(folder, &question.pins).or(linked);
        let once = asking.gate.is_some()
            || governed.broken.is_some()
            || unkept
            || loose.is_some()
            || !through.is_empty();
        question.notes.extend(loose.map(|why| format!("{UNPINNED_NOTE}: {why}")));
        question.choices = if once {
            vec![build_once_choice()]
        } else {
            build_answer_choices(governed, matter, role)
        };
        Ok(question)
    }

    /// The question whether a file may govern.
    pub(crate) async fn build_trust_approval_prompt(
        &self,
        governed: &ProjectGovernance,
        matter: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let mut question = self.build_base_prompt(governed, matter).await?;
        question.why = match trust.before {
            None => format!("{} was never trusted, and this acts in its role", trust.file),
            Some(_) => format!("{} changed since it was trusted", trust.file),
        };
        let remembers = format!("trust {} exactly as it is now", trust.file);
        question.choices = vec![ApprovalChoice { scope: AnswerScope::Once, remembers, rule: None }];
        question.trust = Some(trust);
        Ok(question)
    }

    /// All of a question but why it is asked, and what can be answered.
    pub(crate) async fn build_base_prompt(
        &self,
        governed: &ProjectGovernance,
        matter: &BoundAction,
    ) -> Result<ApprovalPrompt, GatewayError> {
        let action = &matter.request().action;
        let folder = PathBuf::from(&governed.project.path);
        let path = self.places.path.clone();
        let demands = matter.describe_effects(|run| find_program_path(&folder, &path, matter, run));
        let wanted = action.clone();
        let source = matter.implied_command_source().map(str::to_owned);
        let links = load_decided_links(&folder, matter);
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
            cwd: matter.cwd().as_str().to_owned(),
            diff,
            notes,
            profile: select_sandbox_profile(matter).unwrap_or("none").to_owned(),
            network: matter.needs_network(),
            rules: Vec::new(),
            gate: None,
            pins: pin_scripts(&governed.project.path, matter).await?,
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
    governed: &ProjectGovernance,
    matter: &BoundAction,
    role: Option<&str>,
) -> Vec<ApprovalChoice> {
    let again = describe_grant_scope(matter);
    let session = if matter.request().session.is_some() { "this session" } else { "its token" };
    let choice = |scope, remembers| ApprovalChoice { scope, remembers, rule: None };
    let mut choices = vec![
        build_once_choice(),
        choice(AnswerScope::Session, format!("{again}, as long as {session} lives")),
        choice(AnswerScope::Until, format!("{again}, until the time you say")),
    ];
    // A rule knows no pin: it would allow whatever the script holds by then, also one that
    // is not there yet.
    let folder = &governed.project.path;
    let runs_code = !matter.script_paths(folder).is_empty();
    if let (false, Some(rule)) = (runs_code, build_narrowest_rule(folder, matter, role)) {
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
pub(crate) fn describe_grant_scope(matter: &BoundAction) -> String {
    let action = &matter.request().action;
    match action {
        Action::File(_) => {
            let paths: Vec<_> = action.paths().iter().map(RelPath::display_quoted).collect();
            format!("{} on {}", action.name(), paths.join(", "))
        }
        Action::Process(_) if matter.is_opaque() => "exactly this command line".to_owned(),
        Action::Process(_) | Action::Runtime(_) => format!("to {}", action.describe()),
    }
}

/// The narrowest rule that allows this, if a rule can: in this project and role
/// only, and of a command exactly this line, or exactly these words, in this folder.
pub(crate) fn build_narrowest_rule(
    project: &str,
    matter: &BoundAction,
    role: Option<&str>,
) -> Option<String> {
    let role = role?;
    let action = &matter.request().action;
    let mut rules = Vec::new();
    let cwd = matter.cwd();
    match action {
        Action::File(_) => {
            for path in action.paths() {
                let named = PolicyRule::allow_path(action.name(), path.as_str()).ok()?;
                rules.push(named.restrict_to_project(project, None).ok()?);
            }
        }
        Action::Process(ProcessAction::RunCommand(run)) => {
            // Variables are allowed by no rule, and what is given to read is not part of one.
            if matter.is_opaque()
                || matter.needs_network()
                || !run.env.is_empty()
                || run.stdin.is_some()
                || run.background
            {
                return None;
            }
            let exact = match (&run.command, &run.argv) {
                (Some(line), _) => PolicyRule::allow_exact_line(line),
                // What it writes would take a rule about files, which allows more than this.
                (None, _) if matter.command_effects().len() > 1 => return None,
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
    matter: &BoundAction,
    run: &CommandInvocation,
) -> Option<String> {
    let name = run.argv.first()?;
    if name.contains('/') {
        let start = folder.join(matter.cwd().as_str());
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
