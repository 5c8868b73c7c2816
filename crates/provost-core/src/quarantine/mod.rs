//! What a command may leave behind, without I/O.
//!
//! Looking at a project must not run what an agent wrote: not `git status`, not entering the
//! folder, not opening it in an editor. So everything that makes a program run something and that
//! appeared or changed while a command ran is set aside. Inside git's own folders the rule is an
//! allow list of what git itself writes ([`git_entries`]), and of its configuration a list of
//! harmless settings ([`git_settings`]); of names that begin with a dot, a list of the harmless ones
//! ([`hidden_names`]); elsewhere it is the list of
//! [`protected_paths`](crate::action::protected_paths), files that a tool uses in place of the
//! project's own ([`build_files`]), and variables that make programs run code ([`env_files`]). The
//! kernel finds the files and moves them; it puts one back after a person was shown it.

pub mod build_files;
pub mod env_files;
pub mod git_entries;
pub mod git_settings;
pub mod hidden_names;
pub mod rebase_todo;

/// What an agent is told whose action left something that was set aside.
pub const PUT_BACK_HINT: &str = "what would run by itself was set aside; if the person wants it, \
request it with `fs.restoreFile` by its path and id, or write it with `fs.writeFile`: they are \
asked and shown its content";

/// Where in the data folder of Provost the content that was set aside is kept, by project.
pub const QUARANTINE_FOLDER: &str = "quarantine";
