import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { guardConnections } from '../../../src/service/guards/connections.ts';

class Caller extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;

  constructor(address: string) {
    super();
    this.remoteAddress = address;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

it('no address except this machine opens more connections than its share, and a closed connection makes room', () => {
  const address = fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1', '127.0.0.1', '::1', '::ffff:127.0.0.1');
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          address.map((from) => ({ from })),
          fc.record({ leaves: fc.nat() }),
        ),
      ),
      (events) => {
        const server = new EventEmitter() as unknown as Server;
        const counts = guardConnections(server, { connections: 1_000, connectionsPerAddress: 2 });
        let open: Caller[] = [];
        let refused = 0;
        for (const event of events) {
          if ('from' in event) {
            const caller = new Caller(event.from);
            const others = open.filter(({ remoteAddress }) => remoteAddress === event.from).length;
            server.emit('connection', caller as never);
            const mayStay = /127\.|^::1$/.test(event.from) || others < 2;
            expect(caller.destroyed).toBe(!mayStay);
            if (mayStay) open.push(caller);
            else refused++;
          } else {
            const gone = open[event.leaves % Math.max(1, open.length)];
            gone?.destroy();
            open = open.filter((caller) => caller !== gone);
          }
          expect(counts).toMatchObject({ open: open.length, refused });
        }
      },
    ),
  );
});
