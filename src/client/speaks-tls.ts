import { isIP } from 'node:net';
import { connect } from 'node:tls';

/** A port that does not finish a handshake in this time is taken for one without TLS. */
const PATIENCE_MS = 3_000;

/**
 * Whether a port speaks TLS. Most TLS servers close a connection that begins with plain HTTP without a word, so a
 * second connection must tell. Nothing is sent on it but the handshake, so the certificate does not matter. An abort ends it: no TLS.
 */
export function speaksTls(hostname: string, port: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port, rejectUnauthorized: false, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) });
    const end = (speaks: boolean): void => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(speaks);
    };
    const onAbort = (): void => end(false);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.setTimeout(PATIENCE_MS, () => end(false));
    socket.once('secureConnect', () => end(true));
    // An alert is TLS, too.
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => end(code.includes('_ALERT_')));
    socket.once('close', () => end(false));
  });
}
