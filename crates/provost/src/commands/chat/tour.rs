//! The tour: a scripted session for users who request it or have no model yet.

use anyhow::{anyhow, bail};
use provost_proto::Project;
use provost_proto::session::{ModelList, SessionView, StartTourRequest, StartTourResponse};
pub(super) use provost_runner::tour::TOUR_MODEL;

use crate::args::ChatArgs;
use crate::client::DaemonClient;
use crate::commands::daemon::provider_keys::{describe_missing_key, find_missing_keys};
use crate::output::{ask_confirmation, faint, is_interactive, print_stderr, sanitize_text};

/// Starts the tour if the user requests or accepts it.
pub(super) async fn start_tour_if_wanted(
    args: &ChatArgs,
    client: &DaemonClient,
    ready_here: &[String],
) -> anyhow::Result<Option<(SessionView, Project)>> {
    if args.role.is_some()
        || !(is_tour_requested(args) || offer_tour(args, client, ready_here).await?)
    {
        return Ok(None);
    }
    let request = StartTourRequest { path: None, silent: true };
    let StartTourResponse { project, session } = client.post("/api/tour", &request).await?;
    print_stderr(&faint(&format!(
        "The tour is a script, not a model; its actions are real, in {}. Send any message to start.",
        sanitize_text(&project.path)
    )));
    Ok(Some((session, project)))
}

pub(super) fn is_tour_requested(args: &ChatArgs) -> bool {
    args.model.as_deref() == Some(TOUR_MODEL)
}

/// Offers the tour if no model is configured; returns whether the user accepts.
async fn offer_tour(
    args: &ChatArgs,
    client: &DaemonClient,
    ready_here: &[String],
) -> anyhow::Result<bool> {
    if args.model.is_some() || args.prompt.is_some() || !is_interactive() {
        return Ok(false);
    }
    let list = client.get("/api/models").await?;
    if has_model(&list) {
        return Ok(false);
    }
    if let Some(missing) = find_missing_keys(ready_here, &list.providers).first() {
        bail!("{}", describe_missing_key(missing));
    }
    ask_confirmation(
        "No model is available: there is no API key in the environment or in config.toml, and \
         neither Ollama nor llama.cpp is running.\nTake the tour instead? It needs no account and \
         creates the folder `provost-tour` in your home.",
    )
}

fn has_model(list: &ModelList) -> bool {
    let has_model = list.models.iter().any(|model| !model.scripted);
    has_model || list.providers.iter().any(|provider| provider.ready)
}

/// Adds a hint to an error if no model is available: at a key that only the daemon lacks, or
/// at the tour.
pub(super) async fn add_tour_hint(
    error: anyhow::Error,
    args: &ChatArgs,
    client: &DaemonClient,
    ready_here: &[String],
) -> anyhow::Error {
    let message = format!("{error:#}");
    let is_new = args.session.is_none() && args.model.is_none() && !message.contains(TOUR_MODEL);
    let list = match client.get::<ModelList>("/api/models").await {
        Ok(list) if is_new && !has_model(&list) => list,
        Ok(_) | Err(_) => return error,
    };
    if let Some(missing) = find_missing_keys(ready_here, &list.providers).first() {
        let missing = describe_missing_key(missing);
        return if message.contains(&missing) {
            error
        } else {
            anyhow!("{message}\nhint: {missing}")
        };
    }
    anyhow!(
        "{message}\nhint: no model is available, and the tour needs none: `provost chat --model {TOUR_MODEL}`"
    )
}
