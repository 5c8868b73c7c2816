//! What of the sandbox made a command fail, by what it printed: a path that it could not
//! read, or the network that it does not have.
//!
//! The Linux kernel tells nobody which path Landlock denied or which connection found no
//! route, so the last lines of the output are searched: for an error with a path outside
//! what the sandbox lets it read, and, if the sandbox has no network, for an error of a
//! lookup or a connection. Whether the path exists is not checked: a command must not
//! learn that from us.

use std::path::Path;

use provost_sandbox::sandbox_policy::{NetworkAccess, SandboxPolicy};

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

/// What programs and libraries print, in lower case, if a name cannot be looked up or a
/// host cannot be reached. Where seccomp denies the sockets, it is the address family.
const NETWORK_ERRORS: &[&str] = &[
    "resolve host",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "nodename nor servname",
    "no such host",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "lookup address information",
    "network is unreachable",
    "enetunreach",
    "no route to host",
    "failed to establish a new connection",
    "failed to connect",
    "couldn't connect",
    "could not connect",
    "connection refused",
    "econnrefused",
    "dial tcp",
    "address family not supported",
    "eafnosupport",
];

/// Whether a failed command may have failed for want of the network: the policy has none,
/// and an error names a lookup or a connection.
pub(super) fn names_missing_network(output: &str, policy: &SandboxPolicy) -> bool {
    let output = output.to_ascii_lowercase();
    policy.network == NetworkAccess::None
        && NETWORK_ERRORS.iter().any(|error| output.contains(error))
}

#[cfg(test)]
mod tests {
    use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxProfile};

    use super::*;

    fn build_policy() -> SandboxPolicy {
        let paths = SandboxPaths {
            project: Path::new("/home/u/p"),
            home: Path::new("/home/u"),
            data: Path::new("/home/u/.local/share/provost"),
            scratch: Path::new("/tmp/scratch"),
            run_homes: Path::new("/home/u/.local/share/provost/homes/1"),
            readable: &[],
            private: &[],
        };
        SandboxPolicy::new(SandboxProfile::Build, &paths)
    }

    #[test]
    fn an_error_of_the_network_counts_only_where_there_is_none() {
        let policy = build_policy();
        for text in [
            "curl: (6) Could not resolve host: example.com",
            "ping: example.com: Temporary failure in name resolution",
            "npm error code EAI_AGAIN",
            "Error: getaddrinfo ENOTFOUND registry.npmjs.org",
            "failed to lookup address information: Try again",
            "dial tcp: lookup proxy.golang.org: no such host",
            "NewConnectionError: Failed to establish a new connection: [Errno 101]",
            "bash: connect: Network is unreachable",
            "psql: error: connection to server failed: Connection refused",
            "socket: Address family not supported by protocol",
        ] {
            assert!(names_missing_network(text, &policy), "{text}");
            assert!(!names_missing_network(text, &policy.clone().with_full_network(0)), "{text}");
        }
        for text in ["", "error[E0308]: mismatched types", "test failed: network_layout"] {
            assert!(!names_missing_network(text, &policy), "{text}");
        }
    }

    #[test]
    fn the_path_that_the_sandbox_withholds_is_named() {
        let policy = build_policy();
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
