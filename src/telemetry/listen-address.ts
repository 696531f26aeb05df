/** Where a monitor listens: `--monitor PORT` or `HOST:PORT`. Pure. */

const LARGEST_PORT = 65_535;

export interface MonitorAddress {
  /** Null: on every address of the machine. */
  readonly host: string | null;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * Reads a listen address; null when it is invalid. In a pod the kubelet and Prometheus connect from outside, so it listens on all
 * interfaces. Anywhere else it listens only locally unless told otherwise.
 */
export function monitorAddress(text: string, env: NodeJS.ProcessEnv): MonitorAddress | null {
  const [, bracketed, plain, digits = ''] = /^(?:(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9.-]{1,253})):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > LARGEST_PORT) return null;
  const usual = (env['KUBERNETES_SERVICE_HOST'] ?? '') === '' ? '127.0.0.1' : null;
  return { host: bracketed ?? plain ?? usual, port };
}
