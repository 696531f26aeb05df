<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** An answer of the service that says no. Each of its codes has a class of its own. */
class ApiException extends CallException
{
}
