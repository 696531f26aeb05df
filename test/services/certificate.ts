/** A certificate that signs itself, and its key, for servers of tests on the loopback interface alone. Made by: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTR7IZOyejpqhNuTB
dMKQmRzUCuzb+G5SrE4EM6mluNqhRANCAAQDO6ZCoCT6nHP4Ds8AhicDQg9HqbiX
maeeWfz373ML1a1yyUKzlL6z0qbysHbCzaaJnggltm7PKdZPzieTfCPy
-----END PRIVATE KEY-----
`;

export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUe36PoZA4PGUk51Dkk93sJAmtUe0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE5Mjg0OFoYDzIxMjYxMDI4
MTkyODQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQDO6ZCoCT6nHP4Ds8AhicDQg9HqbiXmaeeWfz373ML1a1yyUKzlL6z
0qbysHbCzaaJnggltm7PKdZPzieTfCPyo28wbTAdBgNVHQ4EFgQUnCKrGwpLbMYC
a+HSxiH+4d4ut/YwHwYDVR0jBBgwFoAUnCKrGwpLbMYCa+HSxiH+4d4ut/YwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgMMem6uFtkqa+GbnFGGANpjsCMuCRmSOENk+YN66jy0sCIDch
CKiXv6HXbdtNf3Yn6kPO6U7DzofOCbzzsJhZEe4m
-----END CERTIFICATE-----
`;
