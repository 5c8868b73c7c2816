//! The tour: an example project and a scripted session in it, for people without a model.
//!
//! Its texts are in `script.toml` and labelled as a script everywhere; its actions are real and
//! governed like those of any model. The example is created in a new folder, so that no file of
//! the user is overwritten; an unmodified example from before is used again.

use std::sync::Arc;

use provost_core::role::Role;
use provost_gateway::{
    GatewayError, NewProjectFolder, OpenProjectOutcome, Operator, OperatorRequest,
};
use provost_proto::session::{
    OpenSessionRequest, SessionStatus, SessionView, StartTourRequest, StartTourResponse,
};
use provost_proto::{Fact, GovernanceFileKind, Project, TrustFileRequest};
use provost_store::{Idempotency, ListPosition};

use crate::model::{ModelScript, ModelScriptError};
use crate::session::{Runner, RunnerError};

/// The name of the script; its model is `script/tour`.
pub const TOUR_SCRIPT_NAME: &str = "tour";

/// The tour as a model.
pub const TOUR_MODEL: &str = "script/tour";

/// The folder in the home folder; a number is appended if it exists.
const TOUR_FOLDER: &str = "provost-tour";

const GUIDE_ROLE: &str = "guide";
const GUIDE_ROLE_FILE: &str = ".provost/roles/guide.md";

/// The first message, which the tour sends for the user.
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

/// The script of the tour.
pub fn parse_tour_script() -> Result<ModelScript, ModelScriptError> {
    ModelScript::parse(include_str!("script.toml"))
}

impl Runner {
    /// Creates the example project, opens it and starts the tour in it.
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

    /// An earlier project of the tour that is unmodified and without an active session.
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
        let is_active = |session: &SessionView| {
            session.status != SessionStatus::Closed && session.status != SessionStatus::Idle
        };
        let mut sessions = self.list_active_sessions(&[project.id]).await?;
        let latest = self.list_earlier_sessions(project.id, ListPosition::END).await?;
        sessions.extend(latest.sessions);
        let is_in_use = sessions.iter().any(is_active);
        Ok((!is_in_use).then_some(project))
    }

    /// The session that an earlier request with the same idempotency key opened.
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

    /// Starting the tour trusts its role file with exactly the contents in this program, and no
    /// other file that may be in its place.
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
    fn the_script_parses_and_its_role_is_labelled_as_a_script() {
        let script = parse_tour_script().unwrap();
        assert!(script.title.contains("scripted"));
        assert!(include_str!("guide.md").contains(&format!("model: {TOUR_MODEL}\n")));
        assert!(include_str!("guide.md").contains("a script"));
    }

    #[test]
    fn the_texts_that_the_script_edits_are_in_the_example() {
        let board = include_str!("example/site/board.json");
        for old in ["Closed until further notice", "Good morning"] {
            assert_eq!(board.matches(old).count(), 1, "{old}");
            assert!(include_str!("script.toml").contains(&format!("old = \"{old}\"")));
        }
    }
}
