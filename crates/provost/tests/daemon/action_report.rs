//! Reports of actions: `provost audit`, and the filters of `GET /api/audit`.

use std::fs;

use serde_json::{Value, json};

use super::govern::PendingResponse;
use super::{Home, Running};

/// Allows `true`, denies `curl`.
const RULES: &str = "[[rule]]\nid = \"harmless\"\neffect = \"allow\"\n\
                     on = [\"terminal.runCommand\"]\nargv = [\"true\"]\nreason = \"does nothing\"\n\n\
                     [[rule]]\nid = \"no-net\"\neffect = \"deny\"\non = [\"terminal.runCommand\"]\n\
                     argv = [\"curl\", \"**\"]\nreason = \"use the mirror\"\n";

/// A daemon with an agent, and the person's own rules.
struct Scene {
    home: Home,
    daemon: Running,
    agent: String,
}

impl Scene {
    fn new() -> Self {
        let home = Home::new();
        fs::write(home.path("policy.toml"), RULES).unwrap();
        let (daemon, agent) = home.with_agent();
        Self { home, daemon, agent }
    }

    fn run(&self, command: &str) -> PendingResponse {
        self.daemon.submit(&self.agent, "terminal.runCommand", &json!({ "command": command }))
    }

    /// Answers the pending approval, and returns its action.
    async fn answer(&self, args: &[&str]) -> String {
        let open = self.daemon.wait_for_approvals(1).await;
        let (id, how) = (open[0]["id"].as_str().unwrap(), args[0]);
        self.home.run_ok(&[&["approvals", how, id][..], &args[1..]].concat());
        open[0]["action"].as_str().unwrap().to_owned()
    }

