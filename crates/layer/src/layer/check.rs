//! The rules of a graph as a `const fn`, so that a wrong `layers!` list does not compile.
//!
//! Everything here runs in the compiler: no traits, no iterators, no allocation, and no recursion
//! (constant evaluation stops at 128 frames, and a chain of layers may be longer).

use super::provider::Provider;
use super::service::{ServiceId, same_text};

/// How many layers one list may have; a fixed size, since a `const fn` cannot allocate.
const MOST_LAYERS: usize = 256;

/// Panics, which while compiling is an error at the list, unless every need and every root is
/// provided, by exactly one layer, and no layers need each other.
#[track_caller] // so that the compiler shows the list and not this file
pub const fn check(layers: &[Provider], roots: &[ServiceId]) {
    assert!(layers.len() <= MOST_LAYERS, "a list can have 256 layers at most");
    let report = report_on(layers, roots);
    assert!(report.is_empty(), "{}", report.text());
}

/// All that is wrong with the list, one line each.
const fn report_on(layers: &[Provider], roots: &[ServiceId]) -> Report {
    let mut report = Report::empty();
    report_provided_twice(layers, &mut report);
    report_missing(layers, roots, &mut report);
    // Only a graph without holes can be walked.
    if report.is_empty() {
        report_cycle(layers, &mut report);
    }
    report
}

const fn report_provided_twice(layers: &[Provider], report: &mut Report) {
    let mut at = 0;
    while at < layers.len() {
        let gives = layers[at].gives;
        let mut give = 0;
        while give < gives.len() {
            let (first, first_give) = match provided_at(layers, &gives[give]) {
                Some(place) => place,
                None => (at, give),
            };
            if first != at || first_give != give {
                report.line(&[
                    "`",
                    gives[give].name(),
                    "` is provided twice: by layer `",
                    layers[first].name,
                    "` and by layer `",
                    layers[at].name,
                    "`",
                ]);
            }
            give += 1;
        }
        at += 1;
    }
}

const fn report_missing(layers: &[Provider], roots: &[ServiceId], report: &mut Report) {
    let mut at = 0;
    while at < layers.len() {
        let needs = layers[at].needs;
        let mut need = 0;
        while need < needs.len() {
            if let Some(service) = &needs[need]
                && provided_at(layers, service).is_none()
            {
                let who = ["layer `", layers[at].name, "` needs `"];
                report_unprovided(layers, service, &who, report);
            }
            need += 1;
        }
        at += 1;
    }
    let mut root = 0;
    while root < roots.len() {
        if provided_at(layers, &roots[root]).is_none() {
            report_unprovided(layers, &roots[root], &["the root is `"], report);
        }
        root += 1;
    }
}

/// Also points at a service of the same name from another module, which is an easy mistake to make.
const fn report_unprovided(layers: &[Provider], service: &ServiceId, who: &[&str], report: &mut Report) {
    report.line(who);
    report.add(service.name());
    report.add("`, but no layer in this list provides it");
    let mut at = 0;
    while at < layers.len() {
        let gives = layers[at].gives;
        let mut give = 0;
        while give < gives.len() {
            if same_text(gives[give].name(), service.name()) {
                report.line(&["  wanted is ", service.key()]);
                report.line(&["  layer `", layers[at].name, "` provides ", gives[give].key()]);
            }
            give += 1;
        }
        at += 1;
    }
}

/// Which layer provides the service first, and as which of its services.
const fn provided_at(layers: &[Provider], service: &ServiceId) -> Option<(usize, usize)> {
    let mut at = 0;
    while at < layers.len() {
        let gives = layers[at].gives;
        let mut give = 0;
        while give < gives.len() {
            if gives[give].same(service) {
                return Some((at, give));
            }
            give += 1;
        }
        at += 1;
    }
    None
}

/// Where the walk stands with a layer.
#[derive(Clone, Copy)]
enum Walk {
    Unseen,
    /// At this place of the way from where the walk started.
    OnTheWay(usize),
    Done,
}

/// The way from where the walk started: layers, and for each the need that is being followed.
struct Way {
    layer: [usize; MOST_LAYERS],
    need: [usize; MOST_LAYERS],
    length: usize,
}

impl Way {
    const fn starting_nowhere() -> Self {
        Way { layer: [0; MOST_LAYERS], need: [0; MOST_LAYERS], length: 0 }
    }

    const fn enter(&mut self, layer: usize, walks: &mut [Walk; MOST_LAYERS]) {
        walks[layer] = Walk::OnTheWay(self.length);
        self.layer[self.length] = layer;
        self.need[self.length] = 0;
        self.length += 1;
    }

    const fn leave(&mut self, layer: usize, walks: &mut [Walk; MOST_LAYERS]) {
        walks[layer] = Walk::Done;
        self.length -= 1;
        if self.length > 0 {
            self.need[self.length - 1] += 1;
        }
    }
}

/// Walks depth first from every layer to what it needs; coming back to the way is a cycle.
const fn report_cycle(layers: &[Provider], report: &mut Report) {
    let mut walks = [Walk::Unseen; MOST_LAYERS];
    let mut way = Way::starting_nowhere();
    let mut start = 0;
    while start < layers.len() {
        if let Walk::Unseen = walks[start] {
            way.enter(start, &mut walks);
        }
        while way.length > 0 {
            if let Some(back_at) = step(layers, &mut walks, &mut way) {
                report_way_from(back_at, layers, &way, report);
                return;
            }
        }
        start += 1;
    }
}

