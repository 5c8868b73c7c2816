//! A snapshot of symlinks, and resolution along these and no others.
//!
//! A decision about a path must know where it leads, and the operation must reach the
//! same target: otherwise a link that is swapped in between leads where nobody allowed
//! it. So the decision uses [`RootDir::snapshot_links`] and
//! [`SymlinkSnapshot::resolve`], and the operation [`RootDir::with_allowed_links`], in
//! which Linux follows no link at all.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{
    FileKind, RESOLVE_FLAGS, RESOLVE_TRIES, ResolveResult, RootDir, RootDirError, path_validation,
};

/// How many links are followed, as many as Linux would.
const MAX_SYMLINK_DEPTH: u32 = 40;

/// Resolves a path without any link.
pub(super) const RESOLVE_NO_SYMLINKS: ResolveFlags = RESOLVE_FLAGS.union(ResolveFlags::NO_SYMLINKS);

/// Paths that are links, with their final targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymlinkSnapshot(Vec<(PathBuf, PathBuf)>);

impl SymlinkSnapshot {
    /// A snapshot of these links: each path with its target.
    pub fn new(links: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        Self(links.into_iter().collect())
    }

    /// Each path with its target.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0.iter().map(|(path, target)| (path.as_path(), target.as_path()))
    }

    /// The target of a path.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let parents = self.0.iter().filter(|(link, _)| path.starts_with(link));
        let Some((link, target)) = parents.max_by_key(|(link, _)| link.as_os_str().len()) else {
            return path.to_owned();
        };
        join_relative(target, path.strip_prefix(link).unwrap_or(Path::new("")))
    }

    /// The path of the entry itself, with the links in its parents resolved.
    pub fn resolve_nofollow(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => join_relative(&self.resolve(folder), Path::new(name)),
            (None, _) | (_, None) => path.to_owned(),
        }
    }

    fn add_link(&mut self, link: PathBuf, target: PathBuf) {
        if !self.0.iter().any(|(existing, _)| *existing == link) {
            self.0.push((link, target));
        }
    }
}

/// Joins a path to a directory, which may be the root itself.
fn join_relative(target: &Path, rest: &Path) -> PathBuf {
    match (target == Path::new("."), rest.as_os_str().is_empty()) {
        (_, true) => target.to_owned(),
        (true, false) => rest.to_owned(),
        (false, false) => target.join(rest),
    }
}

