<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\Record;

/**
 * JSON of requests and answers.
 *
 * @internal
 */
final class Json
{
    private const FLAGS = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;

    /** @throws \InvalidArgumentException for a value that JSON cannot have, such as a text that is not UTF-8 */
    public static function encode(mixed $value): string
    {
        try {
            return json_encode($value, self::FLAGS);
        } catch (\JsonException $failed) {
            $why = $failed->getMessage();
            throw new \InvalidArgumentException("a parameter cannot be written as JSON: {$why}", 0, $failed);
        }
    }

    /**
     * An object also when it is empty: an empty array is a list.
     *
     * @param array<string, mixed>|null $fields
     */
    public static function object(?array $fields): ?object
    {
        return $fields === null ? null : (object) $fields;
    }

    /**
     * Reads a JSON object of an answer.
     *
     * @template T
     * @param \Closure(array<string, mixed>, Answer): T $read
     * @return T
     */
    public static function read(string $text, Answer $answer, \Closure $read): mixed
    {
        $json = json_decode($text, true);
        if (!is_array($json) || !str_starts_with(ltrim($text), '{')) {
            throw $answer->bad('the answer is not a JSON object');
        }
        try {
            return $read($json, $answer);
        } catch (\TypeError) {
            throw $answer->bad('the answer is not the JSON that was promised');
        }
    }

    /**
     * @template T of Record
     * @param class-string<T> $model
     * @return T
     */
    public static function record(string $model, string $text, Answer $answer): Record
    {
        return self::read($text, $answer, static fn (array $json): Record => new $model($json));
    }
}