    /// The id of the action that came last.
    async fn last(&self) -> String {
        let path = format!("/api/audit?before={}&kind=ACTION_REQUESTED&limit=1", i64::MAX);
        self.daemon.get(&path).await["events"][0]["body"]["action"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn assert_report(&self, action: &str, parts: &[&str]) {
        let printed = self.home.run_ok(&["audit", "--action", action]);
        for part in parts {
            assert!(printed.contains(part), "{part}: {printed}");
        }
    }

    async fn kinds(&self, query: &str) -> Vec<String> {
        let page = self.daemon.get(&format!("/api/audit?{query}")).await;
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_rules_decided_is_told_with_the_rules() {
    let scene = Scene::new();
    assert_eq!(scene.run("true").await.unwrap().0, 200);
    let rule = "Allowed by rules. The user rule `harmless` says allow: does nothing.";
    let allowed = scene.last().await;
    let sandbox = ["with profile build", "Sandbox layers:", "seccomp"];
    scene.assert_report(&allowed, &["(agent:dev) in the role `dev` requested to run `true`", rule]);
    scene.assert_report(&allowed, &sandbox);
    scene.assert_report(&allowed, &["Output: 0 bytes on stdout", "with code 0"]);

    assert_eq!(scene.run("curl example.org").await.unwrap().0, 403);
    let rule = "The user rule `no-net` says deny: use the mirror.";
    scene.assert_report(&scene.last().await, &["in the role `dev`", "Denied (", rule]);

    let list = scene.home.run_ok(&["audit"]);
    for part in ["denied", "exit 0", &allowed[allowed.len() - 8..]] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let few = scene.home.run_ok(&["audit", "--limit", "1", "--json", "--project", "app"]);
    let few: Value = serde_json::from_str(&few).unwrap();
    assert_eq!((few.as_array().unwrap().len(), &few[0]["status"]), (1, &json!("denied")), "{few}");
    let printed = scene.home.run_failing(&["audit", "--action", "nothing"], 1);
    assert!(printed.contains("no action among the latest `nothing`"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_allowed_is_told_and_so_is_what_they_granted_with_it() {
    let scene = Scene::new();
    let asked = scene.run("echo hello");
    scene.daemon.wait_for_approvals(1).await;
    let waiting = ["An approval was requested (apr_", "It is still waiting for approval"];
    scene.assert_report(&scene.last().await, &waiting);
    let action = scene.answer(&["allow", "--scope", "session", "--yes"]).await;
    assert_eq!(asked.await.unwrap().0, 200);
    let expected =
        ["local:ann (cli) allowed it (session).", "The answer also grants the same action"];
    scene.assert_report(&action, &expected);
    scene.assert_report(
        &action,
        &["Allowed by the answer to apr_", "Output: 6 bytes on stdout, 0 on stderr."],
    );
    assert_eq!(scene.run("echo hello").await.unwrap().0, 200);
    scene.assert_report(&scene.last().await, &["Allowed by grt_", "granted by local:ann"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_a_command_ran_is_told() {
    let scene = Scene::new();
    let app = scene.home.path("app");
    fs::create_dir_all(app.join("src")).unwrap();
    fs::write(app.join("src/README.md"), "hello\n").unwrap();
    fs::write(app.join("src/old"), "x").unwrap();
    let params = |command: &str| json!({ "command": command, "cwd": "src" });
    for (command, wanted) in [
        (
            "mkdir -p gen && echo z > gen/newfile && sed -i s/hello/bye/ README.md",
            &["Changed while it ran: `src/README.md`.", "Changed while it ran: `src/gen/newfile`."]
                [..],
        ),
        ("rm old", &["Changed while it ran: names in `src` were added or removed."]),
        ("cat README.md", &[]),
    ] {
        let (status, answer) = scene.daemon.act("terminal.runCommand", params(command)).await;
        assert_eq!(status, 200, "{answer}");
        let printed = scene.home.run_ok(&["audit", "--action", &scene.last().await]);
        let changes: Vec<_> = printed.lines().filter(|line| line.contains("Changed")).collect();
        assert_eq!(changes.len(), wanted.len(), "{command}: {printed}");
        for part in wanted {
            assert!(printed.contains(part), "{command}: {part}: {printed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_denied_is_told_with_their_words_however_large_it_was() {
    let scene = Scene::new();
    // Its events are large, and kept beside the log.
    let write = json!({ "path": "a.txt", "content": "x".repeat(9000) });
    let asked = scene.daemon.submit(&scene.agent, "fs.writeFile", &write);
    let action = scene.answer(&["deny", "--message", "too\tlong"]).await;
    assert_eq!(asked.await.unwrap().0, 403);
    let end = &action[action.len() - 8..];
    scene.assert_report(end, &["write 9000 bytes", "The approver was shown a diff of 1 lines"]);
    scene.assert_report(end, &["local:ann (cli) denied it: `too\\tlong`.", "APPROVAL_DENIED"]);

    let write = ["do", "fs.writeFile", "path=b.txt", "content=y", "--project", "app"];
    scene.home.run_ok(&write);
    let own = ["local:ann (cli) requested to", "a person executed it"];
    scene.assert_report(&scene.last().await, &own);
    scene.assert_report(&scene.last().await, &["Changed: `b.txt` was created."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_an_action_are_found_with_its_questions_and_grants() {
    let scene = Scene::new();
    let asked = scene.run("echo 1");
    let action = scene.answer(&["allow", "--scope", "session", "--yes"]).await;
    asked.await.unwrap();
    let grants = scene.daemon.get("/api/projects/app/grants").await;
    let grant = grants["grants"][0]["id"].as_str().unwrap();
    scene.home.run_ok(&["grants", "revoke", grant, "--project", "app"]);
    let other = scene.run("echo 2");
    scene.answer(&["deny"]).await;
    other.await.unwrap();

    let kinds = [
        "ACTION_REQUESTED",
        "APPROVAL_ASKED",
        "ACTION_WAITING",
        "APPROVAL_ANSWERED",
        "GRANT_CREATED",
        "ACTION_ALLOWED",
        "ACTION_STARTED",
        "ACTION_OUTPUT",
        "ACTION_FINISHED",
        "GRANT_REVOKED",
    ];
    assert_eq!(scene.kinds(&format!("action={action}")).await, kinds);
    let mut back = scene.kinds(&format!("action={action}&before={}", i64::MAX)).await;
    back.reverse();
    assert_eq!(back, kinds);
    let two = scene.kinds(&format!("action={action}&kind=GRANT_CREATED,action_allowed")).await;
    assert_eq!(two, ["GRANT_CREATED", "ACTION_ALLOWED"]);
    let first = scene.daemon.get(&format!("/api/audit?action={action}&limit=1")).await;
    let next = &first["next"];
    let second = scene.kinds(&format!("action={action}&after={next}&limit=1")).await;
    assert_eq!(second, ["APPROVAL_ASKED"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_filtered_by_kind_person_and_time_in_both_directions() {
    let scene = Scene::new();
    scene.run("true").await.unwrap();
    let trusted = scene.kinds("principal=local:ann&actor=cli&kind=FILE_TRUSTED").await;
    assert_eq!(trusted, ["FILE_TRUSTED"]);
    assert!(scene.kinds("actor=ui").await.is_empty());
    assert!(scene.kinds("principal=local:bob").await.is_empty());
    let first = scene.daemon.get("/api/audit?kind=ACTION_REQUESTED").await;
    let at = first["events"][0]["at"].as_u64().unwrap();
    assert_eq!(scene.kinds(&format!("since={at}&limit=1")).await, ["ACTION_REQUESTED"]);
    let before = scene.kinds(&format!("until={at}")).await;
    assert!(!before.is_empty() && !before.contains(&"ACTION_REQUESTED".to_owned()), "{before:?}");

    // Page by page, backwards, comes to the same as all at once.
    let all = scene.kinds("").await;
    let (mut paged, mut before) = (Vec::new(), json!(i64::MAX));
    while !before.is_null() {
        let page = scene.daemon.get(&format!("/api/audit?before={before}&limit=7")).await;
        paged.extend(page["events"].as_array().unwrap().iter().map(|event| event["seq"].clone()));
        before = page["next"].clone();
    }
    let wanted: Vec<_> = (1..=all.len()).rev().map(|seq| json!(seq)).collect();
    assert_eq!(paged, wanted);
    for bad in ["action=x", "after=1&before=2", "actor=nobody", "odd=1"] {
        let answer = scene.daemon.get(&format!("/api/audit?{bad}")).await;
        assert_eq!(answer["status"], 422, "{bad}: {answer}");
    }
}
