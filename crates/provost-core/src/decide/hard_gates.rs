//! Hard gates: conditions that no mode, rule or grant switches off.

use std::path::Path;

use provost_proto::Code;

use super::bound_action::BoundAction;
use super::policy_context::PolicyContext;
use super::resolved_links::ResolvedLink;
use super::uncertain_commands;
use crate::action::protected_paths::content_protection_reason;
use crate::action::{Action, ActionKind, FileAction, RelPath, RestoreFile, RuntimeAction};
use crate::action::{BytesEncoding, WriteMode};
use crate::action::{ProtectionLevel, protection_level, protection_reason};
use crate::command::{CommandEffect, CommandInvocation, program_basename};
use crate::glob::{WordPattern, escape_pattern};
use crate::quarantine::hidden_names::unknown_name_reason;

/// A gate that blocks an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HardGate {
    /// An agent may never do this.
    Deny {
        /// The error code.
        code: Code,
        /// The reason, for people.
        why: String,
    },
    /// A person must approve it every time.
    RequireApproval(String),
}

/// Programs that run others with other rights or outside the sandbox.
const SANDBOX_ESCAPE_PROGRAMS: &[&str] = &[
    "sudo",
    "doas",
    "su",
    "run0",
    "pkexec",
    "runuser",
    "chroot",
    "unshare",
    "nsenter",
    "setpriv",
    "capsh",
    "docker",
    "podman",
    "nerdctl",
    "buildah",
    "lxc",
    "lxc-attach",
    "incus",
    "machinectl",
    "flatpak-spawn",
    "systemd-run",
    "systemctl",
    // The session bus starts any program on request.
    "busctl",
    "dbus-send",
    "gdbus",
    "at",
    "batch",
    "crontab",
];

/// The gates that block an action of an agent; those that deny come first.
pub(super) fn find_gates(bound: &BoundAction, context: &PolicyContext<'_>) -> Vec<HardGate> {
    let mut gates = Vec::new();
    let action = &bound.request.action;
    if action.kind() == ActionKind::Write {
        if let Action::File(FileAction::RestoreFile(restore)) = action {
            gates.push(gate_restored_file(restore));
        } else {
            gates.extend(find_file_gates(action, context));
        }
    }
    gates.extend(check_terminal_input(action));
    // Most actions are not commands and have no gates.
    if !bound.command_effects().is_empty() {
        gates.extend(find_effect_gates(bound, &ProtectedRoots::new(bound, context)));
    }
    let named =
        uncertain_commands::find_hidden_word(bound, |word| SANDBOX_ESCAPE_PROGRAMS.contains(&word));
    gates.extend(named.map(|word| {
        HardGate::RequireApproval(format!(
            "it cannot be read for certain, and names `{word}`, which leaves the sandbox"
        ))
    }));
    gates.sort_by_key(|gate| matches!(gate, HardGate::RequireApproval(_)));
    gates.dedup();
    gates
}

/// The gates that block an effect of a command.
fn find_effect_gates(bound: &BoundAction, roots: &ProtectedRoots<'_>) -> Vec<HardGate> {
    let mut gates = Vec::new();
    for effect in bound.command_effects() {
        match effect {
            CommandEffect::Write { path, .. } => {
                let path = normalize_in_project(roots.cwd.as_str(), path);
                gates.extend(path.and_then(|path| check_unseen_write(&path)));
            }
            CommandEffect::Read { .. } | CommandEffect::ReadOperand { .. } => {}
            CommandEffect::Run(run) => {
                gates.extend(check_sandbox_escape(run));
                gates.extend(check_mass_deletion(roots, run));
                gates.extend(check_embedded_commands(roots, run));
            }
        }
    }
    gates
}

/// How an agent can get a file whose content nobody would have seen.
const WRITE_HINT: &str = "; write it with `fs.writeFile`, which a person can allow";

