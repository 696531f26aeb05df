<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * Events out of the pieces of an event stream, as the HTML standard reads it (9.2.6).
 *
 * @internal
 */
final class EventReader
{
    private string $rest = '';
    private ?string $id = null;
    /** @var list<string> */
    private array $data = [];
    private int $size = 0;

    public function __construct(private readonly Answer $answer)
    {
    }

    /** @return \Generator<?string, string> the data of each event by its id */
    public function feed(string $piece): \Generator
    {
        $lines = explode("\n", $this->rest . $piece);
        $this->rest = array_pop($lines);
        if ($this->size + strlen($this->rest) > Answer::MAX_BYTES) {
            throw $this->answer->bad('an event is longer than ' . Answer::MAX_BYTES . ' bytes');
        }
        foreach ($lines as $line) {
            $line = rtrim($line, "\r");
            [$name, $value] = [...explode(':', $line, 2), ''];
            $value = str_starts_with($value, ' ') ? substr($value, 1) : $value;
            if ($name === 'data') {
                $this->data[] = $value;
                $this->size += strlen($value);
            } elseif ($name === 'id') {
                $this->id = $value;
            } elseif ($line === '' && $this->data !== []) {
                $data = implode("\n", $this->data);
                $this->data = [];
                $this->size = 0;
                yield $this->id => $data;
            }
        }
    }
}
