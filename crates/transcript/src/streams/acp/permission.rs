//! What is answered where an agent asks for a permission.

use crate::domain::policy::Permissions;
use serde_json::{Value, json};

/// The answer to `session/request_permission`, by what an option *does*: agents order and name them as they like.
///
/// Once is chosen before always, because "always" may be written into settings that outlive the run. Without an option
/// of the right kind the request is answered as cancelled.
pub(super) fn answer(request: &Value, permissions: Permissions) -> Value {
    let wanted = match permissions {
        Permissions::Allow => ["allow_once", "allow_always"],
        Permissions::Deny => ["reject_once", "reject_always"],
    };
    let options = request["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let chosen = wanted.iter().find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
    match chosen.and_then(|option| option["optionId"].as_str()) {
        Some(id) => json!({"outcome": {"outcome": "selected", "optionId": id}}),
        None => cancelled(),
    }
}

/// The answer after the turn was cancelled, as the protocol asks for.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_chosen_by_its_kind() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": "Yes", "kind": kind});
        let all = json!({"options": [option("1", "reject_always"), option("2", "reject_once"), option("3", "allow_always"), option("4", "allow_once")]});
        let always = json!({"options": [option("a", "allow_always"), option("r", "reject_always")]});
        let table = [
            (&all, Permissions::Allow, Some("4")),
            (&all, Permissions::Deny, Some("2")),
            (&always, Permissions::Allow, Some("a")),
            (&always, Permissions::Deny, Some("r")),
            (&Value::Null, Permissions::Allow, None),
        ];
        for (request, permissions, expected) in table {
            let given = answer(request, permissions);
            assert_eq!(given["outcome"]["optionId"].as_str(), expected, "{request} {permissions:?}");
        }
        assert_eq!(answer(&json!({"options": "?"}), Permissions::Deny), cancelled());
    }
}
