//! Names the path that a failed command could not read, by what it printed.
//!
//! The Linux kernel tells nobody which path Landlock denied, so the last lines of the
//! output are searched for an error with a path outside what the sandbox lets it read.
//! Whether the path exists is not checked: a command must not learn that from us.

use std::path::Path;

use provost_sandbox::sandbox_policy::SandboxPolicy;

/// How much of the output is searched, in bytes.
pub(super) const SEARCHED_BYTES: usize = 16 * 1024;

/// What programs print for a path that they cannot read or do not find.
const ERRORS: &[&str] = &["ermission denied", "EACCES", "o such file", "ENOENT", "annot open"];

/// The first path in an error message that the policy does not make readable.
pub(super) fn find_unreadable_path(output: &str, policy: &SandboxPolicy) -> Option<String> {
    let is_error = |line: &&str| ERRORS.iter().any(|error| line.contains(error));
    let separates = |c: char| c.is_whitespace() || "'\"`:()[]<>,;=".contains(c);
    let words = output.lines().filter(is_error).flat_map(|line| line.split(separates));
    words
        .filter(|word| word.len() > 1 && word.starts_with('/') && !word.contains("/../"))
        .find(|word| !policy.can_read(Path::new(word)))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxProfile};

    use super::*;

    #[test]
    fn the_path_that_the_sandbox_withholds_is_named() {
        let paths = SandboxPaths {
            project: Path::new("/home/u/p"),
            home: Path::new("/home/u"),
            data: Path::new("/home/u/.local/share/provost"),
            scratch: Path::new("/tmp/scratch"),
            run_homes: Path::new("/home/u/.local/share/provost/homes/1"),
            readable: &[],
        };
        let policy = SandboxPolicy::new(SandboxProfile::Build, &paths);
        let find = |text: &str| find_unreadable_path(text, &policy);
        let text = "reading\ncat: '/home/u/data/x': No such file or directory\n";
        assert_eq!(find(text).as_deref(), Some("/home/u/data/x"));
        assert_eq!(find("open(\"/srv/m\"): Permission denied").as_deref(), Some("/srv/m"));
        for text in [
            "cat: /home/u/p/x: No such file or directory",
            "cat: /usr/lib/x: No such file or directory",
            "wrote /srv/m",
            "cat: x: Permission denied",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
