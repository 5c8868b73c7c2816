//! The whole space of decisions, compared with a short table of precedence.

use super::*;

/// A request, with everything that a decision may depend on.
#[expect(clippy::struct_excessive_bools, reason = "the space is walked along each")]
struct Asked {
    action: Action,
    opaque: bool,
    network: bool,
    looks: bool,
    own_shell: bool,
    gate: Gate,
    /// It is unknown which programs run.
    open: bool,
    /// What a limited rule must be about to match, certainly and possibly.
    sure: &'static [&'static str],
    perhaps: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq)]
enum Gate {
    Open,
    Asks,
    Closed,
}

fn actions() -> Vec<Asked> {
    let plain = |action| Asked {
        action,
        opaque: false,
        network: false,
        looks: false,
        own_shell: false,
        gate: Gate::Open,
        open: false,
        sure: &[],
        perhaps: &[],
    };
    let opaque = |action| Asked { opaque: true, ..plain(action) };
    let gated = |action, gate| Asked { gate, ..plain(action) };
    let looks = |action| Asked { looks: true, ..plain(action) };
    let file = |path: &str| json!({ "path": path });
    vec![
        Asked { sure: &["path"], ..looks(action("fs.readFile", file("a.txt"))) },
        looks(action("fs.readFile", file(".git/config"))),
        Asked {
            sure: &["path"],
            ..plain(action("fs.writeFile", json!({ "path": "a.txt", "content": "" })))
        },
        Asked { sure: &["argv"], ..plain(line("cargo test")) },
        Asked { sure: &["argv"], ..plain(run(json!({ "argv": ["cargo", "test"] }))) },
        Asked { sure: &["argv"], ..opaque(line("cargo test $X")) },
        Asked { perhaps: &["argv"], ..opaque(line("cargo $X")) },
        Asked { sure: &["argv"], ..plain(line("cargo --locked test")) },
        Asked { sure: &["argv"], ..plain(line("eval cargo test")) },
        Asked { perhaps: &["path"], ..opaque(line("cat $X")) },
        Asked { sure: &["path"], ..plain(line("cat a.txt")) },
        Asked { sure: &["path"], ..plain(line("date > a.txt")) },
        Asked { perhaps: &["path"], ..opaque(line("cat a.*")) },
        Asked { sure: &["host"], ..plain(line("curl h.example")) },
        Asked { perhaps: &["host", "path"], ..opaque(line("curl $X")) },
        Asked { open: true, ..opaque(line("eval \"$X\"")) },
        Asked { open: true, ..opaque(line("$X test")) },
        Asked { open: true, ..opaque(line("date | sh")) },
        Asked { network: true, ..plain(run(json!({ "command": "cargo fetch", "network": true }))) },
        looks(action("terminal.list", json!({}))),
        plain(action("terminal.stop", json!({ "id": id::<provost_proto::ActionId>(9) }))),
        looks(action("runtime.status", json!({}))),
        looks(action("runtime.logs", json!({}))),
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
        // Everything below it is deleted too.
        Asked {
            sure: &["path"],
            ..gated(action("fs.deleteFile", json!({ "path": ".", "recursive": true })), Gate::Asks)
        },
    ]
}

const CLASSES: [TokenClass; 4] =
    [TokenClass::Operator, TokenClass::Agent, TokenClass::Runtime, TokenClass::Viewer];
const ACTING: [&str; 4] = ["oneself", "able", "unable", "nobody"];
const MODES: [ProjectMode; 3] = [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full];
const RULES: [&str; 12] = [
    "",
    "allow",
    "ask",
    "deny",
    "planted",
    "both",
    "deny argv",
    "deny path",
    "deny host",
    "ask argv",
    "ask path",
    "ask host",
];
const GRANTS: [&str; 10] = [
    "none",
    "covers",
    "unnamed",
    "revoked",
    "expired",
    "principal",
    "role",
    "session",
    "pins",
    "project",
];

