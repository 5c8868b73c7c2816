//! The hosts that arguments name.

use crate::command::program_basename;

/// Programs whose operands may be bare host names.
const BARE_HOST_PROGRAMS: &[&str] = &[
    "curl", "wget", "http", "https", "xh", "nc", "ncat", "telnet", "ping", "dig", "nslookup",
    "host", "ftp",
];
/// Programs whose operands may be `host:path` without a user.
const REMOTE_COPY_PROGRAMS: &[&str] = &["scp", "rsync", "sftp"];

/// Subcommands of git that connect to another machine.
const GIT_REMOTE_SUBCOMMANDS: &[&str] =
    &["clone", "fetch", "pull", "push", "remote", "ls-remote", "submodule", "archive"];

/// All hosts, without duplicates, in lower case.
///
/// It lists too many rather than too few.
pub(crate) fn find_hosts(argv: &[String]) -> Vec<String> {
    let Some((program, arguments)) = argv.split_first() else { return Vec::new() };
    let program = program_basename(program);
    let copying = REMOTE_COPY_PROGRAMS.contains(&program)
        || program == "git"
            && arguments.iter().any(|word| GIT_REMOTE_SUBCOMMANDS.contains(&word.as_str()));
    let mut found: Vec<String> = Vec::new();
    let mut add = |host: &str| {
        let host = host.to_ascii_lowercase();
        if !host.is_empty() && !found.contains(&host) {
            found.push(host);
        }
    };
    let mut before = "";
    for argument in arguments {
        let before = std::mem::replace(&mut before, argument);
        if program == "curl" && overrides_connect_host(before, argument) {
            argument
                .split([':', ',', '[', ']', '=', '+'])
                .filter(|part| is_host_name(part))
                .for_each(&mut add);
        } else if argument.contains("://") {
            argument
                .match_indices("://")
                .for_each(|(at, _)| add(authority_host(&argument[at + 3..])));
        } else if let Some(host) = remote_path_host(argument, copying) {
            add(host);
        } else if BARE_HOST_PROGRAMS.contains(&program) && is_bare_host(argument) {
            add(authority_host(argument));
        }
    }
    found
}

/// The hosts in a file of addresses or of options, such as `curl -K` and `wget -i` read, in the
/// order of the file. It lists too many rather than too few.
pub fn find_hosts_in_text(text: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ',' | '<' | '>');
    let mut found: Vec<String> = Vec::new();
    for word in text.split(is_end).filter(|word| !word.is_empty()) {
        let urls = word.match_indices("://").map(|(at, _)| authority_host(&word[at + 3..]));
        let bare = (!word.contains("://") && is_bare_host(word)).then(|| authority_host(word));
        for host in urls.chain(bare) {
            let host = host.to_ascii_lowercase();
            if !host.is_empty() && !found.contains(&host) {
                found.push(host);
            }
        }
    }
    found
}

/// Whether this is the value of an option that redirects a connection, as in `--connect-to
/// ::evil.example:`.
fn overrides_connect_host(option: &str, argument: &str) -> bool {
    let is_one = |name: &str| {
        let all = ["--connect-to", "--resolve"];
        name.len() > 4 && all.iter().any(|option| option.starts_with(name))
    };
    is_one(option) || argument.split_once('=').is_some_and(|(name, _)| is_one(name))
}

fn is_host_name(part: &str) -> bool {
    has_host_characters(part)
        && !part.starts_with('-')
        && !part.bytes().all(|byte| byte.is_ascii_digit())
}

/// The host of `user:password@host:port/path`.
///
/// A backslash ends it as well, as in browsers.
fn authority_host(text: &str) -> &str {
    let end = text.find(['/', '?', '#', '\\', ' ', '"', '\'', ',']).unwrap_or(text.len());
    let authority = &text[..end];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or(host),
    }
}

/// The host of `user@host:path`, or of `host:path` for programs that copy.
fn remote_path_host(argument: &str, copying: bool) -> Option<&str> {
    let (before, _) = argument.split_once(':')?;
    let before = before.rsplit_once('=').map_or(before, |(_, value)| value);
    if before.contains('/') || before.starts_with('-') || argument.contains(' ') {
        return None;
    }
    match before.rsplit_once('@') {
        Some((_, host)) => has_host_characters(host).then_some(host),
        None => (copying && has_host_characters(before)).then_some(before),
    }
}

fn is_bare_host(argument: &str) -> bool {
    let host = authority_host(argument);
    !argument.starts_with(['-', '.', '/'])
        && has_host_characters(host)
        && (host.contains('.') || host == "localhost" || argument.contains(':'))
}

fn has_host_characters(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
}
