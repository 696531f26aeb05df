/**
 * A self-signed certificate and its key, for the mail hosts of tests only. Made by: openssl req -x509 -newkey ec -pkeyopt
 * ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=mx.tls.test
 */
import { createSecureContext, type SecureContext } from 'node:tls';

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFNFTysq96Leoy8hv
VmLCsDsc47IcAaI0jmQVeb7+vbihRANCAARY0GZbH7UvqbQEahIy55aVrOraJaxT
DzHo65yB232tAY+wSYS5+e80+oEr+ddfuD+hufwMu/IhPoUWkk8w2S1E
-----END PRIVATE KEY-----
`;

export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBgjCCASmgAwIBAgIUETbDJzdnDEr+n9te9kpV2HDDrZ4wCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLbXgudGxzLnRlc3QwIBcNMjYxMTIxMTU0OTExWhgPMjEyNjEw
MjgxNTQ5MTFaMBYxFDASBgNVBAMMC214LnRscy50ZXN0MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEWNBmWx+1L6m0BGoSMueWlazq2iWsUw8x6Oucgdt9rQGPsEmE
ufnvNPqBK/nXX7g/obn8DLvyIT6FFpJPMNktRKNTMFEwHQYDVR0OBBYEFJGuutx6
BNMMYyinteSAFeggyE3xMB8GA1UdIwQYMBaAFJGuutx6BNMMYyinteSAFeggyE3x
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgUb7O1qhImbKdiZQW
oWbK7ZrEXeSRZeHeMNbb/rSvX6cCIDFBj6fnnztaNmK8dk1ur0qdyminB0yBCbQL
VfusNzWm
-----END CERTIFICATE-----
`;

export function testTls(): SecureContext {
  return createSecureContext({ key: KEY, cert: CERTIFICATE });
}
