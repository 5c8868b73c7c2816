//! The hard gates: what no mode, rule or grant lets pass unseen.

use std::path::Path;

use provost_proto::Code;

use super::led::Lead;
use super::matter::Matter;
use super::standing::Standing;
use super::uncertain;
use crate::action::{Action, Effect, FileAction, RelPath, RuntimeAction, protected};
use crate::command::{Demand, Run, base};
use crate::glob::{Word, escape};

/// A gate in the way of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// Nobody may open it for an agent.
    Closed {
        /// Why, for programs.
        code: Code,
        /// Why, for people.
        why: String,
    },
    /// A person may open it, each time anew.
    Asks(String),
}

/// Programs that run something with other rights or in another place.
const LEAVING: &[&str] = &[
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
    // Whoever speaks to the session's bus can have it start anything.
    "busctl",
    "dbus-send",
    "gdbus",
    "at",
    "batch",
    "crontab",
];

/// The gates in the way of what an agent asks for, the closed ones first.
pub(super) fn gates(matter: &Matter, standing: &Standing<'_>) -> Vec<Gate> {
    let mut gates = Vec::new();
    let action = &matter.request.action;
    if action.effect() == Effect::Write {
        gates.extend(action.paths().iter().filter_map(closed));
        gates.extend(standing.leads_to.iter().filter_map(closed));
        gates.extend(removing(action));
    }
    gates.extend(typing(action));
    // Most actions are no commands, and have none.
    if !matter.demands().is_empty() {
        gates.extend(demanding(matter, &Around::of(matter, standing)));
    }
    let named = uncertain::hidden(matter, |word| LEAVING.contains(&word));
    gates.extend(named.map(|word| {
        Gate::Asks(format!(
            "it cannot be read for certain, and names `{word}`, which leaves the sandbox"
        ))
    }));
    gates.sort_by_key(|gate| matches!(gate, Gate::Asks(_)));
    gates.dedup();
    gates
}

/// The gates in the way of what a command demands.
fn demanding(matter: &Matter, around: &Around<'_>) -> Vec<Gate> {
    let mut gates = Vec::new();
    for demand in matter.demands() {
        match demand {
            Demand::Write { path } => {
                let path = beneath(around.cwd.as_str(), path);
                gates.extend(path.and_then(|path| closed(&path)));
            }
            Demand::Read { .. } | Demand::Operand { .. } => {}
            Demand::Run(run) => {
                gates.extend(leaving(run));
                gates.extend(deleting(around, run));
                gates.extend(carried(around, run));
            }
        }
    }
    gates
}

fn closed(path: &RelPath) -> Option<Gate> {
    let why = protected(path)?;
    let why = format!("{} is protected from agents: {why}", path.shown());
    Some(Gate::Closed { code: Code::ProtectedPath, why })
}

/// Where a path of a command lies in the project. One that leaves it, or is
/// absolute, may come back under the project's own name, so its names are
/// looked at all the same.
fn beneath(cwd: &str, path: &str) -> Option<RelPath> {
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

fn leaving(run: &Run) -> Option<Gate> {
    let program = run.argv.first().map(|program| base(program));
    let names = run.through.iter().map(|wrapper| base(wrapper)).chain(program);
    let name = names.into_iter().find(|name| LEAVING.contains(name))?;
    Some(Gate::Asks(format!("`{name}` runs things with other rights, elsewhere or later")))
}

/// What the words of a program that nobody knows may be, if that is gated.
fn carried(around: &Around<'_>, run: &Run) -> Option<Gate> {
    let gated = |inner: &Run| {
        // A name alone is rather a word: `./train batch`. But `su` needs no other.
        let runs = inner.argv.len() > 1 || inner.argv.first().is_some_and(|name| name == "su");
        leaving(inner).filter(|_| runs).or_else(|| deleting(around, inner))
    };
    let is_gated = |at: &&usize| {
        let name = base(&run.argv[**at]);
        LEAVING.contains(&name) || matches!(name, "rm" | "find")
    };
    let starts = run.carried.starts.iter().filter(is_gated).map(|at| run.from(*at));
    let gate = starts.chain(run.carried.texts.iter().cloned()).find_map(|inner| gated(&inner))?;
    let program = run.argv.first().map_or("", String::as_str);
    Some(match gate {
        Gate::Asks(why) => {
            Gate::Asks(format!("nobody knows what `{program}` runs; if its words: {why}"))
        }
        closed @ Gate::Closed { .. } => closed,
    })
}

/// Keys for the person's own shell, which runs behind no wall. Mode `full` does
/// not ask because what runs stays in its sandbox; this would not, and could
/// even answer questions in the person's place. So it is asked in every mode,
/// and no rule or grant stands for the answer.
fn typing(action: &Action) -> Option<Gate> {
    let Action::Runtime(RuntimeAction::Write(_)) = action else { return None };
    Some(Gate::Asks("it types into your own shell, which no sandbox holds".to_owned()))
}

/// The project's own folder taken away.
fn removing(action: &Action) -> Option<Gate> {
    let taken = match action {
        Action::File(FileAction::DeleteFile(delete)) => &delete.path,
        Action::File(FileAction::MoveFile(moved)) => &moved.from,
        Action::File(_) | Action::Terminal(_) | Action::Runtime(_) => return None,
    };
    taken.is_root().then(|| Gate::Asks("it takes the whole project away".to_owned()))
}

fn deleting(around: &Around<'_>, run: &Run) -> Option<Gate> {
    let (program, words) = run.argv.split_first()?;
    let operands = || words.iter().filter(|word| !word.starts_with('-'));
    let targets: Vec<&String> = match base(program) {
        // What it is given may be an option, and all there is.
        "rm" if may_be_everything(run) => {
            let why = "it deletes what is not known yet, which may be everything".to_owned();
            return Some(Gate::Asks(why));
        }
        "rm" if words.iter().any(|word| is_recursive(word)) => operands().collect(),
        // It begins with the folders; without one it is the one it is in.
        "find" if words.iter().any(|word| word == "-delete") => {
            words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).collect()
        }
        _ => return None,
    };
    let here = ".".to_owned();
    let targets = if targets.is_empty() { vec![&here] } else { targets };
    let whole = |word: &&&String| {
        run.folders.iter().any(|folder| around.is_or_leads_to_whole(folder, word))
    };
    let target = targets.iter().find(whole)?;
    let why = format!("it deletes `{target}`: the project, a home or everything there is");
    Some(Gate::Asks(why))
}

