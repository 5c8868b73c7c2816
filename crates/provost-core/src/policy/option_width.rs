//! Options between a program and its subcommand. A rule that denies or asks skips them: `git -C
//! web push` pushes.

/// How many words an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionWidth {
    /// It is not an option.
    None,
    /// One: the option itself.
    One,
    /// Two: the option and its value.
    Two,
    /// Unknown.
    OneOrTwo,
}

/// Options of well-known programs before or beside the subcommand: without a value, and with one.
const KNOWN_OPTIONS: &[(&str, &str, &str)] = &[
    (
        "git",
        "-P -p --paginate --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks \
         --no-advice --literal-pathspecs --bare --glob-pathspecs --noglob-pathspecs \
         --icase-pathspecs",
        "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
    ),
    (
        "npm pnpm yarn bun",
        "-s -q -d --silent --quiet --verbose -g --global --workspaces --no-workspaces",
        "-C -w --prefix --cwd --dir --workspace --filter --loglevel --registry --userconfig --cache",
    ),
    (
        "cargo",
        "-q -v -vv --quiet --verbose --locked --offline --frozen",
        "-C -Z --color --config --manifest-path --target-dir",
    ),
    (
        "docker podman nerdctl",
        "-D --debug --tls --tlsverify --remote",
        "-H -c -l --host --context --config --log-level --tlscacert --tlscert --tlskey --url \
         --connection",
    ),
    (
        "kubectl oc helm",
        "-A --all-namespaces --insecure-skip-tls-verify --debug",
        "-n -s -v --namespace --context --cluster --kubeconfig --server --token --user --as \
         --request-timeout --kube-context",
    ),
    ("terraform tofu", "-version -help", ""),
    ("systemctl", "--user --system -q --quiet --no-pager --now", "-H -M --host --machine"),
    ("gh", "", "-R --repo --hostname"),
];

/// How many words of this program's arguments to skip.
pub(super) fn option_width(program: &str, word: &str) -> OptionWidth {
    // `cargo +nightly publish`.
    if word.starts_with('+') && matches!(program, "cargo" | "rustup" | "rustc") {
        return OptionWidth::One;
    }
    // `docker image push` is `docker push`.
    if matches!(program, "docker" | "podman" | "nerdctl") && matches!(word, "container" | "image") {
        return OptionWidth::One;
    }
    if !word.starts_with('-') || word.len() < 2 {
        return OptionWidth::None;
    }
    if word == "--" || word.contains('=') {
        return OptionWidth::One;
    }
    let named = |names: &str, name: &str| names.split(' ').any(|known| known == name);
    match KNOWN_OPTIONS.iter().find(|(programs, ..)| named(programs, program)) {
        Some((_, alone, _)) if named(alone, word) => OptionWidth::One,
        Some((_, _, valued)) if named(valued, word) => OptionWidth::Two,
        Some(_) | None => OptionWidth::OneOrTwo,
    }
}
