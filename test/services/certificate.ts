/**
 * A self-signed certificate and its key, for test servers on the loopback interface only.
 * Created by: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost -addext
 * "subjectAltName=DNS:localhost,IP:127.0.0.1"
 */
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

/** A certificate for localhost that has already expired. Created by: openssl x509 -req -days -1 -signkey KEY */
export const EXPIRED_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRS/40W4MGXjDwHl4
0X1vRTJQvweycnyEEU4MzrKr9lGhRANCAARoEY5MsfKfkP1oIP7H+hRTQQ3nm739
bSyP3VGey2l3PkQ8nu/H6MUQlqB8hp71wzzn3x7NITkOU78bKfi+DzSP
-----END PRIVATE KEY-----
`;

export const EXPIRED_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBIjCByQIUG/kkIbcQs7uHaCyVYmKSyGbv328wCgYIKoZIzj0EAwIwFDESMBAG
A1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyMzExNDY1MloXDTI2MTEyMjExNDY1Mlow
FDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
aBGOTLHyn5D9aCD+x/oUU0EN55u9/W0sj91Rnstpdz5EPJ7vx+jFEJagfIae9cM8
598ezSE5DlO/Gyn4vg80jzAKBggqhkjOPQQDAgNIADBFAiEAg7UhX8alhJ+qSPCk
zdgsSkkudZmio1o0XUixztoXgtsCIGk8wJPJ4QMyBqUXUDD5tGtY78fo1KCZFlTB
Wx5ZYKYS
-----END CERTIFICATE-----
`;
