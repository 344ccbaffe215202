//! One client per address.

use reqwest::redirect;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// A client for an address: TLS on ring, and the certificates that the system trusts.
///
/// Redirects are not followed: a key must not travel to where a server points. A server on this machine is not asked
/// through a proxy.
///
/// # Errors
/// Words that say what cannot be had; of the address nothing is quoted, because it may be a secret.
///
/// ```
/// assert!(reflexion_http::http::client("http://127.0.0.1:11434/v1").is_ok());
/// assert!(reflexion_http::http::client("no address").is_err());
/// ```
pub fn client(address: &str) -> Result<reqwest::Client, String> {
    let url = reqwest::Url::parse(address).map_err(|error| format!("the address cannot be read: {error}"))?;
    let mut builder =
        reqwest::Client::builder().tls_backend_preconfigured(tls(url.scheme())?).redirect(redirect::Policy::none());
    // A few packed bytes may unpack to any number of bytes, for any time.
    builder = builder.no_gzip().no_brotli().no_zstd().no_deflate();
    if is_here(&url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| format!("no HTTP client can be made: {error}"))
}

/// The explicit provider is needed: reqwest is built without one, and would panic.
fn tls(scheme: &str) -> Result<ClientConfig, String> {
    let unusable = |error: rustls::Error| format!("TLS cannot be used here: {error}");
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
