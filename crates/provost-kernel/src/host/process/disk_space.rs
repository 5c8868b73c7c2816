//! Stops a command that fills the disk before the machine, and the log, run out of
//! space.

use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use rustix::fs::StatVfs;

/// How often to check.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Upper limit of the reserve, in bytes; on a small disk it is a twentieth.
const MAX_RESERVED_BYTES: u64 = 256 * 1024 * 1024;

/// The disks that a command can write to, by folder.
#[derive(Debug, Clone)]
pub(in crate::host) struct DiskSpaceGuard(Vec<PathBuf>);

impl DiskSpaceGuard {
    pub(in crate::host) fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(folders.into_iter().collect())
    }

    /// Fails if a disk is nearly full.
    pub(in crate::host) fn check(&self) -> Result<(), ErrorInfo> {
        match self.0.iter().find(|folder| is_low(folder)) {
            None => Ok(()),
            Some(folder) => Err(ErrorInfo {
                code: Code::NoSpace,
                message: format!(
                    "the disk of {} is nearly full; free some space",
                    folder.display()
                ),
                details: None,
            }),
        }
    }

    /// Waits until a disk is nearly full.
    pub(in crate::host) async fn wait_until_low(&self) -> ErrorInfo {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            if let Err(fault) = self.check() {
                return fault;
            }
        }
    }
}

fn is_low(folder: &Path) -> bool {
    // A disk that cannot be queried counts as not full.
    rustix::fs::statvfs(folder).is_ok_and(|disk| free_bytes(&disk) < min_free_bytes(&disk))
}

fn free_bytes(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

fn min_free_bytes(disk: &StatVfs) -> u64 {
    MAX_RESERVED_BYTES.min(disk.f_blocks.saturating_mul(disk.f_frsize) / 20)
}
