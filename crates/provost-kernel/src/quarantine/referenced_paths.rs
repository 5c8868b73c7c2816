//! Paths in a project that a link or a setting of the person refers programs to: what is there
//! runs in place of the link, or because of the setting.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use provost_core::action::protected_paths::is_package_directory;
use provost_core::quarantine::git_entries::{EntryType, is_git_name};
use provost_core::quarantine::git_settings::{GitSetting, parse_settings};

use super::snapshot::{Snapshot, SnapshotEntry};
use super::tree_scan::EntryJudgement;

/// A path that a link or a setting refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReferencedPath {
    pub(super) path: PathBuf,
    /// Whether all that lies in it counts, if it is a folder.
    pub(super) with_content: bool,
}

/// Finds the paths that the links and settings of `before` refer to, in the worktrees of `now`:
/// git resolves the programs that its settings name in the worktree that it is used in.
pub(super) fn find_referenced_paths(
    project: &Path,
    before: &Snapshot,
    now: &Snapshot,
) -> Vec<ReferencedPath> {
    let tops = find_worktrees(now);
    let mut found = ReferenceFinder { project, paths: BTreeSet::new() };
    for (path, entry) in &before.entries {
        let Some(content) = entry.content.as_deref() else { continue };
        let folder = path.parent().unwrap_or(Path::new(""));
        match (entry.kind, entry.judgement) {
            // Which programs read it, and what of it, is not known.
            (_, EntryJudgement::Hidden) => {}
            (EntryType::Symlink, _) => {
                found.add(folder, Path::new(OsStr::from_bytes(content)), true);
            }
            (EntryType::File, EntryJudgement::Settings { .. }) => {
                for setting in parse_settings(content).unwrap_or_default() {
                    found.add_git_setting(folder, &tops, &setting);
                }
            }
            (EntryType::File, _) if is_shell_settings(path) => {
                found.add_shell_settings(folder, &String::from_utf8_lossy(content));
            }
            (EntryType::File | EntryType::Directory | EntryType::Other, _) => {}
        }
    }
    // What lies in a git folder is judged there.
    let in_git =
        |found: &ReferencedPath| now.git_folders.iter().any(|git| found.path.starts_with(git));
    found.paths.into_iter().filter(|path| !in_git(path)).collect()
}

/// Whether an entry can refer programs to other paths.
pub(super) fn is_pointer(path: &Path, entry: &SnapshotEntry) -> bool {
    entry.kind == EntryType::Symlink && entry.judgement != EntryJudgement::Hidden
        || matches!(entry.judgement, EntryJudgement::Settings { .. })
        || is_shell_settings(path)
}

/// The tops of all worktrees.
fn find_worktrees(snapshot: &Snapshot) -> BTreeSet<PathBuf> {
    let is_pointer_file = |entry: &SnapshotEntry| entry.judgement == EntryJudgement::GitFile;
    let files = snapshot.entries.iter().filter(|(_, entry)| is_pointer_file(entry));
    let is_named =
        |path: &&PathBuf| path.file_name().is_some_and(|name| is_git_name(&name.to_string_lossy()));
    let folders = snapshot.git_folders.iter().filter(is_named);
    let parent = |path: &PathBuf| path.parent().map(Path::to_owned);
    files.map(|(path, _)| path).chain(folders).filter_map(parent).collect()
}

/// Whether direnv or mise runs this file when a shell enters the folder.
fn is_shell_settings(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".envrc") || name.ends_with("mise.toml")
}

struct ReferenceFinder<'a> {
    project: &'a Path,
    paths: BTreeSet<ReferencedPath>,
}

