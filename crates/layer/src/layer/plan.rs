//! Which layers a build needs, and in which order they can be built.

use super::list::Entry;
use super::service::ServiceId;
use std::fmt;

/// The layers of a list do not fit together.
///
/// `layers!` finds this while compiling; here it concerns what was asked of `build` and what was
/// changed at run time. Nothing has been built when this is returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A service is needed, but no layer of the list provides it.
    #[error("no layer provides `{service}`, {}; provided: {}", needed_by_text(path, " <- "), provided.join(", "))]
    Missing {
        /// The missing service.
        service: &'static str,
        /// Who needs it: a layer, the layer that needs that one, and so on up to the root; empty
        /// when it is the root itself.
        path: Vec<&'static str>,
        /// What the list does provide.
        provided: Vec<&'static str>,
    },
    /// Layers need each other, so that none can be built first.
    #[error("layers need each other: {}", cycle.iter().map(Link::to_string).collect::<Vec<_>>().join(", "))]
    Cycle {
        /// The layers, each needing the next and the last one the first.
        cycle: Vec<Link>,
    },
    /// A decorator was put around a service that no layer of the list provided at that point.
    #[error("`wrap` found no layer that provides `{service}`")]
    NothingToWrap {
        /// The service to be wrapped.
        service: &'static str,
    },
}

/// One layer of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The layer.
    pub layer: &'static str,
    /// What it needs from the next one.
    pub needs: &'static str,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` needs `{}`", self.layer, self.needs)
    }
}

/// Who needs something, for an error; nobody but the caller of `build` needs a root.
pub(super) fn needed_by_text(layers: &[&str], separator: &str) -> String {
    if layers.is_empty() {
        return "asked of `build`".to_owned();
    }
    let quoted: Vec<_> = layers.iter().map(|layer| format!("`{layer}`")).collect();
    format!("needed by {}", quoted.join(separator))
}

/// The steps of a build: each layer once, after everything it needs.
///
/// The order depends on the list and the roots alone, not on how long a layer takes. It numbers
/// the slots of what is built and, backwards, is the order of release.
pub(super) struct Plan<'a> {
    pub(super) steps: Vec<Step<'a>>,
}

/// One layer to build.
pub(super) struct Step<'a> {
    pub(super) entry: &'a Entry,
    /// The earlier steps whose services it takes, each once.
    pub(super) waits_for: Vec<usize>,
}

impl<'a> Plan<'a> {
    /// Finds the layers that the roots need.
    pub(super) fn of(entries: &'a [Entry], roots: &[ServiceId]) -> Result<Self, GraphError> {
        let mut planner =
            Planner { entries, places: vec![Place::Unseen; entries.len()], way: Vec::new(), steps: Vec::new() };
        for root in roots {
            planner.visit(*root)?;
        }
        Ok(Plan { steps: planner.steps })
    }

    /// The steps that take a service of this one.
    pub(super) fn needing(&self, step: usize) -> impl Iterator<Item = usize> {
        let steps = self.steps.iter().enumerate();
        steps.filter(move |(_, other)| other.waits_for.contains(&step)).map(|(at, _)| at)
    }
}

/// Where the planner stands with a layer.
#[derive(Clone, Copy)]
enum Place {
    Unseen,
    OnTheWay,
    Planned(usize),
}

struct Planner<'a> {
    entries: &'a [Entry],
    places: Vec<Place>,
    /// From the root to here: layers, and the need of each that is being followed.
    way: Vec<(usize, ServiceId)>,
    steps: Vec<Step<'a>>,
}

impl Planner<'_> {
    /// Plans the layer that provides the service, after what that layer needs.
    fn visit(&mut self, service: ServiceId) -> Result<usize, GraphError> {
        let provider = self.entries.iter().position(|entry| entry.gives.contains(&service));
        let Some(at) = provider else {
            return Err(self.missing(service));
        };
        match self.places[at] {
            Place::Planned(step) => return Ok(step),
            Place::OnTheWay => return Err(self.cycle(at)),
            Place::Unseen => self.places[at] = Place::OnTheWay,
        }
        let entry = &self.entries[at];
        let mut waits_for = Vec::new();
        for need in &entry.needs {
            self.way.push((at, *need));
            let step = self.visit(*need)?;
            self.way.pop();
            if !waits_for.contains(&step) {
                waits_for.push(step);
            }
        }
        self.steps.push(Step { entry, waits_for });
        self.places[at] = Place::Planned(self.steps.len() - 1);
        Ok(self.steps.len() - 1)
    }

    fn missing(&self, service: ServiceId) -> GraphError {
        let path = self.way.iter().rev().map(|(at, _)| self.entries[*at].name);
        let provided = self.entries.iter().flat_map(|entry| &entry.gives);
        GraphError::Missing {
            service: service.name(),
            path: path.collect(),
            provided: provided.map(ServiceId::name).collect(),
        }
    }

    fn cycle(&self, back_at: usize) -> GraphError {
        let cycle = self.way.iter().skip_while(|(at, _)| *at != back_at);
        let links = cycle.map(|(at, need)| Link { layer: self.entries[*at].name, needs: need.name() });
        GraphError::Cycle { cycle: links.collect() }
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::fixture::{Config, Events, Generator, Metrics, Reflection, Storage, noting, text};
    use crate::layer::{BoxError, Layers, Root, Svc};

    async fn check_error<R: Root>(layers: Layers, expected: &str) {
        let error = layers.build::<R>().await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[tokio::test]
    async fn a_missing_service_names_the_path_of_who_needs_it() {
        let layers = noting(&Events::default())
            .with_layer("storage_s3", async |_: Svc<dyn Metrics>| Ok::<Svc<dyn Storage>, BoxError>(text("s3")));
        check_error::<Svc<dyn Reflection>>(
            layers,
            "no layer provides `Metrics`, needed by `storage_s3` <- `reflection`; \
             provided: Reflection, Generator, Config, Journal, Storage",
        )
        .await;
    }

    #[tokio::test]
    async fn a_missing_root_says_that_it_was_asked_for() {
        check_error::<Svc<dyn Metrics>>(
            noting(&Events::default()),
            "no layer provides `Metrics`, asked of `build`; \
             provided: Reflection, Storage, Generator, Config, Journal",
        )
        .await;
    }

    #[tokio::test]
    async fn layers_that_need_each_other_are_named_in_order() {
        let events = Events::default();
        let layers = noting(&events)
            .with_layer("config_stored", async |_: Svc<dyn Storage>| Ok::<Svc<dyn Config>, BoxError>(text("stored")));
        check_error::<Svc<dyn Reflection>>(
            layers,
            "layers need each other: `storage` needs `Config`, `config_stored` needs `Storage`",
        )
        .await;
        assert_eq!(events.take(), [""; 0], "nothing was built");
    }

    #[tokio::test]
    async fn a_layer_that_needs_what_it_provides_is_named() {
        let layers =
            noting(&Events::default()).with_layer("traced", async |inner: Svc<dyn Generator>| Ok::<_, BoxError>(inner));
        check_error::<Svc<dyn Generator>>(layers, "layers need each other: `traced` needs `Generator`").await;
    }

    #[tokio::test]
    async fn a_hole_that_the_root_does_not_need_does_no_harm() {
        let layers = noting(&Events::default())
            .with_layer("storage_s3", async |_: Svc<dyn Metrics>| Ok::<Svc<dyn Storage>, BoxError>(text("s3")));
        let app = layers.build::<Svc<dyn Generator>>().await.unwrap();
        app.shutdown().await.unwrap();
    }
}