/// The gates for a file action that writes.
fn find_file_gates(action: &Action, context: &PolicyContext<'_>) -> Vec<HardGate> {
    let unseen = match action {
        Action::File(FileAction::MoveFile(moved)) => vec![moved.to.clone()],
        Action::File(FileAction::ApplyPatch(patch)) => patch.renamed_paths(),
        Action::File(_) | Action::Process(_) | Action::Runtime(_) => Vec::new(),
    };
    let mut gates: Vec<HardGate> = unseen.iter().filter_map(check_unseen_file).collect();
    let check = |path: &RelPath| check_protected_file(action, path);
    gates.extend(action.paths().iter().chain(context.link_targets).filter_map(check));
    gates.extend(check_project_removal(action));
    gates.extend(context.set_aside_reason.map(|why| {
        if unseen.is_empty() {
            return HardGate::RequireApproval(why.to_owned());
        }
        HardGate::Deny { code: Code::ProtectedPath, why: format!("{why}{WRITE_HINT}") }
    }));
    gates
}

/// The gate for putting back what was set aside: its approval shows the content, so it covers
/// also what an agent can never write itself.
fn gate_restored_file(restore: &RestoreFile) -> HardGate {
    let path = restore.path.display_quoted();
    let why = protection_reason(&restore.path)
        .or_else(|| unknown_name_reason(&restore.path))
        .unwrap_or("what was there before decides what programs run");
    HardGate::RequireApproval(format!("it puts back {path}, which was set aside: {why}"))
}

/// The gate for a file action, whose approval shows the content.
fn check_protected_file(action: &Action, path: &RelPath) -> Option<HardGate> {
    let known = match written_content(action) {
        Some(content) => content_protection_reason(path, content.as_bytes()),
        None => protection_reason(path),
    };
    let why = known.or_else(|| unknown_name_reason(path))?;
    if known.is_some() && protection_level(path) == Some(ProtectionLevel::Denied) {
        let why = format!("{} is protected from agents: {why}", path.display_quoted());
        return Some(HardGate::Deny { code: Code::ProtectedPath, why });
    }
    Some(HardGate::RequireApproval(format!("it changes {}: {why}", path.display_quoted())))
}

/// What a file holds after this action, if the action says all of it.
fn written_content(action: &Action) -> Option<&str> {
    match action {
        Action::File(FileAction::WriteFile(write)) => (write.encoding == BytesEncoding::Utf8
            && write.mode != WriteMode::Append)
            .then_some(&write.content),
        Action::File(_) | Action::Process(_) | Action::Runtime(_) => None,
    }
}

/// The gate for a command that writes to this path: nobody sees what it would write, and what
/// it writes is set aside.
fn check_unseen_write(path: &RelPath) -> Option<HardGate> {
    let why = protection_reason(path)?;
    let hint = match protection_level(path)? {
        ProtectionLevel::Denied => "",
        ProtectionLevel::Asked => WRITE_HINT,
    };
    let why = format!("{} is protected from agents: {why}{hint}", path.display_quoted());
    Some(HardGate::Deny { code: Code::ProtectedPath, why })
}

/// The gate for a move to this path, which would be set aside at once.
fn check_unseen_file(path: &RelPath) -> Option<HardGate> {
    check_unseen_write(path).or_else(|| {
        let why = unknown_name_reason(path)?;
        let why = format!("it moves a file to {}: {why}{WRITE_HINT}", path.display_quoted());
        Some(HardGate::Deny { code: Code::ProtectedPath, why })
    })
}

