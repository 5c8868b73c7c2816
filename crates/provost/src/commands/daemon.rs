//! The daemon and the installation: start, stop, inspect, configure.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod kernel;
pub(crate) mod provider_keys;
pub(crate) mod status;
pub(crate) mod up;
