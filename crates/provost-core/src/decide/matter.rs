//! What is decided about: an action with who asks for it, read as far as it
//! can be before anyone decides.

use provost_proto::{
    ActionId, Covers, DemandView, Hash, Principal, ProjectId, SessionId, TokenClass,
};

use crate::action::{Action, RelPath, RunCommand, TerminalAction};
use crate::canonical::{self, NotCanonical};
use crate::chain;
use crate::command::{Analysis, Demand, Run, analyze, analyze_argv};

/// Someone asks for an action.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name of the action.
    pub id: ActionId,
    /// Where.
    pub project: ProjectId,
    /// On whose authority.
    pub principal: Principal,
    /// What kind of token they hold.
    pub class: TokenClass,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// What they ask for.
    pub action: Action,
}

/// A request, read.
#[derive(Debug, Clone)]
pub struct Matter {
    pub(super) request: Request,
    pub(super) hash: Hash,
    /// What a command comes to; `Err` says why its line could not be read.
    pub(super) line: Option<Result<Analysis, String>>,
}

impl Matter {
    /// Reads a request. Fails if it has no canonical form, since then it could
    /// not be recorded as it runs.
    pub fn new(request: Request) -> Result<Self, NotCanonical> {
        let hash = request.action.hash(&request.principal, request.project)?;
        let line = command(&request.action).map(|run| match (&run.command, &run.argv) {
            (Some(line), _) => analyze(line).map_err(|error| error.to_string()),
            (None, argv) => Ok(analyze_argv(argv.as_deref().unwrap_or_default())),
        });
        Ok(Self { request, hash, line })
    }

    /// Who asks for what.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// What an answer is bound to.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Whether it reaches the network.
    pub fn network(&self) -> bool {
        command(&self.request.action).is_some_and(|run| run.network)
    }

    /// The folder a command starts in.
    pub fn cwd(&self) -> RelPath {
        command(&self.request.action).map_or_else(RelPath::root, |run| run.cwd.clone())
    }

    /// The demands of a command.
    pub fn demands(&self) -> &[Demand] {
        self.analysis().map_or(&[], |analysis| &analysis.demands)
    }

    pub(super) fn analysis(&self) -> Option<&Analysis> {
        self.line.as_ref().and_then(|line| line.as_ref().ok())
    }

