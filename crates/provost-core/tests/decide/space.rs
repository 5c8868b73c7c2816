//! The whole space of decisions, walked against a short table of what comes
//! first.

use super::*;

/// What is asked for, and all that a decision may know of it.
#[expect(clippy::struct_excessive_bools, reason = "the space is walked along each")]
struct Asked {
    action: Action,
    opaque: bool,
    network: bool,
    looks: bool,
    own_shell: bool,
    gate: Gate,
}

#[derive(Clone, Copy, PartialEq)]
enum Gate {
    Open,
    Asks,
    Closed,
}

fn actions() -> Vec<Asked> {
    let plain = |action| {
        let (opaque, network, looks, own_shell, gate) = (false, false, false, false, Gate::Open);
        Asked { action, opaque, network, looks, own_shell, gate }
    };
    let gated = |action, gate| Asked { gate, ..plain(action) };
    let looks = |action| Asked { looks: true, ..plain(action) };
    let file = |path: &str| json!({ "path": path });
    vec![
        looks(action("fs.readFile", file("a.txt"))),
        looks(action("fs.readFile", file(".git/config"))),
        plain(action("fs.writeFile", json!({ "path": "a.txt", "content": "" }))),
        plain(line("cargo test")),
        plain(run(json!({ "argv": ["cargo", "test"] }))),
        Asked { opaque: true, ..plain(line("cargo test $X")) },
        Asked { network: true, ..plain(run(json!({ "command": "cargo fetch", "network": true }))) },
        looks(action("terminal.list", json!({}))),
        plain(action("terminal.stop", json!({ "id": id::<provost_proto::ActionId>(9) }))),
        looks(action("runtime.status", json!({}))),
        looks(action("preview.fetch", json!({}))),
        plain(action("runtime.run", json!({}))),
        plain(action("runtime.stop", json!({}))),
        Asked { own_shell: true, ..plain(action("pty.open", json!({}))) },
        Asked { own_shell: true, ..plain(action("pty.read", json!({}))) },
        gated(action("pty.write", json!({ "text": "ls\r" })), Gate::Asks),
        gated(action("fs.deleteFile", file(".git")), Gate::Closed),
        gated(line("echo x > .provost/policy.toml"), Gate::Closed),
        gated(line("sudo ls > .git/config"), Gate::Closed),
        Asked { opaque: true, ..gated(line("sudo ls"), Gate::Asks) },
        gated(line("rm -r ."), Gate::Asks),
        gated(action("fs.deleteFile", json!({ "path": ".", "recursive": true })), Gate::Asks),
    ]
}

const CLASSES: [TokenClass; 4] =
    [TokenClass::Operator, TokenClass::Agent, TokenClass::Runtime, TokenClass::Viewer];
const ACTING: [&str; 4] = ["oneself", "able", "unable", "nobody"];
const MODES: [Mode; 3] = [Mode::Sandbox, Mode::Auto, Mode::Full];
const RULES: [&str; 6] = ["", "allow", "ask", "deny", "planted", "both"];
const GRANTS: [&str; 9] =
    ["none", "covers", "revoked", "expired", "principal", "role", "session", "pins", "project"];

fn rules_named(name: &str) -> Rules {
    let rule =
        |effect: &str| format!("[[rule]]\nid = '{effect}'\neffect = '{effect}'\non = ['*']\n");
    match name {
        "" => rules("", None),
        "planted" => rules("", Some(&rule("allow"))),
        // The user allows, the project that nobody trusts asks.
        "both" => rules(&rule("allow"), Some(&rule("ask"))),
        effect => rules(&rule(effect), None),
    }
}

fn grants_named(name: &str, covers: Covers, pins: &[Pin]) -> Vec<Grant> {
    let covering = grant(covers, pins);
    vec![match name {
        "none" => return Vec::new(),
        "revoked" => Grant { revoked_at: Some(2), ..covering },
        "expired" => Grant { until: Some(NOW), ..covering },
        "principal" => Grant { grantee: "token:other".to_owned(), ..covering },
        "role" => Grant { role: Some("qa".to_owned()), ..covering },
        "session" => Grant { session: Some(id(3)), ..covering },
        "pins" => Grant { pins: vec![pin("build.sh", "other")], ..covering },
        "project" => Grant { project: id(99), ..covering },
        _ => covering,
    }]
}

/// One point of the space.
struct Point<'a> {
    class: TokenClass,
    acting: &'a str,
    asked: &'a Asked,
    mode: Mode,
    rule: &'a str,
    grant: &'a str,
    broken: bool,
    tired: bool,
}

