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
    /** The greatest size of a part. */
    private const MAX_LINE = 64 * 1024 * 1024;
    private const PIECE = 64 * 1024;

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
     * The lines of a file with their ends; of CSV its records, some of which have several lines.
     *
     * @param resource $file
     * @return \Generator<int, string>
     */
    public static function fileLines(mixed $file, bool $isCsv): \Generator
    {
        $lines = self::physicalLines($file);
        return $isCsv ? CsvRecords::of($lines) : $lines;
    }

    /**
     * @param resource $file
     * @return \Generator<int, string>
     */
    private static function physicalLines(mixed $file): \Generator
    {
        $line = '';
        while (($piece = fgets($file, self::PIECE)) !== false) {
            $line .= $piece;
            if (strlen($line) > self::MAX_LINE) {
                throw new \InvalidArgumentException(
                    'file: a line is longer than ' . self::MAX_LINE . ' bytes, which no part can have',
                );
            }
            if (str_ends_with($piece, "\n")) {
                yield $line;
                $line = '';
            }
        }
        if ($line !== '') {
            yield "{$line}\n";
        }
    }
}
