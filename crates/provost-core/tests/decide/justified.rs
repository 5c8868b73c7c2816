//! Everything that is allowed has a reason, which an independent implementation finds too.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;

const LINES: &[&str] = &[
    "git status",
    "git status && ls",
    "git push",
    "ls; rm -rf .",
    "ls > out.txt",
    "ls $X",
    "cat <(ls)",
    "sudo git status",
    "env git status",
    "./git status",
    "A=1 git status",
    "cd .git && echo x > config",
    "sh build.sh",
    "git status | sh",
];

/// Rules about programs by name: effect, program, and role.
type Written = (&'static str, &'static str, &'static str);

fn any_rules() -> impl Strategy<Value = Vec<Written>> {
    let rule = (
        select(vec!["allow", "ask", "deny"]),
        select(vec!["git", "ls", "sh", "rm", "sudo"]),
        select(vec!["dev", "qa", "*"]),
    );
    prop::collection::vec(rule, 0..5)
}

fn text((n, (effect, program, role)): (usize, &Written)) -> String {
    format!(
        "[[rule]]\nid = 'r{n}'\neffect = '{effect}'\non = ['terminal.runCommand']\n\
         roles = ['{role}']\nargv = ['{program}', '**']\n"
    )
}

fn any_grant() -> impl Strategy<Value = Grant> {
    let who = select(vec![AGENT, "token:other"]);
    let session = select(vec![None, Some(3), Some(4)]);
    let ends = select(vec![None, Some(NOW - 1), Some(NOW + 1)]);
    (select(LINES), who, select(vec!["dev", "qa"]), session, ends, any::<bool>()).prop_map(
        |(granted, who, role, session, until, revoked)| Grant {
            grantee: who.to_owned(),
            role: Some(role.to_owned()),
            session: session.map(id),
            until,
            revoked_at: revoked.then_some(1),
            ..grant(requested(line(granted)).grant_scope().unwrap(), &[])
        },
    )
}

/// The programs of a line, if it is a plain list of plain commands.
fn programs(line: &str) -> Option<Vec<&str>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " &;|.-".contains(c);
    if !line.chars().all(plain) || line.contains("sudo") {
        return None;
    }
    // A wrapper.
    let line = line.strip_prefix("env ").unwrap_or(line);
    let parts = line.split(['&', ';', '|']).map(str::trim).filter(|part| !part.is_empty());
    Some(parts.filter_map(|part| part.split(' ').next()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_an_agent_may_do_a_rule_a_grant_or_the_mode_says(
        written in any_rules(),
        planted in any_rules(),
        grants in prop::collection::vec(any_grant(), 0..3),
        mode in select(vec![ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full]),
        wanted in select(LINES),
        network in any::<bool>(),
        session in select(vec![None, Some(3)]),
        trusted in any::<bool>(),
    ) {
        let all = |rules: &[Written]| rules.iter().enumerate().map(text).collect::<String>();
        let known = rules(&all(&written), Some(&all(&planted)));
        let session = session.map(id);
        let action = run(json!({ "command": wanted, "network": network }));
        let bound = BoundAction::new(request(TokenClass::Agent, session, action.clone())).unwrap();
        let policy_context = PolicyContext { grants: &grants, ..policy_context(&known, mode) };
        let role = able();
        let nobody = ActingRole::Unusable { role: "dev", why: "is not trusted" };
        let acting = if trusted { ActingRole::Trusted(&role) } else { nobody };
        let Decision::Allow(allowed) = decide(bound, acting, &policy_context) else { return Ok(()) };

        prop_assert!(trusted, "a role that nobody trusted");
        prop_assert_eq!(&allowed.bound_action().request().action, &action);
        let about = |(_, program, role): &&Written| {
            matches!(*role, "dev" | "*") && wanted.contains(program)
        };
        let denies = |rule: &&Written| {
            rule.0 == "deny" && programs(wanted).is_some_and(|names| names.contains(&rule.1))
        };
        let everyone = || written.iter().chain(&planted).filter(about);
        prop_assert!(everyone().find(denies).is_none(), "a rule denies {}", wanted);
        prop_assert!(!wanted.contains("sudo") && !wanted.contains("rm -rf .") && !wanted.contains(".git "));
        match allowed.allowed_by() {
            AllowedBy::Operator | AllowedBy::Approval { .. } => prop_assert!(false, "no person spoke"),
            AllowedBy::Mode { mode: allowing } => {
                prop_assert_eq!(*allowing, mode);
                prop_assert!(mode == ProjectMode::Full || mode == ProjectMode::Auto && !network);
            }
            AllowedBy::Rules { rules } => {
                prop_assert!(!network && rules.iter().all(|rule| rule.layer == "user" && rule.effect == "allow"));
                let names = programs(wanted);
                prop_assert!(names.is_some(), "{} is not plain", wanted);
                for name in names.unwrap_or_default() {
                    let mut allows = written.iter().filter(about);
                    prop_assert!(allows.any(|rule| rule.0 == "allow" && rule.1 == name), "{}", name);
                }
            }
            AllowedBy::Grant { .. } => {
                let holds = |grant: &&Grant| {
                    grant.grantee == AGENT
                        && grant.role.as_deref() == Some("dev")
                        && grant.revoked_at.is_none()
                        && grant.until.is_none_or(|end| end > NOW)
                        && (grant.session.is_none() || grant.session == session)
                };
                prop_assert!(!network, "none of them was for the network");
                prop_assert!(grants.iter().any(|grant| holds(&grant)));
            }
        }
    }
}
