//! Gives memory back to the system while the process is idle.
//!
//! After its start a program holds pages of its own file that it will not need again;
//! with a process per project they add up. Pages that were never changed can be
//! released at any time: Linux keeps the file in its cache and maps them again on
//! access.
#![expect(unsafe_code, reason = "releasing mappings has no safe interface")]

use std::ffi::c_void;
use std::fs;
use std::io;
use std::time::Duration;

use rustix::mm::Advice;
use rustix::time::ClockId;

/// A process that uses less CPU time than this between two calls is idle.
const IDLE_CPU_TIME: Duration = Duration::from_millis(50);

/// How many file pages must be mapped before a release is worth it.
const MIN_TRIM_PAGES: u64 = 512;

/// Releases file pages when the process is idle.
#[derive(Debug)]
pub struct MemoryTrimmer {
    computed: Duration,
    /// File pages that were still mapped after the last release.
    needed: u64,
}

impl MemoryTrimmer {
    /// Starts to measure.
    pub fn new() -> Self {
        Self { computed: process_cpu_time(), needed: 0 }
    }

    /// Releases file pages if the process was idle since the last call and holds more than
    /// it needs. Returns how many bytes were mapped.
    pub fn trim_if_idle(&mut self) -> io::Result<usize> {
        let now = process_cpu_time();
        let rests = now.saturating_sub(self.computed) < IDLE_CPU_TIME;
        self.computed = now;
        if !rests || count_file_pages()? < self.needed + MIN_TRIM_PAGES {
            return Ok(0);
        }
        let given = release_file_pages()?;
        self.needed = count_file_pages()?;
        Ok(given)
    }
}

impl Default for MemoryTrimmer {
    fn default() -> Self {
        Self::new()
    }
}

/// Releases all mapped file pages that were never written.
fn release_file_pages() -> io::Result<usize> {
    let mut given = 0;
    for MemoryMapping { start, length } in
        find_clean_mappings(&fs::read_to_string("/proc/self/smaps")?)
    {
        let start = std::ptr::with_exposed_provenance_mut::<c_void>(start);
        // SAFETY: the mapping is of a file, cannot be written, and has no page that differs
        // from the file: an access reads the same again. A mapping that was replaced
        // meanwhile could be another one, but nothing in this program unmaps code or
        // constants.
        unsafe { rustix::mm::madvise(start, length, Advice::LinuxDontNeed) }?;
        given += length;
    }
    // Heap memory that was freed.
    #[cfg(target_env = "gnu")]
    // SAFETY: the allocator's own function, which any thread may call.
    unsafe {
        libc::malloc_trim(0);
    }
    Ok(given)
}

#[derive(Debug, PartialEq, Eq)]
struct MemoryMapping {
    start: usize,
    length: usize,
}

/// The mappings of code and constants whose pages are all as in the file.
fn find_clean_mappings(smaps: &str) -> Vec<MemoryMapping> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps.lines() {
        if let Some(mapping) = parse_mapping_header(line) {
            current = mapping;
        } else if line == "Anonymous:             0 kB" {
            found.extend(current.take());
        }
    }
    found
}

/// The first line of a mapping: `Some(None)` for one that must stay.
#[expect(clippy::option_option, reason = "not a header, or a mapping that must stay")]
fn parse_mapping_header(line: &str) -> Option<Option<MemoryMapping>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let (rights, path) = (words.next()?, words.nth(3));
    let of_a_file = path.is_some_and(|path| path.starts_with('/'));
    let constant = matches!(rights, "r-xp" | "r--p");
    let mapping = MemoryMapping { start, length: end.checked_sub(start)? };
    Some((of_a_file && constant).then_some(mapping))
}

/// File pages that are mapped now.
fn count_file_pages() -> io::Result<u64> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let shared = statm.split_ascii_whitespace().nth(2).and_then(|word| word.parse().ok());
    shared.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The CPU time of this process.
fn process_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unchanged_code_and_constants_are_given_back() {
        let smaps = "\
5570-5580 r--p 00000000 fe:00 5466897    /usr/bin/provost
Rss:                   4 kB
Anonymous:             0 kB
5580-5590 r-xp 00001000 fe:00 5466897    /usr/bin/provost
Anonymous:             0 kB
5590-55a0 r--p 00002000 fe:00 5466897    /usr/bin/provost
Anonymous:             8 kB
55a0-55b0 rw-p 00002000 fe:00 5466897    /usr/bin/provost
Anonymous:             0 kB
55b0-55c0 r--p 00000000 00:00 0
Anonymous:             0 kB
55c0-55d0 r-xp 00000000 00:00 0          [vdso]
Anonymous:             0 kB
55d0-55e0 r--s 00000000 fe:00 77         /data/log.db-shm
Anonymous:             0 kB
";
        let mapping = |start| MemoryMapping { start, length: 0x10 };
        assert_eq!(find_clean_mappings(smaps), [mapping(0x5570), mapping(0x5580)]);
    }

    #[test]
    fn what_was_given_back_is_there_when_it_is_needed() {
        let before = count_file_pages().unwrap();
        let given = release_file_pages().unwrap();
        assert!(given > 64 * 1024, "{given}");
        assert!(count_file_pages().unwrap() < before, "{before}");
        // All of this runs in code that was released.
        assert_eq!(fs::read_to_string("/proc/self/statm").unwrap().split(' ').count(), 7);
    }
}
