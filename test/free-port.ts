/** An unused port of this machine, below the range that the system assigns to clients. */
import { once } from "node:events";
import { createServer } from "node:net";

const PORTS = { first: 10_000, count: 20_000 } as const;

export async function freePort(): Promise<number> {
  const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return port;
  } catch {
    return freePort();
  } finally {
    server.close();
  }
}
