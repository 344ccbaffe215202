//! The graph for people: a text listing and a Mermaid diagram.

use super::list::{Entry, Layers};
use super::service::ServiceId;
use std::collections::BTreeMap;

impl Layers {
    /// One line a layer, in the order of the list: its name, what it provides and what it needs.
    ///
    /// Says `(wrapped)` behind a decorated service and `(missing)` behind a need that nothing
    /// provides. Ends with a line break unless the list is empty.
    #[must_use]
    pub fn describe(&self) -> String {
        let width = |column: fn(&Entry) -> usize| self.entries.iter().map(column).max().unwrap_or(0);
        let names = width(|entry| entry.name.len());
        let services = width(|entry| provisions_of(entry).len());
        let mut text = String::new();
        for entry in &self.entries {
            let needs = self.needs_of(entry);
            let line = format!(
                "{:names$}  provides {:services$}  {}{needs}",
                entry.name,
                provisions_of(entry),
                if needs.is_empty() { "" } else { "needs " },
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The graph as a Mermaid flowchart (<https://mermaid.js.org/syntax/flowchart.html>).
    ///
    /// Arrows go from a layer to what it needs and are labelled with the service; a need that
    /// nothing provides leads to a node called `missing`.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut lines = vec!["flowchart TD".to_owned()];
        let mut missing = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            lines.push(format!("    l{at}[\"{}\"]", entry.name));
        }
        for (at, entry) in self.entries.iter().enumerate() {
            for need in &entry.needs {
                let target = if let Some(provider) = self.provider_of(need) {
                    format!("l{provider}")
                } else {
                    let next = missing.len();
                    format!("m{}", missing.entry(need.key()).or_insert(next))
                };
                lines.push(format!("    l{at} -- \"{}\" --> {target}", need.name()));
            }
        }
        lines.extend(missing.values().map(|number| format!("    m{number}((missing))")));
        lines.join("\n") + "\n"
    }

    fn needs_of(&self, entry: &Entry) -> String {
        let mark = |service: &ServiceId| match self.provider_of(service) {
            Some(_) => service.name().to_owned(),
            None => format!("{} (missing)", service.name()),
        };
        entry.needs.iter().map(mark).collect::<Vec<_>>().join(", ")
    }

    fn provider_of(&self, service: &ServiceId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.gives.contains(service))
    }
}

fn provisions_of(entry: &Entry) -> String {
    let mark = |service: &ServiceId| {
        let wrapped = entry.wrapped.contains(service);
        format!("{}{}", service.name(), if wrapped { " (wrapped)" } else { "" })
    };
    entry.gives.iter().map(mark).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::layer::fixture::{Config, Generator, Metrics, Storage, config, generator, journal, text};
    use crate::layer::{BoxError, Layers, Svc};

    fn with_a_hole() -> Layers {
        crate::layers![journal, config, generator]
            .with::<Svc<dyn Config>>(text("given"))
            .wrap::<dyn Generator>(|inner| inner)
            .with_layer("storage_s3", async |_: Svc<dyn Config>, _: Svc<dyn Metrics>| {
                Ok::<Svc<dyn Storage>, BoxError>(text("s3"))
            })
    }

    #[test]
    fn the_listing_names_layers_services_and_what_is_odd() {
        assert_eq!(
            with_a_hole().describe(),
            "\
journal        provides Journal
generator      provides Generator (wrapped)  needs Journal, Config
a given value  provides Config
storage_s3     provides Storage              needs Config, Metrics (missing)
"
        );
        assert_eq!(crate::layers![].describe(), "");
    }

    #[test]
    fn the_diagram_has_an_arrow_for_every_need() {
        assert_eq!(
            with_a_hole().mermaid(),
            "\
flowchart TD
    l0[\"journal\"]
    l1[\"generator\"]
    l2[\"a given value\"]
    l3[\"storage_s3\"]
    l1 -- \"Journal\" --> l0
    l1 -- \"Config\" --> l2
    l3 -- \"Config\" --> l2
    l3 -- \"Metrics\" --> m0
    m0((missing))
"
        );
    }
}