/// Normalizes a path of a command. One that leaves the project, or is absolute, may lead back
/// into it, so its names are checked all the same.
fn normalize_in_project(cwd: &str, path: &str) -> Option<RelPath> {
    let start = if path.starts_with(['/', '~']) { "" } else { cwd };
    let mut names = Vec::new();
    for name in start.split('/').chain(path.split('/')) {
        match name {
            "" | "." | "~" => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    RelPath::new(&names.join("/")).ok()
}

fn check_sandbox_escape(run: &CommandInvocation) -> Option<HardGate> {
    let program = run.argv.first().map(|program| program_basename(program));
    let names = run.through.iter().map(|wrapper| program_basename(wrapper)).chain(program);
    let name = names.into_iter().find(|name| SANDBOX_ESCAPE_PROGRAMS.contains(name))?;
    Some(HardGate::RequireApproval(format!(
        "`{name}` runs things with other rights, elsewhere or later"
    )))
}

/// The gates for commands that the words of an unknown program may contain.
fn check_embedded_commands(
    roots: &ProtectedRoots<'_>,
    run: &CommandInvocation,
) -> Option<HardGate> {
    let gated = |inner: &CommandInvocation| {
        // A name alone is more likely an argument: `./train batch`. `su` needs no other word.
        let runs = inner.argv.len() > 1 || inner.argv.first().is_some_and(|name| name == "su");
        check_sandbox_escape(inner).filter(|_| runs).or_else(|| check_mass_deletion(roots, inner))
    };
    let is_gated = |at: &&usize| {
        let name = program_basename(&run.argv[**at]);
        SANDBOX_ESCAPE_PROGRAMS.contains(&name) || matches!(name, "rm" | "find")
    };
    let starts = run.carried.starts.iter().filter(is_gated).map(|at| run.invocation_from(*at));
    let gate = starts.chain(run.carried.texts.iter().cloned()).find_map(|inner| gated(&inner))?;
    let program = run.argv.first().map_or("", String::as_str);
    Some(match gate {
        HardGate::RequireApproval(why) => HardGate::RequireApproval(format!(
            "it is unknown what `{program}` runs; if its words: {why}"
        )),
        closed @ HardGate::Deny { .. } => closed,
    })
}

/// Input for the person's own shell, which runs without a sandbox. Mode `full` does not ask
/// because a command stays in its sandbox; this would not, and could even answer approvals in the
/// person's place. So every mode asks, and no rule or grant replaces the answer.
fn check_terminal_input(action: &Action) -> Option<HardGate> {
    let Action::Runtime(RuntimeAction::WriteTerminal(_)) = action else { return None };
    Some(HardGate::RequireApproval(
        "it types into your own shell, which no sandbox holds".to_owned(),
    ))
}

/// Deleting or moving the project folder itself.
fn check_project_removal(action: &Action) -> Option<HardGate> {
    let taken = match action {
        Action::File(FileAction::DeleteFile(delete)) => &delete.path,
        Action::File(FileAction::MoveFile(moved)) => &moved.from,
        Action::File(_) | Action::Process(_) | Action::Runtime(_) => return None,
    };
    taken.is_root().then(|| HardGate::RequireApproval("it takes the whole project away".to_owned()))
}

fn check_mass_deletion(roots: &ProtectedRoots<'_>, run: &CommandInvocation) -> Option<HardGate> {
    let (program, words) = run.argv.split_first()?;
    let operands = || words.iter().filter(|word| !word.starts_with('-'));
    let targets: Vec<&String> = match program_basename(program) {
        // An unknown word may be an option or the whole folder.
        "rm" if may_delete_everything(run) => {
            let why = "it deletes what is not known yet, which may be everything".to_owned();
            return Some(HardGate::RequireApproval(why));
        }
        "rm" if words.iter().any(|word| is_recursive_option(word)) => operands().collect(),
        // `find` lists its folders first; without one it searches the current folder.
        "find" if words.iter().any(|word| word == "-delete") => {
            words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).collect()
        }
        _ => return None,
    };
    let here = ".".to_owned();
    let targets = if targets.is_empty() { vec![&here] } else { targets };
    let whole = |word: &&&String| {
        run.folders.iter().any(|folder| roots.covers_root_through_links(folder, word))
    };
    let target = targets.iter().find(whole)?;
    let why = format!("it deletes `{target}`: the project, a home or everything there is");
    Some(HardGate::RequireApproval(why))
}

/// Whether an unknown word may be an option, or a folder that another program finds.
fn may_delete_everything(run: &CommandInvocation) -> bool {
    let recursive = || run.argv.iter().skip(1).any(|word| is_recursive_option(word));
    let found = |at: &usize| run.argv.get(*at).is_none_or(|word| word.contains("{}"));
    run.may_gain_options() || run.unknown.iter().any(found) && recursive()
}

/// `-r`, `-fR`, `--recursive`, and abbreviations of it that `rm` accepts.
fn is_recursive_option(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => word.starts_with('-') && word.contains(['r', 'R']),
    }
}

