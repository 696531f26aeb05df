<?php

declare(strict_types=1);

namespace Millrace;

/** The facts of an answer beside its body. */
final readonly class LastResponse
{
    /** @internal */
    public function __construct(
        public int $status,
        public ?string $requestId,
        public int $creditsCharged,
        /** It is the stored answer to an earlier request with the same `Idempotency-Key`. */
        public bool $replayed,
        /** Null for a call without a quota. */
        public ?RateLimit $rateLimit,
    ) {
    }
}
