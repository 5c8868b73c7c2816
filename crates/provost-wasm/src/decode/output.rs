//! What executions output.

use provost_proto::notebook::{MimeBundle, MimeData, OutputContent};
use serde_json::{Error, Map, Value};

use super::fields::{DecodeJson, JsonFields, mismatch};

impl DecodeJson for OutputContent {
    fn read(value: Value) -> Result<Self, Error> {
        let mut fields = JsonFields::new(value)?;
        let content_type: String = fields.read("type")?;
        Ok(match content_type.as_str() {
            "stream" => Self::Stream { name: fields.read("name")?, text: fields.read("text")? },
            "display" => Self::Display {
                data: fields.read("data")?,
                metadata: read_metadata(&mut fields)?,
                display: fields.read("display")?,
            },
            "result" => Self::Result {
                data: fields.read("data")?,
                metadata: read_metadata(&mut fields)?,
                display: fields.read("display")?,
                count: fields.read("count")?,
            },
            "error" => Self::Error {
                name: fields.read("name")?,
                value: fields.read("value")?,
                traceback: fields.read("traceback")?,
            },
            "markdown" => Self::Markdown { text: fields.read("text")? },
            _ => return Err(mismatch("an output")),
        })
    }
}

/// Metadata, empty if it is absent.
pub(crate) fn read_metadata(fields: &mut JsonFields) -> Result<Map<String, Value>, Error> {
    Ok(fields.read::<Option<_>>("metadata")?.unwrap_or_default())
}

impl DecodeJson for MimeBundle {
    fn read(value: Value) -> Result<Self, Error> {
        let mut bundle = Self::new();
        for (mime, data) in Map::read(value)? {
            bundle.insert(mime, MimeData::read(data)?);
        }
        Ok(bundle)
    }
}

impl DecodeJson for MimeData {
    fn read(value: Value) -> Result<Self, Error> {
        let (form, data) = JsonFields::new(value)?.into_variant()?;
        match form.as_str() {
            "inline" => Ok(Self::Inline(data)),
            "artifact" => {
                let mut fields = JsonFields::new(data)?;
                Ok(Self::Artifact { hash: fields.read("hash")?, size: fields.read("size")? })
            }
            _ => Err(mismatch("a representation")),
        }
    }
}
