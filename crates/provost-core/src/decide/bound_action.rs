//! What is decided about: an action bound to its principal and project, analyzed and hashed.

use provost_proto::kernel::Preconditions;
use provost_proto::{
    ActionId, CommandEffectView, GrantScope, Hash, PinnedFile, Principal, ProjectId, SessionId,
    TokenClass,
};

use super::implied_command::ImpliedCommand;
use super::resolved_links::ResolvedLink;
use crate::action::{Action, ProcessAction, RelPath, RunCommand, RuntimeAction};
use crate::canonical::{self, NotCanonical};
use crate::command::{
    CommandAnalysis, CommandEffect, CommandInvocation, analyze_argv, analyze_line, is_builtin,
};
use crate::hash_chain;

/// A request for an action.
#[derive(Debug, Clone)]
pub struct ActionRequest {
    /// The id of the action.
    pub id: ActionId,
    /// The project.
    pub project: ProjectId,
    /// On whose authority it is requested.
    pub principal: Principal,
    /// The class of the requester's token.
    pub class: TokenClass,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The requested action.
    pub action: Action,
}

/// An analyzed request.
#[derive(Debug, Clone)]
pub struct BoundAction {
    pub(super) request: ActionRequest,
    pub(super) hash: Hash,
    /// The analysis of a command; `Err` if its line could not be parsed.
    pub(super) line: Option<Result<CommandAnalysis, String>>,
    /// Links and pinned files that the decision depends on, checked again before execution.
    pub(super) preconditions: Option<Preconditions>,
    /// The command behind an action that is not called one.
    pub(super) implied: Option<ImpliedCommand>,
    /// Where symbolic links lead the paths of the command.
    pub(super) links: Vec<ResolvedLink>,
}

impl BoundAction {
    /// Analyzes a request. Fails if it has no canonical form, since then it could not be
    /// recorded.
    pub fn new(request: ActionRequest) -> Result<Self, NotCanonical> {
        let hash = request.action.hash(&request.principal, request.project)?;
        let line = as_run_command(&request.action).map(|run| match (&run.command, &run.argv) {
            (Some(line), _) => analyze_line(line).map_err(|error| error.to_string()),
            (None, argv) => Ok(analyze_argv(argv.as_deref().unwrap_or_default())),
        });
        // Input on stdin can contain commands, as a here-document can.
        let fed = as_run_command(&request.action).is_some_and(|run| run.stdin.is_some());
        let line = line.map(|line| line.map(|line| if fed { line.with_stdin() } else { line }));
        // A variable that holds a command is analyzed like one, wherever it is set.
        let line = match (line, as_run_command(&request.action)) {
            (Some(Ok(line)), Some(run)) => Some(Ok(run
                .env
                .iter()
                .fold(line, |line, (name, value)| line.with_variable(name, value)))),
            (line, _) => line,
        };
        Ok(Self { request, hash, line, preconditions: None, implied: None, links: Vec::new() })
    }

    /// Adds the preconditions that the decision depends on.
    #[must_use]
    pub fn with_preconditions(mut self, preconditions: Preconditions) -> Self {
        self.preconditions = Some(preconditions);
        self
    }

    /// The preconditions that the decision depends on.
    pub fn preconditions(&self) -> Option<&Preconditions> {
        self.preconditions.as_ref()
    }

    /// The request.
    pub fn request(&self) -> &ActionRequest {
        &self.request
    }

    /// The hash that an answer is valid for.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Whether it needs the network.
    pub fn needs_network(&self) -> bool {
        as_run_command(&self.request.action).is_some_and(|run| run.network)
    }

    /// Whether it writes to or reads from the person's own shell, which runs without a sandbox
    /// and shows more than the project.
    pub fn touches_user_shell(&self) -> bool {
        matches!(
            self.request.action,
            Action::Runtime(
                RuntimeAction::OpenTerminal(_)
                    | RuntimeAction::ReadTerminal(_)
                    | RuntimeAction::WriteTerminal(_)
            )
        )
    }

    /// The folder in which a command starts.
    pub fn cwd(&self) -> RelPath {
        as_run_command(&self.request.action).map_or_else(RelPath::root, |run| run.cwd.clone())
    }

    /// The effects of a command.
    pub fn command_effects(&self) -> &[CommandEffect] {
        self.analysis().map_or(&[], |analysis| &analysis.effects)
    }

    /// The analysis of its line, if it has one that could be parsed.
    pub fn analysis(&self) -> Option<&CommandAnalysis> {
        self.line.as_ref().and_then(|line| line.as_ref().ok())
    }

    /// Whether its effects cannot be known before it runs.
    pub fn is_opaque(&self) -> bool {
        self.line
            .as_ref()
            .is_some_and(|line| line.as_ref().map_or(true, CommandAnalysis::is_opaque))
    }

