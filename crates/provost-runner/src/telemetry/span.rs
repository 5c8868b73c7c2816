//! One span, and how it is written in OTLP.

use provost_proto::UnixMicros;
use serde_json::{Value, json};

/// The trace that a span belongs to, 16 bytes in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceId(pub(super) String);

/// A span, 8 bytes in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) String);

/// Where a span hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanContext {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

/// Whether it happens here or is asked of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    Client,
}

impl SpanKind {
    /// The number that OTLP has for it.
    fn otlp_number(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Client => 3,
        }
    }
}

/// What took some time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) spot: SpanContext,
    pub(super) parent: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) began: UnixMicros,
    pub(super) ended: UnixMicros,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// The kind of its error, if it failed.
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
            "traceId": self.spot.trace.0,
            "spanId": self.spot.span.0,
            "name": self.name,
            "kind": self.kind.otlp_number(),
            // JSON of OTLP writes numbers of 64 bits as text.
            "startTimeUnixNano": to_nanos_string(self.began),
            "endTimeUnixNano": to_nanos_string(self.ended.max(self.began)),
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

/// An attribute as OTLP writes it.
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
