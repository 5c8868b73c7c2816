//! What the daemon and a kernel process send each other, as JSON.
//!
//! The frames around it, and output as bytes, are made in `provost-kernel`.

use expect_test::expect_file;
use provost_proto::RawJson;
use provost_proto::kernel::{
    HelloResponse, JsonRpcVersion, KernelReport, KnownSecret, Method, ObservedLink,
    PROTOCOL_VERSION, Preconditions, ReportPayload, RpcError, RpcRequest, RpcResponse,
    VisibilityRule,
};
use provost_proto::terminal::TerminalAttachResponse;
use serde::Serialize;
use serde_json::json;

use crate::samples::{faults, id, layers, outcomes, outputs, params, pins, text, texts};
use crate::{Golden, decodes_to, runtime};

fn requests() -> Vec<RpcRequest> {
    let asks = [control(), executions(), streams()].concat();
    crate::assert_every_variant!(
        asks,
        Method {
            Hello,
            Secrets,
            Ping,
            Attach,
            Acknowledge,
            Execute,
            Cancel,
            Outcomes,
            Terminal,
            Logs,
            Runtime,
            Shutdown,
        }
    );
    let question = |(method, id)| RpcRequest { jsonrpc: JsonRpcVersion::V2, id, method };
    asks.into_iter().zip(1..).map(question).collect()
}

fn control() -> Vec<Method> {
    let value = text("hunter2");
    vec![
        Method::Hello { secret: text("s3cret"), protocol: PROTOCOL_VERSION },
        Method::Secrets {
            values: vec![KnownSecret { name: text("API_KEY"), value }],
            ports: Vec::new(),
        },
        Method::Secrets { values: Vec::new(), ports: vec![3001, 4000] },
        Method::Ping {},
        Method::Attach { after: 7 },
        Method::Acknowledge { up_to: 9 },
        Method::Cancel { id: id(4) },
        Method::Outcomes { ids: vec![id(4), id(5)], wait: false },
        Method::Shutdown {},
    ]
}

fn executions() -> Vec<Method> {
    let execute = |visibility_rules, preconditions| Method::Execute {
        id: id(4),
        action: text("fs.searchFiles"),
        params: params(),
        visibility_rules,
        preconditions,
        approved: false,
        readable: Vec::new(),
    };
    let limit = VisibilityRule {
        id: text("secrets"),
        layer: text("builtin"),
        effect: text("deny"),
        path: texts(["**/.env"]),
        except: texts(["**/.env.example"]),
    };
    let preconditions = Preconditions {
        links: vec![ObservedLink { path: text("link"), target: text("there") }],
        pins: pins(),
        programs: texts(["build.sh"]),
    };
    vec![
        execute(vec![limit], Some(preconditions)),
        execute(Vec::new(), Some(Preconditions::default())),
        execute(Vec::new(), None),
    ]
}

fn streams() -> Vec<Method> {
    vec![
        Method::Terminal { after: Some(7), cols: 80, rows: 24 },
        Method::Terminal { after: None, cols: 80, rows: 24 },
        Method::Logs { after: 7, limit: 4096 },
        Method::Runtime {},
    ]
}

fn welcome() -> HelloResponse {
    HelloResponse {
        protocol: PROTOCOL_VERSION,
        boot: id(6),
        pid: 43,
        version: text("0.1.0"),
        running: vec![id(4)],
    }
}

fn attached() -> TerminalAttachResponse {
    TerminalAttachResponse { pid: 52, cols: 80, rows: 24, oldest: 1, end: 9 }
}

fn answers() -> Vec<RpcResponse> {
    fn good(result: &impl Serialize) -> RpcResponse {
        let result = Some(RawJson::new(result).unwrap());
        RpcResponse { jsonrpc: JsonRpcVersion::V2, id: 1, result, error: None }
    }
    let bad = |data| {
        let error = Some(RpcError { code: -32000, message: text("no"), data });
        RpcResponse { jsonrpc: JsonRpcVersion::V2, id: 2, result: None, error }
    };
    vec![
        good(&json!({})),
        good(&welcome()),
        good(&attached()),
        good(&runtime::log_pages()[0]),
        good(&runtime::snapshots()[0]),
        bad(Some(faults().remove(0))),
        bad(None),
    ]
}

fn reports() -> Vec<KernelReport> {
    let mut payloads =
        vec![ReportPayload::Started { pid: 99, profile: text("command"), layers: layers() }];
    payloads.extend(outputs().into_iter().map(ReportPayload::Output));
    payloads.extend(outcomes().into_iter().map(ReportPayload::Finished));
    let report = |what| KernelReport { number: 9, action: id(4), what };
    let mut reports: Vec<_> = payloads.into_iter().map(report).collect();
    reports.extend(runtime::reports());
    let kinds: Vec<_> = reports.iter().map(|report| report.what.clone()).collect();
    crate::assert_every_variant!(kinds, ReportPayload { Started, Output, Finished, Runtime });
    reports
}

#[test]
fn messages_to_and_from_a_kernel_keep_their_fields() {
    assert_eq!(PROTOCOL_VERSION, 4);
    let mut golden = Golden::default();
    golden.section("requests", &requests());
    golden.section("responses", &answers());
    golden.section("reports", &reports());
    golden.section("response to hello", &[welcome()]);
    golden.section("response to terminal", &[attached()]);
    golden.section("response to logs", &runtime::log_pages());
    golden.section("response to runtime", &runtime::snapshots());
    golden.check(&expect_file!["files/kernel.txt"]);
    decodes_to(
        r#"{"code":-32000,"message":"no"}"#,
        &RpcError { code: -32000, message: text("no"), data: None },
    );
}
