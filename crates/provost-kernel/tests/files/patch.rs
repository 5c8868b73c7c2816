//! `fs.applyPatch`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use provost_proto::Code;
use serde_json::{Value, json};

use crate::{Project, changed};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

pub(crate) fn patch(text: &str) -> Value {
    json!({"patch": text})
}

/// A patch of the file `f`.
fn of_f(hunks: &str) -> Value {
    patch(&format!("--- a/f\n+++ b/f\n{hunks}"))
}

#[track_caller]
fn patched(before: &str, hunks: &str, after: &str) -> Value {
    let project = Project::with(&[("f", before)]);
    let answer = project.done("fs.applyPatch", of_f(hunks));
    project.holds("f", after);
    assert_eq!(changed(&answer), ["modified f"]);
    answer
}

#[track_caller]
fn misfits(before: &str, hunks: &str, hunk: u64) -> Value {
    let project = Project::with(&[("f", before)]);
    let error = project.fails("fs.applyPatch", of_f(hunks), Code::PatchConflict);
    project.holds("f", before);
    let details = error.details.unwrap();
    assert_eq!(
        (&details["file"], &details["hunk"]),
        (&json!("f"), &json!(hunk)),
        "{}",
        error.message
    );
    details
}

#[test]
fn a_hunk_goes_where_it_fits() {
    let after = BEFORE.replace("four", "4");
    let body = " three\n-four\n+4\n five\n";
    patched(BEFORE, &format!("@@ -3,3 +3,3 @@\n{body}"), &after);
    // Wrong line, wrong counts, both, far beyond the end.
    patched(BEFORE, &format!("@@ -1,3 +1,3 @@\n{body}"), &after);
    patched(BEFORE, &format!("@@ -3,9 +3,7 @@ fn x\n{body}"), &after);
    patched(BEFORE, &format!("@@ -3,1 +3,1 @@\n{body}\n\n"), &after);
    patched(BEFORE, &format!("@@ -999999,3 +0,3 @@\n{body}"), &after);
    patched(BEFORE, "@@ -7 +7,2 @@\n seven\n+eight\n", &format!("{BEFORE}eight\n"));
    patched(BEFORE, "@@ -2,0 +3,1 @@\n+new\n", &BEFORE.replace("two\n", "two\nnew\n"));
    patched(BEFORE, "@@ -1,7 +0,0 @@\n-one\n-two\n-three\n-four\n-five\n-six\n-seven\n", "");
}

#[test]
fn several_hunks_keep_track_of_each_other() {
    let hunks = "@@ -1,2 +1,4 @@\n one\n+a\n+b\n two\n@@ -6,2 +8,1 @@\n six\n-seven\n";
    patched(BEFORE, hunks, "one\na\nb\ntwo\nthree\nfour\nfive\nsix\n");
    // The second fits at two positions, but exactly where the first moved it.
    let twice = "x\ny\n\nx\ny\n";
    let hunks = "@@ -1,1 +1,2 @@\n+0\n x\n@@ -4,2 +5,2 @@\n x\n-y\n+z\n";
    patched(twice, hunks, "0\nx\ny\n\nx\nz\n");
}

#[test]
fn of_two_equal_places_neither_is_taken() {
    let twice = "begin\nx\ny\nend\n\nbegin\nx\ny\nend\n";
    let details = misfits(twice, "@@ -4,2 +4,2 @@\n x\n-y\n+z\n", 1);
    assert_eq!(details["fits"], json!([2, 7]));
    // Also when it only fits with differing context lines.
    misfits(twice, "@@ -4,3 +4,3 @@\n X\n-y\n+z\n end\n", 1);
}

#[test]
fn surroundings_may_differ_a_little_and_what_goes_may_not() {
    let answer =
        patched(BEFORE, "@@ -3,3 +3,3 @@\n drei\n-four\n+4\n five\n", &BEFORE.replace("four", "4"));
    assert_eq!(
        answer["notes"][0],
        "f: lines around a change differ from the patch; check the result"
    );
    misfits(BEFORE, "@@ -3,3 +3,3 @@\n three\n-for\n+4\n five\n", 1);
    misfits(BEFORE, "@@ -1 +1 @@\n-one\n+1\n@@ -3,3 +3,3 @@\n three\n-FOUR\n+4\n five\n", 2);
    misfits(BEFORE, "@@ -3,2 +3,3 @@\n nothing\n+new\n like it\n", 1);
    misfits("", "@@ -1 +1 @@\n-one\n+1\n", 1);
}

#[test]
fn line_ends_stay_as_they_are() {
    let crlf = BEFORE.replace('\n', "\r\n");
    let hunks = "@@ -1,2 +1,3 @@\n one\n-two\n+2\n+2.5\n";
    let after = BEFORE.replace("two", "2\n2.5");
    patched(&crlf, hunks, &after.replace('\n', "\r\n"));
    patched(&crlf, &hunks.replace('\n', "\r\n"), &after.replace('\n', "\r\n"));
    patched(BEFORE, &hunks.replace('\n', "\r\n"), &after);
    // A patch that changes the line ends has them on every line.
    patched("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n");
}

