//! The tour: a scripted model with real actions.

use std::fs;

use serde_json::{Value, json};

use super::{Home, Running, texts, tools};

impl Running {
    /// The one session, as soon as there is one.
    async fn only_session_soon(&self) -> String {
        loop {
            let list = self.get("/api/sessions").await;
            if let Some(id) = list["sessions"][0]["id"].as_str() {
                return id.to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Waits for the next approval of a session, answers it, and returns it.
    async fn decide(&self, session: &str, decision: &str) -> String {
        let open = loop {
            let list = self.get("/api/approvals").await;
            let approvals = list["approvals"].as_array().unwrap().clone();
            let of = |open: &&Value| open["session"] == *session && open["status"] == "pending";
            if let Some(open) = approvals.iter().find(of) {
                break open.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let mut answer = json!({ "decision": decision, "actionHash": open["actionHash"] });
        if decision == "allow" {
            answer["scope"] = json!("once");
        }
        let path = format!("/api/approvals/{}", open["id"].as_str().unwrap());
        let (status, body) = self.post(&path, &self.token, &answer).await;
        assert_eq!(status, 200, "{body}");
        open["question"]["name"].as_str().unwrap().to_owned()
    }

    /// Takes the tour with one answer to everything; what was asked, and the end.
    async fn tour(&self, decision: &str) -> (Vec<String>, Value, Value) {
        let (status, begun) = self.post("/api/tour", &self.token, &json!({})).await;
        assert_eq!(status, 201, "{begun}");
        let session = begun["session"]["id"].as_str().unwrap().to_owned();
        let mut asked = Vec::new();
        for _ in 0..3 {
            asked.push(self.decide(&session, decision).await);
        }
        self.turn_end(&session, "finished").await;
        self.send_message(&session, "Go on").await;
        asked.push(self.decide(&session, decision).await);
        let detail = self
            .session_until(&session, |now| {
                let texts = texts(now);
                now["session"]["status"] == "idle"
                    && texts.last().is_some_and(|text| text.contains("Timeline"))
            })
            .await;
        (asked, begun, detail)
    }
}

fn board(begun: &Value) -> String {
    let path = begun["project"]["path"].as_str().unwrap();
    fs::read_to_string(format!("{path}/site/board.json")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_asks_and_then_really_does_it() {
    let home = Home::new();
    let daemon = home.up();
    let (asked, begun, detail) = daemon.tour("allow").await;
    let expected = ["fs.editFile", "terminal.runCommand", "runtime.run", "fs.editFile"];
    assert_eq!(asked, expected);
    assert!(begun["project"]["path"].as_str().unwrap().ends_with("/provost-tour"), "{begun}");
    assert_eq!(detail["session"]["model"], "script/tour");
    let board = board(&begun);
    assert!(board.contains("Open until six") && board.contains("Hello from the tour"), "{board}");
    let check = &tools(&detail)[3];
    assert_eq!(check["tool"], "terminal.runCommand", "{check}");
    let output = check["result"]["output"].as_str().unwrap();
    assert!(output.starts_with("exit code 0") && output.contains("can be shown"), "{output}");
    assert!(texts(&detail)[1].contains("I am a script, not a model"));

    let project = begun["project"]["id"].as_str().unwrap();
    loop {
        let now = daemon.get(&format!("/api/projects/{project}/runtime/status")).await;
        if now["preview"]["status"] == "ready" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Once more is another folder: nothing that is there is written over.
    let (_, again) = daemon.post("/api/tour", &daemon.token, &json!({})).await;
    assert!(again["project"]["path"].as_str().unwrap().ends_with("/provost-tour-2"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_denies_everything_is_led_to_the_end_and_nothing_is_changed() {
    let home = Home::new();
    let daemon = home.up();
    let (asked, begun, detail) = daemon.tour("deny").await;
    assert_eq!(asked.len(), 4);
    let denied = tools(&detail).iter().filter(|call| call["result"]["status"] == "denied").count();
    assert_eq!(denied, 4);
    let board = board(&begun);
    assert!(board.contains("Closed until further notice") && board.contains("Good morning"));
    assert!(texts(&detail).last().unwrap().contains("That is the point"));
}

/// The output of the tour on the command line, while a person answers its approvals.
fn taken(home: &Home, answers: impl Future<Output = ()>) -> String {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let printed = scope.spawn(|| {
                home.run_ok_with_stderr(&["chat", "--model", "script/tour", "-p", "Hello"])
            });
            runtime.block_on(answers);
            printed.join().unwrap()
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_is_taken_from_the_command_line_too() {
    let home = Home::new();
    let daemon = home.up();
    let answers = async {
        let session = daemon.only_session_soon().await;
        for _ in 0..3 {
            daemon.decide(&session, "deny").await;
        }
    };
    let printed = taken(&home, answers);
    assert!(printed.contains("I am a script, not a model"), "{printed}");
    assert!(printed.contains("Send me any message"), "{printed}");
    // What it calls is told in words, as is where to look without a page.
    for words in [
        "· fs.listFiles: list the files of the project",
        "  fs.listFiles → README.md",
        "  fs.readFile → {",
        "· fs.editFile: make an edit in site/board.json",
        "· terminal.runCommand: run `sh check.sh`",
        "· runtime.run: build the project if that is needed and run its dev server",
        "`provost run`",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert!(!printed.contains("{\"entries\"") && !printed.contains("Allow once"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tour_that_changed_nothing_leaves_its_folder_to_the_next() {
    let home = Home::new();
    let tour = ["chat", "--model", "script/tour"];
    // Without a confirmation nothing starts: neither a folder nor a daemon.
    let complaint = home.run_failing(&tour, 1);
    assert!(complaint.contains("the message is empty"), "{complaint}");
    assert!(!home.path("provost-tour").exists() && !home.data().join("daemon.json").exists());

    let daemon = home.up();
    let begin = async |body: Value| {
        let (status, begun) = daemon.post("/api/tour", &daemon.token, &body).await;
        assert_eq!(status, 201, "{begun}");
        let path = begun["project"]["path"].as_str().unwrap().to_owned();
        let name = path.rsplit_once('/').unwrap().1.to_owned();
        (name, begun["session"]["id"].as_str().unwrap().to_owned())
    };
    let silent = || json!({ "silent": true });
    let (first, session) = begin(silent()).await;
    let (again, other) = begin(silent()).await;
    assert_eq!((first.as_str(), again.as_str()), ("provost-tour", "provost-tour"));
    assert_ne!(session, other);
    // Whoever is on it is not disturbed.
    daemon.send_message(&session, "Hello").await;
    daemon.session_until(&session, |now| tools(now).len() == 3).await;
    assert_eq!(begin(silent()).await.0, "provost-tour-2");
    daemon.post(&format!("/api/sessions/{session}/cancel"), &daemon.token, &json!({})).await;
    assert_eq!(begin(silent()).await.0, "provost-tour");
    // A file that a person changed is not overwritten.
    fs::write(home.path("provost-tour/README.md"), "Mine.\n").unwrap();
    assert_eq!(begin(silent()).await.0, "provost-tour-2");
    assert_eq!(fs::read_to_string(home.path("provost-tour/README.md")).unwrap(), "Mine.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_the_tour_starts_one_and_anything_else_says_what_to_type() {
    let home = Home::new();
    let complaint = home.run_failing(&["chat", "-p", "Hello"], 1);
    for words in ["no daemon is running", "`provost up`", "`provost chat --model script/tour`"] {
        assert!(complaint.contains(words), "{words}: {complaint}");
    }
    let answers = async {
        while !home.data().join("daemon.json").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let daemon = home.running();
        let session = daemon.only_session_soon().await;
        for _ in 0..3 {
            daemon.decide(&session, "deny").await;
        }
    };
    let printed = taken(&home, answers);
    assert!(printed.contains("I am a script, not a model"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_for_the_tour_begins_one_tour_and_the_models_name_it_as_a_script() {
    let home = Home::new();
    let daemon = home.up();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let ask = http.post(format!("{}/api/tour", daemon.base)).bearer_auth(&daemon.token);
        let answer = ask.header("idempotency-key", "key-1").json(&json!({})).send().await.unwrap();
        let begun: Value = answer.json().await.unwrap();
        sessions.push(begun["session"]["id"].clone());
    }
    assert_eq!(sessions[0], sessions[1]);
    let models = daemon.get("/api/models").await;
    let tour = &models["models"][0];
    assert_eq!(
        (tour["name"].as_str(), tour["scripted"].as_bool()),
        (Some("script/tour"), Some(true))
    );
    assert!(tour["title"].as_str().unwrap().contains("scripted"), "{tour}");
    let (status, refused) =
        daemon.post("/api/tour", &daemon.token, &json!({ "path": "~/app" })).await;
    assert_eq!(status, 422, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("it exists"), "{refused}");
}
