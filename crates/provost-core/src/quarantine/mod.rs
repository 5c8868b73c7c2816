//! What a command may leave behind, without I/O.
//!
//! Looking at a project must not run what an agent wrote: not `git status`, not entering the
//! folder, not opening it in an editor. So everything that makes a program run something and that
//! appeared or changed while a command ran is set aside. Inside git's own folders the rule is an
//! allow list of what git itself writes ([`git_entries`]), and of its configuration a list of
//! harmless settings ([`git_settings`]); elsewhere it is the list of
//! [`protected_paths`](crate::action::protected_paths), files that a tool uses in place of the
//! project's own ([`build_files`]), and variables that make programs run code ([`env_files`]). The kernel finds the files and moves them.

pub mod build_files;
pub mod env_files;
pub mod git_entries;
pub mod git_settings;
pub mod rebase_todo;

/// Where in the data folder of Provost the content that was set aside is kept, by project.
pub const QUARANTINE_FOLDER: &str = "quarantine";
