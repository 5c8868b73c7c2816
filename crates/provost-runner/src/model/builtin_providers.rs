//! The table of built-in providers.

use super::WireFormat;
use super::wire::{CallIdFormat, ChatDialect, EffortField};

/// A built-in provider.
pub(super) struct BuiltinProvider {
    pub(super) name: &'static str,
    pub(super) wire: WireFormat,
    pub(super) base: &'static str,
    /// The variable that holds another address.
    pub(super) base_variable: &'static str,
    pub(super) key_variables: &'static [&'static str],
    pub(super) needs_key: bool,
    pub(super) dialect: ChatDialect,
}

const fn hosted_provider(
    name: &'static str,
    base: &'static str,
    key_variables: &'static [&'static str],
    dialect: ChatDialect,
) -> BuiltinProvider {
    let (wire, base_variable) = (WireFormat::Chat, "");
    BuiltinProvider { name, wire, base, base_variable, key_variables, needs_key: true, dialect }
}

const fn local_provider(
    name: &'static str,
    base: &'static str,
    base_variable: &'static str,
) -> BuiltinProvider {
    BuiltinProvider {
        name,
        wire: WireFormat::Chat,
        base,
        base_variable,
        key_variables: &[],
        needs_key: false,
        dialect: ChatDialect::PLAIN,
    }
}

const PLAIN_DIALECT: ChatDialect = ChatDialect::PLAIN;

/// All of them.
pub(super) const BUILTIN_PROVIDERS: &[BuiltinProvider] = &[
    BuiltinProvider {
        wire: WireFormat::Responses,
        base_variable: "OPENAI_BASE_URL",
        ..hosted_provider(
            "openai",
            "https://api.openai.com/v1",
            &["OPENAI_API_KEY"],
            // Holds where the configuration asks for Chat Completions.
            ChatDialect {
                limit: "max_completion_tokens",
                effort: EffortField::Flat,
                takes_cache_key: true,
                ..PLAIN_DIALECT
            },
        )
    },
    BuiltinProvider {
        wire: WireFormat::Messages,
        base_variable: "ANTHROPIC_BASE_URL",
        ..hosted_provider(
            "anthropic",
            "https://api.anthropic.com",
            &["ANTHROPIC_API_KEY"],
            PLAIN_DIALECT,
        )
    },
    BuiltinProvider {
        wire: WireFormat::Gemini,
        ..hosted_provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            PLAIN_DIALECT,
        )
    },
    hosted_provider(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
        ChatDialect { effort: EffortField::Nested, ..PLAIN_DIALECT },
    ),
    hosted_provider(
        "groq",
        "https://api.groq.com/openai/v1",
        &["GROQ_API_KEY"],
        ChatDialect { limit: "max_completion_tokens", ..PLAIN_DIALECT },
    ),
    hosted_provider(
        "deepseek",
        "https://api.deepseek.com/v1",
        &["DEEPSEEK_API_KEY"],
        // While it thinks, a call without its thoughts is refused, empty ones included.
        ChatDialect { effort: EffortField::Flat, needs_reasoning: true, ..PLAIN_DIALECT },
    ),
    hosted_provider(
        "mistral",
        "https://api.mistral.ai/v1",
        &["MISTRAL_API_KEY"],
        // Reports usage without being asked and rejects `stream_options`.
        ChatDialect { ids: CallIdFormat::NineAlphanumeric, asks_for_usage: false, ..PLAIN_DIALECT },
    ),
    hosted_provider("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], PLAIN_DIALECT),
    local_provider("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_HOST"),
    local_provider("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    local_provider("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
    BuiltinProvider {
        key_variables: &["VLLM_API_KEY"],
        ..local_provider("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL")
    },
];

/// The address that `OLLAMA_HOST` means: it may lack the scheme and the port, and is
/// where the server listens, which may be everywhere.
pub(super) fn ollama_base_url(host: &str) -> String {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (authority, path) =
        rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let everywhere = |authority: &str| authority.replacen("0.0.0.0", "127.0.0.1", 1);
    let authority = everywhere(authority);
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let authority = if authority.is_empty() || authority.starts_with(':') {
        format!("127.0.0.1{authority}")
    } else {
        authority
    };
    let port = if has_port || scheme == "https" { "" } else { ":11434" };
    let path = if path.is_empty() { "v1" } else { path.trim_end_matches('/') };
    format!("{scheme}://{authority}{port}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_ollama_is_read_as_ollama_reads_it() {
        for (host, expected) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:9999", "http://127.0.0.1:9999/v1"),
            (":9999", "http://127.0.0.1:9999/v1"),
            ("box.example", "http://box.example:11434/v1"),
            ("http://box.example:80/", "http://box.example:80/v1"),
            ("https://box.example", "https://box.example/v1"),
            ("https://box.example/ollama/v1/", "https://box.example/ollama/v1"),
        ] {
            assert_eq!(ollama_base_url(host), expected, "{host}");
        }
    }
}
