//! What governs agents: approvals, modes, roles, rules, grants and tokens.

pub(crate) mod approvals;
pub(crate) mod grants;
pub(crate) mod mode;
pub(crate) mod policy;
pub(crate) mod roles;
pub(crate) mod token;
