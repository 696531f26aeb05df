<?php

declare(strict_types=1);

namespace Millrace;

use Millrace\Exception\BadBodyException;

/**
 * A list that is requested page by page while you iterate. Each iteration starts at the first page.
 *
 * @template T of Record
 * @implements \IteratorAggregate<int, T>
 */
final readonly class Pager implements \IteratorAggregate
{
    /**
     * @internal
     * @param \Closure(?string): Page<T> $fetch
     */
    public function __construct(private \Closure $fetch, private ?string $cursor = null)
    {
    }

    /** @return \Generator<int, T> */
    public function getIterator(): \Generator
    {
        $number = 0;
        foreach ($this->pages() as $page) {
            foreach ($page->data as $item) {
                yield $number++ => $item;
            }
        }
    }

    /**
     * The same page by page.
     *
     * @return \Generator<int, Page<T>>
     */
    public function pages(): \Generator
    {
        $cursor = $this->cursor;
        $seen = ["{$cursor}" => true];
        do {
            $page = ($this->fetch)($cursor);
            $cursor = $page->nextCursor;
            if ($cursor !== null && isset($seen[$cursor])) {
                throw BadBodyException::because('GET', 'a page names an earlier one as the next', 200);
            }
            yield $page;
            $seen["{$cursor}"] = true;
        } while ($cursor !== null);
    }
}
