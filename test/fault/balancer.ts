/** A TCP load balancer before several gateways: each connection goes to the next one that is ready. */
import { connect, createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { pipeline } from "node:stream/promises";

const CHECK_MS = 200;

/** Closed with the test. @param origins base URLs of the gateways, of which some may not run @returns its port */
export async function balancer(t: TestContext, origins: () => readonly string[]): Promise<number> {
  let ready: readonly string[] = origins();
  let next = 0;
  const isReady = (origin: string) =>
    fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  const check = async () => {
    const all = origins();
    const states = await Promise.all(all.map(isReady));
    ready = all.filter((_, index) => states[index]);
  };
  const checking = setInterval(() => void check(), CHECK_MS);
  const server = createServer((near) => {
    const origin = ready[next++ % Math.max(1, ready.length)];
    if (origin === undefined) return void near.destroy();
    const { hostname, port } = new URL(origin);
    const far = connect(Number(port), hostname);
    pipeline(near, far, near).catch(() => {
      near.destroy();
      far.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    clearInterval(checking);
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
