<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * The settings of a client.
 *
 * @internal
 */
final readonly class Options
{
    public string $baseUrl;
    /** Prints, casts and exports show nothing of it. */
    private \SensitiveParameterValue $apiKey;
    /** It may have the password of a proxy. */
    private \SensitiveParameterValue $curlOptions;

    /**
     * @param array<int, mixed> $curlOptions
     * @param array<string, string> $headers
     */
    public function __construct(
        #[\SensitiveParameter] string $apiKey,
        string $baseUrl,
        public float $timeout = 30.0,
        public int $maxAttempts = 4,
        public float $retryDelay = 0.5,
        public bool $waitForRateLimit = false,
        #[\SensitiveParameter] array $curlOptions = [],
        public array $headers = [],
    ) {
        if (preg_match('/^[!-~]+$/D', $apiKey) !== 1) {
            throw new \InvalidArgumentException(
                'apiKey: expected printable ASCII without spaces; pass it or set MILLRACE_API_KEY',
            );
        }
        if (preg_match('~^https?://[^/?#@\s]+(/[^?#\s]*)?$~Di', $baseUrl) !== 1) {
            throw new \InvalidArgumentException(
                'baseUrl: expected http(s)://host without credentials or query; pass it or set MILLRACE_BASE_URL',
            );
        }
        if (!($timeout > 0) || $maxAttempts < 1 || !($retryDelay >= 0)) {
            throw new \InvalidArgumentException(
                'timeout must be above 0, maxAttempts at least 1, retryDelay at least 0',
            );
        }
        $this->baseUrl = rtrim($baseUrl, '/');
        $this->apiKey = new \SensitiveParameterValue($apiKey);
        $this->curlOptions = new \SensitiveParameterValue($curlOptions);
    }

    /** @param array<string, string>|null $headers */
    public function with(?float $timeout, ?int $maxAttempts, ?array $headers): self
    {
        return new self(
            $this->apiKey(),
            $this->baseUrl,
            $timeout ?? $this->timeout,
            $maxAttempts ?? $this->maxAttempts,
            $this->retryDelay,
            $this->waitForRateLimit,
            $this->curlOptions(),
            $headers ?? $this->headers,
        );
    }

    /** An environment variable. Frameworks set it in `$_SERVER` or `$_ENV` only. */
    public static function setting(string $name): string
    {
        foreach ([$_SERVER[$name] ?? '', $_ENV[$name] ?? '', getenv($name)] as $value) {
            if (is_string($value) && $value !== '') {
                return $value;
            }
        }
        return '';
    }

    public function apiKey(): string
    {
        return $this->apiKey->getValue();
    }

    /** @return array<int, mixed> */
    public function curlOptions(): array
    {
        return $this->curlOptions->getValue();
    }

    /** @return array<string, string> */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl, 'apiKey' => Redact::MASK];
    }
}
