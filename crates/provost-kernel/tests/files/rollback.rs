//! A patch that fails halfway is rolled back.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use provost_core::action::Action;
use provost_kernel::{ActionError, files};
use provost_proto::Code;
use serde_json::Value;

use crate::patch::{MANY, many, patch};
use crate::{Project, as_nobody};

/// Everything is unchanged, including permissions.
#[track_caller]
fn untouched(project: &Project) {
    assert_eq!(project.names(), ["f", "gone", "old.sh"]);
    project.holds("gone", "bye\nbye\n");
    project.holds("old.sh", "#!/bin/sh\nold\n");
    project.holds("f", "f\n");
    let mode = fs::metadata(project.at("old.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

fn stopped_by(project: &Project, stop: &dyn Fn() -> bool) -> Result<Value, ActionError> {
    let Ok(Action::File(action)) = Action::parse("fs.applyPatch", patch(MANY)) else {
        panic!("this is a patch")
    };
    files::execute_file_action(&project.root, &action, stop)
}

#[test]
fn a_patch_that_is_stopped_anywhere_is_applied_whole_or_not_at_all() {
    for n_asked in 0.. {
        let project = many();
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= n_asked;
        let Err(error) = stopped_by(&project, &stop) else {
            // Polled before each of four files, and before each of five steps.
            assert_eq!(n_asked, 9);
            return;
        };
        assert_eq!(error.code, Code::Cancelled, "{error}");
        assert_eq!(error.message, "cancelled before it finished");
        untouched(&project);
    }
}

#[test]
fn a_file_that_somebody_changes_meanwhile_is_theirs_and_the_rest_is_put_back() {
    let project = many();
    let asked = Cell::new(0);
    let stop = || {
        if asked.replace(asked.get() + 1) == 8 {
            fs::write(project.at("f"), "theirs\n").unwrap();
        }
        false
    };
    let error = stopped_by(&project, &stop).unwrap_err();
    assert_eq!(
        (error.code, &*error.message),
        (Code::Conflict, "f: the file was changed by something else in the meantime")
    );
    project.holds("f", "theirs\n");
    fs::write(project.at("f"), "f\n").unwrap();
    untouched(&project);
}

#[test]
fn what_was_written_before_a_failure_is_put_back() {
    let project = many();
    let parent = project.inside.parent().unwrap();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&project.inside, fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(project.at("ro")).unwrap();
    fs::set_permissions(project.at("ro"), fs::Permissions::from_mode(0o555)).unwrap();
    let last = "--- /dev/null\n+++ b/ro/x\n@@ -0,0 +1 @@\n+x\n";
    as_nobody(|| {
        let params = patch(&format!("{MANY}{last}"));
        let error = project.fails("fs.applyPatch", params, Code::PermissionDenied);
        assert!(!error.message.contains("could not be restored"), "{error}");
    });
    fs::remove_dir(project.at("ro")).unwrap();
    untouched(&project);
}
