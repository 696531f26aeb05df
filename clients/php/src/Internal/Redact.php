<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * Hides the API key wherever the service repeats it.
 *
 * @internal
 */
final class Redact
{
    public const MASK = '[redacted]';

    public static function text(string $text, #[\SensitiveParameter] string $apiKey): string
    {
        return str_replace($apiKey, self::MASK, $text);
    }

    /**
     * The same in texts at any depth.
     *
     * @param array<mixed> $values
     * @return array<mixed>
     */
    public static function all(array $values, #[\SensitiveParameter] string $apiKey): array
    {
        array_walk_recursive($values, static function (mixed &$value) use ($apiKey): void {
            $value = is_string($value) ? self::text($value, $apiKey) : $value;
        });
        return $values;
    }
}