impl ReferenceFinder<'_> {
    /// Adds the real path of a target if it lies in the project, but is not all of it.
    fn add(&mut self, folder: &Path, target: &Path, with_content: bool) {
        if target.as_os_str().is_empty() {
            return;
        }
        let full = self.project.join(folder).join(target);
        // What is not there yet can be created.
        let real = full.canonicalize().unwrap_or_else(|_| normalize_path(&full));
        match real.strip_prefix(self.project) {
            Ok(inside) if !inside.as_os_str().is_empty() => {
                self.paths.insert(ReferencedPath { path: inside.to_owned(), with_content });
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn add_git_setting(&mut self, folder: &Path, tops: &BTreeSet<PathBuf>, setting: &GitSetting) {
        let value = Path::new(&setting.value);
        match (&*setting.section, &*setting.name) {
            ("include" | "includeif", "path") => self.add(folder, value, false),
            ("core", "hookspath") | ("init", "templatedir") => {
                for top in tops {
                    self.add(top, value, true);
                }
            }
            (section, name) if is_program_setting(section, name) => {
                for top in tops {
                    self.add(top, value, false);
                    self.add_words(top, &setting.value);
                }
            }
            _ => {}
        }
    }

    /// Adds the files that a command names. A word without a dot or a slash is a program of the
    /// system, unless there is such a file.
    fn add_words(&mut self, folder: &Path, command: &str) {
        for word in command.split(is_word_end).filter(|word| !word.is_empty()) {
            if word.contains(['.', '/']) || self.project.join(folder).join(word).is_file() {
                self.add(folder, Path::new(word), false);
            }
        }
    }

    /// Adds what direnv or mise reads besides the file itself.
    fn add_shell_settings(&mut self, folder: &Path, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            // Other lines of mise's settings are tasks and versions.
            if text.contains("[env]") && !line.starts_with("_.") {
                continue;
            }
            self.add_shell_line(folder, &name_current_folder(line));
        }
    }

    fn add_shell_line(&mut self, folder: &Path, line: &str) {
        let words: Vec<&str> = line.split(is_word_end).filter(|word| !word.is_empty()).collect();
        let Some((first, rest)) = words.split_first() else { return };
        match *first {
            "PATH_add" | "path_add" | "load_prefix" | "MANPATH_add" => {
                self.add_program_folders(folder, rest);
            }
            "use" => self.add_environment(folder, rest),
            "dotenv" | "dotenv_if_exists" if rest.is_empty() => {
                self.add(folder, Path::new(".env"), false);
            }
            _ => {
                // `export PATH=./bin:$PATH`; a folder of programs, and cargo's with its settings.
                if words.iter().any(|word| matches!(*word, "PATH" | "CARGO_HOME")) {
                    self.add_program_folders(folder, &words);
                }
                self.add_words(folder, line);
                self.add_started_files(folder, &words);
            }
        }
    }

    /// Adds folders of programs with all that is in them, except for installed packages.
    fn add_program_folders(&mut self, folder: &Path, words: &[&str]) {
        for word in words.iter().filter(|word| !word.split('/').any(is_package_directory)) {
            let is_plain = word.split('/').any(|name| !matches!(name, "" | "." | ".."));
            if is_plain && (word.contains('/') || self.project.join(folder).join(word).is_dir()) {
                self.add(folder, Path::new(word), true);
            } else if is_plain && words.len() == 1 {
                // It may not be there yet.
                self.add(folder, Path::new(word), true);
            }
        }
    }

    /// Adds what `use NAME` evaluates, in this folder and in one that it names.
    fn add_environment(&mut self, folder: &Path, words: &[&str]) {
        let files: &[&str] = match words.first() {
            Some(&("flake" | "nix")) => &["flake.nix", "flake.lock", "shell.nix", "default.nix"],
            Some(&"devenv") => &["devenv.nix", "devenv.yaml", "devenv.lock"],
            Some(&"devbox") => &["devbox.json", "devbox.lock"],
            Some(&"guix") => &["guix.scm", "manifest.scm", "channels.scm"],
            Some(_) | None => &[],
        };
        for name in files {
            self.add(folder, Path::new(name), false);
        }
        for word in words.iter().skip(1).filter(|word| word.contains(['.', '/'])) {
            self.add(folder, Path::new(word), true);
        }
    }

    /// Adds the files that programs run without being told their names: `make`, `python3 -m`.
    fn add_started_files(&mut self, folder: &Path, words: &[&str]) {
        if words.iter().any(|word| matches!(*word, "make" | "gmake")) {
            for name in ["GNUmakefile", "makefile", "Makefile"] {
                self.add(folder, Path::new(name), false);
            }
        }
        for pair in words.windows(2) {
            if let ["-m", module] = pair {
                let path = module.replace('.', "/");
                self.add(folder, Path::new(&format!("{path}.py")), false);
                self.add(folder, Path::new(&path), true);
            }
        }
        // `for file in env.d/*`: whatever is there.
        let before_glob =
            |word: &&str| Some(word.split_once(['*', '?', '['])?.0.rsplit_once('/')?.0.to_owned());
        for parent in words.iter().filter_map(before_glob).filter(|parent| parent != ".") {
            self.add(folder, Path::new(&parent), true);
        }
    }
}

/// A line in which the usual names of the current folder are `.`.
fn name_current_folder(line: &str) -> String {
    ["${PWD}", "$PWD", "$(pwd)", "`pwd`"]
        .iter()
        .fold(line.to_owned(), |line, name| line.replace(name, "."))
}

/// Whether a character ends a word of a shell's line, or begins one.
fn is_word_end(c: char) -> bool {
    c.is_whitespace() || "'\"`!$(){};|&<>=:,".contains(c)
}

/// Whether a setting of git names a program or a file that decides about programs.
fn is_program_setting(section: &str, name: &str) -> bool {
    matches!(
        (section, name),
        (
            "core",
            "fsmonitor"
                | "attributesfile"
                | "sshcommand"
                | "editor"
                | "pager"
                | "gitproxy"
                | "askpass"
                | "alternaterefscommand"
        ) | ("filter", "clean" | "smudge" | "process")
            | ("diff", "textconv" | "command" | "external")
            | ("merge", "driver")
            | ("gpg", "program" | "defaultkeycommand")
            | ("credential", "helper")
            | ("sequence", "editor")
            | ("interactive", "difffilter")
            | ("pager" | "hook" | "sendemail", _)
            | ("difftool" | "mergetool" | "trailer", "cmd" | "command" | "path")
            | ("remote", "uploadpack" | "receivepack")
            | ("submodule", "update")
    )
}

/// The path without `.` and `..`.
fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    normal
}
