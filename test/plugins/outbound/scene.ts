/** A small internet for tests: names, their addresses, and local servers behind every public address. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import type { TestContext } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import type { OutboundRequest } from "@svc/sdk/web";
import { connectSocket } from "@svc/kit/net";
import { createOutboundFetch, type OutboundDeps } from "../../../plugins/outbound/fetch.ts";

export const PUBLIC = "93.184.215.14";

/** Listens until the test ends. */
export async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port; // of a TCP server
}

export interface InternetOptions extends Partial<OutboundDeps> {
  /** Results of successive lookups of a name; the last one repeats. Default: one public address per name. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** Replaces the plain server with the listener. */
  readonly server?: Server;
}

/** @param listener server behind every address */
export async function internet(t: TestContext, listener: RequestListener, options: InternetOptions = {}) {
  const { names = {}, server = createServer(listener), ...deps } = options;
  const port = await listen(t, server);
  const lookups: string[] = [];
  const dials: string[] = [];
  const clock = createFakeClock();
  const outbound = createOutboundFetch({
    clock,
    signal: new AbortController().signal,
    async resolve(host) {
      const nth = lookups.filter((one) => one === host).length;
      lookups.push(host);
      const answers = names[host] ?? [[PUBLIC]];
      return answers[Math.min(nth, answers.length - 1)] ?? [];
    },
    connect(address, asked, signal) {
      dials.push(`${address}:${asked}`);
      return connectSocket("127.0.0.1", port, signal);
    },
    ...deps,
  });
  const ask = (url: string, changes: Partial<OutboundRequest> = {}) =>
    outbound.fetch({ url, maxBytes: 1_000, maxRedirects: 3, timeoutMs: 10_000, ...changes });
  return { ask, outbound, lookups, dials, clock, port };
}

export const text = ({ body }: { readonly body: Uint8Array }) => Buffer.from(body).toString();

/** Expected refusal of a fetch. */
export const refused = (code: string) => ({ name: "GatewayError", code: "INVALID_REQUEST", details: { code } });