/// Whether what is not known may be an option, or whole folders that another program finds.
fn may_be_everything(run: &Run) -> bool {
    let recursive = || run.argv.iter().skip(1).any(|word| is_recursive(word));
    let found = |at: &usize| run.argv.get(*at).is_none_or(|word| word.contains("{}"));
    run.may_gain_options() || run.unknown.iter().any(found) && recursive()
}

/// `-r`, `-fR`, `--recursive`, and as much of that as `rm` needs to know it.
fn is_recursive(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => word.starts_with('-') && word.contains(['r', 'R']),
    }
}

/// Where a command runs, and what around it nobody wants to lose.
struct Around<'a> {
    cwd: RelPath,
    folder: Option<&'a str>,
    homes: &'a [String],
    leads: &'a [Lead],
}

impl<'a> Around<'a> {
    fn of(matter: &'a Matter, standing: &Standing<'a>) -> Self {
        let Standing { folder, homes, .. } = *standing;
        Self { cwd: matter.cwd(), folder, homes, leads: &matter.leads }
    }

    /// Whether a path is, or leads to, what nobody wants to lose.
    fn is_or_leads_to_whole(&self, folder: &str, path: &str) -> bool {
        let named = Path::new(folder).join(path);
        let leads = |lead: &Lead| {
            let rest = named.strip_prefix(&lead.path).ok().and_then(Path::to_str);
            rest.is_some_and(|rest| self.is_whole(&lead.place, &format!("./{rest}")))
        };
        self.is_whole(folder, path) || self.leads.iter().any(leads)
    }

    /// Whether a path, named in a folder of the line, is the project or lies above it, is a
    /// home or the top of the disk, or stands for all that is in one of them.
    fn is_whole(&self, folder: &str, path: &str) -> bool {
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
        // What is not known in the midst of a path may lead up from there.
        let first = usize::from(start.is_some_and(|at| !parts[at].starts_with('/')));
        if names.iter().skip(first).any(|name| name.contains(['$', '`'])) {
            return true;
        }
        match start.map(|at| parts[at]) {
            None => names.is_empty(),
            Some(top) if top.starts_with('/') => match names.as_slice() {
                [] | [_] | ["home" | "Users", _] => true,
                names => self.lies_beneath(names),
            },
            // `~/x` and `$HOME/x` are no homes, `~`, `~ann` and `$HOME` are; so may any variable be.
            Some(_) => names.len() <= 1 || self.lies_beneath_home(&names[1..]),
        }
    }

    /// Whether the project or a home is this folder or beneath it.
    fn lies_beneath(&self, names: &[&str]) -> bool {
        let homes = self.homes.iter().map(String::as_str);
        self.folder.into_iter().chain(homes).any(|kept| begins(names_of(kept), names))
    }

    /// Whether the project is this folder of a home, or beneath it.
    fn lies_beneath_home(&self, names: &[&str]) -> bool {
        let in_home = |home: &String| {
            let rest = self.folder?.strip_prefix(home.as_str())?;
            Some(begins(names_of(rest), names))
        };
        self.homes.iter().filter_map(in_home).any(|it| it)
    }
}

fn names_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Whether a path may begin with these names, globs among them.
fn begins<'a>(mut path: impl Iterator<Item = &'a str>, names: &[&str]) -> bool {
    let may_be = |wanted: &str, name: &str| {
        wanted == name || Word::new(&escape(name)).is_ok_and(|name| name.overlaps(wanted))
    };
    names.iter().all(|wanted| path.next().is_some_and(|name| may_be(wanted, name)))
}
