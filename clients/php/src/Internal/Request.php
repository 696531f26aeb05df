<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * One call.
 *
 * @internal
 */
final class Request
{
    private const LONGEST_QUERY = 4_000;

    /** The method and the path, for messages. */
    public readonly string $call;
    public readonly string $query;
    /** Null for a request without a body. */
    public readonly ?string $content;
    /** @var array<string, string> */
    public array $headers;

    /**
     * @param array<string, mixed> $query null is not sent; a list becomes a parameter for each of its items
     * @param array<string, mixed>|null $body sent as JSON; null in it is not sent
     * @param array<string, string> $headers
     * @param ?string $content sent as it is
     * @param ?float $timeout seconds, instead of the client's
     * @param int $also a status of 300 and above that is an answer too
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        array $query = [],
        ?array $body = null,
        array $headers = [],
        ?string $content = null,
        ?string $idempotencyKey = null,
        public readonly ?float $timeout = null,
        public readonly int $also = 0,
    ) {
        $this->call = "{$method} {$path}";
        $this->query = self::toQuery($query);
        if ($body !== null) {
            $content = Json::encode((object) array_filter($body, static fn (mixed $value): bool => $value !== null));
            $headers['content-type'] = 'application/json';
        }
        if ($method === 'POST') {
            $headers['idempotency-key'] = $idempotencyKey ?? self::uuid();
            $content ??= '';
        }
        $this->content = $content;
        $this->headers = $headers;
    }

    /** @param array<string, mixed> $query */
    public static function get(string $path, array $query = []): self
    {
        return new self('GET', $path, $query);
    }

    /** @param array<string, mixed>|null $body */
    public static function post(string $path, ?array $body, ?string $idempotencyKey = null): self
    {
        return new self('POST', $path, body: $body, idempotencyKey: $idempotencyKey);
    }

    /**
     * The same request with more headers.
     *
     * @param array<string, string> $headers
     */
    public function with(array $headers): self
    {
        $request = clone $this;
        $request->headers = $headers + $request->headers;
        return $request;
    }

    public function hasLongQuery(): bool
    {
        return strlen($this->query) > self::LONGEST_QUERY;
    }

    /** @param array<string, mixed> $params */
    private static function toQuery(array $params): string
    {
        $pairs = [];
        foreach ($params as $name => $value) {
            foreach (is_array($value) ? $value : [$value] as $item) {
                if ($item !== null) {
                    $text = is_bool($item) ? ($item ? 'true' : 'false') : (string) $item;
                    $pairs[] = rawurlencode($name) . '=' . rawurlencode($text);
                }
            }
        }
        return implode('&', $pairs);
    }

    /** A random UUID (RFC 9562, version 4). */
    private static function uuid(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0F | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3F | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }
}
