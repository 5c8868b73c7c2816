//! Benchmark of evaluating 200 rules: part of `cargo xtask bench core`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for a person at a terminal")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use provost_core::action::Action;
use provost_core::command::{CommandAnalysis, analyze_line};
use provost_core::policy::{Policy, PolicyRequester, PolicyRules, RuleLayer};
use provost_proto::ProjectMode;
use serde_json::json;

/// How often each action is evaluated.
const TIMES: usize = 200_000;

/// Five effects, of which one is a write; three are about the program with the most rules.
const LINE: &str = "git a1 --foo && prog2 a2 x && make test > out/log.txt && git status";

fn main() {
    let text: String = (0..100).map(|n| paths(n) + &command(n)).collect();
    let start = Instant::now();
    let user = Policy::parse(RuleLayer::User, "policy.toml", &text).unwrap();
    println!("read: {:?}", start.elapsed());
    let rules = PolicyRules::new(Policy::builtin().unwrap(), user, None);
    let run = Action::parse("terminal.runCommand", json!({"command": LINE})).unwrap();
    let read = Action::parse("fs.readFile", json!({"path": "src/deep/er/main.rs"})).unwrap();
    let analysis = analyze_line(LINE).unwrap();
    measure(&format!("{} demands", analysis.effects.len()), &rules, &run, Some(&analysis));
    measure("a path", &rules, &read, None);
}

fn paths(n: usize) -> String {
    format!(
        "[[rule]]\nid = 'p{n}'\neffect = 'deny'\non = ['fs.*', 'terminal.runCommand']\n\
         path = ['src/m{n}/**', '**/x{n}.rs', '**/*.k{n}']\n"
    )
}

fn command(n: usize) -> String {
    let program = match n % 10 {
        0 | 2 | 4 | 6 | 8 => format!("prog{n}"),
        1 => "*".to_owned(),
        _ => "git".to_owned(),
    };
    let effect = ["allow", "ask", "deny"][n % 3];
    format!(
        "[[rule]]\nid = 'c{n}'\neffect = '{effect}'\non = ['terminal.runCommand']\n\
         argv = ['{program}', ['a{n}', 'b{n}', '--o{n}*'], '**']\n"
    )
}

fn measure(name: &str, rules: &PolicyRules, action: &Action, analysis: Option<&CommandAnalysis>) {
    let requester = PolicyRequester { role: Some("dev"), mode: ProjectMode::Auto, project: None };
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            black_box(rules.evaluate(requester, black_box(action), analysis).combined_effect());
            start.elapsed()
        })
        .collect();
    took.sort_unstable();
    println!("{name}: p50 {:?}, p99 {:?}", took[TIMES / 2], took[TIMES * 99 / 100]);
}