fn rules_named(name: &str) -> PolicyRules {
    let rule =
        |effect: &str| format!("[[rule]]\nid = '{effect}'\neffect = '{effect}'\non = ['*']\n");
    match name {
        "" => rules("", None),
        "planted" => rules("", Some(&rule("allow"))),
        // The user allows, an untrusted project asks.
        "both" => rules(&rule("allow"), Some(&rule("ask"))),
        name => match name.split_once(' ') {
            Some((effect, what)) => rules(&(rule(effect) + narrowed(what)), None),
            None => rules(&rule(name), None),
        },
    }
}

fn narrowed(what: &str) -> &'static str {
    match what {
        "argv" => "argv = ['cargo', 'test', '**']\n",
        "path" => "path = ['a.txt']\n",
        _ => "host = ['h.example']\n",
    }
}

/// The rules that an approval of this would have named.
fn named(rule: &str) -> Vec<RuleRef> {
    let (layer, effect) = match rule {
        "both" => ("project", "ask"),
        rule => ("user", rule.split(' ').next().unwrap_or(rule)),
    };
    let (layer, effect) = (layer.to_owned(), effect.to_owned());
    vec![RuleRef { layer, id: effect.clone(), effect, reason: None }]
}

fn grants_named(name: &str, covers: GrantScope, pins: &[PinnedFile], rule: &str) -> Vec<Grant> {
    let covering = Grant { rules: named(rule), ..grant(covers, pins) };
    vec![match name {
        "none" => return Vec::new(),
        "unnamed" => Grant { rules: Vec::new(), ..covering },
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
    requested: &'a Asked,
    mode: ProjectMode,
    rule: &'a str,
    grant: &'a str,
    broken: bool,
    tired: bool,
}

/// Whether a rule matches certainly, possibly, or not.
fn says(at: &Point<'_>, effect: &str) -> (bool, bool) {
    match at.rule.split_once(' ') {
        None => (at.rule == effect || at.rule == "both" && effect == "ask", false),
        Some((rule_effect, what)) if rule_effect == effect => {
            (at.requested.sure.contains(&what), at.requested.perhaps.contains(&what))
        }
        Some(_) => (false, false),
    }
}

/// The first condition that holds decides.
fn expected(at: &Point<'_>) -> &'static str {
    let Asked { opaque, network, looks, own_shell, gate, open, .. } = *at.requested;
    let (denies, may_deny) = says(at, "deny");
    let (asks, may_ask) = says(at, "ask");
    let asks = asks || may_ask || may_deny;
    let granted = at.grant == "covers" || at.grant == "unnamed" && !asks;
    let shown = at.mode == ProjectMode::Full && !at.rule.starts_with("deny ");
    let order: [(bool, &str); 18] = [
        (at.class == TokenClass::Operator && at.acting == "oneself", "allow operator"),
        (at.acting != "able", "deny"),
        (at.class == TokenClass::Runtime || at.class == TokenClass::Viewer, "deny"),
        (gate == Gate::Closed, "deny"),
        (denies, "deny"),
        (gate == Gate::Asks, "ask"),
        (at.broken, "ask"),
        (granted && at.tired, "ask"),
        (granted, "allow grant"),
        (asks, "ask"),
        (at.rule == "allow" && !opaque && !network, "allow rules"),
        (open && !shown, "ask"),
        (at.mode == ProjectMode::Full && own_shell, "ask"),
        (at.mode == ProjectMode::Full || looks, "allow mode"),
        (at.mode == ProjectMode::Sandbox, "ask"),
        (network, "ask"),
        (own_shell, "ask"),
        (true, "allow mode"),
    ];
    order.iter().find(|(holds, _)| *holds).unwrap().1
}

fn walk(mut each: impl FnMut(&Point<'_>, Decision)) {
    let (able, unable) = (able(), role(&["terminal.signal"]));
    let pins = [pin("build.sh", "make")];
    for requested in &actions() {
        let covers = super::requested(requested.action.clone()).grant_scope().unwrap();
        let read =
            |class| BoundAction::new(request(class, None, requested.action.clone())).unwrap();
        let matters = CLASSES.map(|class| (class, read(class)));
        for rule in RULES {
            let rules = rules_named(rule);
            for grant in GRANTS {
                let grants = grants_named(grant, covers.clone(), &pins, rule);
                for (class, bound) in &matters {
                    let class = *class;
                    for acting in ACTING {
                        // Who may request does not depend on how a rule is limited.
                        if rule.contains(' ') && (class, acting) != (TokenClass::Agent, "able") {
                            continue;
                        }
                        for mode in MODES {
                            for (broken, tired) in
                                [(false, false), (true, false), (false, true), (true, true)]
                            {
                                let point = Point {
                                    class,
                                    acting,
                                    requested,
                                    mode,
                                    rule,
                                    grant,
                                    broken,
                                    tired,
                                };
                                let policy_context = PolicyContext {
                                    broken: broken.then_some("line 1"),
                                    grants: &grants,
                                    pins: &pins,
                                    n_repeats: if tired { 2 } else { 1 },
                                    ..policy_context(&rules, mode)
                                };
                                let acting = match acting {
                                    "oneself" => ActingRole::NoRole,
                                    "able" => ActingRole::Trusted(&able),
                                    "unable" => ActingRole::Trusted(&unable),
                                    _ => ActingRole::Unusable { role: "dev", why: "is missing" },
                                };
                                each(&point, decide(bound.clone(), acting, &policy_context));
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Point<'_> {
    fn describe(&self) -> String {
        let Self { class, acting, requested, mode, rule, grant, broken, tired } = self;
        let what = requested.action.describe();
        format!(
            "{class:?} as {acting}: {what}; mode {mode:?}, rule {rule:?}, grant {grant}, \
             broken {broken}, tired {tired}"
        )
    }
}

#[test]
fn what_comes_first_decides_at_every_point() {
    let mut n_points = 0;
    walk(|point, decision| {
        assert_eq!(word(&decision), expected(point), "{}", point.describe());
        n_points += 1;
    });
    assert!(n_points > 30_000, "{n_points}");
}

#[test]
fn what_must_never_be_is_nowhere() {
    walk(|point, decision| {
        let decided = word(&decision);
        let allowed = decided.starts_with("allow");
        let never = |what: &str, is: bool| assert!(!is, "{what}: {}", point.describe());
        let agent = point.class != TokenClass::Operator;
        never("an agent for itself", agent && point.acting != "able" && allowed);
        never(
            "one who may only look",
            !matches!(point.class, TokenClass::Operator | TokenClass::Agent) && decided != "deny",
        );
        if point.acting == "oneself" {
            return;
        }
        let gate = point.requested.gate;
        never("a closed gate opened", gate == Gate::Closed && decided != "deny");
        never("a gate that asks passed", gate == Gate::Asks && allowed);
        never("a denied thing", says(point, "deny").0 && decided != "deny");
        never(
            "what may be denied, unasked",
            says(point, "deny").1 && decided.starts_with("allow m"),
        );
        never(
            "what nobody can read, unasked, where some is denied",
            point.requested.open
                && point.rule.starts_with("deny ")
                && (decided == "allow mode" || decided == "allow rules"),
        );
        never("an opaque line by a rule", point.requested.opaque && decided == "allow rules");
        never("the network by a rule", point.requested.network && decided == "allow rules");
        never("a planted rule", point.rule == "planted" && decided == "allow rules");
        never(
            "a grant that does not hold",
            point.grant != "covers" && point.grant != "unnamed" && decided == "allow grant",
        );
        never("broken rules", point.broken && allowed);
        never(
            "more than reading by the mode sandbox",
            point.mode == ProjectMode::Sandbox && decided == "allow mode" && !point.requested.looks,
        );
        let (asks, perhaps) = says(point, "ask");
        let asks = asks || perhaps;
        never(
            "a rule that asks, by a mode or rule",
            asks && (decided == "allow mode" || decided == "allow rules"),
        );
        never(
            "a question nobody set, in mode full",
            point.mode == ProjectMode::Full
                && decided == "ask"
                && !(asks
                    || gate == Gate::Asks
                    || point.broken
                    || point.tired
                    || point.requested.own_shell
                    || says(point, "deny").1
                    || point.requested.open && point.rule.starts_with("deny ")),
        );
    });
}