/// The first that holds decides.
fn expected(at: &Point<'_>) -> &'static str {
    let Asked { opaque, network, looks, own_shell, gate, .. } = *at.asked;
    let asks = at.rule == "ask" || at.rule == "both";
    let order: [(bool, &str); 16] = [
        (at.class == TokenClass::Operator && at.acting == "oneself", "allow operator"),
        (at.acting != "able", "deny"),
        (at.class == TokenClass::Runtime || at.class == TokenClass::Viewer, "deny"),
        (gate == Gate::Closed, "deny"),
        (at.rule == "deny", "deny"),
        (gate == Gate::Asks, "ask"),
        (at.broken, "ask"),
        (at.grant == "covers" && at.tired, "ask"),
        (at.grant == "covers", "allow grant"),
        (asks, "ask"),
        (at.rule == "allow" && !opaque && !network, "allow rules"),
        (at.mode == Mode::Full || looks, "allow mode"),
        (at.mode == Mode::Sandbox, "ask"),
        (network, "ask"),
        (own_shell, "ask"),
        (true, "allow mode"),
    ];
    order.iter().find(|(holds, _)| *holds).unwrap().1
}

fn walk(mut each: impl FnMut(&Point<'_>, Verdict)) {
    let (able, unable) = (able(), role(&["terminal.signal"]));
    let pins = [pin("build.sh", "make")];
    for asked in &actions() {
        let covers = super::asked(asked.action.clone()).covers().unwrap();
        for rule in RULES {
            let rules = rules_named(rule);
            for grant in GRANTS {
                let grants = grants_named(grant, covers.clone(), &pins);
                for class in CLASSES {
                    for acting in ACTING {
                        for mode in MODES {
                            for (broken, tired) in
                                [(false, false), (true, false), (false, true), (true, true)]
                            {
                                let point = Point {
                                    class,
                                    acting,
                                    asked,
                                    mode,
                                    rule,
                                    grant,
                                    broken,
                                    tired,
                                };
                                let standing = Standing {
                                    broken: broken.then_some("line 1"),
                                    grants: &grants,
                                    pins: &pins,
                                    again: if tired { 2 } else { 1 },
                                    ..standing(&rules, mode)
                                };
                                let acting = match acting {
                                    "oneself" => Acting::Oneself,
                                    "able" => Acting::In(&able),
                                    "unable" => Acting::In(&unable),
                                    _ => Acting::Nobody { role: "dev", why: "is missing" },
                                };
                                let request = request(class, None, asked.action.clone());
                                let matter = Matter::new(request).unwrap();
                                each(&point, decide(matter, acting, &standing));
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Point<'_> {
    fn said(&self) -> String {
        let Self { class, acting, asked, mode, rule, grant, broken, tired } = self;
        let what = asked.action.describe();
        format!(
            "{class:?} as {acting}: {what}; mode {mode:?}, rule {rule:?}, grant {grant}, \
             broken {broken}, tired {tired}"
        )
    }
}

#[test]
fn what_comes_first_decides_at_every_point() {
    let mut n_points = 0;
    walk(|point, verdict| {
        assert_eq!(word(&verdict), expected(point), "{}", point.said());
        n_points += 1;
    });
    assert!(n_points > 30_000, "{n_points}");
}

#[test]
fn what_must_never_be_is_nowhere() {
    walk(|point, verdict| {
        let said = word(&verdict);
        let allowed = said.starts_with("allow");
        let never = |what: &str, is: bool| assert!(!is, "{what}: {}", point.said());
        let agent = point.class != TokenClass::Operator;
        never("an agent for itself", agent && point.acting != "able" && allowed);
        never(
            "one who may only look",
            !matches!(point.class, TokenClass::Operator | TokenClass::Agent) && said != "deny",
        );
        if point.acting == "oneself" {
            return;
        }
        let gate = point.asked.gate;
        never("a closed gate opened", gate == Gate::Closed && said != "deny");
        never("a gate that asks passed", gate == Gate::Asks && allowed);
        never("a denied thing", point.rule == "deny" && said != "deny");
        never("an opaque line by a rule", point.asked.opaque && said == "allow rules");
        never("the network by a rule", point.asked.network && said == "allow rules");
        never("a planted rule", point.rule == "planted" && said == "allow rules");
        never("a grant that does not hold", point.grant != "covers" && said == "allow grant");
        never("broken rules", point.broken && allowed);
        never(
            "more than looking by the mode sandbox",
            point.mode == Mode::Sandbox && said == "allow mode" && !point.asked.looks,
        );
        let asks = point.rule == "ask" || point.rule == "both";
        never(
            "a rule that asks, by a mode or rule",
            asks && (said == "allow mode" || said == "allow rules"),
        );
        never(
            "a question nobody set, in mode full",
            point.mode == Mode::Full
                && said == "ask"
                && !(asks || gate == Gate::Asks || point.broken || point.tired),
        );
    });
}
