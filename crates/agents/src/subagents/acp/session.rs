//! What an agent offers when a session is opened: modes and models.

use serde_json::{Value, json};

/// The answer to `session/new`, `session/load` or `session/resume`.
pub(super) struct Session {
    /// The agent's id of it.
    pub id: String,
    offer: Value,
}

/// A request that changes a session.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// The protocol's method.
    pub method: &'static str,
    /// Its parameters.
    pub params: Value,
}

/// Something that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// How much the agent may do.
    Mode,
    /// The language model.
    Model,
}

impl Choice {
    fn category(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Model => "model",
        }
    }
}

impl Session {
    /// A session and what the agent said when it was opened.
    pub fn new(id: String, offer: Value) -> Self {
        Self { id, offer }
    }

    /// What is chosen now.
    pub fn current(&self, choice: Choice) -> Option<&str> {
        let listed = match choice {
            Choice::Mode => &self.offer["modes"]["currentModeId"],
            Choice::Model => &self.offer["models"]["currentModelId"],
        };
        self.option(choice).and_then(|option| option["currentValue"].as_str()).or_else(|| listed.as_str())
    }

    /// What can be chosen, in the agent's order.
    pub fn offered(&self, choice: Choice) -> Vec<&str> {
        let (listed, key) = match choice {
            Choice::Mode => (&self.offer["modes"]["availableModes"], "id"),
            Choice::Model => (&self.offer["models"]["availableModels"], "modelId"),
        };
        let options = self.option(choice).map_or(&[] as &[Value], |option| list(&option["options"]));
        // An option may stand in a group of its own.
        let grouped = options.iter().flat_map(|option| list(&option["options"]));
        let mut ids: Vec<_> = options.iter().chain(grouped).filter_map(|option| option["value"].as_str()).collect();
        ids.extend(list(listed).iter().filter_map(|entry| entry[key].as_str()));
        ids
    }

    /// The request that chooses something; none if the agent lets nobody choose. Session options come first: they are
    /// the protocol's way, and modes and models beside them are kept by agents for old clients.
    pub fn choose(&self, choice: Choice, value: &str) -> Option<Change> {
        if let Some(id) = self.option(choice).and_then(|option| option["id"].as_str()) {
            let params = json!({"sessionId": self.id, "configId": id, "value": value});
            return Some(Change { method: "session/set_config_option", params });
        }
        match choice {
            Choice::Mode => self.offer["modes"]
                .is_object()
                .then(|| Change { method: "session/set_mode", params: json!({"sessionId": self.id, "modeId": value}) }),
            Choice::Model => self.offer["models"].is_object().then(|| Change {
                method: "session/set_model",
                params: json!({"sessionId": self.id, "modelId": value}),
            }),
        }
    }

    fn option(&self, choice: Choice) -> Option<&Value> {
        list(&self.offer["configOptions"]).iter().find(|option| option["category"] == choice.category())
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_the_lists_of_old() {
        let modes = json!({"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "plan"}]});
        let old = Session::new("s".to_owned(), json!({"modes": modes.clone()}));
        assert_eq!(old.current(Choice::Mode), Some("ask"));
        assert_eq!(old.offered(Choice::Mode), ["ask", "plan"]);
        assert_eq!(old.choose(Choice::Mode, "plan").unwrap().method, "session/set_mode");
        assert_eq!(old.choose(Choice::Model, "m"), None);
        let option = json!({"id": "x", "category": "mode", "currentValue": "b", "options": [{"value": "b"}, {"group": "g", "options": [{"value": "c"}]}]});
        let new = Session::new("s".to_owned(), json!({"modes": modes, "configOptions": [option]}));
        assert_eq!(new.current(Choice::Mode), Some("b"));
        assert_eq!(new.offered(Choice::Mode), ["b", "c", "ask", "plan"]);
        let change = new.choose(Choice::Mode, "c").unwrap();
        assert_eq!(change.params, json!({"sessionId": "s", "configId": "x", "value": "c"}));
    }
}
