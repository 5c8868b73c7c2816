//! Paths: normalization, the traversal corpus, and protected paths.

use proptest::prelude::*;
use provost_core::action::{Action, BadPath, RelPath, protection_reason};
use serde_json::json;

#[test]
fn a_path_has_one_spelling() {
    for (given, kept) in [
        ("a", "a"),
        ("a//b/./c", "a/b/c"),
        ("./a/", "a"),
        ("", "."),
        (".", "."),
        ("././", "."),
        // Odd but valid names: nothing decodes or expands them.
        ("...", "..."),
        ("a/...", "a/..."),
        ("..a", "..a"),
        ("a..", "a.."),
        (" ..", " .."),
        ("%2e%2e/x", "%2e%2e/x"),
        ("%2e%2e%2fetc", "%2e%2e%2fetc"),
        ("a/~", "a/~"),
        ("~user", "~user"),
        ("$HOME/x", "$HOME/x"),
        ("C:", "C:"),
        ("-rf", "-rf"),
        ("*", "*"),
        ("größe/日本.txt", "größe/日本.txt"),
        ("❤\u{fe0f}.md", "❤\u{fe0f}.md"),
    ] {
        assert_eq!(RelPath::new(given).unwrap().as_str(), kept, "{given:?}");
    }
    assert_eq!(RelPath::new("a/b/c").unwrap().components().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(RelPath::root().components().count(), 0);
}

const HOSTILE: &[&str] = &[
    "..",
    "../",
    "../x",
    "../../.ssh/id_rsa",
    "a/..",
    "a/../x",
    "a/../../x",
    "a/b/../../../x",
    "./../x",
    ".//../x",
    "a/./../b",
    "/",
    "/etc/passwd",
    "//etc",
    "///",
    "//host/share",
    "/..",
    "/proc/self/root",
    "~",
    "~/",
    "~/.ssh/id_rsa",
    "./~/x",
    "..\\x",
    "..\\..\\x",
    "a\\..\\b",
    "C:\\x",
    "\\\\host\\share",
    "\\",
    "a\0",
    "\0",
    "a/\0/../b",
    "a\nb",
    "a\rb",
    "a\tb",
    "\u{1b}[2Jx",
    "a\u{7f}",
    "a\u{85}b",
    "a\u{202e}txt.exe",
    "a\u{2066}b",
    "a\u{200b}b",
    "a\u{200d}b",
    "a\u{feff}b",
    "a\u{ad}b",
    "a\u{2028}b",
    "a\u{2029}b",
    "\u{e0041}",
    "\u{e000}",
    "\u{378}",
    "a\u{3164}b",
    "a\u{115f}",
    "e\u{301}",
    "a/o\u{308}/b",
    "\u{ff0e}\u{ff0e}/x",
    "\u{2025}/x",
    "\u{2024}\u{2024}/x",
    ".\u{ff0e}/x",
    "a\u{ff0f}b",
    "\u{ff0f}etc",
    "a\u{ff3c}b",
    "\u{fe68}x",
];

/// The traversal corpus: every path of it is refused.
#[test]
fn a_path_that_tries_to_leave_or_to_deceive_is_refused() {
    let long = "a/".repeat(2049);
    let name = "n".repeat(256);
    let deep = format!("{}x", "../".repeat(100));
    for path in HOSTILE.iter().copied().chain([&*long, &name, &deep]) {
        let found = RelPath::new(path);
        assert!(found.is_err(), "{path:?} became {found:?}");
        assert!(Action::parse("fs.readFile", json!({"path": path})).is_err(), "{path:?}");
    }
}

#[test]
fn a_refused_path_says_why() {
    for (path, why) in [
        ("a/../b", BadPath::Parent),
        ("/etc", BadPath::Absolute),
        ("~/x", BadPath::Home),
        ("a\\b", BadPath::Backslash),
        ("\u{ff0e}\u{ff0e}", BadPath::Confusable('\u{ff0e}')),
    ] {
        assert_eq!(RelPath::new(path), Err(why));
    }
    let seen = RelPath::new("a\u{202e}b").unwrap_err().to_string();
    assert_eq!(seen, "the path contains \\u{202e}, which cannot be seen");
}

#[test]
fn what_governs_is_protected_in_any_case_and_at_any_depth() {
    for path in [
        ".git",
        ".git/hooks/pre-commit",
        ".git/config",
        "sub/.git/config",
        ".GIT/Config",
        "GIT~1/config",
        ".provost/policy.toml",
        "provost.toml",
        ".agent/rules/roles/a.md",
        ".claude/agents/a.md",
        ".mcp.json",
        ".envrc",
        "a/.envrc",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows",
        ".github",
        ".vscode/tasks.json",
        ".vscode/extensions.json",
        "a/.npmrc",
        ".cargo/config.toml",
        "CLAUDE.local.md",
        ".gitlab-ci.yml",
        ".gitmodules",
        "Jenkinsfile",
        ".provo\u{17f}t/x",
        ".vscode",
    ] {
        assert!(protection_reason(&RelPath::new(path).unwrap()).is_some(), "{path}");
    }
    for path in [
        ".",
        "src/lib.rs",
        ".gitignore",
        ".github/CODEOWNERS",
        "git/config",
        "a.git/config",
        "docs/claude",
        ".envrc.example",
        "agent",
    ] {
        assert_eq!(protection_reason(&RelPath::new(path).unwrap()), None, "{path}");
    }
}

proptest! {
    #[test]
    fn no_text_is_read_as_a_path_that_leaves(path in "([./~\\\\a\u{ff0e}\u{2025}]|.){0,12}") {
        if let Ok(path) = RelPath::new(&path) {
            prop_assert!(!path.as_str().starts_with('/'));
            prop_assert!(path.components().all(|name| !name.is_empty() && name != "." && name != ".."));
            prop_assert_eq!(RelPath::new(path.as_str()), Ok(path));
        }
    }
}
