//! The arguments, and the help that teaches them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use provost_proto::{Stream, TokenClass};

/// The runtime authority for AI agents: agents ask, people decide, Provost runs it.
///
/// Start with `provost up` in a project's folder: it starts the daemon if none
/// runs, opens the folder as a project and prints a link that logs your browser
/// in. `provost events --follow` shows what happens, as it happens.
#[derive(Debug, Parser)]
#[command(name = "provost", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Where Provost keeps its log, token and lock; it selects the daemon [env: `PROVOST_DATA`].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    /// Print the events of the log.
    Events(EventsArgs),
    /// Check the log.
    Audit {
        #[command(subcommand)]
        what: AuditCommand,
    },
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
    /// read as JSON, else text.
    #[command(name = "do")]
    Act(ActArgs),
    /// Run a command behind the wall, without a daemon.
    ///
    /// `provost sandbox --profile build -- make` runs it in the current folder;
    /// `--explain` prints what the command could reach instead of running it.
    Sandbox(SandboxArgs),
    /// A project's kernel process; the daemon starts it.
    #[command(hide = true)]
    Kernel(KernelArgs),
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

impl Command {
    /// Whether it needs to know where the daemon is to listen.
    pub(crate) fn listens(&self) -> bool {
        self.serve_args().is_some() || matches!(self, Self::Config(..))
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

#[derive(Debug, Args)]
pub(crate) struct ActArgs {
    /// The action: fs.readFile, fs.writeFile, terminal.runCommand, …
    pub(crate) action: String,
    /// Its parameters.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// All parameters as one JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// The project: id or short name; that of the current folder if left out.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// How much it may do.
    #[arg(long, value_enum, default_value = "build")]
    pub(crate) profile: ProfileArg,
    /// Print what it could reach, and do not run it.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The command.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// A profile as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProfileArg {
    /// The project can be read; no network.
    Read,
    /// The project and the tools' caches can be written; no network.
    Build,
    /// As build, and it may listen.
    Serve,
    /// Your own shell, without Provost's own data.
    Terminal,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Where it meets the daemon.
    #[arg(long)]
    pub(crate) place: PathBuf,
    /// The project's folder.
    #[arg(long)]
    pub(crate) project: PathBuf,
    /// The person's home.
    #[arg(long)]
    pub(crate) home: PathBuf,
    /// What commands leave out of the permissions of what they make.
    #[arg(long)]
    pub(crate) umask: u32,
    /// How long it waits for a daemon while nothing runs.
    #[arg(long)]
    pub(crate) idle_seconds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The folder to open; the current one if left out.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Do not open a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServeArgs {
    /// Where to listen [env: `PROVOST_LISTEN`] [default: 127.0.0.1:3001].
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// A further name under which Provost may be called; needed beyond loopback
    /// [env: `PROVOST_ALLOW_HOSTS`].
    #[arg(long = "allow-host", value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_hosts: Option<Vec<String>>,
    /// What to log: a level, or `module=level` pairs [env: `PROVOST_LOG`] [default: info].
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectsCommand {
    /// Open a folder as a project.
    Open {
        /// The folder.
        path: PathBuf,
    },
    /// Close a project; its folder and history stay.
    Close {
        /// Its id or its short name.
        project: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Go on printing as events happen.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only this stream: sys, project/<id>, session/<id>, notebook/<id>.
    #[arg(long, value_name = "S")]
    pub(crate) stream: Option<Stream>,
    /// Only what came after this event.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Walk the hash chain; name the first event that is not what it was.
    ///
    /// Asks the daemon if one runs, else reads the log itself. Exits with 4 if
    /// the log was changed.
    Verify(JsonArgs),
    /// Fold the views again from the log: the lists of projects and tokens.
    ///
    /// They are only a copy of what the events say, so nothing is lost. The
    /// daemon must not run.
    Rebuild,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Hand out a token; it is shown this once.
    Create {
        /// What it may do.
        #[arg(long, value_enum)]
        class: Class,
        /// The only project it may see: id or short name.
        #[arg(long, value_name = "P")]
        project: Option<String>,
        /// The role it acts in; agents only.
        #[arg(long, value_name = "R")]
        role: Option<String>,
        /// What it is for.
        #[arg(long)]
        label: Option<String>,
        /// How many minutes it lives; until revoked if left out.
        #[arg(long, value_name = "N")]
        minutes: Option<u32>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List the tokens that still work.
    List(JsonArgs),
    /// Take a token back.
    Revoke {
        /// Its id, as `list` shows it.
        id: String,
    },
}

/// [`TokenClass`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Class {
    /// A person: may decide.
    Operator,
    /// May request, never decide.
    Agent,
    /// The runtime of a notebook.
    Runtime,
    /// May look.
    Viewer,
}

impl From<Class> for TokenClass {
    fn from(class: Class) -> Self {
        match class {
            Class::Operator => Self::Operator,
            Class::Agent => Self::Agent,
            Class::Runtime => Self::Runtime,
            Class::Viewer => Self::Viewer,
        }
    }
}
