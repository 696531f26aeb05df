<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** The base of all exceptions of this library. */
abstract class MillraceException extends \RuntimeException
{
}
