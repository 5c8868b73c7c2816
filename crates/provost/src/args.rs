//! The arguments, and the help that teaches them.

mod audit;
mod chat;
mod daemon;
mod govern;
mod project;
mod runtime;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use audit::{AuditArgs, AuditCommand, EventsArgs};
pub(crate) use chat::{ChatArgs, SessionsArgs};
pub(crate) use daemon::{KernelArgs, ServeArgs, UpArgs};
pub(crate) use govern::{
    AllowArgs, ApprovalsArgs, ApprovalsCommand, DenyArgs, ExplainArgs, GrantsArgs, GrantsCommand,
    LayerArg, ModeArgs, PolicyArgs, PolicyCommand, ProjectScopeArgs, RolesArgs, RolesCommand,
    TokenCommand,
};
pub(crate) use project::{DoActionArgs, InitArgs, ProfileArg, ProjectsCommand, SandboxArgs};
pub(crate) use runtime::{BuildArgs, LogsArgs, PreviewArgs, RunArgs, StaticArgs, StopArgs};

/// The runtime authority for AI agents: agents ask, people decide, Provost runs it.
///
/// Start with `provost up` in a project's folder: it starts the daemon if none
/// runs, opens the folder as a project and prints a link that logs your browser
/// in. `provost events --follow` shows what happens, as it happens.
///
/// To let an agent in: write a role, `provost roles trust` it, `provost token
/// create --class agent --project P --role R`, and answer what it asks with
/// `provost approvals watch`. `provost audit` looks back.
#[derive(Debug, Parser)]
#[command(name = "provost", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Where Provost keeps its log, token and lock; it selects the daemon [env: `PROVOST_DATA`].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Start the daemon if none runs, open a project, print a login link.
    Up(UpArgs),
    /// Run the daemon in the foreground.
    Serve(ServeArgs),
    /// Stop the daemon and everything it runs.
    Down {
        /// Only the daemon; the projects' kernels and what runs in them live on.
        #[arg(long)]
        keep: bool,
    },
    /// Tell whether the daemon runs, and what it has open.
    Status(JsonArgs),
    /// List, open and close projects.
    Projects {
        #[command(subcommand)]
        what: Option<ProjectsCommand>,
        #[command(flatten)]
        json: JsonArgs,
        /// Show the closed ones too.
        #[arg(long)]
        all: bool,
    },
    /// Run a project's dev server: build it if needed, start it, say where it is seen.
    ///
    /// What runs stands in the project's `provost.toml`, or is detected from
    /// package.json, Cargo.toml and the like; `provost init` writes down what was
    /// detected. What runs already is left alone. Exits with 5 if it crashed, with
    /// 6 if its build failed.
    Run(RunArgs),
    /// Stop a project's dev server and build, and all they started.
    Stop(StopArgs),
    /// Stop a project's dev server and run it again.
    Restart(RunArgs),
    /// Build a project; show what the build prints, and where it failed.
    ///
    /// Exits with 6 if the build failed.
    Build(BuildArgs),
    /// Print what a project's builds and dev server printed.
    Logs(LogsArgs),
    /// Open a project's preview in the browser.
    Preview(PreviewArgs),
    /// Write a `provost.toml` with what was detected.
    Init(InitArgs),
    /// Talk with a model that acts in a role of this project.
    ///
    /// It may do what its role may ask for, and what asks you is asked right here.
    /// `provost chat -p 'fix the test' --role dev` says one thing, prints the answer
    /// and ends; what is piped in is taken as what you say. Ctrl-C cancels a turn.
    Chat(ChatArgs),
    /// List the sessions with models; show what was said in one, or close it.
    Sessions(SessionsArgs),
    /// Show what models used and cost.
    Usage(JsonArgs),
    /// Print the events of the log.
    Events(EventsArgs),
    /// Look back: the latest actions, or the whole story of one; check the log.
    ///
    /// `provost audit` lists the latest actions. `provost audit --action ID`
    /// tells who asked, which rule or person decided, how it ran and what
    /// changed; the end of an id is enough. `provost audit verify` finds any
    /// event that was changed.
    Audit(AuditArgs),
    /// Answer what agents ask: list the open questions, watch them come, allow or deny.
    ///
    /// `provost approvals watch` shows the questions as they come and takes your
    /// answers. `provost approvals allow ID` shows all there is to know, asks you
    /// once more, and lets the action run; `provost approvals deny ID --message
    /// 'use npm ci instead'` tells the agent why not. The end of an id is enough.
    Approvals(ApprovalsArgs),
    /// Show or set how much runs without asking: sandbox, auto or full.
    ///
    /// sandbox: reads in the project pass, everything else asks. auto: what stays
    /// inside the sandbox runs, crossing it asks. full: nothing asks but what is
    /// too dangerous; it always ends, after 60 minutes unless you say.
    Mode(ModeArgs),
    /// List the roles of a project, check their files, trust them, change a model.
    ///
    /// A role is a Markdown file in `.provost/roles/` that says what an agent may
    /// ask for. It has no effect until you trust it, and none again once it was
    /// changed: `provost roles trust` shows the file, or what changed in it.
    Roles(RolesArgs),
    /// Read, check, explain, test and try out the rules that decide.
    ///
    /// Rules are in your own `policy.toml` (`provost config` says where) and in a
    /// project's `.provost/policy.toml`. `provost policy explain -- git push`
    /// tells what would be decided, and by which rule.
    Policy(PolicyArgs),
    /// List what you allowed beyond one action, and take it back.
    Grants(GrantsArgs),
    /// Hand out tokens and take them back.
    Token {
        #[command(subcommand)]
        what: TokenCommand,
    },
    /// Do something in a project, as you could in your shell, but recorded and confined.
    ///
    /// For example: `provost do fs.readFile path=README.md`, or
    /// `provost do terminal.runCommand command='cargo test'`. What a command
    /// prints is shown as it comes; Ctrl-C stops it. Values are JSON where they
    /// read as JSON, else text. With `--role R` it is decided as if an agent in
    /// that role had asked: by the role's skills, the rules, the mode, and you.
    #[command(name = "do")]
    Act(DoActionArgs),
    /// Sit down at a project's terminal, which people, the browser and agents share.
    ///
    /// It takes the whole window. Ctrl-\\ and then d leaves it: the terminal and
    /// what runs in it go on. Ctrl-\\ twice types it once. When the shell ends, so
    /// does this, with its status.
    Attach {
        /// Which project; else the one of this folder.
        project: Option<String>,
    },
    /// Run a command behind the wall, without a daemon.
    ///
    /// `provost sandbox --profile build -- make` runs it in the current folder;
    /// `--explain` prints what the command could reach instead of running it.
    Sandbox(SandboxArgs),
    /// A project's kernel process; the daemon starts it.
    #[command(hide = true)]
    Kernel(KernelArgs),
    /// Serve the files of a folder; a kernel starts it.
    #[command(hide = true)]
    Static(StaticArgs),
    /// Tell what this machine offers, and what is missing.
    Doctor(JsonArgs),
    /// Print the configuration, and where each value comes from.
    Config(JsonArgs),
    /// Print completions for a shell: `provost completions bash`.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the man page, or write those of all commands into a folder.
    Man {
        /// Where to.
        folder: Option<PathBuf>,
    },
}

impl CliCommand {
    /// Whether it needs to know where the daemon is to listen.
    pub(crate) fn needs_listen_address(&self) -> bool {
        self.serve_args().is_some() || matches!(self, Self::Config(..))
    }

    /// Whether it must work even if the configuration is broken.
    pub(crate) fn tolerates_broken_config(&self) -> bool {
        matches!(self, Self::Doctor(..) | Self::Status(..) | Self::Down { .. })
    }

    /// What was said of the daemon.
    pub(crate) fn serve_args(&self) -> Option<&ServeArgs> {
        if let Self::Serve(args) | Self::Up(UpArgs { serve: args, .. }) = self {
            Some(args)
        } else {
            None
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}
