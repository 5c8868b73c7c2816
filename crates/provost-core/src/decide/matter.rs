//! What is decided about: an action with who asks for it, read as far as it
//! can be before anyone decides.

use provost_proto::kernel::Preconditions;
use provost_proto::{
    ActionId, CommandEffectView, GrantScope, Hash, PinnedFile, Principal, ProjectId, SessionId,
    TokenClass,
};

use super::led::Lead;
use super::means::Means;
use crate::action::{Action, RelPath, RunCommand, RuntimeAction, TerminalAction};
use crate::canonical::{self, NotCanonical};
use crate::chain;
use crate::command::{Analysis, Demand, Run, analyze, analyze_argv, is_builtin};

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
    /// What of the world the decision is about, and must hold when it runs.
    pub(super) terms: Option<Preconditions>,
    /// The command that it comes to, if it is not called one.
    pub(super) means: Option<Means>,
    /// Where links lead what the command names.
    pub(super) leads: Vec<Lead>,
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
        // What a program is given to read can tell it what to do, as a here-document can.
        let fed = command(&request.action).is_some_and(|run| run.stdin.is_some());
        let line = line.map(|line| line.map(|line| if fed { line.fed() } else { line }));
        // What a variable names as a command is one, wherever it is set.
        let line = match (line, command(&request.action)) {
            (Some(Ok(line)), Some(run)) => {
                Some(Ok(run.env.iter().fold(line, |line, (name, value)| line.given(name, value))))
            }
            (line, _) => line,
        };
        Ok(Self { request, hash, line, terms: None, means: None, leads: Vec::new() })
    }

    /// The same, to be decided and carried out on these terms.
    #[must_use]
    pub fn on(mut self, terms: Preconditions) -> Self {
        self.terms = Some(terms);
        self
    }

    /// What of the world the decision is about.
    pub fn terms(&self) -> Option<&Preconditions> {
        self.terms.as_ref()
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

    /// Whether it touches the person's own shell, which runs behind no wall, or
    /// looks at what it shows, which is not the project's alone.
    pub fn own_shell(&self) -> bool {
        matches!(
            self.request.action,
            Action::Runtime(
                RuntimeAction::Open(_) | RuntimeAction::Read(_) | RuntimeAction::Write(_)
            )
        )
    }

    /// The folder a command starts in.
    pub fn cwd(&self) -> RelPath {
        command(&self.request.action).map_or_else(RelPath::root, |run| run.cwd.clone())
    }

    /// The demands of a command.
    pub fn demands(&self) -> &[Demand] {
        self.analysis().map_or(&[], |analysis| &analysis.demands)
    }

    /// What its line would do, if it has one that can be read.
    pub fn analysis(&self) -> Option<&Analysis> {
        self.line.as_ref().and_then(|line| line.as_ref().ok())
    }

    /// Whether what it does cannot be known before it runs.
    pub fn is_opaque(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.as_ref().map_or(true, Analysis::is_opaque))
    }

    /// The demands for people; `find` names the program that would run.
    pub fn shown(&self, find: impl Fn(&Run) -> Option<String>) -> Vec<CommandEffectView> {
        let in_shell = self.command().is_some_and(|run| run.command.is_some());
        let one = |demand: &Demand| match demand {
            Demand::Run(run) => {
                let builtin = is_builtin(run, in_shell);
                CommandEffectView::Run {
                    argv: run.argv.clone(),
                    through: run.through.clone(),
                    program: if builtin { None } else { find(run) },
                    hosts: run.hosts.clone(),
                    assignments: run.assigned(),
                    builtin,
                }
            }
            Demand::Write { path } => CommandEffectView::Write { path: path.clone() },
            Demand::Read { path } | Demand::Operand { path } => {
                CommandEffectView::Read { path: path.clone() }
            }
        };
        match &self.line {
            None => Vec::new(),
            Some(Err(why)) => {
                let run = self.command();
                let text = run.and_then(|run| run.command.clone()).unwrap_or_default();
                vec![CommandEffectView::Opaque { text, why: why.clone() }]
            }
            Some(Ok(analysis)) => {
                let opaque = analysis.opaque.iter().map(|part| CommandEffectView::Opaque {
                    text: part.text.clone(),
                    why: part.why.to_string(),
                });
                analysis.demands.iter().map(one).chain(opaque).collect()
            }
        }
    }

    /// The files that a command would run or be told what to do by, as far as
    /// its words name them; see [`super::scripts`]. `root` is the project's folder.
    pub fn scripts(&self, root: &str) -> Vec<RelPath> {
        // What the project runs is what these files say, and agents can write them.
        let files = if self.runs_project() { crate::runtime::plan::FILES } else { &[] };
        let files = files.iter().filter_map(|name| RelPath::new(name).ok());
        let named = |line| super::scripts::named(line, self.cwd().as_str(), root);
        let named = self.analysis().map(named).unwrap_or_default();
        let mut scripts: Vec<RelPath> = files.chain(named).collect();
        scripts.sort();
        scripts.dedup();
        scripts
    }

    /// The manifests that name what runs: of each, the file that it calls `main`.
    pub fn manifests(&self, root: &str) -> Vec<RelPath> {
        super::scripts::manifests(self.demands(), self.cwd().as_str(), root)
    }

    /// Why what it runs can change after a person answered, if it can: these pins do not
    /// hold it.
    pub fn unpinned(&self, root: &str, pins: &[PinnedFile]) -> Option<String> {
        super::scripts::unpinned(self.analysis()?, self.cwd().as_str(), root, pins)
    }

    /// Those of the pinned files that it runs; see [`super::scripts`].
    pub fn programs(&self, root: &str, pins: &[PinnedFile]) -> Vec<String> {
        super::scripts::programs(self.demands(), self.cwd().as_str(), root, pins)
    }

    /// What counts as the same when it is asked for again and again. How long a
    /// command may take does not make it another.
    pub fn sameness(&self) -> Hash {
        let covers = command(&self.request.action).and_then(|_| self.covers().ok());
        let Some(covers) = covers else { return self.hash };
        canonical::to_vec(&covers).map_or(self.hash, |text| chain::digest(&text))
    }

    /// What "the same again" means for this action.
    ///
    /// For a line it is the very same line: what its parts come to says neither
    /// how they are joined (`a; b` or `a | b`), nor what is appended and what
    /// replaced, nor what a here-document holds.
    pub fn covers(&self) -> Result<GrantScope, NotCanonical> {
        let action = &self.request.action;
        if let (Some(run), Some(analysis)) = (command(action), self.analysis())
            && !analysis.is_opaque()
            && run.env.is_empty()
            && run.stdin.is_none()
            && !run.background
        {
            let shell = |line: &String| vec![SHELL.to_owned(), "-c".to_owned(), line.clone()];
            let words = run.command.as_ref().map(shell).or_else(|| run.argv.clone());
            let writes = analysis.demands.iter().filter_map(|demand| match demand {
                Demand::Write { path } => Some(path.clone()),
                Demand::Run(_) | Demand::Read { .. } | Demand::Operand { .. } => None,
            });
            return Ok(GrantScope::Command {
                runs: words.into_iter().collect(),
                writes: writes.collect(),
                cwd: run.cwd.as_str().to_owned(),
                network: run.network,
            });
        }
        let name = action.name().to_owned();
        if AGAIN_BY_PATH.contains(&action.name()) {
            let paths = action.paths().iter().map(|path| path.as_str().to_owned()).collect();
            return Ok(GrantScope::Paths { name, paths });
        }
        // Who may look at the person's own shell may look at any of its lines.
        let looks =
            matches!(action, Action::Runtime(RuntimeAction::Open(_) | RuntimeAction::Read(_)));
        let params = if looks { serde_json::json!({}) } else { action.params() };
        let params = chain::digest(&canonical::to_vec(&params)?);
        Ok(GrantScope::Exact { name, params })
    }
}

/// The command of an action that runs one.
pub(super) fn command(action: &Action) -> Option<&RunCommand> {
    if let Action::Terminal(TerminalAction::RunCommand(run)) = action { Some(run) } else { None }
}

/// What reads a line.
const SHELL: &str = "bash";

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
