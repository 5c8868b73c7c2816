//! The registry of providers, and discovery of models.

use std::collections::BTreeMap;

use provost_fake_model::{FakeModelServer, FakeReply, FakeWireFormat};
use provost_runner::model::{
    ModelClient, ModelRequest, ModelTimeouts, ProviderConfig, ProviderRegistry, ProviderStatus,
    RetryPolicy,
};
use serde_json::json;

pub(crate) type Pairs<'a> = &'a [(&'a str, &'a str)];

fn map(pairs: Pairs<'_>) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn registry(config: &str, env: Pairs<'_>) -> Result<ProviderRegistry, String> {
    let configs: BTreeMap<String, ProviderConfig> =
        toml::from_str(config).map_err(|error| error.to_string())?;
    ProviderRegistry::new(&configs, &map(env)).map_err(|error| error.to_string())
}

pub(crate) fn models(registry: ProviderRegistry) -> ModelClient {
    ModelClient::new(registry, RetryPolicy::never(), ModelTimeouts::default()).unwrap()
}

#[test]
fn all_providers_of_the_design_are_known() {
    let registry = registry("", &[]).unwrap();
    let names: Vec<_> = registry.providers().map(|provider| provider.name.as_str()).collect();
    let expected = [
        "anthropic",
        "deepseek",
        "gemini",
        "groq",
        "llamacpp",
        "lmstudio",
        "mistral",
        "ollama",
        "openai",
        "openrouter",
        "vllm",
        "xai",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_key_in_the_environment_makes_a_provider_ready() {
    let env: Pairs<'_> =
        &[("ANTHROPIC_API_KEY", "k1"), ("GOOGLE_API_KEY", " k2\n"), ("XAI_API_KEY", " ")];
    let registry =
        registry("[mine]\nbase_url = 'https://x.example/v1'\nkey_env = 'MINE'", env).unwrap();
    let no_key = |name: &str| ProviderStatus::NoKey(vec![name.to_owned()]);
    for (name, status) in [
        ("anthropic", ProviderStatus::Ready),
        ("gemini", ProviderStatus::Ready),
        ("openai", no_key("OPENAI_API_KEY")),
        ("xai", no_key("XAI_API_KEY")),
        ("mine", no_key("MINE")),
        ("ollama", ProviderStatus::Local),
    ] {
        assert_eq!(registry.provider(name).unwrap().status(), status, "{name}");
    }
}

#[test]
fn a_mistake_in_the_configuration_is_said_without_its_secrets() {
    for (config, expected) in [
        ("[a-b]\nwire = 'chat'", "the provider `a-b` needs a `base_url`"),
        ("['a/b']\nbase_url = 'http://x/'", "`a/b` is not a valid provider name"),
        ("[script]\nbase_url = 'http://x/'", "`script` is not a valid provider name"),
        ("[x]\nbase_url = 'ftp://x/'", "it must start with http:// or https://"),
        ("[x]\nbase_url = 'https://me:hush@x/'", "it must not contain a user name, a password"),
        ("[x]\nbase_url = 'https://x/?key=hush'", "it must not contain a user name, a password"),
        ("[x]\nbase_url = 'x'", "is not a valid address"),
        (
            "[x]\nbase_url = 'http://x/'\nheaders = { 'a b' = 'hush' }",
            "`a b` of the provider `x` cannot be a header",
        ),
        ("[x]\nbase_url = 'http://x/'\nkey = 'hush hush'", "not a key"),
        ("[x]\nbase = 'http://x/'", "unknown field"),
    ] {
        let error = registry(config, &[]).unwrap_err();
        assert!(error.contains(expected), "{config}: {error}");
        let shown = error.lines().filter(|line| !line.contains(" | ")).collect::<String>();
        assert!(!shown.contains("hush"), "{shown}");
    }
    let config = "[x]\nbase_url = 'http://x/'\nkey = 'hush-1'\nheaders = { x-a = 'hush-2' }";
    let shown = format!("{:?}", registry(config, &[]).unwrap());
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn a_name_that_means_nothing_is_answered_with_what_there_is() {
    let models = models(registry("", &[]).unwrap());
    for (name, expected) in [
        ("gpt-5", "write it as `provider/model`"),
        ("openai/", "write it as `provider/model`"),
        ("nobody/m", "the providers are anthropic, deepseek"),
        ("script/none", "the scripts are "),
    ] {
        let Err(error) = models.stream_completion(&ModelRequest::new(name, vec![])) else {
            panic!("{name}")
        };
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_server_on_this_machine_is_found_and_another_program_on_its_port_is_not() {
    let ollama = json!({ "object": "list", "data": [{ "id": "llama3:8b", "object": "model", "owned_by": "library" }] });
    let ollama = FakeModelServer::start_with_replies(vec![FakeReply::json_status(200, ollama)])
        .await
        .unwrap();
    let other = FakeModelServer::start_with_replies(vec![FakeReply::json_status(
        200,
        json!({ "hello": "world" }),
    )])
    .await
    .unwrap();
    let silent = FakeModelServer::start_with_replies(vec![FakeReply::NoResponse]).await.unwrap();
    let gone = FakeModelServer::start_with_replies(vec![]).await.unwrap().url();
    let host = ollama.url().replace("http://", "");
    let (other, silent) =
        (other.base_url(FakeWireFormat::Chat), silent.base_url(FakeWireFormat::Chat));
    let env = [
        ("OLLAMA_HOST", host.as_str()),
        ("LLAMACPP_BASE_URL", other.as_str()),
        ("LMSTUDIO_BASE_URL", silent.as_str()),
        ("VLLM_BASE_URL", gone.as_str()),
    ];
    let found = models(registry("", &env).unwrap()).probe_local_servers().await;
    let names: Vec<_> =
        found.iter().map(|(name, cards)| (name.as_str(), cards[0].name.as_str())).collect();
    assert_eq!(names, [("ollama", "ollama/llama3:8b")]);
    assert_eq!(ollama.received_requests()[0].path, "/v1/models");
}

#[tokio::test]
async fn models_are_listed_as_each_provider_lists_them() {
    for (wire, base, path, list, name, context) in [
        (
            "chat",
            "/v1",
            "/v1/models",
            json!({ "data": [{ "id": "a/b:free", "name": "B", "context_length": 8192 }] }),
            "fake/a/b:free",
            Some(8192),
        ),
        (
            "messages",
            "",
            "/v1/models?limit=1000",
            json!({ "data": [{ "type": "model", "id": "claude-x", "display_name": "Claude X" }] }),
            "fake/claude-x",
            None,
        ),
        (
            "gemini",
            "/v1beta",
            "/v1beta/models?pageSize=1000",
            json!({ "models": [
                { "name": "models/embed", "supportedGenerationMethods": ["embedContent"] },
                {
                    "name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1000,
                    "supportedGenerationMethods": ["generateContent"],
                },
            ] }),
            "fake/gemini-x",
            Some(1000),
        ),
    ] {
        let server = FakeModelServer::start_with_replies(vec![FakeReply::json_status(200, list)])
            .await
            .unwrap();
        let config =
            format!("[fake]\nwire = '{wire}'\nbase_url = '{}{base}'\nkey = 'k'", server.url());
        let models = models(registry(&config, &[]).unwrap());
        let cards = models.list_models(models.registry().provider("fake").unwrap()).await.unwrap();
        assert_eq!(cards.len(), 1, "{cards:?}");
        assert_eq!((cards[0].name.as_str(), cards[0].context), (name, context));
        assert!(cards[0].title.is_some(), "{cards:?}");
        assert_eq!(server.received_requests()[0].path, path);
    }
}
