//! Host names of previews: which requests are for one, and the URL of one.

use provost_proto::{Project, ProjectId};

use super::preview_listeners::PreviewListeners;

/// The path prefix on a preview's origin that belongs to Provost, not to the project.
pub(crate) const RESERVED_PATH_PREFIX: &str = "/.provost/";

/// Host names and ports of previews.
#[derive(Debug)]
pub(crate) struct PreviewHosts {
    /// The port of the daemon, under which `<project>.localhost` is served.
    port: u16,
    /// One listener per project, for browsers that do not resolve `*.localhost`.
    listeners: Option<PreviewListeners>,
}

/// Which preview a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PreviewSelector {
    /// A project by the host name, optionally another of its ports.
    BySlug {
        /// The project's slug.
        slug: String,
        /// The port, if it is not the preview's.
        port: Option<u16>,
    },
    /// A project by its listener; the cookie says which of the project's ports.
    ByPort {
        /// The project.
        project: ProjectId,
        /// The listener's port.
        at: u16,
    },
}

impl PreviewHosts {
    pub(crate) fn new(port: u16, listeners: Option<PreviewListeners>) -> Self {
        Self { port, listeners }
    }

    /// Parses a `Host` such as `app.localhost:3001` or `5173--app.localhost:3001`.
    pub(crate) fn parse_selector(&self, host: &str) -> Option<PreviewSelector> {
        let (name, port) = host.rsplit_once(':')?;
        if port.parse() != Ok(self.port) {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let label = name.strip_suffix(".localhost")?;
        let (slug, port) = match label.split_once("--") {
            Some((port, slug)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (slug, Some(port.parse().ok().filter(|port| *port != 0)?))
            }
            Some(_) | None => (label, None),
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let fits = !slug.is_empty() && slug.bytes().all(plain);
        fits.then(|| PreviewSelector::BySlug { slug: slug.to_owned(), port })
    }

    /// The URL of a project's preview or of another of its ports; `None` if it needs a listener
    /// and no port is left.
    pub(crate) fn preview_url(&self, project: &Project, port: Option<u16>) -> Option<String> {
        let (own, slug) = (self.port, &project.slug);
        let host = match (&self.listeners, port) {
            (Some(listeners), _) => listeners.browser_host(listeners.ensure_listener(project.id)?),
            (None, None) => format!("{slug}.localhost:{own}"),
            (None, Some(port)) => format!("{port}--{slug}.localhost:{own}"),
        };
        Some(format!("http://{host}/"))
    }

    /// Whether a page of this origin may change something on this preview: one of the same
    /// project, on any of its ports.
    pub(crate) fn is_same_project(
        &self,
        selector: &PreviewSelector,
        host: &str,
        origin: &str,
    ) -> bool {
        let Some(other) = origin.strip_prefix("http://") else { return false };
        if other.eq_ignore_ascii_case(host) {
            return true;
        }
        match (selector, self.parse_selector(other)) {
            (
                PreviewSelector::BySlug { slug, .. },
                Some(PreviewSelector::BySlug { slug: other, .. }),
            ) => *slug == other,
            (PreviewSelector::ByPort { .. } | PreviewSelector::BySlug { .. }, _) => false,
        }
    }

    /// The URL with a one-time code that the browser exchanges for a cookie.
    pub(crate) fn entrance_url(
        &self,
        project: &Project,
        port: Option<u16>,
        code: &str,
    ) -> Option<String> {
        let url = self.preview_url(project, port)?;
        Some(format!("{url}{}enter?code={code}", RESERVED_PATH_PREFIX.trim_start_matches('/')))
    }

    /// `frame-src` of the UI's pages: previews, and nothing else.
    pub(crate) fn frame_sources(&self) -> String {
        let named = format!("http://*.localhost:{}", self.port);
        let listeners = self.listeners.iter().flat_map(PreviewListeners::all_hosts);
        listeners.fold(named, |all, host| format!("{all} http://{host}"))
    }

    /// `frame-ancestors` of previews: the UI's pages.
    pub(crate) fn frame_ancestors(&self) -> String {
        let port = self.port;
        // Browsers do not support IPv6 addresses as sources.
        let names = ["localhost", "127.0.0.1", "*.localhost"];
        let names = names.map(|name| format!(" http://{name}:{port}"));
        format!("frame-ancestors 'self'{}", names.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ui_may_frame_previews_and_nothing_else() {
        assert_eq!(PreviewHosts::new(3001, None).frame_sources(), "http://*.localhost:3001");
        let first = "127.0.0.1:65535".parse().unwrap();
        let file = std::path::PathBuf::from("/nonexistent/previews.json");
        let (listeners, _fresh) = PreviewListeners::new(crate::PreviewPortSettings { first, file });
        let frames = PreviewHosts::new(3001, Some(listeners)).frame_sources();
        assert_eq!(frames, "http://*.localhost:3001 http://127.0.0.1:65535");
    }

    #[test]
    fn a_host_is_parsed_as_a_preview_or_rejected() {
        let named =
            |slug: &str, port| Some(PreviewSelector::BySlug { slug: slug.to_owned(), port });
        let previews = PreviewHosts::new(3001, None);
        for (host, expected) in [
            ("app.localhost:3001", named("app", None)),
            ("APP.LOCALHOST:3001", named("app", None)),
            ("my-app-2.localhost:3001", named("my-app-2", None)),
            ("5173--app.localhost:3001", named("app", Some(5173))),
            ("a--b.localhost:3001", named("a--b", None)),
            ("0--app.localhost:3001", None),
            ("99999--app.localhost:3001", None),
            ("app.localhost", None),
            ("app.localhost:3002", None),
            ("localhost:3001", None),
            (".localhost:3001", None),
            ("a.b.localhost:3001", None),
            ("app.localhost.evil.com:3001", None),
            ("evil.com:3001", None),
            ("app.localhost:3001:3001", None),
        ] {
            assert_eq!(previews.parse_selector(host), expected, "{host}");
        }
    }
}
