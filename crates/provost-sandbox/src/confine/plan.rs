//! The plan of a spawn, prepared before there is a process.
//!
//! [`prepared_policy`] turns a policy into rules and mounts, [`layers`] chooses
//! the mechanisms that this machine offers, and [`spawn_plan`] holds all that
//! the supervisor and the child read: between clone and exec they only make
//! system calls.

pub(super) mod landlock_ruleset;
pub(super) mod layers;
pub(super) mod memory_folders;
pub(super) mod mounts;
pub(super) mod prepared_policy;
pub(super) mod private_folders;
pub(super) mod spawn_plan;
