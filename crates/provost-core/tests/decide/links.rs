//! A link is no way around a gate or a rule.

use super::*;
use provost_core::action::RelPath;

fn decided(action: Action, leads_to: &str, user: &str, mode: Mode) -> &'static str {
    let rules = rules(user, None);
    let leads_to = [RelPath::new(leads_to).unwrap()];
    let standing = Standing { leads_to: &leads_to, ..standing(&rules, mode) };
    word(&decide(asked(action), Acting::In(&able()), &standing))
}

#[test]
fn a_link_to_a_protected_place_is_closed_and_one_to_a_denied_file_denied() {
    let write = || action("fs.writeFile", json!({ "path": "docs/x", "content": "" }));
    let read = || action("fs.readFile", json!({ "path": "notes.md" }));
    let rule = |effect: &str, path: &str| {
        format!("[[rule]]\nid = 'r'\neffect = '{effect}'\non = ['fs.*']\npath = ['{path}']\n")
    };
    assert_eq!(decided(write(), ".git/hooks/x", "", Mode::Full), "deny");
    assert_eq!(decided(write(), "src/x", "", Mode::Full), "allow mode");
    assert_eq!(decided(read(), ".git/config", "", Mode::Sandbox), "allow mode");
    assert_eq!(decided(read(), ".env", &rule("deny", "**/.env"), Mode::Full), "deny");
    assert_eq!(decided(read(), ".env", &rule("ask", "**/.env"), Mode::Sandbox), "ask");
    // That the place may be written does not say that the link may.
    assert_eq!(decided(write(), "tmp/x", &rule("allow", "tmp/**"), Mode::Sandbox), "ask");
    assert_eq!(decided(write(), "tmp/x", &rule("allow", "docs/**"), Mode::Sandbox), "allow rules");
}
