//! What git itself writes into its folder: an allow list.
//!
//! Everything else in a git folder is a leftover, whatever its name: `commondir`, `hooks`,
//! alternates, remotes of the old kind, and what future versions of git may read.

use crate::action::protected_paths::fold_case;

/// What an entry of a git folder is to the search for leftovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitEntry {
    /// Git's own data, which runs nothing.
    Data,
    /// A folder of git's own data: only links in it count, and folders that git takes for
    /// repositories.
    DataFolder,
    /// A folder of which each entry is judged.
    Folder,
    /// A configuration: judged setting by setting.
    Settings,
    /// The commands of a rebase: judged line by line.
    RebaseTodo,
    /// The options of a rebase or cherry-pick: they may name a strategy, which is a program.
    SequenceOptions,
    /// The pointer of a linked worktree to its repository; only `../..` is git's own.
    CommonDir,
    /// A folder below which each folder with a `HEAD` is a git folder.
    Repositories,
    /// Something that git runs, or that leads it elsewhere.
    Leftover(&'static str),
    /// Not what git writes.
    Unknown,
}

/// Which git folder an entry lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitFolder {
    /// Of a repository, also of a submodule or a bare one.
    Repository,
    /// Of a linked worktree: a folder in `worktrees`.
    LinkedWorktree,
}

/// The kind of an entry, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

const HOOKS: &str = "git runs its hooks";
const POINTER: &str = "it makes git use another folder, with other hooks and settings";
const LINK: &str = "a link in git's folder leads to files that git does not write";

/// Folders that hold data only.
const DATA_FOLDERS: &[&str] =
    &["refs", "logs", "rr-cache", "lost-found", "lfs", "reftable", "NOTES_MERGE_WORKTREE"];

/// Files that hold data only, apart from locks.
const DATA_FILES: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_HEAD",
    "BISECT_FIRST_PARENT",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "EDIT_DESCRIPTION",
    "NOTES_EDITMSG",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "ADD_EDIT.patch",
    "addp-hunk-edit.diff",
    "index",
    "packed-refs",
    "packed-refs.new",
    "shallow",
    "description",
    "gc.pid",
    "gc.log",
    "git-daemon-export-ok",
];

/// Judges an entry of a git folder, by its path inside that folder.
pub fn classify_git_entry(folder: GitFolder, names: &[&str], kind: EntryType) -> GitEntry {
    let entry = match names {
        [name] => classify_top(folder, name, kind),
        ["objects", rest @ ..] => classify_objects(rest, kind),
        ["info", name] => classify_info(name),
        ["hooks", name] if name.ends_with(".sample") && kind == EntryType::File => GitEntry::Data,
        ["hooks", ..] => GitEntry::Leftover(HOOKS),
        ["rebase-merge" | "rebase-apply" | "sequencer", name] => classify_sequence(name, kind),
        // Older versions of git keep folders of hashes there.
        ["rebase-merge" | "rebase-apply" | "sequencer" | "NOTES_MERGE_WORKTREE", ..] => {
            data_entry(kind)
        }
        [] | [_, ..] => GitEntry::Unknown,
    };
    match (entry, kind) {
        (GitEntry::Leftover(_) | GitEntry::Unknown, _)
        | (_, EntryType::File | EntryType::Directory | EntryType::Other) => entry,
        // `HEAD` may be a link; nothing of it is run.
        (GitEntry::Data, EntryType::Symlink) if names == ["HEAD"] => entry,
        (_, EntryType::Symlink) => GitEntry::Leftover(LINK),
    }
}

fn data_entry(kind: EntryType) -> GitEntry {
    if kind == EntryType::Directory { GitEntry::DataFolder } else { GitEntry::Data }
}

fn classify_top(folder: GitFolder, name: &str, kind: EntryType) -> GitEntry {
    let is_dir = kind == EntryType::Directory;
    // Links are judged by their names here, and refused by the caller.
    let name = match name.strip_suffix(".lock") {
        // The lock of a configuration is the configuration until it is renamed.
        Some("config" | "config.worktree") => return GitEntry::Settings,
        Some(locked) if !is_dir => locked,
        Some(_) | None => name,
    };
    if is_dir {
        return match name {
            "objects" | "info" | "hooks" | "branches" | "rebase-merge" | "rebase-apply"
            | "sequencer" => GitEntry::Folder,
            "modules" | "worktrees" => GitEntry::Repositories,
            name if DATA_FOLDERS.contains(&name) => GitEntry::DataFolder,
            _ => GitEntry::Unknown,
        };
    }
    match (folder, name) {
        (_, "config" | "config.worktree") => GitEntry::Settings,
        (GitFolder::LinkedWorktree, "commondir") => GitEntry::CommonDir,
        (GitFolder::LinkedWorktree, "gitdir" | "locked") => GitEntry::Data,
        (_, "commondir" | "gitdir") => GitEntry::Leftover(POINTER),
        (_, "hooks") => GitEntry::Leftover(HOOKS),
        (_, name) if is_data_file(name) => GitEntry::Data,
        (GitFolder::Repository | GitFolder::LinkedWorktree, _) => GitEntry::Unknown,
    }
}

