//! A span and its OTLP encoding.

use provost_proto::UnixMicros;
use serde_json::{Value, json};

/// Id of a trace: 16 bytes, hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceId(pub(super) String);

/// Id of a span: 8 bytes, hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) String);

/// A span's id and that of its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanContext {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

/// Whether the work happens in this process or in a remote service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    Client,
}

impl SpanKind {
    /// The value of the OTLP enum `SpanKind`.
    fn otlp_number(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Client => 3,
        }
    }
}

/// A completed span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) context: SpanContext,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start: UnixMicros,
    pub(super) end: UnixMicros,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// `error.type`, if it failed.
    pub(super) error: Option<String>,
}

impl Span {
    pub(super) fn to_otlp(&self) -> Value {
        let mut attributes: Vec<Value> =
            self.attributes.iter().map(|(key, value)| otlp_attribute(key, value)).collect();
        if let Some(error) = &self.error {
            attributes.push(otlp_attribute("error.type", &json!(error)));
        }
        let mut span = json!({
            "traceId": self.context.trace.0,
            "spanId": self.context.span.0,
            "name": self.name,
            "kind": self.kind.otlp_number(),
            // OTLP's JSON encodes 64-bit integers as strings.
            "startTimeUnixNano": to_nanos_string(self.start),
            "endTimeUnixNano": to_nanos_string(self.end.max(self.start)),
            "attributes": attributes,
            "status": if self.error.is_some() { json!({ "code": 2 }) } else { json!({}) },
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = json!(parent.0);
        }
        span
    }
}

fn to_nanos_string(at: UnixMicros) -> String {
    u128::from(at).saturating_mul(1000).to_string()
}

/// An attribute in OTLP's JSON.
pub(super) fn otlp_attribute(key: &str, value: &Value) -> Value {
    json!({ "key": key, "value": otlp_any_value(value) })
}

fn otlp_any_value(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => json!({ "intValue": whole.to_string() }),
            None => json!({ "doubleValue": number }),
        },
        Value::String(text) => json!({ "stringValue": text }),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(otlp_any_value).collect();
            json!({ "arrayValue": { "values": values } })
        }
        Value::Object(_) => json!({ "stringValue": value.to_string() }),
    }
}
