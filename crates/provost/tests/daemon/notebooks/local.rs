//! Runtimes that the daemon runs itself.

use provost_proto::NotebookId;
use provost_proto::notebook::{ExecutionOutcome, NotebookCommand, NotebookFact};
use reqwest::Method;
use serde_json::{Value, json};

use super::processes::{assert_counted, count_script};
use crate::{Home, Running};

impl Running {
    async fn runtimes(&self, notebook: NotebookId) -> Value {
        self.get(&format!("/api/notebooks/{}/runtimes", notebook.uuid())).await
    }

    async fn start_local(&self, notebook: NotebookId, body: Value) -> (u16, Value) {
        let path = format!("/api/notebooks/{}/runtimes", notebook.uuid());
        let (status, answer) = self.ask(&self.token, Method::POST, &path, Some(&body)).await;
        (status.as_u16(), answer)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_is_started_once_listed_displaced_and_stopped() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Local").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let (status, first) = daemon.start_local(notebook, json!({ "type": "shell" })).await;
    assert_eq!((status, &first["runtimeId"]), (200, &json!("local-shell")), "{first}");
    let again = daemon.start_local(notebook, json!({ "type": "shell" })).await;
    assert_eq!(again, (200, first.clone()), "the one that is running already");
    let cell = person.create_cell(notebook, "echo $((6 * 7)); pwd").await;
    let execution = person.request_execution(notebook, cell).await;
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok);
    let folder = home.path("app").canonicalize().unwrap();
    assert_eq!(person.printed(execution), format!("42\n{}\n", folder.display()));
    // It ran as an action, on the authority of who started the runtime.
    let actions = daemon.events("ACTION_FINISHED").await;
    let id = execution.uuid().to_string();
    assert!(actions.iter().any(|body| body["action"].as_str() == Some(&id)), "{actions:?}");
    let failing = person.create_cell(notebook, "echo oops >&2; exit 3").await;
    let execution = person.request_execution(notebook, failing).await;
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Error);
    let finished = person.until("EXECUTION_FINISHED").await;
    let NotebookFact::ExecutionFinished(finished) = finished.fact else { panic!("{finished:?}") };
    assert_eq!(finished.why.as_deref(), Some("exit code 3"));

    let (status, echo) = daemon.start_local(notebook, json!({ "type": "echo" })).await;
    assert_eq!(status, 200, "{echo}");
    person.until_ready("local-echo").await;
    let list = daemon.runtimes(notebook).await;
    assert_eq!(list["runtimes"], json!([echo]), "the other one was displaced");
    let types: Vec<_> =
        list["types"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["echo", "shell"]);
    let path = format!("/api/notebooks/{}/runtimes/local-echo", notebook.uuid());
    let stopped = daemon.request(&daemon.token, Method::DELETE, &path, None).await;
    assert_eq!(stopped.status(), 204);
    assert_eq!(daemon.runtimes(notebook).await["runtimes"], json!([]));
    let (status, _) = daemon.ask(&daemon.token, Method::DELETE, &path, None).await;
    assert_eq!(status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_person_starts_a_runtime_and_an_unknown_type_is_refused() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Rights").await;
    let path = format!("/api/notebooks/{}/runtimes", notebook.uuid());
    let body = json!({ "type": "shell" });
    for token in [home.token(&["viewer"]), home.runtime_token(notebook)] {
        let (status, answer) = daemon.ask(&token, Method::POST, &path, Some(&body)).await;
        assert_eq!((status.as_u16(), &answer["code"]), (403, &json!("FORBIDDEN")), "{answer}");
    }
    let (status, answer) = daemon.start_local(notebook, json!({ "type": "cobol" })).await;
    assert_eq!(status, 422, "{answer}");
    let role = json!({ "type": "shell", "role": "nobody" });
    let (status, answer) = daemon.start_local(notebook, role).await;
    assert_eq!((status, &answer["code"]), (403, &json!("SKILL_DENIED")), "{answer}");
    let missing = format!("/api/notebooks/{}/runtimes", uuid::Uuid::new_v4());
    let (status, answer) = daemon.ask(&daemon.token, Method::POST, &missing, Some(&body)).await;
    assert_eq!((status.as_u16(), &answer["code"]), (404, &json!("NOTEBOOK_NOT_FOUND")), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cells_of_a_runtime_in_a_role_ask_like_any_command() {
    let home = Home::new();
    let role = "---\nname: dev\ndescription: Runs commands.\nskills: [terminal.runCommand]\n---\nYou run.\n";
    std::fs::create_dir_all(home.path("app/.provost/roles")).unwrap();
    std::fs::write(home.path("app/.provost/roles/dev.md"), role).unwrap();
    let daemon = home.up();
    home.run_ok(&["roles", "trust", "--yes", "--project", "app"]);
    let notebook = daemon.create_notebook("Role").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let body = json!({ "type": "shell", "role": "dev" });
    let (status, started) = daemon.start_local(notebook, body).await;
    assert_eq!((status, &started["runtimeId"]), (200, &json!("local-shell@dev")), "{started}");
    let cell = person.create_cell(notebook, "touch made-by-a-cell && echo made").await;
    let execution = person.request_execution(notebook, cell).await;
    let asked = person.until("OUTPUT_ADDED").await;
    assert!(format!("{:?}", asked.fact).contains("approvals allow"), "{asked:?}");
    assert!(!home.path("app/made-by-a-cell").exists());
    let question = daemon.wait_for_approvals(1).await.remove(0);
    let approval = question["id"].as_str().unwrap().to_owned();
    home.run_ok(&["approvals", "allow", &approval, "--yes"]);
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok);
    assert_eq!(person.printed(execution), "made\n");
    // One that is denied says so.
    let other = person.create_cell(notebook, "touch another && echo made").await;
    let denied = person.request_execution(notebook, other).await;
    person
        .until_fact(|fact| matches!(fact, NotebookFact::OutputAdded(it) if it.execution == denied))
        .await;
    let cancel = NotebookCommand::CancelExecution { execution: denied, why: None };
    person.command(notebook, cancel).await.unwrap();
    assert_eq!(person.until_finished(denied).await, ExecutionOutcome::Cancelled);
    assert!(!home.path("app/another").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_goes_on_when_the_daemon_is_killed_and_no_line_is_lost_or_doubled() {
    const LINES: usize = 30_000;
    let home = Home::new();
    let mut daemon = home.up();
    let notebook = daemon.create_notebook("Adopted").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let (_, first) = daemon.start_local(notebook, json!({ "type": "shell" })).await;
    let cell = person.create_cell(notebook, &count_script(LINES)).await;
    let next = person.create_cell(notebook, "echo next").await;
    for round in 0..3 {
        let at = person.at;
        let execution = person.request_execution(notebook, cell).await;
        let queued = person.request_execution(notebook, next).await;
        person.until_printed(execution, "\n").await;
        daemon.kill();
        daemon = home.up();
        person = daemon.sync(&daemon.token).await;
        person.subscribe(notebook, at).await;
        assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok, "round {round}");
        assert_counted(&person.printed(execution), LINES);
        assert_eq!(person.until_finished(queued).await, ExecutionOutcome::Ok, "round {round}");
        assert_eq!(person.printed(queued), "next\n");
        assert_eq!(person.facts("RUNTIME_SESSION_STARTED").len(), 0, "it kept its session");
    }
    let list = daemon.runtimes(notebook).await;
    assert_eq!(list["runtimes"], json!([first]));
    // A daemon that is stopped in order leaves it as well.
    home.run_ok(&["down", "--keep"]);
    daemon = home.up();
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let execution = person.request_execution(notebook, next).await;
    assert_eq!(person.until_finished(execution).await, ExecutionOutcome::Ok);
    assert_eq!(daemon.runtimes(notebook).await["runtimes"], json!([first]));
    assert!(home.run_ok(&["audit", "verify"]).contains("The log is intact"));
}