/// One step forward, sideways or back; the place of the way that it came back to, if it did.
const fn step(layers: &[Provider], walks: &mut [Walk; MOST_LAYERS], way: &mut Way) -> Option<usize> {
    let here = way.length - 1;
    let layer = way.layer[here];
    let needs = layers[layer].needs;
    if way.need[here] == needs.len() {
        way.leave(layer, walks);
        return None;
    }
    if let Some(service) = &needs[way.need[here]]
        && let Some((next, _)) = provided_at(layers, service)
    {
        match walks[next] {
            Walk::OnTheWay(place) => return Some(place),
            Walk::Unseen => {
                way.enter(next, walks);
                return None;
            }
            Walk::Done => {}
        }
    }
    way.need[here] += 1;
    None
}

/// The cycle: from this place of the way to its end, whose last need leads back to the place.
const fn report_way_from(place: usize, layers: &[Provider], way: &Way, report: &mut Report) {
    report.line(&["these layers need each other, so none can be built first:"]);
    let mut at = place;
    while at < way.length {
        let layer = &layers[way.layer[at]];
        let next = if at + 1 < way.length { at + 1 } else { place };
        if let Some(service) = &layer.needs[way.need[at]] {
            report.line(&[
                "  layer `",
                layer.name,
                "` needs `",
                service.name(),
                "` from layer `",
                layers[way.layer[next]].name,
                "`",
            ]);
        }
        at += 1;
    }
}

/// How long an error can get before it is cut; enough for some fifty lines.
const LONGEST_REPORT: usize = 4096;

/// The text of the error.
struct Report {
    bytes: [u8; LONGEST_REPORT],
    length: usize,
}

impl Report {
    const fn empty() -> Self {
        Report { bytes: [0; LONGEST_REPORT], length: 0 }
    }

    const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Begins a line with these parts.
    const fn line(&mut self, parts: &[&str]) {
        self.add("\n  ");
        let mut at = 0;
        while at < parts.len() {
            self.add(parts[at]);
            at += 1;
        }
    }

    /// Adds a text, or nothing of it where there is no room, so that no character is cut in two.
    const fn add(&mut self, text: &str) {
        let text = text.as_bytes();
        if self.length + text.len() > LONGEST_REPORT {
            return;
        }
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
    }

    const fn text(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "the layers do not fit together",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::provider::{Construct, Construction, Inputs};

    struct NeverRun;
    impl Construct for NeverRun {
        fn construct(&self, _: Inputs<'_>) -> Construction {
            unreachable!("a check runs no layer")
        }
    }

    /// Layers as (name, needs, gives).
    type Graph<'a> = &'a [(&'static str, &'a [&'static str], &'a [&'static str])];

    fn service(name: &'static str) -> ServiceId {
        ServiceId::new(name, name)
    }

    fn check_report(graph: Graph<'_>, roots: &[&'static str], expected: &[&str]) {
        let layers: Vec<_> = graph.iter().map(|line| provider(line.0, line.1, line.2)).collect();
        let roots: Vec<_> = roots.iter().map(|name| service(name)).collect();
        let report = report_on(&layers, &roots);
        let lines = report.text().lines().map(str::trim);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, expected);
    }

    fn provider(name: &'static str, needs: &[&'static str], gives: &[&'static str]) -> Provider {
        let gives: Vec<_> = gives.iter().map(|name| service(name)).collect();
        // In front stands a scope, which is an argument but no need.
        let needs = needs.iter().map(|name| Some(service(name)));
        let needs: Vec<_> = std::iter::once(None).chain(needs).collect();
        Provider { name, needs: needs.leak(), gives: gives.leak(), layer: &NeverRun }
    }

    #[test]
    fn graphs_that_fit() {
        check_report(&[], &[], &[]);
        let diamond: Graph<'_> = &[
            ("top", &["Left", "Right"], &["Top"]),
            ("sides", &["Base"], &["Left", "Right"]),
            ("base", &[], &["Base"]),
        ];
        check_report(diamond, &["Top", "Base"], &[]);
    }

    #[test]
    fn everything_missing_is_named_at_once() {
        check_report(
            &[("a", &["B", "C"], &["A"]), ("d", &["C"], &["D"])],
            &["E", "A"],
            &[
                "layer `a` needs `B`, but no layer in this list provides it",
                "layer `a` needs `C`, but no layer in this list provides it",
                "layer `d` needs `C`, but no layer in this list provides it",
                "the root is `E`, but no layer in this list provides it",
            ],
        );
    }

    #[test]
    fn a_service_is_provided_once() {
        check_report(
            &[("a", &[], &["A", "B"]), ("b", &[], &["B"]), ("cc", &[], &["C", "C"])],
            &[],
            &[
                "`B` is provided twice: by layer `a` and by layer `b`",
                "`C` is provided twice: by layer `cc` and by layer `cc`",
            ],
        );
    }

    #[test]
    fn only_the_layers_of_the_cycle_are_named() {
        check_report(
            &[
                ("outside", &["D", "A"], &["Outside"]),
                ("a", &["D", "B"], &["A"]),
                ("b", &["C"], &["B"]),
                ("c", &["D", "A"], &["C"]),
                ("d", &[], &["D"]),
            ],
            &[],
            &[
                "these layers need each other, so none can be built first:",
                "layer `a` needs `B` from layer `b`",
                "layer `b` needs `C` from layer `c`",
                "layer `c` needs `A` from layer `a`",
            ],
        );
        check_report(
            &[("alone", &["A"], &["A"])],
            &[],
            &[
                "these layers need each other, so none can be built first:",
                "layer `alone` needs `A` from layer `alone`",
            ],
        );
    }

    #[test]
    fn a_long_report_is_cut_between_words() {
        let mut report = Report::empty();
        for _ in 0..LONGEST_REPORT {
            report.line(&["grün"]);
        }
        assert!(report.length > LONGEST_REPORT - 10);
        assert!(report.text().lines().skip(1).all(|line| line.is_empty() || line == "  grün" || line == "  "));
    }
}
