<?php

declare(strict_types=1);

namespace Millrace;

/** The quota of the API key. */
final readonly class RateLimit
{
    /** @internal */
    public function __construct(
        /** Requests a minute; 0 is unlimited. */
        public int $limit,
        /** Requests that may be sent at once now. */
        public int $remaining,
        /** Seconds until all of them may be sent at once again. */
        public float $reset,
    ) {
    }
}
