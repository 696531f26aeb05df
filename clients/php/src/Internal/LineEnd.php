<?php

declare(strict_types=1);

namespace Millrace\Internal;

/**
 * How a line of CSV leaves its quotes.
 *
 * @internal
 */
enum LineEnd
{
    /** The record ends with the line. */
    case Record;
    /** A quote is open at its end. */
    case Open;
    /** Text follows a closing quote, or the file ends within quotes. */
    case Stray;
}
