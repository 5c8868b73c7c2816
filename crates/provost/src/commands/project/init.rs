//! `provost init`: writes the detected commands to `provost.toml`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context, bail};
use provost_core::runtime::plan::{PLAN_FILE, RuntimePlan};
use provost_kernel::RootProjectFiles;
use provost_sandbox::root_dir::RootDir;

use crate::args::InitArgs;
use crate::output::{self, bold, print_line};

pub(crate) fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let folder = match &args.path {
        Some(path) => path.clone(),
        None => std::env::current_dir()?,
    };
    let root = RootDir::open(&folder)
        .with_context(|| format!("cannot open the folder {}", folder.display()))?;
    let Some(plan) = RuntimePlan::detect(&RootProjectFiles(&root))? else {
        bail!(
            "cannot detect what to run in this folder\nhint: write `{PLAN_FILE}` with `[runtime]` and \
             `dev = \"…\"`"
        );
    };
    let text = plan.to_toml();
    if args.dry_run {
        output::print_bytes(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = folder.join(PLAN_FILE);
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let opened = options.open(&file);
    if let Err(error) = &opened
        && error.kind() == std::io::ErrorKind::AlreadyExists
    {
        bail!("{} already exists\nhint: --force overwrites it", file.display());
    }
    let mut opened = opened.with_context(|| format!("cannot write {}", file.display()))?;
    opened
        .write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    print_line(&format!("Wrote {}: {}.", bold(&file.display().to_string()), plan.why))?;
    Ok(ExitCode::SUCCESS)
}
