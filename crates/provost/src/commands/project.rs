//! Projects: open and close them, and act in them without an agent.

pub(crate) mod do_action;
pub(crate) mod init;
pub(crate) mod notebooks;
pub(crate) mod projects;
pub(crate) mod sandbox;
