//! What an answer for longer than once would cover: as text, and as a rule.

use provost_core::action::{Action, ProcessAction, RelPath};
use provost_core::decide::BoundAction;
use provost_core::policy::PolicyRule;

/// A description of what counts as the same action.
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

/// The narrowest rule that allows this action, if a rule can: in this project and role only;
/// for a command exactly this line, or exactly these arguments, in this folder.
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
            // No rule covers environment variables or standard input.
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
                // Its writes would need a rule about files, which would allow more.
                (None, _) if bound_action.command_effects().len() > 1 => return None,
                (None, argv) => PolicyRule::allow_exact_command(argv.as_deref()?),
            };
            rules.push(exact.ok()?.restrict_to_project(project, Some(cwd.as_str())).ok()?);
        }
        // What a project runs changes with its files, which a rule does not see.
        Action::Process(_) | Action::Runtime(_) => return None,
    }
    let texts: Option<Vec<_>> =
        rules.into_iter().map(|rule| Some(rule.restrict_to_role(role).ok()?.to_toml())).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}
