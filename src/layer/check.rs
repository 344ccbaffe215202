//! The rules of a graph as a `const fn`, so that a wrong `layers!` list does not compile.
//!
//! Everything here runs in the compiler: no traits, no iterators, no allocation, and no recursion
//! (constant evaluation stops at 128 frames, and a chain of layers may be longer).

use super::provider::Provider;
use super::service::ServiceId;
use super::service::same_text;

/// How many layers one list may have; a fixed size, since a `const fn` cannot allocate.
const MOST_LAYERS: usize = 256;

/// Panics, which while compiling is an error at the list, unless every need and every root is
/// provided, by exactly one layer, and no layers need each other.
#[track_caller] // so that the compiler shows the list and not this file
pub const fn check(layers: &[Provider], roots: &[ServiceId]) {
    if layers.len() > MOST_LAYERS {
        panic!("a list can have 256 layers at most");
    }
    let mut report = Report::empty();
    report_provided_twice(layers, &mut report);
    report_missing(layers, roots, &mut report);
    // Only a graph without holes can be walked.
    if report.is_empty() {
        report_cycle(layers, &mut report);
    }
    if !report.is_empty() {
        panic!("{}", report.text());
    }
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
const fn report_unprovided(
    layers: &[Provider],
    service: &ServiceId,
    who: &[&str],
    report: &mut Report,
) {
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
                report.line(&[
                    "  layer `",
                    layers[at].name,
                    "` provides ",
                    gives[give].key(),
                ]);
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
    /// On the way: the walk came from here.
    Open,
    Done,
}

/// The way from where the walk started: layers, and for each the need that is followed.
struct Way {
    layer: [usize; MOST_LAYERS],
    need: [usize; MOST_LAYERS],
    length: usize,
}

/// Walks depth first from every layer to what it needs; coming back to the way is a cycle.
const fn report_cycle(layers: &[Provider], report: &mut Report) {
    let mut walks = [Walk::Unseen; MOST_LAYERS];
    let mut start = 0;
    while start < layers.len() {
        if let Walk::Unseen = walks[start] {
            let mut way = Way {
                layer: [0; MOST_LAYERS],
                need: [0; MOST_LAYERS],
                length: 1,
            };
            way.layer[0] = start;
            walks[start] = Walk::Open;
            while way.length > 0 {
                if step(layers, &mut walks, &mut way) {
                    report_way(layers, &way, report);
                    return;
                }
            }
        }
        start += 1;
    }
}

/// One step forward or back; true when the way has come back to itself.
const fn step(layers: &[Provider], walks: &mut [Walk; MOST_LAYERS], way: &mut Way) -> bool {
    let here = way.length - 1;
    let at = way.layer[here];
    let needs = layers[at].needs;
    if way.need[here] == needs.len() {
        walks[at] = Walk::Done;
        way.length -= 1;
        if way.length > 0 {
            way.need[way.length - 1] += 1;
        }
        return false;
    }
    let next = match &needs[way.need[here]] {
        Some(service) => provided_at(layers, service),
        None => None,
    };
    match next {
        Some((next, _)) => match walks[next] {
            Walk::Open => return true,
            Walk::Unseen => {
                walks[next] = Walk::Open;
                way.layer[way.length] = next;
                way.need[way.length] = 0;
                way.length += 1;
            }
            Walk::Done => way.need[here] += 1,
        },
        None => way.need[here] += 1,
    }
    false
}

/// Says the part of the way that is the cycle: from the layer that the last step came back to.
const fn report_way(layers: &[Provider], way: &Way, report: &mut Report) {
    report.line(&["these layers need each other, so none can be built first:"]);
    let mut last = way.length;
    let mut at = way.length;
    let mut first = 0;
    // Find where the last layer's need leads to.
    if let Some(service) = &layers[way.layer[way.length - 1]].needs[way.need[way.length - 1]]
        && let Some((back, _)) = provided_at(layers, service)
    {
        while at > 0 {
            at -= 1;
            if way.layer[at] == back {
                first = at;
            }
        }
        last = back;
    }
    at = first;
    while at < way.length {
        let layer = &layers[way.layer[at]];
        let from = if at + 1 < way.length {
            way.layer[at + 1]
        } else {
            last
        };
        if let Some(service) = &layer.needs[way.need[at]] {
            report.line(&[
                "  layer `",
                layer.name,
                "` needs `",
                service.name(),
                "` from layer `",
                layers[from].name,
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
        Report {
            bytes: [0; LONGEST_REPORT],
            length: 0,
        }
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
