//! A gateway over a real store in a temporary folder, with one open project.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use provost_gateway::{
    ActionSubmission, AuditCursor, AuditFilter, Caller, DaemonOwner, Gateway, GatewayConfig,
    GatewayError, KernelState, OpenProjectOutcome, Operator, OperatorRequest, RequestCredentials,
    Secret, SubmissionOutcome,
};
use provost_proto::{
    ActionId, ActionResponse, ActionView, AnswerApprovalRequest, Approval, ApprovalAnswer, Code,
    CreateTokenRequest, Event, GovernanceFileKind, LogCursor, Project, SubmitActionRequest,
    TokenClass, TrustFileRequest,
};
use provost_store::{Clock, EventScope, Idempotency, LogTail, SqliteStore, StoreOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

/// Long enough for any machine; only a test that fails waits for it.
pub(crate) const LONG: Duration = Duration::from_mins(1);

const ROLE: &str = ".provost/roles/dev.md";
const ROLE_TEXT: &str = "---\nname: dev\nskills: [fs.read, fs.write, terminal.*]\n---\nWork.\n";

pub(crate) struct ServicesFixture {
    pub(crate) gateway: Arc<Gateway>,
    /// The person.
    pub(crate) person: Caller,
    operator: Operator,
    pub(crate) project: Project,
    pub(crate) program: PathBuf,
    folder: TempDir,
}

impl ServicesFixture {
    /// Opens a project, with this program as its kernel.
    pub(crate) async fn open() -> Self {
        let fixture = Self::open_without_program().await;
        fixture.install_program();
        fixture
    }

    /// The same; no kernel can be started yet.
    pub(crate) async fn open_without_program() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, program) = (base.join("project"), base.join("program"));
        for name in ["data", "home", "project/.provost/roles"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        std::fs::write(root.join(ROLE), ROLE_TEXT).unwrap();
        let config = GatewayConfig {
            home: Some(base.join("home")),
            data: base.join("data"),
            program: program.clone(),
            umask: 0o022,
            kernel_idle: Duration::from_secs(5),
            policy: base.join("config/policy.toml"),
            config: base.join("config/config.toml"),
            path: vec!["/usr/bin".into(), "/bin".into()],
            approval_ttl: Duration::from_mins(10),
            ..GatewayConfig::default()
        };
        let clock = Clock::system();
        let options = StoreOptions { path: base.join("log.db"), clock: clock.clone() };
        let store = Arc::new(SqliteStore::open(options).unwrap());
        let digest = Secret::from_text("owner").digest();
        let owner = DaemonOwner { principal: "local:ann".to_owned(), digest };
        let gateway = Arc::new(Gateway::open(store, clock, owner, config).await.unwrap());
        let log_in = || gateway.auth.authenticate(RequestCredentials::Header("owner")).unwrap();
        let (person, operator) = (log_in(), log_in().into_operator().unwrap());
        let request = OperatorRequest { by: &operator, command: None };
        let opened = gateway.lifecycle.open_project(request, root.to_str().unwrap()).await.unwrap();
        let OpenProjectOutcome::Opened(project) = opened else { panic!("{opened:?}") };
        Self { gateway, person, operator, project, program, folder }
    }

    /// From now on kernels can be started.
    pub(crate) fn install_program(&self) {
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &self.program).unwrap();
    }

    /// Stops the kernel: a test leaves no process.
    pub(crate) async fn end(self) {
        self.gateway.kernels.stop_kernels().await;
        assert_eq!(self.kernel_state(), KernelState::NotRunning);
    }

    pub(crate) fn request(&self) -> OperatorRequest<'_> {
        OperatorRequest { by: &self.operator, command: None }
    }

    /// An agent in a trusted role.
    pub(crate) async fn create_agent(&self) -> Caller {
        let roles = self.gateway.governance.list_roles(&self.project).await.unwrap();
        let (what, hash) = (GovernanceFileKind::Role, roles.roles[0].hash);
        let trust = TrustFileRequest { what, file: ROLE.to_owned(), hash };
        self.gateway.trust.trust_file(self.request(), &self.project, trust).await.unwrap();
        let token = CreateTokenRequest {
            class: TokenClass::Agent,
            project: Some(self.project.slug.clone()),
            role: Some("dev".to_owned()),
            notebook: None,
            label: None,
            ttl_minutes: None,
        };
        let (token, _) = self.gateway.auth.create_token(self.request(), token).await.unwrap();
        self.gateway.auth.authenticate(RequestCredentials::Header(token.reveal())).unwrap()
    }

    /// Submits a command line, and waits for its end up to a time.
    pub(crate) async fn run(
        &self,
        caller: &Caller,
        line: &str,
        wait: Duration,
    ) -> Result<ActionResponse, GatewayError> {
        self.submit(caller, line, None, None, wait).await
    }

    /// The same with an id or an idempotency key.
    pub(crate) async fn submit(
        &self,
        caller: &Caller,
        line: &str,
        id: Option<ActionId>,
        command: Option<Idempotency>,
        wait: Duration,
    ) -> Result<ActionResponse, GatewayError> {
        let wanted = SubmitActionRequest {
            action: "terminal.runCommand".to_owned(),
            params: json!({ "command": line }),
            role: None,
            session_id: None,
        };
        let submission = ActionSubmission { wanted, id, command, wait };
        let actions = &self.gateway.actions;
        match actions.submit_action(caller, &self.project.slug, submission).await? {
            SubmissionOutcome::Finished(response) | SubmissionOutcome::Running(response) => {
                Ok(response)
            }
        }
    }

    pub(crate) async fn get_action(&self, id: ActionId) -> ActionView {
        let id = id.uuid().to_string();
        self.gateway.actions.get_action_for_caller(&self.person, &id).await.unwrap()
    }

    /// Requests a command of an agent; returns its pending approval.
    pub(crate) async fn request_approval(&self, agent: &Caller, line: &str) -> Approval {
        let response = self.run(agent, line, Duration::ZERO).await.unwrap();
        let id = response.approval_id.unwrap().uuid().to_string();
        self.gateway.approvals.get_approval(&id).await.unwrap()
    }

    pub(crate) async fn allow(&self, approval: &Approval) -> Result<Approval, GatewayError> {
        let answer = AnswerApprovalRequest {
            action_hash: approval.action_hash,
            decision: ApprovalAnswer::Allow,
            scope: None,
            minutes: None,
            rule: None,
            message: None,
        };
        let id = approval.id.uuid().to_string();
        self.gateway.approvals.answer_approval(self.request(), &id, answer).await
    }

    pub(crate) fn kernel_state(&self) -> KernelState {
        self.gateway.kernels.kernel_state(self.project.id)
    }

    /// The process id of the kernel, which must run.
    pub(crate) fn kernel_pid(&self) -> u32 {
        let state = self.kernel_state();
        let KernelState::Connected { pid, .. } = state else { panic!("{state:?}") };
        pid
    }

    /// The events of a kind, in order.
    pub(crate) async fn events(&self, kind: &str) -> Vec<Event> {
        let filter = AuditFilter { kinds: vec![kind.to_owned()], ..AuditFilter::default() };
        let from = AuditCursor::After(LogCursor::START);
        let page = self.gateway.audit.search(EventScope::All, from, 500, &filter).await.unwrap();
        assert!(page.next.is_none());
        page.events
    }

    /// Waits until the log has an event of a kind about an action.
    pub(crate) async fn wait_for(&self, kind: &str, action: ActionId) -> Event {
        self.wait_until(kind, |event| event.body["action"] == json!(action)).await
    }

    /// Waits until the log has an event of a kind.
    pub(crate) async fn wait_until(&self, kind: &str, is_wanted: impl Fn(&Event) -> bool) -> Event {
        let store = Arc::clone(self.gateway.store());
        let mut tail = LogTail::new(store, EventScope::All, LogCursor::START);
        let found = async {
            loop {
                for event in tail.next().await.unwrap() {
                    let event = event.decode_event().unwrap();
                    if event.kind == kind && is_wanted(&event) {
                        return event;
                    }
                }
            }
        };
        let late = |_| panic!("no {kind}");
        timeout(LONG, found).await.unwrap_or_else(late)
    }

    /// Waits for the end of an action; returns its view.
    pub(crate) async fn wait_for_end(&self, action: ActionId) -> ActionView {
        self.wait_for("ACTION_FINISHED", action).await;
        self.get_action(action).await
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.project.path).join(name)
    }

    /// How many lines a file of the project has; none if it does not exist.
    pub(crate) fn count_lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// The code of the error, if it is one of an action.
pub(crate) fn fault_code<T>(result: &Result<T, GatewayError>) -> Option<Code> {
    match result {
        Err(GatewayError::Fault(fault)) => Some(fault.code),
        Ok(_) | Err(_) => None,
    }
}

/// What an action printed on its standard output.
pub(crate) fn stdout(response: &ActionResponse) -> Value {
    response.result.as_ref().map(|result| result.to_value()["stdout"].clone()).unwrap_or_default()
}

/// Whether there is such a process, and it has not exited.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