fn is_data_file(name: &str) -> bool {
    DATA_FILES.contains(&name)
        || ["index.", "next-index-", "sharedindex."].iter().any(|start| name.starts_with(start))
        // Names of references, such as those that `git update-ref` writes.
        || name.ends_with("_HEAD") && name.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')
}

fn classify_objects(rest: &[&str], kind: EntryType) -> GitEntry {
    match rest {
        ["info"] if kind == EntryType::Directory => GitEntry::Folder,
        ["info"] => GitEntry::Leftover(POINTER),
        ["info", name] => match name.strip_suffix(".lock").unwrap_or(name) {
            "packs" | "commit-graph" | "commit-graphs" => GitEntry::Data,
            name if name.starts_with("commit-graph") => GitEntry::Data,
            _ => GitEntry::Leftover(POINTER),
        },
        [] | [_, ..] => data_entry(kind),
    }
}

fn classify_info(name: &str) -> GitEntry {
    match name.strip_suffix(".lock").unwrap_or(name) {
        "exclude" | "refs" | "sparse-checkout" | "shallow" => GitEntry::Data,
        _ => GitEntry::Leftover("it decides which filters git runs"),
    }
}

fn classify_sequence(name: &str, kind: EntryType) -> GitEntry {
    let is_todo = name.starts_with("git-rebase-todo") || matches!(name, "todo" | "done" | "backup");
    match name {
        _ if kind == EntryType::Directory => GitEntry::DataFolder,
        _ if is_todo => GitEntry::RebaseTodo,
        "strategy" | "opts" => GitEntry::SequenceOptions,
        _ => GitEntry::Data,
    }
}

/// Whether a path may be an entry of a git folder that has another name than `.git`.
pub fn is_git_entry_name(name: &str) -> bool {
    const NAMES: &[&str] = &["config", "config.worktree", "commondir", "gitdir", "HEAD"];
    const FOLDERS: &[&str] = &[
        "objects",
        "refs",
        "hooks",
        "info",
        "modules",
        "worktrees",
        "rebase-merge",
        "rebase-apply",
        "sequencer",
    ];
    NAMES.contains(&name) || FOLDERS.contains(&name)
}

/// Whether a name is that of a git folder or of a file that points to one.
pub fn is_git_name(name: &str) -> bool {
    name.len() <= 8 && matches!(&*fold_case(name), ".git" | "git~1")
}

/// Whether a folder with these entries is one that git takes for a repository.
pub fn is_repository_listing<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
    for name in names {
        match name {
            "HEAD" => head = true,
            "objects" => objects = true,
            "refs" => refs = true,
            "commondir" => common = true,
            _ => {}
        }
    }
    head && (objects && refs || common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_left(path: &str, kind: EntryType) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches!(
            classify_git_entry(GitFolder::Repository, &names, kind),
            GitEntry::Leftover(_) | GitEntry::Unknown
        )
    }

    #[test]
    fn what_git_writes_is_its_own() {
        for path in [
            "HEAD",
            "HEAD.lock",
            "index",
            "index.lock",
            "index.stash.123",
            "next-index-77.lock",
            "packed-refs",
            "COMMIT_EDITMSG",
            "AUTO_MERGE",
            "objects/ab/cdef",
            "objects/pack/x.pack",
            "objects/info/packs",
            "objects/info/commit-graphs",
            "info/exclude",
            "hooks/pre-commit.sample",
            "config",
            "rebase-merge/git-rebase-todo",
            "rebase-merge/message",
            "sequencer/opts",
        ] {
            assert!(!is_left(path, EntryType::File), "{path}");
        }
        for path in ["refs", "logs", "objects", "modules", "worktrees", "hooks", "branches"] {
            assert!(!is_left(path, EntryType::Directory), "{path}");
        }
    }

    #[test]
    fn everything_else_is_left_behind() {
        for path in [
            "commondir",
            "gitdir",
            "hooks/pre-commit",
            "hooks/pre-commit.sample/x",
            "hooks",
            "info/attributes",
            "objects/info/alternates",
            "objects/info/http-alternates",
            "branches/origin",
            "remotes",
            "CONFIG",
            "Hooks",
            "some-new-thing",
        ] {
            assert!(is_left(path, EntryType::File), "{path}");
        }
        for path in
            ["hooks", "config", "objects", "refs", "info", "modules", "index", "hooks/a.sample"]
        {
            assert!(is_left(path, EntryType::Symlink), "{path}");
        }
        assert!(is_left("Hooks", EntryType::Directory));
    }
}
