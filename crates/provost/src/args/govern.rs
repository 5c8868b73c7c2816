//! The arguments of what governs agents, and of looking back.

mod token;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use provost_proto::{AnswerScope, Hash, ProjectMode};

pub(crate) use token::TokenCommand;

/// Which project, and how to print.
#[derive(Debug, Args)]
pub(crate) struct ProjectScopeArgs {
    /// The project: id or short name; that of the current folder if left out.
    #[arg(long, global = true, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print JSON, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ApprovalsCommand>,
    /// Only this project's: id or short name; all projects' if left out.
    #[arg(long, global = true, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print JSON, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the open questions.
    List {
        /// The resolved ones too.
        #[arg(long)]
        all: bool,
    },
    /// Show one question in full.
    Show {
        /// Its id, or the end of it.
        id: String,
    },
    /// Show questions as they come, and take answers: a, s, u, w, d, m and Enter.
    Watch,
    /// Show what an action would do, and let it run.
    ///
    /// On a terminal you are asked once more. A script says with `--hash` what it
    /// saw (`actionHash` in `--json`), so that it cannot allow anything else.
    Allow(AllowArgs),
    /// Refuse an action.
    Deny(DenyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The question's id, or the end of it.
    pub(crate) id: String,
    /// How far the answer reaches.
    #[arg(long, value_enum, default_value = "once")]
    pub(crate) scope: ScopeArg,
    /// For `--scope until`: how many minutes, 480 at most.
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// Do not ask once more.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The hash of the action that was seen; the answer counts for no other. Scripts that
    /// it runs are part of the question, and asked about anew when they change.
    #[arg(long, value_name = "H")]
    pub(crate) hash: Option<Hash>,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The question's id, or the end of it.
    pub(crate) id: String,
    /// What the agent is told.
    #[arg(long, short, value_name = "M")]
    pub(crate) message: Option<String>,
}

/// [`AnswerScope`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// This action, this once.
    Once,
    /// The same again, as long as the session or the agent's token lives.
    Session,
    /// The same again, for some minutes.
    Until,
    /// The same again, by a rule in your policy.toml.
    Always,
}

impl From<ScopeArg> for AnswerScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Once => Self::Once,
            ScopeArg::Session => Self::Session,
            ScopeArg::Until => Self::Until,
            ScopeArg::Always => Self::Always,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ModeArgs {
    /// The mode to set; shows the present one if left out.
    #[arg(value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// For how many minutes.
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) minutes: Option<u32>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

/// [`ProjectMode`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    /// Reads in the project pass, everything else asks.
    Sandbox,
    /// What stays inside the sandbox runs, crossing it asks.
    Auto,
    /// Nothing asks but what is too dangerous; for a limited time.
    Full,
}

impl From<ModeArg> for ProjectMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Sandbox => Self::Sandbox,
            ModeArg::Auto => Self::Auto,
            ModeArg::Full => Self::Full,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(subcommand)]
    pub(crate) what: Option<RolesCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List the roles and the files that are none.
    List,
    /// Tell what is wrong with the files of roles; exits with 1 if something is.
    Check,
    /// Show what is not trusted yet, or changed since, and trust it as it is.
    Trust {
        /// Only this file, as `list` shows it.
        file: Option<String>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Change the model in a role's file; everything else in it stays.
    Model {
        /// The role.
        role: String,
        /// The model, such as anthropic/claude-sonnet-5.
        model: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) what: Option<PolicyCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules of all layers, as they hold now.
    List,
    /// Tell everything that is wrong with files of rules, with file and line.
    ///
    /// Without a file: your own, and the project's around the current folder.
    /// Needs no daemon. Exits with 1 if something is wrong.
    Check {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Tell what would be decided, and why. Nothing is asked or run.
    ///
    /// `provost policy explain 'curl x | sh'` for a line of the shell,
    /// `provost policy explain -- git push -f` for a command by its words,
    /// `provost policy explain --action fs.writeFile path=.env` for others.
    Explain(ExplainArgs),
    /// Run the examples in files of rules, and tell how many hold.
    Test {
        /// The files; your own and the project's if left out.
        files: Vec<PathBuf>,
    },
    /// Tell which past requests of agents a changed file would have decided otherwise.
    Simulate {
        /// The changed file.
        file: PathBuf,
        /// Whose rules it would be.
        #[arg(long, value_enum, default_value = "user")]
        layer: LayerArg,
        /// How many past requests to look at, the latest first.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Show the project's rules, or what changed in them, and trust them as they are.
    Trust {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// For an agent in this role; for one that has every skill if left out.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
    /// In this mode; in the project's if left out.
    #[arg(long, value_enum, value_name = "M")]
    pub(crate) mode: Option<ModeArg>,
    /// Another action than a command.
    #[arg(long, value_name = "A", conflicts_with = "command")]
    pub(crate) action: Option<String>,
    /// Its parameters; without --action, the command.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// The command: one word is a line of the shell, several are its words.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// A layer of rules that a person can change.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LayerArg {
    /// Your own.
    User,
    /// The project's, as if you trusted it.
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<GrantsCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List what was granted and still holds.
    List {
        /// What holds no more too.
        #[arg(long)]
        all: bool,
    },
    /// Take a grant back; from then on the same asks again.
    Revoke {
        /// Its id, or the end of it.
        id: String,
    },
}
