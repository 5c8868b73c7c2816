//! Bringing together what a decision needs, and asking for it.

mod explain;
pub(crate) mod implied_command;
mod process_ownership;
pub(crate) mod symlinks;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use provost_core::action::RelPath;
use provost_core::decide::{ActingRole, BoundAction, Decision, PolicyContext, decide};
use provost_core::policy::PolicyRules;
use provost_proto::kernel::Preconditions;
use provost_proto::{
    GovernanceFileKind, Hash, PinnedFile, Principal, ProjectMode, TrustPrompt, UnixMicros,
};
use provost_sandbox::root_dir::{RootDir, SymlinkSnapshot};

use crate::project::decisions::symlinks::{
    apply_links, collect_links, resolve_command_links, to_kernel_links,
};
use crate::project::governance::ProjectGovernance;
use crate::project::governance::files::RoleFile;
use crate::{Gateway, GatewayError};

/// Askers whose last action is remembered.
const MAX_TRACKED_PRINCIPALS: usize = 4096;

/// What each asker did last, and how often in a row.
#[derive(Debug, Default)]
pub(crate) struct RepeatCounter(Mutex<HashMap<Principal, (Hash, u32)>>);

impl RepeatCounter {
    fn consecutive_count(&self, requester: &str, hash: Hash) -> u32 {
        let rows = self.0.lock();
        rows.get(requester).filter(|(last, _)| *last == hash).map_or(0, |(_, times)| *times)
    }

    fn increment(&self, requester: &str, hash: Hash) {
        let mut rows = self.0.lock();
        if rows.len() >= MAX_TRACKED_PRINCIPALS && !rows.contains_key(requester) {
            rows.clear();
        }
        let row = rows.entry(requester.to_owned()).or_insert((hash, 0));
        *row = if row.0 == hash { (hash, row.1.saturating_add(1)) } else { (hash, 1) };
    }

    fn reset(&self, requester: &str) {
        self.0.lock().remove(requester);
    }
}

impl Gateway {
    /// Decides about a matter as things stand.
    pub(crate) async fn evaluate(
        &self,
        governance: &ProjectGovernance,
        role: Option<&str>,
        bound_action: BoundAction,
    ) -> Result<Decision, GatewayError> {
        let bound_action = self.resolve_implied_command(governance, bound_action).await?;
        // A person's own action follows whatever links there are when it runs.
        let bound_action = if role.is_some() {
            resolve_command_links(governance, bound_action).await?
        } else {
            bound_action
        };
        let inputs = self
            .collect_policy_inputs(governance, &bound_action, governance.mode(self.clock.now()))
            .await?;
        let bound_action = if role.is_some() {
            let (programs, _) =
                split_linked_programs(&governance.project.path, &bound_action, &inputs.pins)
                    .await?;
            let (links, pins) = (to_kernel_links(&inputs.links), inputs.pins.clone());
            bound_action.with_preconditions(Preconditions { links, pins, programs })
        } else {
            bound_action
        };
        let foreign = self.deny_foreign_process(bound_action.request()).await?;
        let policy_context = inputs.as_policy_context(governance, &governance.rules);
        Ok(
            match (
                decide(bound_action, resolve_acting_role(governance, role), &policy_context),
                foreign,
            ) {
                (denied @ Decision::Deny(_), _) => denied,
                (Decision::Allow(_) | Decision::RequireApproval(_), Some(denied)) => {
                    Decision::Deny(denied)
                }
                (decided, None) => decided,
            },
        )
    }

    /// Decides about looking at files as if no path held a link: to be carried out where
    /// none is followed.
    pub(crate) fn evaluate_without_links(
        &self,
        governance: &ProjectGovernance,
        role: &str,
        bound_action: BoundAction,
    ) -> Decision {
        let now = self.clock.now();
        let inputs = PolicyInputs {
            homes: &self.homes,
            pins: Vec::new(),
            links: SymlinkSnapshot::default(),
            leads_to: Vec::new(),
            unseen: None,
            again: self
                .rows
                .consecutive_count(&bound_action.request().principal, bound_action.repeat_key()),
            mode: governance.mode(now),
            now,
        };
        let policy_context = inputs.as_policy_context(governance, &governance.rules);
        decide(
            bound_action.with_preconditions(Preconditions::default()),
            resolve_acting_role(governance, Some(role)),
            &policy_context,
        )
    }

    /// How things stand for a matter, in this mode: for the decision itself, and
    /// for telling what it would be.
    pub(crate) async fn collect_policy_inputs(
        &self,
        governance: &ProjectGovernance,
        bound_action: &BoundAction,
        mode: ProjectMode,
    ) -> Result<PolicyInputs<'_>, GatewayError> {
        let links = collect_links(Path::new(&governance.project.path), bound_action);
        Ok(PolicyInputs {
            homes: &self.homes,
            pins: pin_scripts(&governance.project.path, bound_action).await?,
            leads_to: apply_links(&links, bound_action),
            links,
            unseen: self.explain_unreviewed_runtime(governance, bound_action).await?,
            again: self
                .rows
                .consecutive_count(&bound_action.request().principal, bound_action.repeat_key()),
            mode,
            now: self.clock.now(),
        })
    }

    /// Remembers that this was allowed, to notice the same again and again.
    pub(crate) fn count_repeat(&self, requester: &str, hash: Hash) {
        self.rows.increment(requester, hash);
    }

    /// A person looked at it: the row begins anew.
    pub(crate) fn reset_repeat_count(&self, requester: &str) {
        self.rows.reset(requester);
    }
}

