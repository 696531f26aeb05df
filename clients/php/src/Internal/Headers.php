<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\LastResponse;
use Millrace\RateLimit;

/**
 * The headers of one answer, by lower-case name.
 *
 * @internal
 */
final readonly class Headers
{
    /** @param array<string, string> $values */
    public function __construct(private array $values, private Options $options)
    {
    }

    public function requestId(): ?string
    {
        $id = $this->values['x-request-id'] ?? '';
        return $id === '' ? null : Redact::text($id, $this->options->apiKey());
    }

    /** Seconds to wait (RFC 9110, 10.2.3). A date is read against the answer's own `Date`. */
    public function retryAfter(): ?float
    {
        $seconds = $this->number('retry-after');
        if ($seconds !== null) {
            return $seconds;
        }
        $until = self::time($this->values['retry-after'] ?? '');
        return $until === null ? null : (float) max(0, $until - (self::time($this->values['date'] ?? '') ?? time()));
    }

    public function describe(int $status): LastResponse
    {
        $limit = $this->number('x-ratelimit-limit');
        $remaining = $this->number('x-ratelimit-remaining');
        $reset = $this->number('x-ratelimit-reset');
        $isKnown = $limit !== null && $remaining !== null && $reset !== null;
        return new LastResponse(
            $status,
            $this->requestId(),
            (int) $this->number('x-credits-charged'),
            ($this->values['idempotency-replayed'] ?? '') === 'true',
            $isKnown ? new RateLimit((int) $limit, (int) $remaining, $reset) : null,
        );
    }

    private function number(string $name): ?float
    {
        $value = $this->values[$name] ?? '';
        return preg_match('/^\d{1,15}(\.\d{1,9})?$/D', $value) === 1 ? (float) $value : null;
    }

    /** Unix seconds of an HTTP date. */
    private static function time(string $date): ?int
    {
        $isDate = preg_match('/^[A-Za-z]+, (\d\d[ -][A-Za-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d GMT)$/D', $date, $found);
        $time = $isDate === 1 ? strtotime($found[1]) : false;
        return $time === false ? null : $time;
    }
}
