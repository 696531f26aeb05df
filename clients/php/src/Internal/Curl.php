<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * Curl handles of requests.
 *
 * @internal
 */
final class Curl
{
    /** Shorter than a server keeps a connection that is idle. */
    private const KEPT_SECONDS = 4;

    /**
     * @param \Closure(\CurlHandle, string): int $header
     * @param \Closure(\CurlHandle, string): int $receive
     * @param \Closure(): void $sent called for each piece of the body
     */
    public static function handle(
        Request $request,
        Options $options,
        \Closure $header,
        \Closure $receive,
        \Closure $sent,
    ): \CurlHandle {
        $handle = curl_init();
        $settings = [
            CURLOPT_URL => $options->baseUrl . $request->path . ($request->query === '' ? '' : "?{$request->query}"),
            CURLOPT_CUSTOMREQUEST => $request->method,
            CURLOPT_HTTPHEADER => self::headers($request, $options),
            CURLOPT_HEADERFUNCTION => $header,
            CURLOPT_WRITEFUNCTION => $receive,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_CONNECTTIMEOUT_MS => 0x7FFFFFFF,
            // Curl repeats a request by itself when a kept connection has died, which is harmless for a GET only.
            CURLOPT_FRESH_CONNECT => $request->method === 'DELETE' || $request->content === '',
        ];
        if ($request->content !== null) {
            $settings += self::upload($request->content, $sent);
        }
        $settings += $options->curlOptions() + self::proxy($options->baseUrl) + self::certificates() + [
            CURLOPT_ENCODING => '',
            CURLOPT_MAXAGE_CONN => self::KEPT_SECONDS,
            CURLOPT_SUPPRESS_CONNECT_HEADERS => true,
            CURLOPT_TCP_KEEPALIVE => 1,
        ];
        curl_setopt_array($handle, $settings);
        return $handle;
    }

    /**
     * Curl cannot read the body again, so it makes no second attempt of its own.
     *
     * @return array<int, mixed>
     */
    private static function upload(string $content, \Closure $sent): array
    {
        $at = 0;
        return [
            CURLOPT_UPLOAD => true,
            CURLOPT_INFILESIZE => strlen($content),
            CURLOPT_READFUNCTION => static function ($handle, $file, int $length) use ($content, $sent, &$at): string {
                $sent();
                $piece = substr($content, $at, $length);
                $at += strlen($piece);
                return $piece;
            },
        ];
    }

    /** @return list<string> */
    private static function headers(Request $request, Options $options): array
    {
        $headers = $request->headers + [
            'authorization' => 'Bearer ' . $options->apiKey(),
            'accept' => 'application/json',
            'user-agent' => self::userAgent(),
            // Without a value: not sent. A pause for "100 Continue" would be of no use.
            'expect' => '',
        ] + array_change_key_case($options->headers);
        return array_map(
            static fn (string $name, string $value): string => $value === '' ? "{$name}:" : "{$name}: {$value}",
            array_keys($headers),
            $headers,
        );
    }

    private static function userAgent(): string
    {
        return sprintf('millrace-php/%s (PHP %s; curl %s)', Catalog::VERSION, PHP_VERSION, curl_version()['version']);
    }

    /**
     * The curl of PHP does not read them.
     *
     * @return array<int, string>
     */
    private static function certificates(): array
    {
        return array_filter([
            CURLOPT_CAINFO => Options::setting('SSL_CERT_FILE'),
            CURLOPT_CAPATH => Options::setting('SSL_CERT_DIR'),
        ]);
    }

    /**
     * Curl reads the other variables itself. It leaves this one out, because a web server sets it from a request's
     * header `Proxy`; on a command line nobody does.
     *
     * @return array<int, string>
     */
    private static function proxy(string $baseUrl): array
    {
        $proxy = getenv('HTTP_PROXY');
        $isUsed = PHP_SAPI === 'cli' && is_string($proxy) && $proxy !== '' && getenv('http_proxy') === false;
        return $isUsed && str_starts_with(strtolower($baseUrl), 'http:') ? [CURLOPT_PROXY => $proxy] : [];
    }
}
