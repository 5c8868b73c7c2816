//! The tour: an example project and a scripted conversation in it, for who has
//! neither an account nor a model yet.
//!
//! Its words are written down (`script.toml`) and labelled as a script everywhere;
//! what it does is real and goes down the road of all actions. The example is made
//! in a new folder, so that nothing of anybody is ever written over; one that was made
//! before and is as it was made is taken again.

use std::sync::Arc;

use provost_core::role::Role;
use provost_gateway::{
    GatewayError, NewProjectFolder, OpenProjectOutcome, Operator, OperatorRequest,
};
use provost_proto::session::{
    OpenSessionRequest, SessionStatus, SessionView, StartTourRequest, StartTourResponse,
};
use provost_proto::{Fact, GovernanceFileKind, Project, TrustFileRequest};
use provost_store::Idempotency;

use crate::model::{ModelScript, ModelScriptError};
use crate::session::{Runner, RunnerError};

/// The name of its script; as a model it is `script/tour`.
pub const TOUR_SCRIPT_NAME: &str = "tour";

/// The tour as a model.
pub const TOUR_MODEL: &str = "script/tour";

/// The folder it is made in, in the home folder; a number follows if it is taken.
const TOUR_FOLDER: &str = "provost-tour";

const GUIDE_ROLE: &str = "guide";
const GUIDE_ROLE_FILE: &str = ".provost/roles/guide.md";

/// What the person is taken to say first.
const FIRST_MESSAGE: &str = "Show me around.";

/// The files of the example project.
const EXAMPLE_FILES: &[(&str, &str)] = &[
    (GUIDE_ROLE_FILE, include_str!("guide.md")),
    ("README.md", include_str!("example/README.md")),
    ("provost.toml", include_str!("example/provost.toml")),
    ("serve.sh", include_str!("example/serve.sh")),
    ("serve.py", include_str!("example/serve.py")),
    ("serve.js", include_str!("example/serve.js")),
    ("check.sh", include_str!("example/check.sh")),
    ("site/board.json", include_str!("example/site/board.json")),
    ("site/index.html", include_str!("example/site/index.html")),
];

/// The conversation.
pub fn parse_tour_script() -> Result<ModelScript, ModelScriptError> {
    ModelScript::parse(include_str!("script.toml"))
}

impl Runner {
    /// Makes the example project, opens it and begins the tour in it.
    pub async fn start_tour(
        self: &Arc<Self>,
        by: &Operator,
        wanted: StartTourRequest,
        command: Option<Idempotency>,
    ) -> Result<StartTourResponse, RunnerError> {
        if let Some(command) = &command
            && let Some(session) = self.find_repeated_session(by, command).await?
        {
            let project =
                self.gateway.projects.get_project(&session.project.uuid().to_string()).await?;
            return Ok(StartTourResponse { project, session });
        }
        let folder =
            NewProjectFolder { path: wanted.path, name: TOUR_FOLDER, files: EXAMPLE_FILES };
        let request = || OperatorRequest { by, command: None };
        let project = match self.find_unused_project(request(), &folder).await? {
            Some(project) => project,
            None => self.gateway.lifecycle.create_project(request(), folder).await?,
        };
        self.trust_guide(by, &project).await?;
        let open = OpenSessionRequest {
            project: project.id.uuid().to_string(),
            role: GUIDE_ROLE.to_owned(),
            model: Some(TOUR_MODEL.to_owned()),
            budget: None,
        };
        let session = self.open_session(by, open, command).await?;
        if !wanted.silent {
            self.send_message(by, session.id, FIRST_MESSAGE.to_owned().into()).await?;
        }
        Ok(StartTourResponse { project, session: self.load_session(session.id).await? })
    }

    /// A project of the tour in which nothing was changed and nobody is on it.
    async fn find_unused_project(
        &self,
        request: OperatorRequest<'_>,
        folder: &NewProjectFolder,
    ) -> Result<Option<Project>, RunnerError> {
        if folder.path.is_some() {
            return Ok(None);
        }
        let Some(path) = self.gateway.projects.find_unmodified_folder(folder.clone()).await? else {
            return Ok(None);
        };
        let project = match self.gateway.lifecycle.open_project(request, &path).await? {
            OpenProjectOutcome::Opened(project) | OpenProjectOutcome::AlreadyOpen(project) => {
                project
            }
        };
        let is_on = |session: &SessionView| {
            let is_open = session.status != SessionStatus::Closed;
            session.project == project.id && is_open && session.status != SessionStatus::Idle
        };
        let is_taken = self.list_sessions().await?.sessions.iter().any(is_on);
        Ok((!is_taken).then_some(project))
    }

    /// The session that the same request began before.
    async fn find_repeated_session(
        &self,
        by: &Operator,
        command: &Idempotency,
    ) -> Result<Option<SessionView>, RunnerError> {
        let before = self.gateway.store().find_command_events(by.principal(), command).await?;
        for event in before.iter().flatten() {
            if let Some(Fact::SessionOpened(opened)) = event.decode_event()?.fact() {
                return self.load_session(opened.session).await.map(Some);
            }
        }
        Ok(None)
    }

    /// The person asked for the tour: they trust the role that comes with it, as it
    /// is in this program, and nothing else that may lie there instead.
    async fn trust_guide(&self, by: &Operator, project: &Project) -> Result<(), RunnerError> {
        let hash = Role::hash(include_bytes!("guide.md"));
        let trust = TrustFileRequest {
            what: GovernanceFileKind::Role,
            file: GUIDE_ROLE_FILE.to_owned(),
            hash,
        };
        let trusted = self
            .gateway
            .trust
            .trust_file(OperatorRequest { by, command: None }, project, trust)
            .await;
        trusted.map(drop).map_err(|error: GatewayError| error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_can_be_read_and_its_role_says_that_it_is_one() {
        let script = parse_tour_script().unwrap();
        assert!(script.title.contains("scripted"));
        assert!(include_str!("guide.md").contains(&format!("model: {TOUR_MODEL}\n")));
        assert!(include_str!("guide.md").contains("a script"));
    }

    #[test]
    fn what_the_script_changes_is_in_the_example() {
        let board = include_str!("example/site/board.json");
        for old in ["Closed until further notice", "Good morning"] {
            assert_eq!(board.matches(old).count(), 1, "{old}");
            assert!(include_str!("script.toml").contains(&format!("old = \"{old}\"")));
        }
    }
}
