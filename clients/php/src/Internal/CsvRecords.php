<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * Records of CSV, cut where the service's own reader cuts them (RFC 4180). A record that breaks the rules of quotes
 * ends with its first line.
 *
 * Lines are read ahead up to the limit of a record. What a line does within quotes depends on that line alone, so it is
 * looked at once: a stray quote costs no time.
 *
 * @internal
 */
final class CsvRecords
{
    /** The most bytes of a record of several lines, as the service reads it. */
    private const MAX_RECORD = 64 * 1024;
    private const MARK = "\xEF\xBB\xBF";

    /** @var array<int, string> lines behind the current one */
    private array $ahead = [];
    private int $head = 0;
    /** This many lines ahead, of `size` bytes, leave an open quote open. `after` is what the next one does. */
    private int $inside = 0;
    private int $size = 0;
    private ?LineEnd $after = null;

    /** @param \Generator<int, string> $lines with their ends */
    private function __construct(private readonly \Generator $lines)
    {
    }

    /**
     * @param \Generator<int, string> $lines with their ends
     * @return \Generator<int, string>
     */
    public static function of(\Generator $lines): \Generator
    {
        $records = new self($lines);
        $mark = self::MARK;
        while ($records->fetch(0) !== null) {
            $line = $records->next();
            $text = self::content($line);
            $text = $mark !== '' && str_starts_with($text, $mark) ? substr($text, strlen($mark)) : $text;
            $mark = '';
            yield self::end($text, false) === LineEnd::Open ? $records->several($line) : $line;
        }
    }

    private function next(): string
    {
        $line = $this->shift();
        if ($this->inside > 0) {
            $this->inside--;
            $this->size -= strlen($line);
        } else {
            $this->after = null;
        }
        return $line;
    }

    /** The record whose first line leaves a quote open: with the lines behind it, or that line alone. */
    private function several(string $line): string
    {
        while (strlen($line) + $this->size <= self::MAX_RECORD) {
            $following = $this->fetch($this->inside);
            $this->after ??= $following === null ? LineEnd::Stray : self::end(self::content($following), true);
            if ($following === null || $this->after === LineEnd::Stray) {
                return $line;
            }
            if ($this->after === LineEnd::Record) {
                $isWhole = strlen($line) + $this->size + strlen(self::content($following)) <= self::MAX_RECORD;
                return $isWhole ? $this->whole($line) : $line;
            }
            $this->inside++;
            $this->size += strlen($following);
            $this->after = null;
        }
        return $line;
    }

    private function whole(string $line): string
    {
        for ($count = $this->inside; $count >= 0; $count--) {
            $line .= $this->shift();
        }
        $this->inside = $this->size = 0;
        $this->after = null;
        return $line;
    }

    /** The line at this place ahead; null at the end. */
    private function fetch(int $place): ?string
    {
        while (count($this->ahead) <= $place) {
            if (!$this->lines->valid()) {
                return null;
            }
            $this->ahead[$this->head + count($this->ahead)] = $this->lines->current();
            $this->lines->next();
        }
        return $this->ahead[$this->head + $place];
    }

    private function shift(): string
    {
        $line = $this->ahead[$this->head];
        unset($this->ahead[$this->head++]);
        return $line;
    }

    private static function content(string $line): string
    {
        $line = str_ends_with($line, "\n") ? substr($line, 0, -1) : $line;
        return str_ends_with($line, "\r") ? substr($line, 0, -1) : $line;
    }

    /** A quote opens only at the start of a field. */
    private static function end(string $text, bool $isQuoted): LineEnd
    {
        $at = $isQuoted ? 0 : self::behindOpeningQuote($text, 0);
        while ($at !== null) {
            $quote = strpos($text, '"', $at);
            if ($quote === false) {
                return LineEnd::Open;
            }
            $following = $text[$quote + 1] ?? '';
            if ($following === '') {
                return LineEnd::Record;
            }
            if ($following !== '"' && $following !== ',') {
                return LineEnd::Stray;
            }
            $at = $following === '"' ? $quote + 2 : self::behindOpeningQuote($text, $quote + 2);
        }
        return LineEnd::Record;
    }

    /** The place behind the next quote that opens a field; null without one. A field starts at `start`. */
    private static function behindOpeningQuote(string $text, int $start): ?int
    {
        if (($text[$start] ?? '') === '"') {
            return $start + 1;
        }
        $comma = $start < strlen($text) ? strpos($text, ',"', $start) : false;
        return $comma === false ? null : $comma + 2;
    }
}
