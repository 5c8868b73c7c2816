//! Links that were seen, and following these and no others.
//!
//! Whoever decides about a path must know where it leads, and whoever then uses
//! it must come to the same place: else a link that is swapped in between leads
//! where nobody allowed. So the one looks with [`Root::links_to`], decides about
//! [`Links::real`], and the other goes there through [`Root::bound_to`], in which
//! the kernel follows no link at all.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{BeneathError, Kind, RESOLVE, RESOLVE_TRIES, Resolved, Root, path};

/// How many links are followed, as many as the system would.
const LINKS: u32 = 40;

/// A path that is resolved without any link.
const STRAIGHT: ResolveFlags = RESOLVE.union(ResolveFlags::NO_SYMLINKS);

/// Paths that are links, with the places where they lead in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(Vec<(PathBuf, PathBuf)>);

impl Links {
    /// The links of this list: each path with the place where it leads.
    pub fn new(links: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        Self(links.into_iter().collect())
    }

    /// Each path with the place where it leads.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0.iter().map(|(path, place)| (path.as_path(), place.as_path()))
    }

    /// Where a path leads.
    pub fn real(&self, path: &Path) -> PathBuf {
        let on_the_way = self.0.iter().filter(|(link, _)| path.starts_with(link));
        let Some((link, place)) = on_the_way.max_by_key(|(link, _)| link.as_os_str().len()) else {
            return path.to_owned();
        };
        join(place, path.strip_prefix(link).unwrap_or(Path::new("")))
    }

    /// Where the name itself is, whatever it leads to.
    pub fn real_name(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => join(&self.real(folder), Path::new(name)),
            (None, _) | (_, None) => path.to_owned(),
        }
    }

    fn add(&mut self, link: PathBuf, place: PathBuf) {
        if !self.0.iter().any(|(known, _)| *known == link) {
            self.0.push((link, place));
        }
    }
}

/// A path in a place, which may be the root itself.
fn join(place: &Path, rest: &Path) -> PathBuf {
    match (place == Path::new("."), rest.as_os_str().is_empty()) {
        (_, true) => place.to_owned(),
        (true, false) => rest.to_owned(),
        (false, false) => place.join(rest),
    }
}

impl Root {
    /// The links on the way to these paths, as they are now. One that leads out,
    /// in a circle or too far is not among them: it is not to be followed.
    pub fn links_to<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) -> Links {
        let mut links = Links::default();
        for path in paths {
            if !self.is_straight(path) {
                self.walk(path, &mut links);
            }
        }
        links
    }

    /// The same folder, in which these links are followed and no others.
    #[must_use]
    pub fn bound_to(&self, links: Links) -> Self {
        Self { dir: self.dir.clone(), links: Some(links) }
    }

    /// The same folder once more.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { dir: self.dir.clone(), links: self.links.clone() }
    }

    /// The links that are followed, if not all are.
    pub fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// Whether what is there of a path holds no link. One call for most.
    pub fn is_straight(&self, path: &Path) -> bool {
        for there in path.ancestors().filter(|there| !there.as_os_str().is_empty()) {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let mode = rustix::fs::Mode::empty();
            match rustix::fs::openat2(&*self.dir, there, flags, mode, STRAIGHT) {
                Ok(_) => return true,
                Err(Errno::NOENT) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Follows a path name by name.
    fn walk(&self, path: &Path, links: &mut Links) {
        let mut left = LINKS;
        let mut named = PathBuf::new();
        let mut real = PathBuf::new();
        for name in path {
            named.push(name);
            let plain = real.join(name);
            match self.follow(&real, name, &mut left) {
                Some(place) => real = place,
                None => return,
            }
            if real != plain {
                let place = if real.as_os_str().is_empty() { Path::new(".") } else { &real };
                links.add(named.clone(), place.to_owned());
            }
        }
    }

    /// Where a name in a folder without links leads.
    fn follow(&self, folder: &Path, name: &OsStr, left: &mut u32) -> Option<PathBuf> {
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
            let target = self.stat(&next).ok().filter(|stat| stat.kind == Kind::Symlink);
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

    /// Resolves a path along the links that were seen, to where they led.
    pub(super) fn resolve_bound(
        &self,
        links: &Links,
        path: &OsStr,
        flags: OFlags,
        doing: &'static str,
    ) -> Resolved {
        let wanted = Path::new(path);
        let last = flags.contains(OFlags::NOFOLLOW);
        let real = if last { links.real_name(wanted) } else { links.real(wanted) };
        let real = path::folder(&real)?;
        for _ in 0..RESOLVE_TRIES {
            let mode = rustix::fs::Mode::empty();
            let flags = flags | OFlags::CLOEXEC;
            match rustix::fs::openat2(&*self.dir, real, flags, mode, STRAIGHT) {
                Ok(fd) => return Ok(fd),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::XDEV) => return Err(BeneathError::Outside),
                // A link that nobody saw, or one that leads out and never was to be followed.
                Err(Errno::LOOP) => {
                    return match self.reach(path, flags, RESOLVE, doing) {
                        Err(BeneathError::Outside) => Err(BeneathError::Outside),
                        Ok(_) | Err(_) => Err(BeneathError::Elsewhere),
                    };
                }
                Err(errno) => return Err(BeneathError::from_errno(errno, doing)),
            }
        }
        Err(BeneathError::from_errno(Errno::AGAIN, doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, Root) {
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
        let root = Root::open(folder.path()).unwrap();
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
            // What leads out is followed no further than that.
            ("out/x", "out/x", "out/x"),
            ("l/up/absolute/etc", "absolute/etc", "absolute/etc"),
            ("circle", "circle", "circle"),
            (".", ".", "."),
        ] {
            let links = root.links_to([Path::new(path)]);
            assert_eq!(links.real(Path::new(path)), Path::new(real), "{path}");
            assert_eq!(links.real_name(Path::new(path)), Path::new(name), "{path}");
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
        let bound = root.bound_to(root.links_to([path]));
        assert_eq!(bound.read(path, 9).unwrap(), b"a");
        assert_eq!(bound.stat(path).unwrap().kind, Kind::Symlink);
        let unseen = root.bound_to(Links::default());
        assert!(matches!(unseen.read(path, 9), Err(BeneathError::Elsewhere)));
        assert!(matches!(unseen.read(Path::new("out/x"), 9), Err(BeneathError::Outside)));
        assert_eq!(unseen.read(Path::new("real/deep/a"), 9).unwrap(), b"a");
        // The link leads elsewhere now, and we go where it led.
        fs::create_dir(folder.path().join("other")).unwrap();
        fs::remove_file(folder.path().join("l")).unwrap();
        symlink("other", folder.path().join("l")).unwrap();
        bound.write(Path::new("l/new"), b"x", super::super::Mode::Create).unwrap();
        assert!(
            folder.path().join("real/new").exists() && !folder.path().join("other/new").exists()
        );
        // So does a folder that a link takes the place of.
        fs::rename(folder.path().join("real"), folder.path().join("gone")).unwrap();
        symlink("gone", folder.path().join("real")).unwrap();
        assert!(matches!(bound.read(path, 9), Err(BeneathError::Elsewhere)));
    }
}
