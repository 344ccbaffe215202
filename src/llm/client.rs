//! The HTTP client.

use crate::services::ModelError;
use reqwest::redirect;
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// A client for an address: TLS on ring, and the certificates that the system trusts.
///
/// Redirects are not followed: a key must not travel to where a server points. A server on this machine is not asked
/// through a proxy.
pub(super) fn client(address: &str) -> Result<reqwest::Client, ModelError> {
    let url = reqwest::Url::parse(address)
        .map_err(|error| ModelError::Unavailable(format!("the address `{address}` cannot be read: {error}")))?;
    let mut builder =
        reqwest::Client::builder().tls_backend_preconfigured(tls(url.scheme())?).redirect(redirect::Policy::none());
    if is_here(&url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ModelError::Unavailable(format!("no HTTP client can be made: {error}")))
}

/// The explicit provider is needed: reqwest is built without one, and would panic.
fn tls(scheme: &str) -> Result<ClientConfig, ModelError> {
    let unusable = |error: rustls::Error| ModelError::Unavailable(format!("TLS cannot be used here: {error}"));
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    Ok(if scheme == "https" {
        config.with_platform_verifier().map_err(unusable)?.with_no_client_auth()
    } else {
        // A machine without any certificates can still talk to a model on loopback.
        config.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    })
}

fn is_here(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
