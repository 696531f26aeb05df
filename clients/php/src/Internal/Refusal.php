<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Exception\ApiException;

/**
 * Makes the exception for an answer with a status of 300 and above.
 *
 * @internal
 */
final class Refusal
{
    private const RETRYABLE = [408, 425, 429, 500, 502, 503, 504];

    public static function of(string $call, int $status, Headers $headers, string $body, Options $options): ApiException
    {
        $json = json_decode($body, true);
        $problem = is_array($json) && is_string($json['code'] ?? null) ? $json : null;
        $retryable = in_array($status, self::RETRYABLE, true);
        $errors = [];
        if ($problem === null) {
            $isMissing = $status < 400 || $status === 404;
            $code = $isMissing ? 'wrong_address' : "http_{$status}";
            $detail = $isMissing ? 'this is not the data service' : 'the answer has no problem document';
        } else {
            $code = $problem['code'];
            $detail = self::text($problem, 'detail') ?: self::text($problem, 'title') ?: 'refused';
            $retryable = is_bool($problem['retryable'] ?? null) ? $problem['retryable'] : $retryable;
            $errors = array_values(array_filter((array) ($problem['errors'] ?? []), is_array(...)));
            $detail = implode('; ', [$detail, ...array_map(self::finding(...), array_slice($errors, 0, 3))]);
        }
        $requestId = $headers->requestId() ?? self::text($problem ?? [], 'request_id');
        $key = $options->apiKey();
        $type = Catalog::EXCEPTIONS[$code] ?? ApiException::class;
        return new $type(
            Redact::text("{$call}: {$detail} ({$code}, status {$status})", $key),
            Redact::text($code, $key),
            $status,
            $requestId === '' ? null : Redact::text($requestId, $key),
            $retryable,
            $headers->retryAfter(),
            Redact::all($errors, $key),
        );
    }

    /** @param array<string, mixed> $item */
    private static function finding(array $item): string
    {
        $where = self::text($item, 'pointer') ?: self::text($item, 'parameter');
        return ltrim("{$where}: " . self::text($item, 'detail'), ': ');
    }

    /** @param array<string, mixed> $fields */
    private static function text(array $fields, string $name): string
    {
        return is_string($fields[$name] ?? null) ? $fields[$name] : '';
    }
}
