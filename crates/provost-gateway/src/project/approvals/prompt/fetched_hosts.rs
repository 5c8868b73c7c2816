//! The hosts in files that tell a program what to fetch: `curl -K FILE`, `wget -i FILE`.

use std::path::Path;

use provost_core::action::{RelPath, escape_invisible};
use provost_core::command::find_hosts_in_text;
use provost_proto::PinnedFile;
use provost_sandbox::root_dir::RootDir;

/// The largest file that is searched, in bytes.
const MAX_LIST_BYTES: usize = 256 * 1024;

/// How many hosts of a file are named.
const MAX_NAMED_HOSTS: usize = 20;

/// Notes on those of the lists that are pinned. What is described is what is pinned.
pub(super) fn describe_fetched_hosts(
    folder: &Path,
    lists: &[RelPath],
    pins: &[PinnedFile],
) -> Vec<String> {
    let Ok(root) = RootDir::open(folder) else { return Vec::new() };
    let describe = |path: &RelPath| {
        let pin = pins.iter().find(|pin| pin.path == path.as_str())?;
        let quoted = path.display_quoted();
        let unread = |why: &str| Some(format!("{quoted} may name any host: {why}"));
        let Some(state) = provost_kernel::pin_file(&root, folder, path.as_str()) else {
            return unread("it is gone");
        };
        match state.content {
            Some(_) if state.hash != pin.hash => unread("it changed while this was prepared"),
            Some(content) if content.len() <= MAX_LIST_BYTES => {
                let hosts = find_hosts_in_text(&String::from_utf8_lossy(&content));
                Some(format!("{quoted} {}", describe_hosts(&hosts)))
            }
            Some(_) | None => unread("it is too large to be read"),
        }
    };
    lists.iter().filter_map(describe).collect()
}

fn describe_hosts(hosts: &[String]) -> String {
    let named = hosts.iter().take(MAX_NAMED_HOSTS);
    let named: Vec<_> = named.map(|host| format!("`{}`", escape_invisible(host))).collect();
    match hosts.len().saturating_sub(MAX_NAMED_HOSTS) {
        _ if hosts.is_empty() => "names no host that can be recognized".to_owned(),
        0 => format!("names the hosts {}", named.join(", ")),
        more => format!("names the hosts {} and {more} more", named.join(", ")),
    }
}
