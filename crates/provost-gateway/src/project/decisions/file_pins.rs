//! Pins: the hashes of the scripts that a command would run.

use std::path::{Path, PathBuf};

use provost_core::action::RelPath;
use provost_core::decide::BoundAction;
use provost_proto::PinnedFile;
use provost_sandbox::root_dir::RootDir;

use crate::GatewayError;

/// The largest `package.json` that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The scripts that a command would run, as they are now.
pub(super) async fn pin_scripts(
    folder: &str,
    bound_action: &BoundAction,
) -> Result<Vec<PinnedFile>, GatewayError> {
    let scripts = bound_action.script_paths(folder);
    if scripts.is_empty() {
        return Ok(Vec::new());
    }
    #[cfg(test)]
    pin_count::increment(folder);
    let manifests = bound_action.manifests(folder);
    let folder = PathBuf::from(folder);
    let read = move || {
        let Ok(root) = RootDir::open(&folder) else { return Vec::new() };
        let mut scripts = scripts;
        scripts.extend(manifests.iter().flat_map(|manifest| find_main_files(&folder, manifest)));
        scripts.sort();
        scripts.dedup();
        let pin = |path: &str| {
            let hash = provost_kernel::pin_file(&root, &folder, path)?.hash;
            Some(PinnedFile { path: path.to_owned(), hash })
        };
        scripts.iter().filter_map(|script| pin(script.as_str())).collect()
    };
    tokio::task::spawn_blocking(read).await.map_err(|_| GatewayError::Stopping)
}

/// Splits the pinned scripts that a command runs into those that can be held open while it
/// runs, and those behind a link, which another file can replace.
pub(super) async fn split_linked_programs(
    folder: &str,
    bound_action: &BoundAction,
    pins: &[PinnedFile],
) -> Result<(Vec<String>, Vec<String>), GatewayError> {
    let all = bound_action.pinned_programs(folder, pins);
    if all.is_empty() {
        return Ok((all, Vec::new()));
    }
    let folder = PathBuf::from(folder);
    let split = move || match RootDir::open(&folder) {
        Ok(root) => all.into_iter().partition(|path| root.is_link_free(Path::new(path))),
        Err(_) => (Vec::new(), all),
    };
    tokio::task::spawn_blocking(split).await.map_err(|_| GatewayError::Stopping)
}

/// The files that a `package.json` may mean by `main`. One that cannot be read names none; it
/// is pinned itself if it exists.
fn find_main_files(folder: &Path, manifest: &RelPath) -> Vec<RelPath> {
    let path = folder.join(manifest.as_str());
    let small = std::fs::metadata(&path)
        .is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_MANIFEST_BYTES);
    let text = if small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
    let parsed: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let main = parsed.as_ref().and_then(|parsed| parsed.get("main")?.as_str());
    let Some(main) = main.map(|main| main.trim_start_matches("./")) else { return Vec::new() };
    let parent = manifest.parent().unwrap_or_else(RelPath::root);
    let suffixes = ["", ".js", ".mjs", ".cjs", "/index.js"];
    let named =
        suffixes.iter().map(|suffix| Path::new(parent.as_str()).join(format!("{main}{suffix}")));
    named.filter_map(|path| RelPath::new(path.to_str()?).ok()).collect()
}

/// How often the scripts of a project were hashed, for tests.
#[cfg(test)]
pub(crate) mod pin_count {
    use parking_lot::Mutex;
    use std::collections::BTreeMap;

    static COUNTS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

    pub(super) fn increment(folder: &str) {
        *COUNTS.lock().entry(folder.to_owned()).or_default() += 1;
    }

    pub(crate) fn take(folder: &str) -> usize {
        COUNTS.lock().remove(folder).unwrap_or_default()
    }
}
