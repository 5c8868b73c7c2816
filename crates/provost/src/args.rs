//! The command line: commands, options and their help texts.

mod audit;
mod chat;
mod daemon;
#[cfg(test)]
mod golden;
mod govern;
mod log;
mod notebook;
mod project;
mod runtime;
mod sandbox_command;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use audit::{AuditArgs, AuditCommand, EventsArgs};
pub(crate) use chat::{ChatArgs, SessionsArgs, UsageArgs};
pub(crate) use daemon::{KernelArgs, ServeArgs, UpArgs};
pub(crate) use govern::{
    AllowArgs, ApprovalsArgs, ApprovalsCommand, DenyArgs, ExplainArgs, GrantsArgs, GrantsCommand,
    LayerArg, ModeArgs, PolicyArgs, PolicyCommand, ProjectScopeArgs, RolesArgs, RolesCommand,
    TokenCommand,
};
pub(crate) use log::{LogArgs, LogCommand};
pub(crate) use notebook::{
    NotebookProjectArgs, NotebookRunArgs, NotebookRuntimeArgs, NotebookSubcommand, RuntimeTypeArg,
};
pub(crate) use project::{DoActionArgs, InitArgs, ProfileArg, ProjectsCommand, SandboxArgs};
pub(crate) use runtime::{BuildArgs, LogsArgs, PreviewArgs, RunArgs, StaticArgs, StopArgs};
pub(crate) use sandbox_command::parse_sandbox_command;

