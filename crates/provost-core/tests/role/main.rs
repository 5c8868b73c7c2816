//! Roles: parsing, errors with their positions, and that changing the model changes nothing else.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claude;
mod model;
mod refused;

use expect_test::{Expect, expect};
use provost_core::role::{Role, RoleSource, collect_roles, trust_digest};
use provost_proto::Hash;

const FILE: &str = ".provost/roles/backend.md";

/// Parses a valid native role.
fn own(text: &str) -> Role {
    Role::parse(FILE, text, RoleSource::Provost).unwrap()
}

/// The error of an invalid file, without its name.
#[track_caller]
fn refused(text: &str, expected: &Expect) {
    let error = Role::parse(FILE, text, RoleSource::Provost).unwrap_err();
    assert!(error.to_string().starts_with(FILE), "{error}");
    expected.assert_eq(&error.to_string()[FILE.len()..]);
}

const BACKEND: &str = "\
---
name: backend
description: Server-side work.
model: anthropic/claude-sonnet-5
skills: [fs.read, fs.write, terminal.runCommand]
---
You are a careful engineer.
";

#[test]
fn a_role_of_the_documentation_is_read_whole() {
    let role = own(BACKEND);
    assert_eq!(role.name, "backend");
    assert_eq!(role.description, "Server-side work.");
    assert_eq!(role.model.as_deref(), Some("anthropic/claude-sonnet-5"));
    assert_eq!(role.instructions, "You are a careful engineer.");
    assert!(role.skills.has("fs.editFile") && role.skills.has("terminal.runCommand"));
    assert!(!role.skills.has("terminal.stop"));
    assert!(role.notes.is_empty());
}

#[test]
fn no_skills_means_none_whatever_the_role_is_called() {
    for name in ["admin", "root", "provost", "operator", "backend"] {
        for skills in ["", "skills: []\n", "skills:\n", "skills: ~\n"] {
            let file = format!(".provost/roles/{name}.md");
            let text = format!("---\nname: {name}\n{skills}---\n");
            let role = Role::parse(&file, &text, RoleSource::Provost).unwrap();
            assert!(role.skills.is_empty(), "{text}");
            assert_eq!(role.notes, ["this role has no skills, so it may ask for nothing"]);
        }
    }
}

#[test]
fn marks_ends_of_lines_and_words_like_no_are_taken_as_they_are() {
    let text = BACKEND.replace('\n', "\r\n");
    assert_eq!(own(&text).skills, own(BACKEND).skills);
    assert_eq!(own(&format!("\u{feff}{text}")).instructions, "You are a careful engineer.");
    assert_eq!(own("---\nname: backend\ndescription: no\n---").description, "no");
    assert_eq!(own("---  \nname: backend\n---\t\n\n\n  a\n\n").instructions, "  a");
}

#[test]
fn a_name_that_two_files_claim_belongs_to_neither() {
    let claude = "---\nname: backend\ntools: Read\n---\n".to_owned();
    let (roles, errors) = collect_roles(vec![
        (RoleSource::Provost, FILE.to_owned(), BACKEND.to_owned()),
        (RoleSource::Claude, ".claude/agents/other.md".to_owned(), claude.clone()),
        (RoleSource::Agent, ".agent/rules/roles/a.md".to_owned(), "---\nname: a\n---\n".to_owned()),
    ]);
    assert_eq!(roles.iter().map(|role| &*role.name).collect::<Vec<_>>(), ["a"]);
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    expect![[r"
        .claude/agents/other.md:1: the role `backend` is also defined in .provost/roles/backend.md; neither has effect until one is gone
        .provost/roles/backend.md:1: the role `backend` is also defined in .claude/agents/other.md; neither has effect until one is gone"]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_not_replaced_by_another_with_its_name() {
    let (roles, errors) = collect_roles(vec![
        (
            RoleSource::Provost,
            FILE.to_owned(),
            "---\nname: backend\nskills: [fs.raed]\n---".to_owned(),
        ),
        (
            RoleSource::Claude,
            ".claude/agents/backend.md".to_owned(),
            "---\nname: backend\ntools: Bash\n---\n".to_owned(),
        ),
    ]);
    assert!(roles.is_empty());
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    expect![[r"
        .claude/agents/backend.md:1: the role `backend` may be meant by .provost/roles/backend.md, which cannot be read; mend or remove it
        .provost/roles/backend.md:3:10: unknown skill `fs.raed`; did you mean `fs.read`?"]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn trust_is_bound_to_every_byte_of_every_file_and_to_no_order() {
    let hash = |text: &str| Role::hash(text.as_bytes());
    let file = |path: &str, text: &str| (path.to_owned(), hash(text));
    let both = trust_digest(&[file("a", "1"), file("b", "2")]);
    assert_eq!(both, trust_digest(&[file("b", "2"), file("a", "1")]));
    for other in [
        trust_digest(&[]),
        trust_digest(&[file("a", "1")]),
        trust_digest(&[file("a", "2"), file("b", "1")]),
        trust_digest(&[file("a", "1"), file("b", "2 ")]),
        trust_digest(&[file("a", "1"), file("b", "2"), file("b", "2")]),
        Hash::ZERO,
    ] {
        assert_ne!(both, other);
    }
}
