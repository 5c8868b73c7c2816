//! Reported changes in a real folder, and the limits of the scan.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// Checks what is reported after a change to a project with these files.
#[track_caller]
fn check(change: impl Fn(&Path), changed: &[&str], folders: &[&str]) {
    let app = tempfile::tempdir().unwrap();
    let at = |name: &str| app.path().join(name);
    for folder in [".git/info", "src", "node_modules/lib"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at(".git/info/exclude"), "/private\n").unwrap();
    fs::write(at(".gitignore"), "node_modules\n").unwrap();
    fs::write(at("README.md"), "hello").unwrap();
    symlink("/etc", at("etc")).unwrap();
    let start = later(app.path());
    change(app.path());
    let found = find_changes_since(&RootDir::open(app.path()).unwrap(), start).unwrap_or_default();
    let wanted = ObservedChanges { changed: owned(changed), folders: owned(folders), more: false };
    assert_eq!(found, wanted);
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A time later than all changes in a folder.
fn later(folder: &Path) -> FileTimestamp {
    let last = EntryStat::read_at(RootDir::open(folder).unwrap(), c"").unwrap();
    loop {
        let now = FileTimestamp::now();
        if now > last.changed {
            return now;
        }
    }
}

#[test]
fn the_top_of_a_project_is_looked_at_like_any_other_folder() {
    check(|_| {}, &[], &[]);
    check(|app| fs::write(app.join("new"), "").unwrap(), &["new"], &[]);
    check(|app| fs::write(app.join("README.md"), "bye").unwrap(), &["README.md"], &[]);
    check(|app| fs::remove_file(app.join("README.md")).unwrap(), &[], &["."]);
    check(|app| fs::rename(app.join("src"), app.join("lib")).unwrap(), &["lib/"], &["."]);
}

#[test]
fn what_is_ignored_and_what_is_gits_own_is_left_out() {
    check(|app| fs::write(app.join("node_modules/lib/x"), "").unwrap(), &[], &[]);
    check(|app| fs::write(app.join(".git/index"), "").unwrap(), &[], &[]);
    check(|app| fs::write(app.join("node_modules/a"), "").unwrap(), &[], &[]);
    // The folder is reported where the name is ignored.
    check(|app| fs::write(app.join("private"), "").unwrap(), &[], &["."]);
}

#[test]
fn rules_that_are_new_hold_for_nothing() {
    let hide = |rules: &'static str| {
        move |app: &Path| {
            fs::write(app.join(rules), "*\n").unwrap();
            fs::write(app.join("src/x"), "").unwrap();
        }
    };
    check(hide(".gitignore"), &[".gitignore", "src/x"], &[]);
    check(hide(".ignore"), &[".ignore", "src/x"], &[]);
    check(hide(".git/info/exclude"), &["src/x"], &[]);
}

#[test]
fn a_link_is_not_followed() {
    let out = tempfile::tempdir().unwrap();
    let linked = |app: &Path| symlink(out.path(), app.join("out")).unwrap();
    check(
        |app| {
            linked(app);
            fs::write(out.path().join("x"), "").unwrap();
        },
        &["out"],
        &[],
    );
}

#[test]
fn a_walk_that_is_too_long_ends_and_says_so() {
    let app = tempfile::tempdir().unwrap();
    let start = later(app.path());
    fs::write(app.path().join("a"), "").unwrap();
    for folder in 0..21 {
        let folder = app.path().join(format!("many/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        (0..1000).for_each(|n| fs::write(folder.join(n.to_string()), "").unwrap());
    }
    let found = find_changes_since(&RootDir::open(app.path()).unwrap(), start).unwrap();
    assert!(found.more);
    assert_eq!(found.changed[0], "a", "the top level is scanned first");
    assert!(found.changed.len() <= MAX_REPORTED_NAMES);
}

#[test]
fn a_time_in_whole_seconds_may_be_a_later_one() {
    let start = FileTimestamp { seconds: 5, nanos: 7 };
    for (seconds, nanos, since) in
        [(5, 7, true), (5, 8, true), (6, 0, true), (5, 0, true), (5, 6, false), (4, 0, false)]
    {
        assert_eq!(
            FileTimestamp { seconds, nanos }.may_be_since(start),
            since,
            "{seconds}.{nanos:09}"
        );
    }
}
