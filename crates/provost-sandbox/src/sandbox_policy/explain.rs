//! A policy as text, for people.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{NetworkAccess, SandboxPolicy, SandboxProfile};

impl SandboxPolicy {
    /// What the policy allows and denies, for `provost sandbox --explain`.
    pub fn explain(&self) -> String {
        let (name, gist) = match self.profile {
            SandboxProfile::Read => ("read", "the project can be read"),
            SandboxProfile::Build => ("build", "the project and the caches can be written"),
            SandboxProfile::Serve => ("serve", "as build, and it may listen"),
            SandboxProfile::Terminal => {
                ("terminal", "the user's own rights, without Provost's data")
            }
        };
        let network = match self.network {
            NetworkAccess::None => "no network",
            NetworkAccess::Listen => {
                "may listen on TCP ports and connect to its own, nowhere else, no UDP"
            }
            NetworkAccess::Full => "full network access",
        };
        let mut text = format!("profile {name}: {gist}\n\nproject\n  {}\n", self.project.display());
        write_path_list(&mut text, "writable", &self.writable);
        let (tmp, home) = if self.is_in_memory {
            (Path::new("/tmp"), &*self.home)
        } else {
            (&*self.scratch, &*self.own_home)
        };
        write_path_list(&mut text, "writable, private, for temporary files", [tmp]);
        write_path_list(
            &mut text,
            "read-only inside writable paths (a missing one can be created, and is reported)",
            &self.protected,
        );
        if !self.nested.complete {
            text.push_str(
                "  … there may be more repositories in the project, which are not protected\n",
            );
        }
        if self.is_confined() {
            write_path_list(&mut text, "writable, as its home directory", [home]);
            let there = |paths: &[PathBuf]| -> Vec<PathBuf> {
                paths.iter().filter(|path| path.exists()).cloned().collect()
            };
            let caches = there(&self.caches);
            write_path_list(&mut text, "readable, with a writable layer of its own", &caches);
            let readable = there(&self.readable);
            let readable = readable.iter().filter(|path| !caches.contains(path));
            write_path_list(&mut text, "readable", readable);
            let is_inside = |path: &&PathBuf| self.readable.iter().any(|r| path.starts_with(r));
            let hidden = self.hidden.iter().filter(is_inside);
            write_path_list(&mut text, "not readable inside readable paths", hidden);
            text.push_str("\neverything else\n  neither readable nor writable; ");
            text.push_str("`[sandbox] read` in policy.toml adds paths\n");
        } else {
            write_path_list(&mut text, "neither readable nor writable", &self.hidden);
            text.push_str("\neverything else\n  readable, as far as the user may\n");
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "\nnetwork\n  {network}\n");
        text
    }
}

fn write_path_list<'a, P: AsRef<Path> + ?Sized + 'a>(
    text: &mut String,
    title: &str,
    paths: impl IntoIterator<Item = &'a P>,
) {
    let mut paths = paths.into_iter().peekable();
    if paths.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for path in paths {
        let _ = writeln!(text, "  {}", path.as_ref().display());
    }
}
