//! Parsing of patches.

use proptest::prelude::*;
use provost_core::action::{Action, patch};
use serde_json::json;

use crate::parse;

#[test]
fn a_patch_names_the_files_it_touches() {
    let text = "\
diff --git a/old name.rs b/new name.rs
similarity index 90%
rename from old name.rs
rename to new name.rs
--- a/old name.rs
+++ b/new name.rs
@@ -1,1 +1,1 @@
-a
+b
diff --git a/empty b/empty
new file mode 100755
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
--- plain
+++ plain
@@ -3,9 +3,9 @@
 miscounted
--- looks like a header
+++ looks like a header


--- last
+++ last
@@ -1,2 +1,2 @@
--- looks like a header
+++ looks like a header
 kept
";
    let action = parse("fs.applyPatch", json!({"patch": text}));
    let paths: Vec<_> = action.paths().into_iter().map(|path| path.to_string()).collect();
    assert_eq!(paths, ["old name.rs", "new name.rs", "empty", "gone", "plain", "last"]);
    let files = patch::parse_patch(text).unwrap();
    assert_eq!(files[1].executable, Some(true));
    assert_eq!(files.iter().map(|file| file.hunks.len()).collect::<Vec<_>>(), [1, 0, 1, 1, 1]);
}

#[test]
fn a_patch_that_leaves_the_project_is_refused() {
    for (old, new) in
        [("a/../../x", "b/../../x"), ("/etc/passwd", "/etc/passwd"), ("/dev/null", "b/..")]
    {
        let patch = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n");
        assert!(Action::parse("fs.applyPatch", json!({"patch": patch})).is_err(), "{old} {new}");
    }
}

proptest! {
    #[test]
    fn no_text_confuses_the_patch_reader(text in "(--- |\\+\\+\\+ |@@ -1,2 \\+1 @@|diff --git |[ab/\n\r\\\\+ \"-])*") {
        if let Ok(files) = patch::parse_patch(&text) {
            prop_assert!(!files.is_empty());
        }
    }
}
