<?php

declare(strict_types=1);

// For programs without Composer: loads the classes of this library.
spl_autoload_register(static function (string $class): void {
    $path = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, strlen('Millrace\\'))) . '.php';
    if (str_starts_with($class, 'Millrace\\') && is_file($path)) {
        require $path;
    }
});
