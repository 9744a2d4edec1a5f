/** One HTTP exchange, written and read byte by byte, without the normalization of a client library. */
import { once } from "node:events";
import { connect } from "node:net";

export interface Exchange {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The gateway closed the connection by itself. */
  readonly closed: boolean;
}

export interface RawRequest {
  readonly method?: string;
  /** Sent as it is. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends the request and reads one whole response; waits for the close where the response announces it. */
export async function exchange(
  port: number,
  { method = "GET", target, headers = {}, body = "" }: RawRequest,
): Promise<Exchange> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`${method} ${target} HTTP/1.1`, ...lines, "", body].join("\r\n"));
  let text = "";
  let closed = false;
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (isWhole(text, method)) resolve();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      closed = true;
      resolve();
    });
  });
  socket.destroy();
  return { ...parse(text), closed };
}

/** Whether the response is complete and the connection stays open after it. */
function isWhole(text: string, method: string): boolean {
  if (!text.includes("\r\n\r\n")) return false;
  const { status, headers, body } = parse(text);
  if (headers["connection"]?.toLowerCase() === "close") return false;
  if (method === "HEAD" || status === 101 || status === 204 || status === 304) return true;
  if (headers["transfer-encoding"] === "chunked") return body.endsWith("0\r\n\r\n");
  return body.length >= Number(headers["content-length"]);
}

function parse(text: string): Omit<Exchange, "closed"> {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(":")).toLowerCase(),
    line.slice(line.indexOf(":") + 1).trim(),
  ]);
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body: text.slice(end + 4) };
}