    /// Whether what it does cannot be known before it runs.
    pub fn is_opaque(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.as_ref().map_or(true, Analysis::is_opaque))
    }

    /// The demands for people; `find` names the program that would run.
    pub fn shown(&self, find: impl Fn(&Run) -> Option<String>) -> Vec<DemandView> {
        let one = |demand: &Demand| match demand {
            Demand::Run(run) => DemandView::Run {
                argv: run.argv.clone(),
                through: run.through.clone(),
                program: find(run),
                hosts: run.hosts.clone(),
            },
            Demand::Write { path } => DemandView::Write { path: path.clone() },
            Demand::Read { path } => DemandView::Read { path: path.clone() },
        };
        match &self.line {
            None => Vec::new(),
            Some(Err(why)) => {
                let run = command(&self.request.action);
                let text = run.and_then(|run| run.command.clone()).unwrap_or_default();
                vec![DemandView::Opaque { text, why: why.clone() }]
            }
            Some(Ok(analysis)) => {
                let opaque = analysis.opaque.iter().map(|part| DemandView::Opaque {
                    text: part.text.clone(),
                    why: part.why.to_string(),
                });
                analysis.demands.iter().map(one).chain(opaque).collect()
            }
        }
    }

    /// The files of the project that a command would run or be told what to do
    /// by, as far as its words name them. What they hold is pinned with an answer.
    pub fn scripts(&self) -> Vec<RelPath> {
        let mut found = Vec::new();
        for demand in self.demands() {
            let Demand::Run(run) = demand else { continue };
            for folder in &run.folders {
                for name in named_scripts(&run.argv) {
                    let path = join(self.cwd().as_str(), folder, &name);
                    found.extend(RelPath::new(&path).ok().filter(|path| !path.is_root()));
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// What "the same again" means for this action.
    pub fn covers(&self) -> Result<Covers, NotCanonical> {
        let action = &self.request.action;
        if let (Some(run), Some(analysis)) = (command(action), self.analysis())
            && !analysis.is_opaque()
            && run.env.is_empty()
            && run.stdin.is_none()
        {
            let mut runs = Vec::new();
            let mut writes = Vec::new();
            for demand in &analysis.demands {
                match demand {
                    Demand::Run(run) => runs.push(whole(run)),
                    Demand::Write { path } => writes.push(path.clone()),
                    Demand::Read { path } => writes.push(format!("<{path}")),
                }
            }
            let cwd = run.cwd.as_str().to_owned();
            return Ok(Covers::Command { runs, writes, cwd, network: run.network });
        }
        let name = action.name().to_owned();
        if AGAIN_BY_PATH.contains(&action.name()) {
            let paths = action.paths().iter().map(|path| path.as_str().to_owned()).collect();
            return Ok(Covers::Paths { name, paths });
        }
        let params = chain::digest(&canonical::to_vec(&action.params())?);
        Ok(Covers::Exact { name, params })
    }
}

/// The command of an action that runs one.
pub(super) fn command(action: &Action) -> Option<&RunCommand> {
    if let Action::Terminal(TerminalAction::RunCommand(run)) = action { Some(run) } else { None }
}

/// A command with its wrappers and variables, so that `sudo ls` is not `ls`.
fn whole(run: &Run) -> Vec<String> {
    let wrappers = run.through.iter().map(|wrapper| format!("{wrapper}:"));
    let variables = run.assignments.iter().map(|(name, value)| format!("{name}={value}"));
    wrappers.chain(variables).chain(run.argv.iter().cloned()).collect()
}

/// Actions for which "the same again" is the same place, whatever is written there.
const AGAIN_BY_PATH: &[&str] = &[
    "fs.readFile",
    "fs.listFiles",
    "fs.stat",
    "fs.writeFile",
    "fs.editFile",
    "fs.applyPatch",
    "fs.createDir",
];

/// Programs whose first operand is a file that tells them what to do.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ash",
    "source",
    ".",
    "python",
    "python2",
    "python3",
    "pypy3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "Rscript",
    "tclsh",
    "awk",
    "gawk",
    "osascript",
    "pwsh",
    "expect",
    "just",
];

/// Programs that take what to do from a file of a fixed name.
const BUILDERS: &[(&str, &[&str])] = &[
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("gmake", &["Makefile", "makefile", "GNUmakefile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("rake", &["Rakefile"]),
    ("cargo", &["Cargo.toml", "build.rs"]),
    ("go", &["go.mod"]),
    ("gradle", &["build.gradle", "build.gradle.kts"]),
    ("./gradlew", &["build.gradle", "build.gradle.kts"]),
    ("mvn", &["pom.xml"]),
    ("tox", &["tox.ini"]),
    ("pytest", &["conftest.py", "pytest.ini", "pyproject.toml"]),
];

fn named_scripts(argv: &[String]) -> Vec<String> {
    let Some(program) = argv.first() else { return Vec::new() };
    let base = program.rsplit('/').next().unwrap_or(program);
    let mut found = Vec::new();
    if program.contains('/') && !program.starts_with('/') {
        found.push(program.clone());
    }
    if INTERPRETERS.contains(&base) {
        // Options may take operands, so every word that could be the file is one.
        found.extend(argv[1..].iter().filter(|word| !word.starts_with('-')).cloned());
    }
    for (name, files) in BUILDERS {
        if *name == program || *name == base {
            found.extend(files.iter().map(|&file| file.to_owned()));
        }
    }
    found
}

/// A path as it lies beneath the project; what leaves it is refused later.
fn join(cwd: &str, folder: &str, name: &str) -> String {
    let name = name.strip_prefix("./").unwrap_or(name);
    let parts = [cwd, folder, name];
    parts.into_iter().filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}
