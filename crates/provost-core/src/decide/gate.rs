//! The hard gates: what no mode, rule or grant lets pass unseen.

use provost_proto::Code;

use super::matter::Matter;
use crate::action::{Effect, RelPath, protected};
use crate::command::{Demand, Run};

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
    "lxc",
    "machinectl",
    "systemd-run",
    "at",
    "batch",
    "crontab",
];

/// What means the project, a home or the whole disk, to `rm -r`.
const WHOLE: &[&str] =
    &["/", "/*", "~", "~/", "~/*", ".", "./", "./*", "..", "../", "*", ".*", "$HOME", "${HOME}"];

/// The gates in the way of what an agent asks for, the closed ones first.
pub(super) fn gates(matter: &Matter) -> Vec<Gate> {
    let mut gates = Vec::new();
    let action = &matter.request.action;
    if action.effect() == Effect::Write {
        gates.extend(action.paths().iter().filter_map(closed));
    }
    for demand in matter.demands() {
        match demand {
            Demand::Write { path } => {
                let path = beneath(matter.cwd().as_str(), path);
                gates.extend(path.and_then(|path| closed(&path)));
            }
            Demand::Read { .. } => {}
            Demand::Run(run) => {
                gates.extend(leaving(run));
                gates.extend(deleting(run));
            }
        }
    }
    gates.sort_by_key(|gate| matches!(gate, Gate::Asks(_)));
    gates.dedup();
    gates
}

fn closed(path: &RelPath) -> Option<Gate> {
    let why = protected(path)?;
    let why = format!("{} is protected from agents: {why}", path.shown());
    Some(Gate::Closed { code: Code::ProtectedPath, why })
}

/// Where a path of a command lies in the project; `None` for what is outside,
/// where the sandbox lets it write nothing.
fn beneath(cwd: &str, path: &str) -> Option<RelPath> {
    if path.starts_with('/') {
        return None;
    }
    let mut names: Vec<&str> = cwd.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
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

fn deleting(run: &Run) -> Option<Gate> {
    let program = base(run.argv.first()?);
    if program != "rm" {
        return None;
    }
    let recursive = |word: &String| {
        word == "--recursive"
            || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
    };
    let whole = |word: &&String| {
        let plain = word.trim_end_matches('/');
        let plain = if plain.is_empty() { "/" } else { plain };
        WHOLE.contains(&word.as_str()) || WHOLE.contains(&plain)
    };
    let target = run.argv[1..].iter().find(whole)?;
    run.argv[1..].iter().any(recursive).then(|| {
        Gate::Asks(format!("it deletes `{target}`: the project, a home or everything there is"))
    })
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