/// Folders that must not be deleted: the project, homes and the root, with the folder in which
/// the command runs.
struct ProtectedRoots<'a> {
    cwd: RelPath,
    folder: Option<&'a str>,
    homes: &'a [String],
    links: &'a [ResolvedLink],
}

impl<'a> ProtectedRoots<'a> {
    fn new(bound: &'a BoundAction, context: &PolicyContext<'a>) -> Self {
        let PolicyContext { folder, homes, .. } = *context;
        Self { cwd: bound.cwd(), folder, homes, links: &bound.links }
    }

    /// Whether a path is one of the protected roots or leads to one through links.
    fn covers_root_through_links(&self, folder: &str, path: &str) -> bool {
        let named = Path::new(folder).join(path);
        let links = |link: &ResolvedLink| {
            let rest = named.strip_prefix(&link.path).ok().and_then(Path::to_str);
            rest.is_some_and(|rest| self.covers_root(&link.place, &format!("./{rest}")))
        };
        self.covers_root(folder, path) || self.links.iter().any(links)
    }

    /// Whether a path, relative to a folder of the line, is the project or above it, is a home or
    /// the root, or matches everything in one of them.
    fn covers_root(&self, folder: &str, path: &str) -> bool {
        let parts = [self.cwd.as_str(), folder, path];
        let anchored = |part: &&str| part.starts_with(['/', '~', '$']);
        let start = parts.iter().rposition(anchored);
        let mut names: Vec<&str> = Vec::new();
        for name in parts[start.unwrap_or(0)..].iter().flat_map(|part| part.split('/')) {
            match name {
                "" | "." => {}
                ".." => {
                    if names.pop().is_none() {
                        return true;
                    }
                }
                name => names.push(name),
            }
        }
        let all = |name: &&str| *name == "{*,.*}" || name.chars().all(|c| "*?.".contains(c));
        if names.last().is_some_and(all) {
            names.pop();
        }
        // An unknown part in the middle of a path may lead upwards.
        let first = usize::from(start.is_some_and(|at| !parts[at].starts_with('/')));
        if names.iter().skip(first).any(|name| name.contains(['$', '`'])) {
            return true;
        }
        match start.map(|at| parts[at]) {
            None => names.is_empty(),
            Some(top) if top.starts_with('/') => match names.as_slice() {
                [] | [_] | ["home" | "Users", _] => true,
                names => self.has_root_beneath(names),
            },
            // `~/x` and `$HOME/x` are not homes; `~`, `~ann` and `$HOME` are, and so may be any
            // variable.
            Some(_) => names.len() <= 1 || self.has_project_beneath_home(&names[1..]),
        }
    }

    /// Whether the project or a home is this folder or below it.
    fn has_root_beneath(&self, names: &[&str]) -> bool {
        let homes = self.homes.iter().map(String::as_str);
        self.folder
            .into_iter()
            .chain(homes)
            .any(|kept| may_start_with(path_components(kept), names))
    }

    /// Whether the project is this folder of a home, or below it.
    fn has_project_beneath_home(&self, names: &[&str]) -> bool {
        let in_home = |home: &String| {
            let rest = self.folder?.strip_prefix(home.as_str())?;
            Some(may_start_with(path_components(rest), names))
        };
        self.homes.iter().filter_map(in_home).any(|it| it)
    }
}

fn path_components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Whether a path may begin with these names, which may contain globs.
fn may_start_with<'a>(mut path: impl Iterator<Item = &'a str>, names: &[&str]) -> bool {
    let may_be = |wanted: &str, name: &str| {
        wanted == name
            || WordPattern::new(&escape_pattern(name)).is_ok_and(|name| name.overlaps(wanted))
    };
    names.iter().all(|wanted| path.next().is_some_and(|name| may_be(wanted, name)))
}