#[test]
fn a_missing_end_of_the_last_line_is_kept_or_changed_as_told() {
    let mark = "\\ No newline at end of file\n";
    patched("a\nb", &format!("@@ -1,2 +1,2 @@\n a\n-b\n{mark}+c\n{mark}"), "a\nc");
    patched("a\nb", &format!("@@ -1,2 +1,2 @@\n a\n-b\n{mark}+b\n"), "a\nb\n");
    patched("a\nb\n", &format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{mark}"), "a\nb");
    // A patch without the marker: the file stays without a final newline.
    patched("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc");
    patched("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc");
}

/// Every kind of change, in four files.
pub(crate) const MANY: &str = "\
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-bye
-bye
diff --git a/old.sh b/moved/new.sh
similarity index 50%
rename from old.sh
rename to moved/new.sh
--- a/old.sh
+++ b/moved/new.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-old
+new
diff --git a/new/dir/f b/new/dir/f
new file mode 100755
--- /dev/null
+++ b/new/dir/f
@@ -0,0 +1,2 @@
+first
+second
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1 +1 @@
-f
+F
";

/// A project that [`MANY`] fits.
pub(crate) fn many() -> Project {
    let project =
        Project::with(&[("gone", "bye\nbye\n"), ("old.sh", "#!/bin/sh\nold\n"), ("f", "f\n")]);
    fs::set_permissions(project.at("old.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    project
}

#[test]
fn files_are_made_moved_changed_and_deleted() {
    let project = many();
    let answer = project.done("fs.applyPatch", patch(MANY));
    let expected = [
        "deleted gone",
        "created moved",
        "moved moved/new.sh",
        "modified moved/new.sh",
        "created new",
        "created new/dir",
        "created new/dir/f",
        "modified f",
    ];
    assert_eq!(changed(&answer), expected);
    assert_eq!(answer["notes"][0], "new/dir/f is not executable yet; `chmod +x` makes it so");
    assert_eq!(project.names(), ["f", "moved", "new"]);
    project.holds("moved/new.sh", "#!/bin/sh\nnew\n");
    project.holds("new/dir/f", "first\nsecond\n");
    project.holds("f", "F\n");
    let mode = fs::metadata(project.at("moved/new.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_patch_that_does_not_fit_everywhere_changes_nothing() {
    let project = many();
    fs::write(project.at("f"), "another\n").unwrap();
    let error = project.fails("fs.applyPatch", patch(MANY), Code::PatchConflict);
    assert_eq!(error.message, "f: hunk 1: its lines are not in the file");
    assert_eq!(project.names(), ["f", "gone", "old.sh"]);
    project.holds("old.sh", "#!/bin/sh\nold\n");
}

#[test]
fn without_atomic_what_fits_is_applied() {
    let project = many();
    fs::write(project.at("f"), "another\n").unwrap();
    let answer = project.done("fs.applyPatch", json!({"patch": MANY, "atomic": false}));
    assert_eq!(answer["failed"][0]["code"], "PATCH_CONFLICT");
    assert_eq!(answer["failed"][0]["details"]["file"], "f");
    assert_eq!(project.names(), ["f", "moved", "new"]);
    project.fails("fs.applyPatch", json!({"patch": MANY, "atomic": false}), Code::PatchConflict);
}

#[test]
fn a_file_that_is_not_as_the_patch_says_is_a_conflict() {
    let project = Project::with(&[("f", "f\n"), ("g", "g\nmore\n"), ("d/", "")]);
    symlink("f", project.at("link")).unwrap();
    let make = |path: &str| patch(&format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"));
    let drop = |path: &str| patch(&format!("--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"));
    project.fails("fs.applyPatch", make("f"), Code::PatchConflict);
    project.fails("fs.applyPatch", make("link"), Code::PatchConflict);
    project.fails("fs.applyPatch", drop("g"), Code::PatchConflict);
    project.fails("fs.applyPatch", drop("missing"), Code::PatchConflict);
    project.fails("fs.applyPatch", drop("d"), Code::IsDirectory);
    project.fails("fs.applyPatch", drop("link"), Code::NotAFile);
    project.fails(
        "fs.applyPatch",
        patch("diff --git a/f b/g\nrename from f\nrename to g\n"),
        Code::PatchConflict,
    );
    project.holds("f", "f\n");
    project.holds("g", "g\nmore\n");
}

#[test]
fn a_file_of_equal_lines_does_not_take_for_ever() {
    let before = "a\n".repeat(200_000);
    let hunk = format!("@@ -1,20001 +1,20000 @@\n{}-b\n", " a\n".repeat(20_000));
    misfits(&before, &hunk, 1);
}
