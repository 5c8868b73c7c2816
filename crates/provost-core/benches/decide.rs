//! Benchmark of a decision, from the request to the result, with 200 rules and 20 grants. Part of
//! `cargo xtask bench gateway`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for a person at a terminal")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use provost_core::action::Action;
use provost_core::command::analyze_line;
use provost_core::decide::{ActingRole, ActionRequest, BoundAction, PolicyContext, decide};
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_core::role::{Role, RoleSource};
use provost_proto::{Grant, GrantScope, ProjectMode, TokenClass};
use serde_json::json;
use uuid::Uuid;

/// How often each is decided.
const TIMES: usize = 50_000;

/// Five commands.
const LINE: &str = "cd web && npm ci && npm run build | tee out.log; git status -sb; ls -la src";

const ROLE: &str = "---\nname: dev\nskills: [fs.*, terminal.*]\n---\nYou build.\n";

fn main() {
    let text: String = (0..100).map(|n| rule(n) + &path_rule(n)).collect();
    let user = Policy::parse(RuleLayer::User, "policy.toml", &text).unwrap();
    let rules = PolicyRules::new(Policy::builtin().unwrap(), user, None);
    let role = Role::parse(".provost/roles/dev.md", ROLE, RoleSource::Provost).unwrap();
    let grants: Vec<_> = (0..20).map(grant).collect();
    let context = PolicyContext {
        rules: &rules,
        broken: None,
        folder: Some("/home/me/project"),
        homes: &[],
        grants: &grants,
        mode: ProjectMode::Auto,
        now: 1,
        pins: &[],
        link_targets: &[],
        set_aside_reason: None,
        unreviewed_runtime: None,
        n_repeats: 0,
    };
    let parse = measure(|| drop(black_box(analyze_line(black_box(LINE)))));
    print_result("µs to read a line of five commands, p99", parse, 60.0);
    let run = Action::parse("terminal.runCommand", json!({ "command": LINE })).unwrap();
    let run = measure(|| drop(black_box(one(run.clone(), &role, &context))));
    print_result("µs to decide about that line, p99", run, 100.0);
    let read = Action::parse("fs.readFile", json!({ "path": "src/main.rs" })).unwrap();
    let read = measure(|| drop(black_box(one(read.clone(), &role, &context))));
    print_result("µs to decide about reading a file, p99", read, 5.0);
}

/// A decision as the gateway makes it: the request is analyzed, hashed and evaluated.
fn one(action: Action, role: &Role, context: &PolicyContext<'_>) -> provost_core::decide::Decision {
    let request = ActionRequest {
        id: Uuid::from_u128(1).into(),
        project: Uuid::from_u128(2).into(),
        principal: "token:01a1e1b3-d9e4-7afd-a43c-40ef1e3ef870".to_owned(),
        class: TokenClass::Agent,
        session: None,
        action,
    };
    decide(BoundAction::new(request).unwrap(), ActingRole::Trusted(role), context)
}

/// p99 in microseconds.
fn measure(mut work: impl FnMut()) -> f64 {
    (0..TIMES / 10).for_each(|_| work());
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    took.sort_unstable();
    took[TIMES * 99 / 100].as_secs_f64() * 1e6
}

fn print_result(what: &str, figure: f64, at_most: f64) {
    let word = if figure <= at_most { "holds" } else { "MISSED" };
    println!("{what}: {figure:.1} (at most {at_most}): {word}");
}

fn rule(n: usize) -> String {
    let program = if n.is_multiple_of(2) { format!("prog{n}") } else { "git".to_owned() };
    let effect = ["allow", "ask", "deny"][n % 3];
    format!(
        "[[rule]]\nid = 'c{n}'\neffect = '{effect}'\non = ['terminal.runCommand']\n\
         argv = ['{program}', ['a{n}', 'b{n}', '--o{n}*'], '**']\n"
    )
}

fn path_rule(n: usize) -> String {
    format!(
        "[[rule]]\nid = 'p{n}'\neffect = 'deny'\non = ['fs.*']\n\
         path = ['secret/m{n}/**', '**/x{n}.rs', '**/*.k{n}']\n"
    )
}

fn grant(n: u128) -> Grant {
    Grant {
        id: Uuid::from_u128(n).into(),
        project: Uuid::from_u128(2).into(),
        approval: Uuid::from_u128(n).into(),
        grantee: "token:01a1e1b3-d9e4-7afd-a43c-40ef1e3ef870".to_owned(),
        role: Some("dev".to_owned()),
        session: None,
        covers: GrantScope::Command {
            runs: vec![vec!["make".to_owned(), format!("target{n}")]],
            writes: Vec::new(),
            cwd: ".".to_owned(),
            network: false,
        },
        pins: Vec::new(),
        rules: Vec::new(),
        what: String::new(),
        until: None,
        by: "local:me".to_owned(),
        at: 0,
        revoked_at: None,
    }
}