    /// The effects as text for people; `find` resolves the program that would run.
    pub fn describe_effects(
        &self,
        find: impl Fn(&CommandInvocation) -> Option<String>,
    ) -> Vec<CommandEffectView> {
        let in_shell = self.effective_command().is_some_and(|run| run.command.is_some());
        let one = |effect: &CommandEffect| match effect {
            CommandEffect::Run(run) => {
                let builtin = is_builtin(run, in_shell);
                CommandEffectView::Run {
                    argv: run.argv.clone(),
                    through: run.through.clone(),
                    program: if builtin { None } else { find(run) },
                    hosts: run.hosts.clone(),
                    assignments: run.format_assignments(),
                    builtin,
                }
            }
            CommandEffect::Write { path, deletes } => {
                CommandEffectView::Write { path: path.clone(), deletes: *deletes }
            }
            CommandEffect::Read { path } | CommandEffect::ReadOperand { path } => {
                CommandEffectView::Read { path: path.clone() }
            }
        };
        match &self.line {
            None => Vec::new(),
            Some(Err(why)) => {
                let run = self.effective_command();
                let text = run.and_then(|run| run.command.clone()).unwrap_or_default();
                vec![CommandEffectView::Opaque { text, why: why.clone() }]
            }
            Some(Ok(analysis)) => {
                let opaque = analysis.opaque.iter().map(|part| CommandEffectView::Opaque {
                    text: part.text.clone(),
                    why: part.why.to_string(),
                });
                // First what cannot be known, because it may be the worst.
                opaque.chain(analysis.effects.iter().map(one)).collect()
            }
        }
    }

    /// The files that a command would run or take instructions from, as far as its words name
    /// them; see [`super::scripts`]. `root` is the absolute path of the project.
    pub fn script_paths(&self, root: &str) -> Vec<RelPath> {
        // These files determine what the project runs, and agents can write them.
        let files = if self.runs_project() { crate::runtime::plan::PLAN_SOURCE_FILES } else { &[] };
        let files = files.iter().filter_map(|name| RelPath::new(name).ok());
        let named = |line| super::scripts::named_script_paths(line, self.cwd().as_str(), root);
        let named = self.analysis().map(named).unwrap_or_default();
        let mut scripts: Vec<RelPath> = files.chain(named).collect();
        scripts.sort();
        scripts.dedup();
        scripts
    }

    /// The files that tell a program of a command which addresses to fetch.
    pub fn address_lists(&self, root: &str) -> Vec<RelPath> {
        let named = |line| super::scripts::address_list_paths(line, self.cwd().as_str(), root);
        self.analysis().map(named).unwrap_or_default()
    }

    /// The manifests whose `main` names the file that runs.
    pub fn manifests(&self, root: &str) -> Vec<RelPath> {
        super::scripts::manifests(self.command_effects(), self.cwd().as_str(), root)
    }

    /// Why the code that runs can change after the approval despite these pins, if it can.
    pub fn unpinned_reason(&self, root: &str, pins: &[PinnedFile]) -> Option<String> {
        super::scripts::unpinned_reason(self.analysis()?, self.cwd().as_str(), root, pins)
    }

    /// The pinned files that it runs; see [`super::scripts`].
    pub fn pinned_programs(&self, root: &str, pins: &[PinnedFile]) -> Vec<String> {
        super::scripts::pinned_programs(self.command_effects(), self.cwd().as_str(), root, pins)
    }

    /// Equal for actions that count as repetitions. The timeout of a command is not part of it.
    pub fn repeat_key(&self) -> Hash {
        let covers = as_run_command(&self.request.action).and_then(|_| self.grant_scope().ok());
        let Some(covers) = covers else { return self.hash };
        canonical::to_vec(&covers).map_or(self.hash, |text| hash_chain::digest(&text))
    }

    /// What "the same again" covers for this action.
    ///
    /// For a command line it is exactly this line: its effects show neither how the parts are
    /// joined (`a; b` or `a | b`), nor whether a file is appended to or replaced, nor the content
    /// of a here-document.
    pub fn grant_scope(&self) -> Result<GrantScope, NotCanonical> {
        let action = &self.request.action;
        if let (Some(run), Some(analysis)) = (as_run_command(action), self.analysis())
            && !analysis.is_opaque()
            && run.env.is_empty()
            && run.stdin.is_none()
            && !run.background
        {
            let shell = |line: &String| vec![SHELL.to_owned(), "-c".to_owned(), line.clone()];
            let words = run.command.as_ref().map(shell).or_else(|| run.argv.clone());
            let writes = analysis.effects.iter().filter_map(|effect| match effect {
                CommandEffect::Write { path, .. } => Some(path.clone()),
                CommandEffect::Run(_)
                | CommandEffect::Read { .. }
                | CommandEffect::ReadOperand { .. } => None,
            });
            return Ok(GrantScope::Command {
                runs: words.into_iter().collect(),
                writes: writes.collect(),
                cwd: run.cwd.as_str().to_owned(),
                network: run.network,
            });
        }
        let name = action.name().to_owned();
        if PATH_SCOPED_ACTIONS.contains(&action.name()) {
            let paths = action.paths().iter().map(|path| path.as_str().to_owned()).collect();
            return Ok(GrantScope::Paths { name, paths });
        }
        // A grant to read the person's shell covers all of its lines.
        let only_reads = matches!(
            action,
            Action::Runtime(RuntimeAction::OpenTerminal(_) | RuntimeAction::ReadTerminal(_))
        );
        let params = if only_reads { serde_json::json!({}) } else { action.params() };
        let params = hash_chain::digest(&canonical::to_vec(&params)?);
        Ok(GrantScope::Exact { name, params })
    }
}

/// The command of an action that runs one.
pub(super) fn as_run_command(action: &Action) -> Option<&RunCommand> {
    if let Action::Process(ProcessAction::RunCommand(run)) = action { Some(run) } else { None }
}

/// The shell that interprets a line.
const SHELL: &str = "bash";

/// Actions for which "the same again" is the same path, whatever the content.
const PATH_SCOPED_ACTIONS: &[&str] = &[
    "fs.readFile",
    "fs.listFiles",
    "fs.stat",
    "fs.writeFile",
    "fs.editFile",
    "fs.applyPatch",
    "fs.createDir",
];
