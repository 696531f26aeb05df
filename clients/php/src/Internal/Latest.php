<?php

declare(strict_types=1);

namespace Millrace\Internal;

use Millrace\LastResponse;

/**
 * Holds the last answer of a client.
 *
 * @internal
 */
final class Latest
{
    public ?LastResponse $response = null;
}
