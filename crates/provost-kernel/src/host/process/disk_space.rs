//! Stops a command that fills the disk before the machine, and the log, run out of
//! space; and one that runs when the machine runs out of memory: each has a limit, but
//! many at once can use all, and without cgroups a limit holds for each process only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use rustix::fs::StatVfs;

/// How often to check.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Upper limit of the reserve, in bytes; on a small disk it is a twentieth.
const MAX_RESERVED_BYTES: u64 = 256 * 1024 * 1024;

/// Upper limit of the memory that stays free, in KiB; on a small machine it is a part.
const MAX_RESERVED_MEMORY_KIB: u64 = 512 * 1024;
const RESERVED_MEMORY_PART: u64 = 20;

/// The disks that a command can write to, by folder.
#[derive(Debug, Clone)]
pub(in crate::host) struct DiskSpaceGuard(Vec<PathBuf>);

impl DiskSpaceGuard {
    pub(in crate::host) fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(folders.into_iter().collect())
    }

    /// Fails if a disk or the memory is nearly full.
    pub(in crate::host) fn check(&self) -> Result<(), ErrorInfo> {
        if is_memory_low(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default()) {
            let message =
                "the machine is nearly out of memory; stop something, or run less at once";
            return Err(ErrorInfo {
                code: Code::Killed,
                message: message.to_owned(),
                details: None,
            });
        }
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

    /// Waits until a disk or the memory is nearly full.
    pub(in crate::host) async fn wait_until_low(&self) -> ErrorInfo {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            if let Err(fault) = self.check() {
                return fault;
            }
        }
    }
}

/// Whether little memory is available, by the text of `/proc/meminfo`. Unknown counts as
/// enough.
fn is_memory_low(text: &str) -> bool {
    let kibibytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    let (total, available) = (kibibytes("MemTotal:"), kibibytes("MemAvailable:"));
    total.zip(available).is_some_and(|(total, available)| {
        available < MAX_RESERVED_MEMORY_KIB.min(total / RESERVED_MEMORY_PART)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_is_noticed_and_unknown_is_enough() {
        let text = |available| format!("MemTotal: 8000000 kB\nMemAvailable: {available} kB\n");
        assert!(is_memory_low(&text(399_000)));
        assert!(!is_memory_low(&text(401_000)));
        assert!(!is_memory_low(""));
        let large = "MemTotal:       99000000 kB\nMemAvailable:     600000 kB\n";
        assert!(!is_memory_low(large));
    }
}
