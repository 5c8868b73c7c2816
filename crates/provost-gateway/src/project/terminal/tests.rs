//! Tickets for the terminal.

use provost_kernel::TerminalAttachOptions;

use super::TerminalAccess;
use crate::test_support::{OWNER_TOKEN, TestProject};
use crate::{GatewayError, RequestCredentials};

fn owner_access(test: &TestProject) -> TerminalAccess {
    let credentials = RequestCredentials::Header(OWNER_TOKEN);
    let lease = test.gateway.auth.lease_token(credentials).unwrap();
    TerminalAccess::from_operator(test.operator.clone(), lease)
}

#[tokio::test]
async fn a_ticket_is_for_one_connection_to_one_project() {
    let test = TestProject::open(&[]).await;
    let terminal = &test.gateway.terminal;
    let ticket = terminal.create_terminal_ticket(owner_access(&test), &test.project).unwrap();
    let access = terminal.redeem_terminal_ticket(ticket.reveal()).unwrap();
    assert!(terminal.redeem_terminal_ticket(ticket.reveal()).is_err(), "used twice");
    assert!(terminal.redeem_terminal_ticket("unknown").is_err());
    let other =
        provost_proto::Project { id: test.gateway.clock().new_id(), ..test.project.clone() };
    let options = TerminalAttachOptions { after: None, cols: 80, rows: 24 };
    let refused = terminal.connect_terminal(&access, &other, options).await.unwrap_err();
    assert!(matches!(refused, GatewayError::Unauthenticated(_)), "{refused}");
}

#[tokio::test]
async fn a_closed_project_has_no_terminal() {
    let test = TestProject::open(&[]).await;
    let access = owner_access(&test);
    let lifecycle = &test.gateway.lifecycle;
    let closed = lifecycle.close_project(test.request(), &test.project.slug).await.unwrap();
    let options = TerminalAttachOptions { after: None, cols: 80, rows: 24 };
    let refused = test.gateway.terminal.connect_terminal(&access, &closed, options).await;
    assert!(matches!(refused, Err(GatewayError::ProjectClosed)), "{refused:?}");
}
