//! Resolves what arguments leave open: the project of the current folder, shortened ids.

use anyhow::bail;
use provost_proto::{Project, ProjectList};

use super::project::projects::encode_path_segment;
use crate::client::DaemonClient;
use crate::output::sanitize_text;

/// Characters of the end of an id that are shown where a person types it.
const SHORT_ID_LEN: usize = 8;

/// How many of the latest items are searched for a shortened id.
pub(crate) const SHORT_ID_SEARCH_LIMIT: usize = 1000;

/// The named project, or the one that contains the current folder.
pub(crate) async fn resolve_project(
    named: Option<&str>,
    client: &DaemonClient,
) -> anyhow::Result<Project> {
    if let Some(name) = named {
        return client.get(&format!("/api/projects/{}", encode_path_segment(name))).await;
    }
    let here = std::env::current_dir()?.canonicalize()?;
    let ProjectList { projects } = client.get("/api/projects").await?;
    let inside = projects.into_iter().filter(|project| here.starts_with(&project.path));
    match inside.max_by_key(|project| project.path.len()) {
        Some(project) => Ok(project),
        None => bail!(
            "{} is not in an open project\nhint: `provost up` opens it, --project P selects another",
            here.display()
        ),
    }
}

/// The end of an id, which identifies it: the beginning is only the time.
pub(crate) fn short_id(id: &str) -> String {
    let start = id.len().saturating_sub(SHORT_ID_LEN);
    id.get(start..).unwrap_or(id).to_owned()
}

/// The only item whose id is `wanted`, or begins or ends with it.
pub(crate) fn find_by_short_id<T>(
    what: &str,
    wanted: &str,
    among: Vec<T>,
    id: impl Fn(&T) -> String,
) -> anyhow::Result<T> {
    let wanted = wanted.trim();
    let bare =
        |id: &str| id.split_once('_').map_or_else(|| id.to_owned(), |(_, bare)| bare.to_owned());
    let fits =
        |id: &str| id.starts_with(wanted) || id.ends_with(wanted) || bare(id).starts_with(wanted);
    let mut found: Vec<T> = among.into_iter().filter(|one| fits(&id(one))).collect();
    let shown = sanitize_text(wanted);
    match found.len() {
        _ if wanted.is_empty() => bail!("an empty id matches no {what}"),
        0 => bail!("there is no {what} `{shown}`"),
        1 => Ok(found.remove(0)),
        many => {
            let ids: Vec<_> = found.iter().map(&id).collect();
            bail!("`{shown}` matches {many}: {}\nhint: use more characters", ids.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_shortened_as_long_as_it_matches_one() {
        let ids = || vec!["apr_0191-aa11".to_owned(), "apr_0191-bb22".to_owned()];
        let pick = |wanted| find_by_short_id("approval", wanted, ids(), String::clone);
        for wanted in ["apr_0191-aa11", "0191-aa11", "aa11", "0191-a", "apr_0191-a"] {
            assert_eq!(pick(wanted).unwrap(), "apr_0191-aa11", "{wanted}");
        }
        for (wanted, why) in [
            ("0191", "`0191` matches 2: apr_0191-aa11, apr_0191-bb22"),
            ("apr_", "matches 2"),
            ("cc", "there is no approval `cc`"),
            ("", "an empty id"),
        ] {
            let error = pick(wanted).unwrap_err().to_string();
            assert!(error.contains(why), "{wanted}: {error}");
        }
    }

    #[test]
    fn the_short_form_matches_the_id() {
        let id = "apr_01936d2e-1111-7000-8000-00000000beef";
        assert_eq!(short_id(id), "0000beef");
        assert_eq!(
            find_by_short_id("approval", &short_id(id), vec![id], |id| (*id).to_owned()).unwrap(),
            id
        );
    }
}
