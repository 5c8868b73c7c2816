//! The runtimes that the daemon runs itself: started, listed and stopped by people, and there
//! again after the daemon was.

mod running;

use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use provost_gateway::{Gateway, GatewayError, LocalRuntimeGrant, LocalRuntimeName, Operator};
use provost_notebook::agent::PriorSession;
use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{
    LocalRuntime, LocalRuntimeList, RuntimeCapabilities, RuntimeEndReason, RuntimeType,
    StartRuntimeRequest,
};
use provost_proto::{Code, NotebookId};

use crate::echo::EchoHandler;
use crate::handler::ExecutionHandler;
use crate::shell::ActionShellHandler;
use running::{RunningRuntime, RuntimeStart};

/// Makes the handlers of one type of runtime.
pub trait RuntimeFactory: Send + Sync + 'static {
    /// The type, such as `python`.
    fn runtime_type(&self) -> &str;

    /// What it is, as text for people.
    fn description(&self) -> String;

    /// What it can execute.
    fn capabilities(&self) -> RuntimeCapabilities;

    /// Why it cannot be started, with what to do; `None` if it can.
    fn find_obstacle(&self) -> Option<String> {
        None
    }

    /// A handler for a notebook.
    fn create_handler(
        &self,
        gateway: &Arc<Gateway>,
        grant: &LocalRuntimeGrant,
    ) -> Arc<dyn ExecutionHandler>;
}

/// Prints what it is given.
struct EchoFactory;

impl RuntimeFactory for EchoFactory {
    fn runtime_type(&self) -> &'static str {
        "echo"
    }

    fn description(&self) -> String {
        "Prints the source of each cell: for tests.".to_owned()
    }

    fn capabilities(&self) -> RuntimeCapabilities {
        RuntimeCapabilities { can_execute_code: true, can_execute_sql: true, can_execute_ai: true }
    }

    fn create_handler(&self, _: &Arc<Gateway>, _: &LocalRuntimeGrant) -> Arc<dyn ExecutionHandler> {
        Arc::new(EchoHandler)
    }
}

/// Runs cells as commands.
struct ShellFactory;

impl RuntimeFactory for ShellFactory {
    fn runtime_type(&self) -> &'static str {
        "shell"
    }

    fn description(&self) -> String {
        "Runs each cell as a command of its own in the project's folder.".to_owned()
    }

    fn capabilities(&self) -> RuntimeCapabilities {
        let can_execute_code = true;
        RuntimeCapabilities { can_execute_code, can_execute_sql: false, can_execute_ai: false }
    }

    fn create_handler(
        &self,
        gateway: &Arc<Gateway>,
        grant: &LocalRuntimeGrant,
    ) -> Arc<dyn ExecutionHandler> {
        Arc::new(ActionShellHandler::new(Arc::clone(gateway), grant.clone()))
    }
}

/// The runtimes of a daemon.
pub struct LocalRuntimes {
    gateway: Arc<Gateway>,
    factories: Vec<Box<dyn RuntimeFactory>>,
    running: Mutex<Vec<Arc<RunningRuntime>>>,
    /// Held while one is started or stopped, so that no two are started at once.
    changing: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for LocalRuntimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalRuntimes").field("running", &self.running).finish_non_exhaustive()
    }
}

impl LocalRuntimes {
    /// None runs yet. The types `echo` and `shell` are built in.
    pub fn new(gateway: Arc<Gateway>, further: Vec<Box<dyn RuntimeFactory>>) -> Self {
        let mut factories: Vec<Box<dyn RuntimeFactory>> =
            vec![Box::new(EchoFactory), Box::new(ShellFactory)];
        factories.extend(further);
        Self {
            gateway,
            factories,
            running: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
        }
    }

    /// Starts the runtimes again that ran when the last daemon ended. They go on with their
    /// sessions.
    pub async fn resume(&self) -> Result<(), GatewayError> {
        let _changing = self.changing.lock().await;
        for (grant, session) in self.gateway.notebooks.list_left_runtimes().await? {
            let Some(factory) = self.find_factory(&grant.name().runtime_type) else {
                tracing::warn!(runtime = %grant.name(), "there is no such type of runtime any more");
                continue;
            };
            let principal = grant.principal().to_owned();
            let prior = Some(PriorSession { session: session.id, principal });
            let start = RuntimeStart { grant, slot: Some(session.slot), prior };
            self.spawn(factory, start);
        }
        Ok(())
    }

