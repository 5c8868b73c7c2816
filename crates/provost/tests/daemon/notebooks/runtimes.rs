//! Runtimes of notebooks: sessions, fences, claims and input.

use provost_proto::Code;
use provost_proto::notebook::{
    ClientSyncMessage, ExecutionOutcome, InputRequest, NotebookCommand, NotebookFact,
    OutputContent, RuntimeEndReason, ServerSyncMessage, StreamName,
};

use super::client::id;
use crate::Home;

/// The commands of a runtime that executes.
fn claim(
    execution: provost_proto::ExecutionId,
    session: provost_proto::RuntimeSessionId,
    fence: u64,
) -> Vec<NotebookCommand> {
    vec![
        NotebookCommand::ClaimExecution { execution, session, fence },
        NotebookCommand::StartExecution { execution, fence },
    ]
}

fn print(execution: provost_proto::ExecutionId, fence: u64, text: &str) -> NotebookCommand {
    let content = OutputContent::Stream { name: StreamName::Stdout, text: text.to_owned() };
    NotebookCommand::AddOutput { execution, fence, output: id(), content }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_is_executed_by_a_runtime_with_a_token_of_its_own() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Run").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "print(1)").await;
    let mut runtime = daemon.follow(&home.runtime_token(notebook), notebook).await;
    let session = runtime.start_session(notebook, "echo-1").await;
    let execution = person.request_execution(notebook, cell).await;
    runtime.until("EXECUTION_REQUESTED").await;
    let mut commands = claim(execution, session, 1);
    commands.push(print(execution, 1, "1\n"));
    commands.push(NotebookCommand::FinishExecution {
        execution,
        fence: 1,
        outcome: ExecutionOutcome::Ok,
        why: None,
    });
    let last = runtime.send_commands(notebook, "run", commands).await.unwrap();
    person.until_version(last).await;
    let finished = person.until("EXECUTION_FINISHED").await;
    assert_eq!(finished.actor.to_string(), "runtime:echo-1");
    assert_eq!(finished.principal, runtime.principal);
    assert_eq!(finished.command.as_deref(), Some("run"));
    let detail = daemon.get(&format!("/api/notebooks/{}", notebook.uuid())).await;
    assert_eq!(detail["outputs"][0]["parts"][0]["content"]["text"], "1\n");
    assert_eq!(detail["executions"][0]["outcome"], "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_displaced_runtime_is_told_so_and_what_it_still_writes_is_refused() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Displaced").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "print(1)").await;
    let (first, second) = (home.runtime_token(notebook), home.runtime_token(notebook));
    let mut first = daemon.follow(&first, notebook).await;
    let mut second = daemon.follow(&second, notebook).await;
    let session = first.start_session(notebook, "first").await;
    let execution = person.request_execution(notebook, cell).await;
    first.send_commands(notebook, "claim", claim(execution, session, 1)).await.unwrap();
    first.command(notebook, print(execution, 1, "before")).await.unwrap();
    second.start_session(notebook, "second").await;
    let answer = first.reply().await;
    assert!(
        matches!(&answer, ServerSyncMessage::Fenced { session: of, .. } if *of == session),
        "{answer:?}"
    );
    let refused = first.command(notebook, print(execution, 1, "after")).await;
    assert!(matches!(refused, Err((Code::StaleFence | Code::ExecutionState, 0))), "{refused:?}");
    let renew = ClientSyncMessage::RenewLease { notebook, session, fence: 1 };
    first.send(&renew).await;
    assert!(matches!(first.reply().await, ServerSyncMessage::Fenced { .. }));
    let ended = person.until("RUNTIME_SESSION_ENDED").await;
    let NotebookFact::RuntimeSessionEnded(ended) = ended.fact else { panic!("{ended:?}") };
    assert_eq!(ended.reason, RuntimeEndReason::Displaced);
    let finished = person.until("EXECUTION_FINISHED").await;
    let NotebookFact::ExecutionFinished(finished) = finished.fact else { panic!("{finished:?}") };
    assert_eq!(finished.outcome, ExecutionOutcome::Lost);
    let started = person.until("RUNTIME_SESSION_STARTED").await;
    let NotebookFact::RuntimeSessionStarted(started) = started.fact else { panic!("{started:?}") };
    assert_eq!((&*started.runtime_id, started.fence), ("second", 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_runtimes_that_claim_an_execution_one_gets_it() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Race").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "print(1)").await;
    let token = home.runtime_token(notebook);
    let mut one = daemon.sync(&token).await;
    let mut other = daemon.sync(&token).await;
    // One session, twice connected: a fence alone would not tell the two apart.
    let session = one.start_session(notebook, "twin").await;
    for n in 1..=10 {
        let execution = person.request_execution(notebook, cell).await;
        let (a, b) = tokio::join!(
            one.command(notebook, NotebookCommand::ClaimExecution { execution, session, fence: 1 }),
            other.command(
                notebook,
                NotebookCommand::ClaimExecution { execution, session, fence: 1 }
            ),
        );
        assert!(a.is_ok() != b.is_ok(), "{n}: {a:?} {b:?}");
        let finish = vec![
            NotebookCommand::StartExecution { execution, fence: 1 },
            NotebookCommand::FinishExecution {
                execution,
                fence: 1,
                outcome: ExecutionOutcome::Ok,
                why: None,
            },
        ];
        let last = one.send_commands(notebook, &format!("finish {n}"), finish).await.unwrap();
        person.until_version(last).await;
        assert_eq!(person.facts("EXECUTION_ASSIGNED").len(), n);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_input_reaches_the_runtime_that_asked_and_nothing_else() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Input").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "getpass()").await;
    let mut runtime = daemon.follow(&home.runtime_token(notebook), notebook).await;
    let session = runtime.start_session(notebook, "echo-1").await;
    let execution = person.request_execution(notebook, cell).await;
    runtime.send_commands(notebook, "claim", claim(execution, session, 1)).await.unwrap();
    let input = InputRequest { prompt: "Password: ".to_owned(), secret: true };
    runtime
        .command(notebook, NotebookCommand::AskInput { execution, fence: 1, input })
        .await
        .unwrap();
    person.until("EXECUTION_INPUT_ASKED").await;
    let text = "swordfish-in-the-sea".to_owned();
    let last =
        person.command(notebook, NotebookCommand::AnswerInput { execution, text }).await.unwrap();
    let answer = runtime.reply().await;
    assert!(
        matches!(&answer, ServerSyncMessage::Input { text, .. } if text == "swordfish-in-the-sea"),
        "{answer:?}"
    );
    person.until_version(last).await;
    assert!(person.replies.is_empty(), "{:?}", person.replies);
    let answered = person.until("EXECUTION_INPUT_ANSWERED").await;
    assert!(!format!("{answered:?}").contains("swordfish"));
    // Nor is it in any file of the daemon.
    home.run_ok(&["down"]);
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(9).any(|window| window == b"swordfish");
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_for_a_runtime_that_is_gone_is_refused_and_not_lost() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Input").await;
    let mut person = daemon.follow(&daemon.token, notebook).await;
    let cell = person.create_cell(notebook, "input()").await;
    let mut runtime = daemon.follow(&home.runtime_token(notebook), notebook).await;
    let session = runtime.start_session(notebook, "echo-1").await;
    let execution = person.request_execution(notebook, cell).await;
    runtime.send_commands(notebook, "claim", claim(execution, session, 1)).await.unwrap();
    let input = InputRequest { prompt: "Name: ".to_owned(), secret: false };
    runtime
        .command(notebook, NotebookCommand::AskInput { execution, fence: 1, input })
        .await
        .unwrap();
    let data = serde_json::json!({ "runtime": true });
    runtime.send(&ClientSyncMessage::Presence { notebook, data }).await;
    drop(runtime);
    while person.presence.last().is_none_or(|last| !last.data.is_null()) {
        assert!(person.read().await, "the end of the runtime is shown");
    }
    let answer = NotebookCommand::AnswerInput { execution, text: "Ann".to_owned() };
    let refused = person.command(notebook, answer).await.unwrap_err();
    assert_eq!(refused.0, Code::Unavailable);
}
