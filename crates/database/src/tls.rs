//! What of a server's certificate is checked when a connection is encrypted: as libpq's `sslmode` says.

use crate::error::{DatabaseError, Result, Trouble};
use crate::url::{Encryption, Url};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Checks a certificate as far as was asked; that its owner holds its key always.
#[derive(Debug)]
struct Checked {
    provider: Arc<CryptoProvider>,
    /// By authorities that are trusted; `None`: whatever comes.
    authorities: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn wrong(url: &Url, what: impl std::fmt::Display) -> DatabaseError {
    let what = format!("{url}: the authorities of certificates cannot be read: {what}");
    DatabaseError::new(Trouble::Url, what, "name a file of them: sslrootcert=FILE")
}

fn authorities(url: &Url) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match &url.authorities {
        Some(file) => {
            let all = CertificateDer::pem_file_iter(file)
                .map_err(|error| wrong(url, format!("{}: {error}", file.display())))?;
            for one in all {
                let one = one.map_err(|error| wrong(url, format!("{}: {error}", file.display())))?;
                store.add(one).map_err(|error| wrong(url, error))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match store.is_empty() {
        true => Err(wrong(url, "there are none")),
        false => Ok(store),
    }
}

/// The settings of an encrypted connection to PostgreSQL.
pub(crate) fn connector(url: &Url) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(url, error))?;
    let config = match url.encryption {
        Encryption::Name => builder.with_root_certificates(authorities(url)?).with_no_client_auth(),
        Encryption::Authority | Encryption::Never | Encryption::Offered | Encryption::Unchecked => {
            let authorities = match url.encryption {
                Encryption::Authority => {
                    let store = Arc::new(authorities(url)?);
                    let built = WebPkiServerVerifier::builder_with_provider(store, provider.clone()).build();
                    Some(built.map_err(|error| wrong(url, error))?)
                }
                _ => None,
            };
            let checked = Arc::new(Checked { provider, authorities });
            builder.dangerous().with_custom_certificate_verifier(checked).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}
