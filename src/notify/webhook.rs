//! The notice as JSON, posted to an address.

use super::Surroundings;
use super::post::{Post, header_name, host, post, secret_header};
use crate::domain::Notice;
use crate::domain::policy::Kept;
use crate::services::{Notifier, NotifyError};
use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use std::collections::BTreeMap;

/// An address that takes JSON.
pub(super) struct Webhook {
    pub url: Kept,
    pub headers: BTreeMap<String, String>,
    pub surroundings: Surroundings,
}

impl Webhook {
    fn headers(&self) -> Result<HeaderMap, NotifyError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("reflexion/", env!("CARGO_PKG_VERSION"))));
        for (name, variable) in &self.headers {
            headers.insert(header_name(name)?, secret_header(&self.surroundings.value(variable)?, variable)?);
        }
        Ok(headers)
    }

    /// The address, and the name of its server.
    fn place(&self) -> Result<(String, String), NotifyError> {
        let url = self.surroundings.kept(&self.url)?;
        let wrong = || NotifyError::Unavailable("the address is not one of http:// or https://".to_owned());
        let known = url.starts_with("http://") || url.starts_with("https://");
        let host = host(&url).filter(|_| known).ok_or_else(wrong)?;
        Ok((url, host))
    }
}

#[async_trait]
impl Notifier for Webhook {
    fn name(&self) -> String {
        match (self.place(), &self.url) {
            (Ok((_, host)), _) => format!("webhook {host}"),
            (Err(_), Kept::Variable(name)) => format!("webhook ${name}"),
            (Err(_), Kept::Here(_)) => "webhook".to_owned(),
        }
    }

    fn check(&self) -> Result<String, NotifyError> {
        let (_, host) = self.place()?;
        self.headers()?;
        Ok(format!("JSON is posted to {host}; only a notice shows whether it is taken"))
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let (url, _) = self.place()?;
        let body = serde_json::to_vec(notice).map_err(|e| NotifyError::Failed(e.to_string()))?;
        post(Post { url, headers: self.headers()?, body }).await
    }
}
