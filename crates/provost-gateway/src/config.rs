//! What the gateway is told at start: the daemon's owner, and the machine's folders.

use std::path::PathBuf;
use std::time::Duration;

use provost_core::redact::Secrets;
use provost_kernel::DaemonSettings;
use provost_proto::{Hash, Principal, limits};

/// The person who runs the daemon.
#[derive(Debug, Clone)]
pub struct DaemonOwner {
    /// `local:<user>`.
    pub principal: Principal,
    /// BLAKE3 of the token in the data folder.
    pub digest: Hash,
}

/// Settings of the gateway.
#[derive(Debug, Clone, Default)]
pub struct GatewayConfig {
    /// The owner's home folder, to which `~` expands.
    pub home: Option<PathBuf>,
    /// Further home folders, such as that of the passwd entry.
    pub homes: Vec<PathBuf>,
    /// The data folder of the daemon.
    pub data: PathBuf,
    /// The executable of the daemon, which kernels run too.
    pub program: PathBuf,
    /// The umask of commands and file actions.
    pub umask: u32,
    /// How long an idle kernel waits for a daemon before it exits.
    pub kernel_idle: Duration,
    /// The owner's `policy.toml`.
    pub policy: PathBuf,
    /// The owner's `config.toml`.
    pub config: PathBuf,
    /// The search path for programs; approval prompts show what would run.
    pub path: Vec<PathBuf>,
    /// How long an approval stays pending before it expires.
    pub approval_ttl: Duration,
    /// How much agents may add to the log.
    pub log_quota: LogQuotaLimits,
    /// When older events move into segment files.
    pub log_archive: LogArchiveSettings,
    /// Secrets that are neither stored nor streamed. Kept in memory only.
    pub secrets: Secrets,
    /// The ports of the daemon and of its previews, on which no run may listen.
    pub ports: Vec<u16>,
}

impl GatewayConfig {
    /// What kernels must know of the daemon.
    pub(crate) fn daemon_settings(&self) -> DaemonSettings<'_> {
        DaemonSettings { secrets: &self.secrets, ports: &self.ports }
    }
}

/// An allowance that fills again with time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteAllowance {
    /// How much it holds when it is full.
    pub most: u64,
    /// What is added to it each second; more than zero.
    pub per_second: u64,
}

/// When older events move into segment files; never by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogArchiveSettings {
    /// Events older than this.
    pub max_age: Option<Duration>,
    /// The oldest events, while the database holds more bytes than this.
    pub max_log_bytes: Option<u64>,
}

/// How much agents may add to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQuotaLimits {
    /// The allowance of one principal.
    pub principal: ByteAllowance,
    /// The allowance of all agents of a project.
    pub project: ByteAllowance,
    /// The size of the log beyond which requests of agents are refused.
    pub max_log_bytes: u64,
}

impl Default for LogQuotaLimits {
    fn default() -> Self {
        Self {
            principal: ByteAllowance { most: 256 << 20, per_second: 512 << 10 },
            project: ByteAllowance { most: 1 << 30, per_second: 1 << 20 },
            max_log_bytes: limits::MAX_LOG_BYTES,
        }
    }
}