/// How things stand for one matter, as far as it must be looked up.
pub(crate) struct PolicyInputs<'g> {
    homes: &'g [String],
    pins: Vec<PinnedFile>,
    links: SymlinkSnapshot,
    leads_to: Vec<RelPath>,
    unseen: Option<String>,
    again: u32,
    mode: ProjectMode,
    now: UnixMicros,
}

impl PolicyInputs<'_> {
    /// All that a decision needs, under these rules.
    pub(crate) fn as_policy_context<'a>(
        &'a self,
        governance: &'a ProjectGovernance,
        rules: &'a PolicyRules,
    ) -> PolicyContext<'a> {
        PolicyContext {
            rules,
            broken: governance.broken.as_deref(),
            folder: Some(&governance.project.path),
            homes: self.homes,
            grants: &governance.grants,
            mode: self.mode,
            now: self.now,
            pins: &self.pins,
            leads_to: &self.leads_to,
            unseen: self.unseen.as_deref(),
            again: self.again,
        }
    }
}

/// In which role something is asked for, if it can be used.
pub(crate) fn resolve_acting_role<'a>(
    governance: &'a ProjectGovernance,
    role: Option<&'a str>,
) -> ActingRole<'a> {
    let Some(role) = role else { return ActingRole::NoRole };
    match governance.files.as_ref().and_then(|files| files.find_role(role)) {
        None => ActingRole::Unusable { role, why: "is missing or cannot be read" },
        Some(file) if is_trusted(governance, file) => ActingRole::Trusted(&file.role),
        Some(_) => ActingRole::Unusable { role, why: "is not trusted as it is now" },
    }
}

pub(crate) fn is_trusted(governance: &ProjectGovernance, file: &RoleFile) -> bool {
    let trusted = governance.find_trusted_file(GovernanceFileKind::Role, &file.role.file);
    trusted.is_some_and(|trusted| trusted.hash == file.hash)
}

/// The role's file, if it must be trusted before anything is decided.
pub(crate) fn find_untrusted_role(
    governance: &ProjectGovernance,
    role: Option<&str>,
) -> Option<TrustPrompt> {
    let file = governance.files.as_ref()?.find_role(role?)?;
    if is_trusted(governance, file) {
        return None;
    }
    Some(build_trust_prompt(governance, file))
}

pub(crate) fn build_trust_prompt(governance: &ProjectGovernance, file: &RoleFile) -> TrustPrompt {
    let before = governance.find_trusted_file(GovernanceFileKind::Role, &file.role.file);
    let old = before.map_or("", |before| &before.text);
    TrustPrompt {
        what: GovernanceFileKind::Role,
        file: file.role.file.clone(),
        hash: file.hash,
        before: before.map(|before| before.hash),
        diff: provost_core::diff::unified_diff(old, &file.text, &file.role.file),
    }
}

/// Of the scripts that are pinned, those that a command runs: where they can be held while
/// it does, and behind a link, in the place of which another can be put.
pub(crate) async fn split_linked_programs(
    folder: &str,
    bound_action: &BoundAction,
    pins: &[PinnedFile],
) -> Result<(Vec<String>, Vec<String>), GatewayError> {
    let all = bound_action.pinned_programs(folder, pins);
    if all.is_empty() {
        return Ok((all, Vec::new()));
    }
    let folder = PathBuf::from(folder);
    let look = move || match RootDir::open(&folder) {
        Ok(root) => all.into_iter().partition(|path| root.is_link_free(Path::new(path))),
        Err(_) => (Vec::new(), all),
    };
    tokio::task::spawn_blocking(look).await.map_err(|_| GatewayError::Stopping)
}

/// The scripts that a command would run, as they are now.
pub(crate) async fn pin_scripts(
    folder: &str,
    bound_action: &BoundAction,
) -> Result<Vec<PinnedFile>, GatewayError> {
    let scripts = bound_action.script_paths(folder);
    if scripts.is_empty() {
        return Ok(Vec::new());
    }
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

/// The longest manifest that is read.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The files that a `package.json` may call `main`. One that cannot be read names none: it
/// is pinned itself, if it is there.
fn find_main_files(folder: &Path, manifest: &RelPath) -> Vec<RelPath> {
    let path = folder.join(manifest.as_str());
    let small = std::fs::metadata(&path)
        .is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_MANIFEST_BYTES);
    let text = if small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
    let read: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let main = read.as_ref().and_then(|read| read.get("main")?.as_str());
    let Some(main) = main.map(|main| main.trim_start_matches("./")) else { return Vec::new() };
    let above = manifest.parent().unwrap_or_else(RelPath::root);
    let endings = ["", ".js", ".mjs", ".cjs", "/index.js"];
    let named =
        endings.iter().map(|ending| Path::new(above.as_str()).join(format!("{main}{ending}")));
    named.filter_map(|path| RelPath::new(path.to_str()?).ok()).collect()
}