    /// Starts a runtime in a notebook. One that is running already is returned.
    pub async fn start(
        &self,
        by: &Operator,
        notebook: NotebookId,
        request: StartRuntimeRequest,
    ) -> Result<LocalRuntime, GatewayError> {
        let _changing = self.changing.lock().await;
        let StartRuntimeRequest { runtime_type, slot, role } = request;
        let factory = self.find_factory(&runtime_type).ok_or_else(|| {
            let known: Vec<_> = self.factories.iter().map(|it| it.runtime_type()).collect();
            invalid("type", format!("`{runtime_type}` is none of {}", known.join(", ")))
        })?;
        if let Some(obstacle) = factory.find_obstacle() {
            return Err(fault(Code::NoRuntime, obstacle));
        }
        let name = LocalRuntimeName { runtime_type, role };
        let grant = self.gateway.notebooks.grant_local_runtime(by, notebook, name).await?;
        if let Some(role) = &grant.name().role {
            let project = grant.project().uuid().to_string();
            let project = self.gateway.projects.get_project(&project).await?;
            self.gateway.sessions.find_session_role(&project, role).await?;
        }
        let known = self.find_running(notebook, grant.name(), slot.as_deref());
        let running = match known.filter(|running| running.principal() == grant.principal()) {
            Some(running) => running,
            None => self.spawn(factory, RuntimeStart { grant, slot, prior: None }),
        };
        running.wait_until_active().await.map_err(|why| fault(Code::NoRuntime, why))
    }

    /// The runtimes of a notebook, and the types that there are.
    pub fn list(&self, notebook: NotebookId) -> LocalRuntimeList {
        let running = self.list_running();
        let of_notebook = running.iter().filter(|running| running.notebook() == notebook);
        let types = self.factories.iter().map(|factory| RuntimeType {
            runtime_type: factory.runtime_type().to_owned(),
            description: factory.description(),
            capabilities: factory.capabilities(),
            obstacle: factory.find_obstacle(),
        });
        LocalRuntimeList {
            runtimes: of_notebook.map(|running| running.describe()).collect(),
            types: types.collect(),
        }
    }

    /// Stops the runtimes of a notebook with this id, and waits for their end.
    pub async fn stop(&self, notebook: NotebookId, runtime: &str) -> Result<(), GatewayError> {
        let _changing = self.changing.lock().await;
        let mut found = self.list_running();
        found.retain(|it| it.notebook() == notebook && it.name().to_string() == runtime);
        if found.is_empty() {
            let name = runtime.to_owned();
            return Err(GatewayError::ItemNotFound { what: "runtime", name });
        }
        for running in found {
            running.shut_down(RuntimeEndReason::Shutdown, None).await;
        }
        Ok(())
    }

    /// Leaves all runtimes to the next daemon: their sessions stay active, and what they execute
    /// goes on.
    pub async fn detach(&self) {
        let _changing = self.changing.lock().await;
        let running = self.list_running();
        join_all(running.iter().map(|running| running.detach())).await;
    }

    fn find_factory(&self, runtime_type: &str) -> Option<&dyn RuntimeFactory> {
        let found = self.factories.iter().find(|it| it.runtime_type() == runtime_type);
        found.map(|factory| &**factory)
    }

    /// Those that have not ended.
    fn list_running(&self) -> Vec<Arc<RunningRuntime>> {
        let mut running = self.running.lock();
        running.retain(|runtime| !runtime.has_ended());
        running.clone()
    }

    fn find_running(
        &self,
        notebook: NotebookId,
        name: &LocalRuntimeName,
        slot: Option<&str>,
    ) -> Option<Arc<RunningRuntime>> {
        self.list_running().into_iter().find(|running| {
            running.notebook() == notebook
                && running.name() == name
                && slot.is_none_or(|slot| running.is_in_slot(slot))
        })
    }

    fn spawn(&self, factory: &dyn RuntimeFactory, start: RuntimeStart) -> Arc<RunningRuntime> {
        let handler = factory.create_handler(&self.gateway, &start.grant);
        let runtime = RunningRuntime::spawn(&self.gateway, start, factory.capabilities(), handler);
        let runtime = Arc::new(runtime);
        self.running.lock().push(Arc::clone(&runtime));
        runtime
    }
}

fn invalid(field: &'static str, why: String) -> GatewayError {
    GatewayError::InvalidField { field, why }
}

fn fault(code: Code, message: String) -> GatewayError {
    GatewayError::Fault(ErrorInfo { code, message, details: None })
}
