//! Reads JSON of the daemon and of the page.
//!
//! Deserialization is not derived here: its code for all these types alone takes more than the
//! rest of the module. The types are checked by the compiler, since each is built with all of its
//! fields, and the names by a test that reads every sample of the protocol in both ways.

mod command;
mod document;
mod fact;
mod fields;
mod message;
mod output;

pub(crate) use command::{read_commands, read_journal};
pub(crate) use fields::{DecodeJson, JsonFields};
pub(crate) use message::{StoreMessage, read_message};
pub(crate) use output::read_metadata;

#[cfg(test)]
mod tests {
    use provost_proto::notebook::{NotebookCommand, NotebookDocument, NotebookFact};
    use serde::de::DeserializeOwned;
    use serde_json::{Error, Value};

    use super::{DecodeJson as _, JsonFields, command, fact};

    fn samples(file: &str) -> Vec<Value> {
        let lines = file.lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Reads each sample in both ways, and returns how many there are.
    fn compare<T: DeserializeOwned + PartialEq + std::fmt::Debug>(
        file: &str,
        read: impl Fn(Value) -> Result<T, Error>,
    ) -> usize {
        let parsed = samples(file).into_iter().filter_map(|sample| {
            let derived: T = serde_json::from_value(sample.clone()).ok()?;
            assert_eq!(read(sample.clone()).map_err(|error| error.to_string()), Ok(derived));
            Some(())
        });
        parsed.count()
    }

    #[test]
    fn documents_are_read_as_serde_reads_them() {
        let file = include_str!("../../../provost-proto/tests/golden/files/notebook_documents.txt");
        assert!(compare::<NotebookDocument>(file, NotebookDocument::read) >= 7);
    }

    #[test]
    fn facts_are_read_as_serde_reads_them() {
        let file = include_str!("../../../provost-proto/tests/golden/files/events.txt");
        let read = |sample| {
            let mut fields = JsonFields::new(sample)?;
            let kind: String = fields.read("kind")?;
            fact::read_fact(&kind, fields.take("body"))
        };
        assert!(compare::<NotebookFact>(file, read) >= NotebookFact::KINDS.len());
    }

    #[test]
    fn commands_of_people_are_read_as_serde_reads_them() {
        let file = include_str!("../../../provost-proto/tests/golden/files/notebook_commands.txt");
        let mut refused = 0;
        let mut read = 0;
        for sample in samples(file) {
            let derived: NotebookCommand = serde_json::from_value(sample.clone()).unwrap();
            match command::read_command(sample) {
                Ok(command) => {
                    assert_eq!(command, derived);
                    read += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("a page does not send"), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(read >= 18 && refused >= 12, "{read} commands were read, {refused} refused");
    }
}
