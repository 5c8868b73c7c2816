//! Rules about paths.

use super::{ALLOW, DENY, path, user};

fn rule(effect: &str, on: &str, pattern: &str) -> String {
    format!("[[rule]]\nid = 'a'\neffect = '{effect}'\non = ['{on}']\npath = ['{pattern}']\n")
}

#[test]
fn a_rule_is_about_its_skills_and_its_paths() {
    let rules = user(&rule("allow", "fs.write", "docs/**"));
    for (skill, place, expected) in [
        ("fs.writeFile", "docs/a.md", ALLOW),
        ("fs.editFile", "docs/a/b.md", ALLOW),
        ("fs.readFile", "docs/a.md", None),
        ("fs.writeFile", "src/a.rs", None),
        ("fs.createDir", "docs", None),
    ] {
        assert_eq!(path(&rules, skill, place), expected, "{skill} {place}");
    }
}

#[test]
fn both_ends_of_a_move_must_be_allowed_and_either_can_be_denied() {
    let allow = user(&rule("allow", "fs.moveFile", "a"));
    assert_eq!(path(&allow, "fs.moveFile", "a"), None);
    let deny = user(&rule("deny", "fs.moveFile", "elsewhere"));
    assert_eq!(path(&deny, "fs.moveFile", "a"), DENY);
}

#[test]
fn who_denies_what_is_in_a_folder_denies_moving_and_deleting_it() {
    let rules = user(&rule("deny", "fs.*", "config/secret/**"));
    for (skill, place, expected) in [
        ("fs.deleteFile", "config/secret/a", DENY),
        ("fs.deleteFile", "config/secret", DENY),
        ("fs.deleteFile", "config", DENY),
        ("fs.moveFile", "config", DENY),
        ("fs.deleteFile", "configs", None),
        ("fs.deleteFile", "src", None),
        ("fs.readFile", "config/a", None),
        ("fs.listFiles", "config/secret", DENY),
    ] {
        assert_eq!(path(&rules, skill, place), expected, "{skill} {place}");
    }
    let allow = user(&rule("allow", "fs.*", "build/**"));
    assert_eq!(path(&allow, "fs.deleteFile", "build"), None);
    assert_eq!(path(&allow, "fs.deleteFile", "build/a"), ALLOW);
}
