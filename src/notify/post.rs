//! One POST, and what its answer means.

use crate::http::client;
use crate::services::NotifyError;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// What is posted where.
pub(super) struct Post {
    pub url: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Posts, and is content with any status of success. No error quotes the address or a header: they may be secrets.
pub(super) async fn post(post: Post) -> Result<(), NotifyError> {
    let client = client(&post.url).map_err(NotifyError::Unavailable)?;
    let request = client.post(&post.url).headers(post.headers).body(post.body);
    let response = request.send().await.map_err(|error| NotifyError::Failed(chain(&error.without_url())))?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let hint = if status.is_redirection() { "; it has moved, and redirects are not followed" } else { "" };
    Err(NotifyError::Failed(format!("the server answered with HTTP status {status}{hint}")))
}

/// The cause is in the last of the errors.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// A header with a secret from the variable `variable`; the error names the variable only.
pub(super) fn secret_header(value: &str, variable: &str) -> Result<HeaderValue, NotifyError> {
    let wrong = |_| NotifyError::Unavailable(format!("the environment variable {variable} cannot be a header's value"));
    let mut value = HeaderValue::from_str(value).map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

/// A header of ours with words that came from elsewhere.
pub(super) fn words(value: &str) -> Result<HeaderValue, NotifyError> {
    HeaderValue::from_str(value).map_err(|e| NotifyError::Failed(e.to_string()))
}

/// A header's name from the settings.
pub(super) fn header_name(name: &str) -> Result<HeaderName, NotifyError> {
    name.parse().map_err(|_| NotifyError::Unavailable(format!("`{name}` cannot be a header's name")))
}

/// The server's name, which is no secret, unlike what else is in an address.
pub(super) fn host(url: &str) -> Option<String> {
    reqwest::Url::parse(url).ok()?.host_str().map(str::to_owned)
}