/// The runtime authority for AI agents: agents request, people approve, Provost executes.
///
/// Start with `provost up` in a project's folder: it starts the daemon if none
/// is running, opens the folder as a project and prints a login link for your
/// browser. `provost events --follow` prints events as they happen.
///
/// To connect an agent: write a role, trust it with `provost roles trust`, create
/// a token with `provost token create --class agent --project P --role R`, and
/// answer its approvals with `provost approvals watch`. `provost audit` shows
/// past actions.
#[derive(Debug, Parser)]
#[command(name = "provost", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Data folder with the log, the token and the lock; selects the daemon [env: `PROVOST_DATA`].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Start the daemon if needed, open a project and print a login link.
    Up(UpArgs),
    /// Run the daemon in the foreground.
    Serve(ServeArgs),
    /// Stop the daemon and everything it runs.
    Down {
        /// Stop only the daemon; kernels and what runs in them keep running.
        #[arg(long)]
        keep: bool,
    },
    /// Show whether the daemon is running, and the open projects.
    Status(JsonArgs),
    /// List, open and close projects.
    Projects {
        #[command(subcommand)]
        what: Option<ProjectsCommand>,
        #[command(flatten)]
        json: JsonArgs,
        /// Include closed projects.
        #[arg(long)]
        all: bool,
    },
    /// Run a project's dev server: build if needed, start it, print the preview URL.
    ///
    /// The commands come from the project's `provost.toml`, or are detected from
    /// package.json, Cargo.toml and similar files; `provost init` writes the
    /// detected commands to `provost.toml`. A server that is already running is
    /// not restarted. Exits with 5 if the server crashed, with 6 if the build
    /// failed.
    Run(RunArgs),
    /// Stop a project's dev server and build, with all their processes.
    Stop(StopArgs),
    /// Restart a project's dev server.
    Restart(RunArgs),
    /// Build a project; print the output of the build and its errors.
    ///
    /// Exits with 6 if the build failed.
    Build(BuildArgs),
    /// Print the output of a project's builds and dev server.
    Logs(LogsArgs),
    /// Open a project's preview in the browser.
    Preview(PreviewArgs),
    /// Write a `provost.toml` with the detected commands.
    Init(InitArgs),
    /// Chat with a model that acts in a role of this project.
    ///
    /// The role limits what the model may request; approvals are shown and answered
    /// in the conversation. `provost chat -p 'fix the test' --role dev` sends one
    /// message, prints the answer and exits; piped input is sent as the message.
    /// Ctrl-C cancels a turn.
    Chat(ChatArgs),
    /// List sessions with models; show or close one.
    Sessions(SessionsArgs),
    /// Show the tokens that models used and their cost.
    Usage(UsageArgs),
    /// Print the events of the log.
    Events(EventsArgs),
    /// List past actions, show the report of one, verify the log.
    ///
    /// `provost audit` lists the latest actions. `provost audit --action ID`
    /// shows who requested it, which rule or person decided, how it ran and what
    /// changed; the end of an id is enough. `provost audit verify` detects
    /// changed events.
    Audit(AuditArgs),
    /// Archive older events of the log; list its segment files.
    Log(LogArgs),
    /// List, watch and answer the approvals that agents request.
    ///
    /// `provost approvals watch` shows approvals as they are requested and reads
    /// your answers. `provost approvals allow ID` shows the approval in full, asks
    /// for confirmation and lets the action run; `provost approvals deny ID
    /// --message 'use npm ci instead'` sends the agent a reason. The end of an id
    /// is enough.
    Approvals(ApprovalsArgs),
    /// Show or set what runs without an approval: sandbox, auto or full.
    ///
    /// sandbox: reads in the project run, everything else needs an approval. auto:
    /// actions that stay inside the sandbox run, others need an approval. full:
    /// only dangerous actions need an approval; this mode ends after 60 minutes,
    /// or after `--minutes`.
    Mode(ModeArgs),
    /// List, check and trust the roles of a project; change a role's model.
    ///
    /// A role is a Markdown file in `.provost/roles/` that defines what an agent may
    /// request. It has no effect until you trust it, and a changed file must be
    /// trusted again: `provost roles trust` shows the file or its changes.
    Roles(RolesArgs),
    /// List, check, explain, test and simulate policy rules.
    ///
    /// Rules are in your own `policy.toml` (`provost config` prints its path) and in a
    /// project's `.provost/policy.toml`. `provost policy explain -- git push`
    /// shows the decision for a command, and the rule that makes it.
    Policy(PolicyArgs),
    /// List and revoke grants: answers that cover more than one action.
    Grants(GrantsArgs),
    /// Create, list and revoke tokens.
    Token {
        #[command(subcommand)]
        what: TokenCommand,
    },
    /// List, create, show, import, export and run notebooks.
    ///
    /// `provost token create --class runtime --notebook ID` creates a token with
    /// which a runtime executes the cells of one notebook.
    Notebook {
        #[command(subcommand)]
        what: NotebookSubcommand,
    },
    /// Execute the cells of a notebook, on this or another machine, until it is stopped.
    ///
    /// It takes the place of the runtime that executed them before, and stops when
    /// another one takes its own. Ctrl-C interrupts a running cell; otherwise, or a
    /// second time, it stops the runtime, as SIGTERM does at once.
    #[command(name = "runtime")]
    NotebookRuntime(NotebookRuntimeArgs),
    /// Execute an action in a project, recorded and sandboxed.
    ///
    /// For example: `provost do fs.readFile path=README.md`, or
    /// `provost do terminal.runCommand command='cargo test'`. The output of a
    /// command is streamed; Ctrl-C stops it. Values are parsed as JSON if possible,
    /// else taken as text. With `--role R` the action is evaluated as if an agent in
    /// that role had requested it: by the role's skills, the rules, the mode, and you.
    #[command(name = "do")]
    Act(DoActionArgs),
    /// Attach to a project's terminal, which people, the browser and agents share.
    ///
    /// It uses the whole window. Ctrl-\\ and then d detaches: the terminal and its
    /// processes keep running. Ctrl-\\ twice sends it once. When the shell exits, this
    /// command exits with the same status.
    Attach {
        /// The project: id or short name; default: the project of the current folder.
        project: Option<String>,
    },
    /// Run a command in the sandbox, without a daemon.
    ///
    /// `provost sandbox --profile build -- make` runs it in the current folder;
    /// `--explain` prints what the command could access instead of running it. The home
    /// and `/tmp` of a command without the network are in memory and end with it.
    Sandbox(SandboxArgs),
    /// Run a project's kernel; started by the daemon.
    #[command(hide = true)]
    Kernel(KernelArgs),
    /// Serve the files of a folder; started by a kernel.
    #[command(hide = true)]
    Static(StaticArgs),
    /// Check which sandbox features this machine supports.
    Doctor(JsonArgs),
    /// Print the configuration and the source of each value.
    Config(JsonArgs),
    /// Print shell completions: `provost completions bash`.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the man page, or write the pages of all commands to a folder.
    Man {
        /// The folder to write to.
        folder: Option<PathBuf>,
    },
}

impl CliCommand {
    /// Whether the command uses the address that the daemon will listen on.
    pub(crate) fn needs_listen_address(&self) -> bool {
        self.serve_args().is_some() || matches!(self, Self::Config(..))
    }

    /// Whether the command must work even if `config.toml` is invalid.
    pub(crate) fn tolerates_broken_config(&self) -> bool {
        matches!(self, Self::Doctor(..) | Self::Status(..) | Self::Down { .. })
    }

    /// The daemon options of the command, if it has any.
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
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests;
