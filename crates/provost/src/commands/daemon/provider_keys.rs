//! Keys that are configured here and not in the daemon, which reads its environment and its
//! configuration once, when it starts. Pure; no key is printed.

use provost_proto::session::ProviderView;

use crate::output::{quote_text, sanitize_text};

/// What gives the daemon the keys of the caller, without ending what its kernels run.
pub(crate) const RESTART_COMMAND: &str = "provost down --keep && provost up";

/// The providers of the daemon that lack a key and have one here. `ready_here` names those
/// that the caller's own configuration makes ready.
pub(crate) fn find_missing_keys<'a>(
    ready_here: &[String],
    daemon: &'a [ProviderView],
) -> Vec<&'a ProviderView> {
    daemon
        .iter()
        .filter(|provider| !provider.ready && ready_here.contains(&provider.name))
        .collect()
}

/// Why a model of the provider cannot be used, and what to do.
pub(crate) fn describe_missing_key(provider: &ProviderView) -> String {
    let variable = provider.missing.as_deref().and_then(|missing| missing.strip_prefix("set "));
    let variable = variable.map(|name| format!(" ({})", sanitize_text(name))).unwrap_or_default();
    format!(
        "a key for {} is configured here{variable}, but the daemon was started without it; run \
         `{RESTART_COMMAND}`",
        quote_text(&provider.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_only_the_caller_has_is_named_with_what_to_do() {
        let provider = |name: &str, ready| ProviderView {
            name: name.to_owned(),
            ready,
            missing: (!ready).then(|| format!("set {}_KEY", name.to_uppercase())),
        };
        let daemon = [provider("a", true), provider("b", false), provider("c", false)];
        let here = ["a".to_owned(), "b".to_owned()];
        let missing = find_missing_keys(&here, &daemon);
        let [missing] = missing[..] else { panic!("{missing:?}") };
        assert_eq!(
            describe_missing_key(missing),
            "a key for `b` is configured here (B_KEY), but the daemon was started without it; run \
             `provost down --keep && provost up`"
        );
        assert!(find_missing_keys(&[], &daemon).is_empty());
    }
}
