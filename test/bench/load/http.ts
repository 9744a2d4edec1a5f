/** HTTP load over plain sockets with keep-alive: one prepared request, counted answers. */
import { connect, type Socket } from "node:net";
import { percentile } from "../figures.ts";

export interface HttpLoad {
  /** Base URL. */
  readonly url: string;
  readonly path: string;
  readonly token?: string;
  readonly body: string;
  readonly connections: number;
  /** Milliseconds. */
  readonly ms: number;
  /** Expected status of every response. Default 200. */
  readonly status?: number;
}

export interface HttpResult {
  readonly perSecond: number;
  /** Milliseconds from request to answer. */
  readonly p99: number;
}

const HEAD_END = "\r\n\r\n";
const DRAIN_MS = 5_000;

function requestBytes({ url, path, token, body }: HttpLoad): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}${HEAD_END}${body}`);
}

/** Length of the response at the start of `bytes`, or 0 while it is incomplete. @throws Error it has another status */
function answerLength(bytes: Buffer, status: number): number {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return 0;
  const head = bytes.toString("latin1", 0, headEnd);
  if (!head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(`a server refused: ${bytes.toString("utf8", 0, 300)}`);
  if (status === 204) return headEnd + HEAD_END.length;
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error("an answer has no length");
  const total = headEnd + HEAD_END.length + Number(length);
  return total <= bytes.length ? total : 0;
}

/** @throws Error when a server refuses or stops answering */
export function runHttpLoad(load: HttpLoad): Promise<HttpResult> {
  const request = requestBytes(load);
  const { status = 200 } = load;
  const { hostname, port } = new URL(load.url);
  const sockets: Socket[] = [];
  return new Promise<HttpResult>((resolve, reject) => {
    const end = performance.now() + load.ms;
    const stuck = setTimeout(() => reject(new Error("a server stopped answering")), load.ms + DRAIN_MS);
    const latencies: number[] = [];
    let open = load.connections;
    /** @returns the time at which the next request was sent */
    const answered = (socket: Socket, sentAt: number): number => {
      const now = performance.now();
      if (now < end) {
        latencies.push(now - sentAt);
        socket.write(request);
        return now;
      }
      open -= 1;
      if (open > 0) return now;
      clearTimeout(stuck);
      resolve({ perSecond: (latencies.length / load.ms) * 1_000, p99: percentile(latencies, 0.99) });
      return now;
    };
    for (let number = 0; number < load.connections; number++) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      let bytes: Buffer = Buffer.alloc(0);
      socket.on("error", reject);
      socket.on("data", (chunk) => {
        bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
        try {
          const length = answerLength(bytes, status);
          if (length === 0) return;
          bytes = bytes.subarray(length);
          sentAt = answered(socket, sentAt);
        } catch (error) {
          clearTimeout(stuck);
          reject(error as Error); // nothing else is thrown here
        }
      });
      let sentAt = performance.now();
      socket.write(request);
      sockets.push(socket);
    }
  }).finally(() => {
    for (const socket of sockets) socket.destroy();
  });
}