impl RootDir {
    /// The current links on these paths. A link that leads out, in a cycle or too far is
    /// omitted: it must not be followed.
    pub fn snapshot_links<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) -> SymlinkSnapshot {
        let mut links = SymlinkSnapshot::default();
        for path in paths {
            if !self.is_link_free(path) {
                self.collect_links(path, &mut links);
            }
        }
        links
    }

    /// The same directory, in which only these links are followed.
    #[must_use]
    pub fn with_allowed_links(&self, links: SymlinkSnapshot) -> Self {
        Self { dir: self.dir.clone(), links: Some(links) }
    }

    /// Another handle of the same directory.
    #[must_use]
    pub fn clone_handle(&self) -> Self {
        Self { dir: self.dir.clone(), links: self.links.clone() }
    }

    /// The allowed links, if they are restricted.
    pub fn allowed_links(&self) -> Option<&SymlinkSnapshot> {
        self.links.as_ref()
    }

    /// Whether the existing part of a path contains no link. One call in most cases.
    pub fn is_link_free(&self, path: &Path) -> bool {
        for there in path.ancestors().filter(|there| !there.as_os_str().is_empty()) {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let mode = rustix::fs::Mode::empty();
            match rustix::fs::openat2(&*self.dir, there, flags, mode, RESOLVE_NO_SYMLINKS) {
                Ok(_) => return true,
                Err(Errno::NOENT) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Follows a path component by component.
    fn collect_links(&self, path: &Path, links: &mut SymlinkSnapshot) {
        let mut left = MAX_SYMLINK_DEPTH;
        let mut named = PathBuf::new();
        let mut real = PathBuf::new();
        for name in path {
            named.push(name);
            let plain = real.join(name);
            match self.resolve_component(&real, name, &mut left) {
                Some(target) => real = target,
                None => return,
            }
            if real != plain {
                let target = if real.as_os_str().is_empty() { Path::new(".") } else { &real };
                links.add_link(named.clone(), target.to_owned());
            }
        }
    }

    /// The target of a name in a directory without links.
    fn resolve_component(&self, folder: &Path, name: &OsStr, left: &mut u32) -> Option<PathBuf> {
        let mut real = folder.to_owned();
        let mut names: Vec<OsString> = vec![name.to_owned()];
        while let Some(name) = names.pop() {
            match Path::new(&name).components().next()? {
                Component::CurDir => continue,
                Component::ParentDir => {
                    if !real.pop() {
                        return None;
                    }
                    continue;
                }
                Component::RootDir | Component::Prefix(_) => return None,
                Component::Normal(_) => {}
            }
            let next = real.join(&name);
            let target = self.stat(&next).ok().filter(|stat| stat.kind == FileKind::Symlink);
            match target.and_then(|stat| stat.target) {
                None => real = next,
                Some(target) => {
                    *left = left.checked_sub(1)?;
                    let parts = Path::new(&target).components().rev();
                    names.extend(parts.map(|part| part.as_os_str().to_owned()));
                }
            }
        }
        Some(real)
    }

    /// Resolves a path along the snapshot.
    pub(super) fn resolve_with_links(
        &self,
        links: &SymlinkSnapshot,
        path: &OsStr,
        flags: OFlags,
        doing: &'static str,
    ) -> ResolveResult {
        let wanted = Path::new(path);
        let last = flags.contains(OFlags::NOFOLLOW);
        let real = if last { links.resolve_nofollow(wanted) } else { links.resolve(wanted) };
        let real = path_validation::validate_relative_or_root(&real)?;
        for _ in 0..RESOLVE_TRIES {
            let mode = rustix::fs::Mode::empty();
            let flags = flags | OFlags::CLOEXEC;
            match rustix::fs::openat2(&*self.dir, real, flags, mode, RESOLVE_NO_SYMLINKS) {
                Ok(fd) => return Ok(fd),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::XDEV) => return Err(RootDirError::OutsideRoot),
                // A link that was not observed, or one that leads out and must not be followed.
                Err(Errno::LOOP) => {
                    return match self.open_beneath(path, flags, RESOLVE_FLAGS, doing) {
                        Err(RootDirError::OutsideRoot) => Err(RootDirError::OutsideRoot),
                        Ok(_) | Err(_) => Err(RootDirError::LinkChanged),
                    };
                }
                Err(errno) => return Err(RootDirError::from_errno(errno, doing)),
            }
        }
        Err(RootDirError::from_errno(Errno::AGAIN, doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, RootDir) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("real/deep")).unwrap();
        fs::write(folder.path().join("real/deep/a"), "a").unwrap();
        for (link, to) in [
            ("l", "real"),
            ("real/again", "./deep"),
            ("real/up", ".."),
            ("real/deep/b", "a"),
            ("new", "real/missing"),
            ("out", ".."),
            ("absolute", "/"),
            ("circle", "circle"),
        ] {
            symlink(to, folder.path().join(link)).unwrap();
        }
        let root = RootDir::open(folder.path()).unwrap();
        (folder, root)
    }

    #[test]
    fn links_lead_where_the_system_says_they_do() {
        let (folder, root) = project();
        for (path, real, name) in [
            ("real/deep/a", "real/deep/a", "real/deep/a"),
            ("none/at/all", "none/at/all", "none/at/all"),
            ("l/deep/a", "real/deep/a", "real/deep/a"),
            ("l/again/b", "real/deep/a", "real/deep/b"),
            ("l/up", ".", "real/up"),
            ("l/up/l/again/a", "real/deep/a", "real/deep/a"),
            ("new/file", "real/missing/file", "real/missing/file"),
            ("l/again/fresh", "real/deep/fresh", "real/deep/fresh"),
            // A link that leads out is not followed.
            ("out/x", "out/x", "out/x"),
            ("l/up/absolute/etc", "absolute/etc", "absolute/etc"),
            ("circle", "circle", "circle"),
            (".", ".", "."),
        ] {
            let links = root.snapshot_links([Path::new(path)]);
            assert_eq!(links.resolve(Path::new(path)), Path::new(real), "{path}");
            assert_eq!(links.resolve_nofollow(Path::new(path)), Path::new(name), "{path}");
            if let Ok(there) = folder.path().join(real).canonicalize()
                && !path.contains("out")
                && !path.contains("absolute")
            {
                assert_eq!(folder.path().join(path).canonicalize().unwrap(), there, "{path}");
            }
        }
    }

    #[test]
    fn only_the_links_that_were_seen_are_followed_and_only_to_where_they_led() {
        let (folder, root) = project();
        let path = Path::new("l/again/b");
        let bound = root.with_allowed_links(root.snapshot_links([path]));
        assert_eq!(bound.read(path, 9).unwrap(), b"a");
        assert_eq!(bound.stat(path).unwrap().kind, FileKind::Symlink);
        let unseen = root.with_allowed_links(SymlinkSnapshot::default());
        assert!(matches!(unseen.read(path, 9), Err(RootDirError::LinkChanged)));
        assert!(matches!(unseen.read(Path::new("out/x"), 9), Err(RootDirError::OutsideRoot)));
        assert_eq!(unseen.read(Path::new("real/deep/a"), 9).unwrap(), b"a");
        // The link has another target now; we still use the observed one.
        fs::create_dir(folder.path().join("other")).unwrap();
        fs::remove_file(folder.path().join("l")).unwrap();
        symlink("other", folder.path().join("l")).unwrap();
        bound.write(Path::new("l/new"), b"x", super::super::FileWriteMode::Create).unwrap();
        assert!(
            folder.path().join("real/new").exists() && !folder.path().join("other/new").exists()
        );
        // A directory that was replaced by a link is not followed either.
        fs::rename(folder.path().join("real"), folder.path().join("gone")).unwrap();
        symlink("gone", folder.path().join("real")).unwrap();
        assert!(matches!(bound.read(path, 9), Err(RootDirError::LinkChanged)));
    }
}
