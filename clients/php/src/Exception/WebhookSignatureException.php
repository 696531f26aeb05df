<?php

declare(strict_types=1);

namespace Millrace\Exception;

/** A webhook delivery that the service did not sign, or not now. */
final class WebhookSignatureException extends MillraceException
{
}
