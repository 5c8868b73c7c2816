//! What belongs to the team that shares a daemon: its members' tokens and logins, and
//! which folders are projects.

pub(crate) mod login;
pub(crate) mod new_project;
pub(crate) mod project_folder;
pub(crate) mod projects;
pub(crate) mod tokens;
