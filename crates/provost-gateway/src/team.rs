//! What belongs to the team that shares a daemon: its members' tokens and logins, and
//! which folders are projects.

pub(crate) mod auth;
pub(crate) mod project_folder;
pub(crate) mod project_template;
pub(crate) mod projects;
