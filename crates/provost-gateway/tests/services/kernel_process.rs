//! The kernel of a project, as the daemon's program runs it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use provost_kernel::host::{self, HostOptions};

/// Runs a kernel with the arguments that `KernelPool` gives it.
pub(crate) async fn run(args: &[String]) -> ExitCode {
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name).unwrap();
        args[at + 1].clone()
    };
    let path = |name| PathBuf::from(value(name));
    let options = HostOptions {
        kernel_dir: path("--place"),
        project: path("--project"),
        home: path("--home"),
        data: path("--data"),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        idle: Duration::from_secs(value("--idle-seconds").parse().unwrap()),
        version: "test".to_owned(),
        clock: || provost_store::Clock::system().now(),
    };
    host::run(options).await.unwrap();
    ExitCode::SUCCESS
}
