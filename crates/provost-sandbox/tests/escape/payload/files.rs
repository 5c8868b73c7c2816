//! Attacks on files.

use std::ffi::{CString, c_long};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use super::{Attack, call};
use crate::sandbox_fixture::SECRET;

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("read", [path]) => fs::read_to_string(path),
        ("open", [path]) => File::open(path).map(|_| "opened".into()),
        ("list", [path]) => fs::read_dir(path).map(|names| format!("{} names", names.count())),
        ("write", [path]) => write(path),
        ("append", [path]) => append(path),
        ("rename", [from, to]) => fs::rename(from, to).map(|()| "renamed".into()),
        ("link", [from, to]) => fs::hard_link(from, to).map(|()| "linked".into()),
        ("mkdir", [path]) => fs::create_dir(path).map(|()| "made".into()),
        ("remove", [path]) => fs::remove_file(path).map(|()| "removed".into()),
        ("truncate", [path]) => truncate(path),
        ("chmod", [path]) => set_id(path),
        ("create-set-id", [path]) => create_set_id(path),
        ("grow", [path, gigabytes]) => grow(path, gigabytes),
        ("read-any", paths) => read_any(paths),
        ("home-read", [path]) => fs::read_to_string(at_home(path)),
        ("home-write", [path, text]) => home_write(path, text),
        _ => return None,
    })
}

fn write(path: &str) -> Attack {
    fs::write(path, "harmed").map(|()| "written".into())
}

/// Harm is to find the secret in one of them.
fn read_any(paths: &[&str]) -> Attack {
    let found: Vec<&&str> = paths
        .iter()
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(SECRET)))
        .collect();
    if found.is_empty() {
        Err(io::ErrorKind::PermissionDenied.into())
    } else {
        Ok(format!("{found:?}"))
    }
}

/// A path as it is, or, if it is a name, in the folder for temporary files.
fn at_tmp(path: &str) -> std::path::PathBuf {
    let tmp = std::env::vars_os().find(|(name, _)| name == "TMPDIR").map(|(_, value)| value);
    std::path::Path::new(&tmp.unwrap_or_default()).join(path)
}

/// A path in its home directory.
fn at_home(path: &str) -> std::path::PathBuf {
    let home = std::env::vars_os().find(|(name, _)| name == "HOME").unwrap().1;
    std::path::Path::new(&home).join(path)
}

fn home_write(path: &str, text: &str) -> Attack {
    let path = at_home(path);
    fs::create_dir_all(path.parent().unwrap())?;
    fs::write(path, text).map(|()| "written".into())
}

fn append(path: &str) -> Attack {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(b"harmed").map(|()| "appended".into())
}

fn truncate(path: &str) -> Attack {
    let path = CString::new(path).unwrap();
    call(libc::SYS_truncate, [path.as_ptr() as c_long, 0, 0, 0, 0])
}

fn set_id(path: &str) -> Attack {
    let path = &at_tmp(path);
    fs::copy("/proc/self/exe", path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o4755))?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o4000 == 0 { Err(io::Error::other("dropped")) } else { Ok("made".into()) }
}

fn create_set_id(path: &str) -> Attack {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = &at_tmp(path);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o4755).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o4000 == 0 { Err(io::Error::other("dropped")) } else { Ok("made".into()) }
}

fn grow(path: &str, gigabytes: &str) -> Attack {
    // SAFETY: ignores the signal that would end us before we can report.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let file = File::create(path)?;
    let end = gigabytes.parse::<u64>().unwrap() << 30;
    std::os::unix::fs::FileExt::write_at(&file, b"x", end)?;
    Ok("grown".into())
}
