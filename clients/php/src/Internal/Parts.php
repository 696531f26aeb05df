<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * The parts of a batch. One is in memory at a time.
 *
 * @internal
 */
final class Parts
{
    private const MAX_PART = 4 * 1024 * 1024;
    private const BLOCK = 1024 * 1024;

    /**
     * @param string|resource $file a path, or an open file
     * @return resource
     */
    public static function open(mixed $file): mixed
    {
        if (is_resource($file)) {
            return $file;
        }
        if (!is_string($file)) {
            throw new \InvalidArgumentException('file: expected a path or an open file, not ' . get_debug_type($file));
        }
        return @fopen($file, 'rb') ?: throw new \InvalidArgumentException("file: {$file} cannot be opened");
    }

    /** @param string|resource $file */
    public static function isCsv(mixed $file): bool
    {
        $name = is_string($file) ? $file : stream_get_meta_data($file)['uri'] ?? '';
        return str_ends_with(strtolower($name), '.csv');
    }

    /**
     * Gathers whole lines into parts of at most 4 MiB, unless one line is longer.
     *
     * @param iterable<array<string, mixed>|object|string>|resource $source
     * @return \Generator<int, string>
     */
    public static function cut(mixed $source, bool $isCsv): \Generator
    {
        $part = '';
        foreach (is_resource($source) ? self::fileLines($source, $isCsv) : $source as $line) {
            $text = is_string($line) ? $line : Json::encode((object) $line);
            $text = str_ends_with($text, "\n") ? $text : "{$text}\n";
            if ($part !== '' && strlen($part) + strlen($text) > self::MAX_PART) {
                yield $part;
                $part = '';
            }
            $part .= $text;
        }
        if ($part !== '') {
            yield $part;
        }
    }

    /**
     * Whole lines of a file, several at a time. A line of CSV ends outside quotes.
     *
     * @param resource $file
     * @return \Generator<int, string>
     */
    private static function fileLines(mixed $file, bool $isCsv): \Generator
    {
        $rest = '';
        while (!feof($file)) {
            $rest .= fread($file, self::BLOCK);
            $end = $isCsv ? self::lastEnd($rest) : strrpos($rest, "\n");
            if ($end !== false) {
                yield substr($rest, 0, $end + 1);
                $rest = substr($rest, $end + 1);
            }
        }
        if ($rest !== '') {
            yield $rest;
        }
    }

    /** Where the last line ends that has an even number of quotes before its end. */
    private static function lastEnd(string $text): int|false
    {
        $quotes = substr_count($text, '"');
        $end = $length = strlen($text);
        while ($end > 0 && ($at = strrpos($text, "\n", $end - $length - 1)) !== false) {
            $quotes -= substr_count($text, '"', $at, $end - $at);
            if ($quotes % 2 === 0) {
                return $at;
            }
            $end = $at;
        }
        return false;
    }
}
