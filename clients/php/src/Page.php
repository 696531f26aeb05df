<?php

declare(strict_types=1);

namespace Millrace;

/**
 * One page of a list.
 *
 * @template T of Record
 */
final readonly class Page
{
    /**
     * @internal
     * @param list<T> $data
     */
    public function __construct(
        public array $data,
        /** Null on the last page. */
        public ?string $nextCursor,
        /** Of a search: how many there are in all. */
        public ?int $total,
    ) {
    }
}
