//! The folders that `provost sandbox` needs to know.

use std::fs;
use std::io;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::{Config, MissingFilePolicy, locate_config_file, resolve_data_folder};
use crate::args::Cli;

/// The user's home, and Provost's own data, which is hidden.
#[derive(Debug)]
pub(crate) struct SandboxFolders {
    pub(crate) home: PathBuf,
    pub(crate) data: PathBuf,
}

impl SandboxFolders {
    /// Resolves them. Without a configuration file, nothing else of the configuration is: the
    /// built-in models and prices take longer than starting a command.
    pub(crate) fn resolve(cli: &Cli) -> anyhow::Result<Self> {
        let base_dirs = etcetera::choose_base_strategy().ok();
        let config_dir = base_dirs.as_ref().map(etcetera::BaseStrategy::config_dir);
        let (file, missing) = locate_config_file(config_dir);
        let is_missing =
            || fs::metadata(&file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if missing == MissingFilePolicy::UseDefaults && is_missing() {
            let default = base_dirs.as_ref().map(|dirs| dirs.data_dir().join("provost"));
            let data = resolve_data_folder(default, None, cli)?.value;
            let home = base_dirs.map(|dirs| dirs.home_dir().to_owned());
            return Ok(Self { home: home.unwrap_or_else(|| "/".into()), data });
        }
        Ok(Self::from_config(&Config::resolve(cli)?))
    }

    pub(crate) fn from_config(config: &Config) -> Self {
        let home = config.home.clone().unwrap_or_else(|| "/".into());
        Self { home, data: config.data.value.clone() }
    }
}
