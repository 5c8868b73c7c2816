//! Runs a test suite and counts the processes that it leaves behind.
//!
//! While a suite runs, every orphan below it becomes our child (`PR_SET_CHILD_SUBREAPER`),
//! whoever owns it and whether or not it can be inspected. So nothing has to be searched for.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

use crate::shell;

/// How long processes that were told to end may take after the suite.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Prints and runs a suite. A failure is an error, and so is a process that is left behind;
/// such processes are named and killed.
pub(crate) fn run_suite(command: &mut Command) -> Result<()> {
    let line = shell::print_command(command);
    set_child_subreaper(Some(getpid()))?;
    let finished = run_and_reap(command).with_context(|| format!("cannot run `{line}`"));
    let left = end_leftover_processes();
    set_child_subreaper(None)?;
    let (status, left) = (finished?, left?);
    if !left.is_empty() {
        let (n, names) = (left.len(), left.join("\n  "));
        bail!("`{line}` ({status}) left {n} processes behind:\n  {names}");
    }
    println!("no process is left behind");
    shell::expect_success(&line, status)
}

/// Waits for the command, and meanwhile reaps orphans: tests wait for their end.
fn run_and_reap(command: &mut Command) -> Result<ExitStatus> {
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if Some(ended) == pid => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until all children have ended. Returns the command lines of those that do not, with
/// their descendants, and kills them.
fn end_leftover_processes() -> Result<Vec<String>> {
    if children_end_within(EXIT_TIMEOUT, || ())? {
        return Ok(Vec::new());
    }
    let left = find_descendants(getpid());
    let names = left.iter().map(ToString::to_string).collect();
    // The children of a killed process become ours, and are killed next.
    let kill_children = || {
        for process in find_descendants(getpid()) {
            if process.parent == getpid().as_raw_nonzero().get()
                && let Some(pid) = Pid::from_raw(process.pid)
            {
                // Until we reap it, its pid belongs to no other process.
                let _gone = kill_process(pid, Signal::KILL);
            }
        }
    };
    if !children_end_within(EXIT_TIMEOUT, kill_children)? {
        println!("some of the processes that are left behind cannot be killed");
    }
    Ok(names)
}

fn children_end_within(limit: Duration, mut each_time: impl FnMut()) -> Result<bool> {
    let start = Instant::now();
    loop {
        each_time();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(Errno::CHILD) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        if start.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

struct ProcessEntry {
    pid: i32,
    parent: i32,
    command_line: String,
}

impl std::fmt::Display for ProcessEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (child of {}): {}", self.pid, self.parent, self.command_line)
    }
}

/// The descendants of a process. What is read of them is readable for every user.
fn find_descendants(ancestor: Pid) -> Vec<ProcessEntry> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut others: Vec<_> = entries.filter_map(|entry| read_process(&entry.path())).collect();
    let mut known = vec![ancestor.as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(at) = others.iter().position(|process| known.contains(&process.parent)) {
        let process = others.swap_remove(at);
        known.push(process.pid);
        found.push(process);
    }
    found
}

fn read_process(folder: &Path) -> Option<ProcessEntry> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // The name in parentheses may contain anything, also parentheses.
    let (before, after) = stat.rsplit_once(')')?;
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let name = before.split_once('(')?.1;
    let command_line = if line.is_empty() { format!("[{name}]") } else { line };
    Some(ProcessEntry { pid, parent, command_line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_outlives_its_parent_is_named_and_killed() {
        let mut suite = shell::program("sh", &["-c", "sleep 4321 & exit 0"]);
        let error = run_suite(&mut suite).unwrap_err().to_string();
        assert!(error.contains("left 1 processes behind"), "{error}");
        assert!(error.contains("sleep 4321"), "{error}");
        assert!(find_descendants(getpid()).is_empty());
        let mut suite = shell::program("sh", &["-c", "sleep 0.1 & exit 3"]);
        let error = run_suite(&mut suite).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
    }
}
