/**
 * A small signal-cli daemon: what crabline's lacks (accounts, links, files, edits, refusals, repeated events). As the real one
 * does, it sends an event once to the connected streams, and fetches messages only while a stream is connected.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

export const OWN = "+4915100000001";
export const ACI = "11111111-1111-4111-8111-111111111111";
export const ADA = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
export const ADA_NUMBER = "+4915100000002";
export const GROUP = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";
export const LINK = "sgnl://linkdevice?uuid=secret-link&pub_key=key";
const KEEP_ALIVE_MS = 50;

/** Refuses the next request for the method (`events` and `check` are methods, too). */
interface Fault {
  readonly method: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Error of JSON-RPC. */
  readonly error?: { code: number; message: string; data?: unknown };
  /** Does not answer at all. */
  readonly hangs?: boolean;
  readonly text?: string;
}

interface Call {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

export async function startServer(t: TestContext) {
  const calls: Call[] = [];
  const faults: Fault[] = [];
  const streams = new Set<ServerResponse>();
  /** Messages on Signal's server, and events that the daemon keeps. */
  const pending: object[] = [];
  const kept: { readonly id: string; readonly data: string }[] = [];
  const files = new Map<string, string>();
  const run = Date.now();
  const state = { accounts: [{ number: OWN, aci: ACI }], isSingle: false, repeats: true, isDeaf: false };
  let now = Date.now();
  let isScanned: (() => void) | undefined;
  const scanned = { value: false };
  /** Signal's timestamps are unique. */
  const tick = () => (now = Math.max(now + 1, Date.now()));

  function write(stream: ServerResponse, { id, data }: { id: string; data: string }): void {
    if (!state.isDeaf) stream.write(`event:receive\n${state.repeats ? `id:${id}\n` : ""}data:${data}\n\n`);
  }

  function flush(): void {
    if (streams.size === 0 || state.isDeaf) return;
    for (const event of pending.splice(0)) {
      const one = { id: `${run}-${kept.length + 1}`, data: JSON.stringify(event) };
      kept.push(one);
      for (const stream of streams) write(stream, one);
    }
  }

  /** Ada sends an envelope. */
  function push(fields: object, timestamp = tick()): number {
    const source = {
      source: ADA_NUMBER,
      sourceNumber: ADA_NUMBER,
      sourceUuid: ADA,
      sourceName: "Ada",
      sourceDevice: 1,
    };
    const envelope = { ...source, timestamp, serverReceivedTimestamp: timestamp, ...fields };
    pending.push({ account: OWN, envelope });
    flush();
    return timestamp;
  }

  function results(method: string, params: Record<string, unknown>): unknown {
    if (method === "version") return { version: "0.14.9" };
    if (method === "listAccounts") return state.accounts;
    if (method === "startLink") return { deviceLinkUri: LINK };
    if (method === "getAttachment" || method === "getSticker") {
      const data = files.get(String(params["id"] ?? params["packId"]));
      return data === undefined ? undefined : { data };
    }
    return { timestamp: tick(), results: [{ type: "SUCCESS" }] };
  }

  async function answer({ method, params }: Call, signal: AbortSignal): Promise<object> {
    if (method === "finishLink") {
      if (!scanned.value)
        await new Promise<void>((resolve) => {
          isScanned = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      scanned.value = false;
      const account = { number: OWN, aci: ACI };
      if (!state.accounts.some(({ number }) => number === OWN)) state.accounts.push(account);
      return { result: account };
    }
    if (method === "listAccounts" && state.isSingle)
      return { error: { code: -32601, message: "Method not implemented" } };
    const account = params["account"];
    if (account !== undefined && !state.accounts.some(({ number }) => number === account))
      return { error: { code: -32602, message: "Specified account does not exist" } };
    const result = results(method, params);
    return result === undefined ? { error: { code: -32603, message: "An error occurred" } } : { result };
  }

  const http = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    const path = url.pathname.replace("/api/v1/", "");
    const body = path === "rpc" ? ((await bodyOf(request)) as Call & { id: string }) : undefined;
    const method = body?.method ?? path;
    const params = body?.params ?? { ...Object.fromEntries(url.searchParams), last: request.headers["last-event-id"] };
    calls.push({ method, params });
    const at = faults.findIndex((one) => one.method === method);
    const [fault] = at < 0 ? [] : faults.splice(at, 1);
    if (fault?.hangs) return;
    if (fault && !fault.error) return void response.writeHead(fault.status ?? 200, fault.headers).end(fault.text ?? "");
    if (path === "check") return void response.end();
    if (path === "rpc") {
      const ending = new AbortController();
      response.on("close", () => ending.abort());
      const said = fault?.error ? { error: fault.error } : await answer({ method, params }, ending.signal);
      response.setHeader("content-type", "application/json");
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: body?.id, ...said }));
    }
    if (!state.accounts.some(({ number }) => number === url.searchParams.get("account")))
      return void response.writeHead(400).end();
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    response.on("close", () => streams.delete(response));
    const last = request.headers["last-event-id"];
    if (last !== undefined && state.repeats)
      for (const event of kept.slice(kept.findIndex(({ id }) => id === last) + 1)) write(response, event);
    streams.add(response);
    flush();
  });
  const keepAlive = setInterval(() => {
    if (!state.isDeaf) for (const stream of streams) stream.write(":\n");
  }, KEEP_ALIVE_MS);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    clearInterval(keepAlive);
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    calls,
    faults,
    files,
    kept,
    state,
    streams: () => streams.size,
    push,
    /** Ada writes a message. */
    says: (message: string, data: object = {}): number => {
      const timestamp = tick();
      return push({ dataMessage: { timestamp, message, expiresInSeconds: 0, viewOnce: false, ...data } }, timestamp);
    },
    /** Sends a text as it is to all streams. */
    raw(text: string): void {
      for (const stream of streams) stream.write(text);
    },
    cuts(): void {
      for (const stream of streams) stream.destroy();
      streams.clear();
    },
    scans(): void {
      scanned.value = true;
      isScanned?.();
    },
    of: (method: string) => calls.filter((call) => call.method === method).map(({ params }) => params),
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}
