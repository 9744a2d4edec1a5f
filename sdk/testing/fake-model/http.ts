/** The HTTP side of the fake model server: reading requests, JSON answers, paced event streams. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { CompleteReply, FakeModelBody, FakeModelRequest } from "./script.ts";

/** Responses that this server cut off itself. */
const cut = new WeakSet<ServerResponse>();

/** Reads a request. @param stop aborts when the server closes; such a disconnect does not count as the client's */
export async function readQuestion(
  req: IncomingMessage,
  res: ServerResponse,
  stop: AbortSignal,
): Promise<FakeModelRequest> {
  let aborted = false;
  const closed = new Promise<void>((resolve) => {
    res.once("close", () => {
      aborted = !res.writableFinished && !cut.has(res) && !stop.aborted;
      resolve();
    });
  });
  const body = JSON.parse((await readText(req)) || "{}") as FakeModelBody; // a script sees the body as received
  return {
    path: pathOf(req),
    headers: req.headers,
    body,
    closed,
    get aborted() {
      return aborted;
    },
  };
}

/** The path without its query. */
export function pathOf(req: IncomingMessage): string {
  return req.url?.split("?")[0] ?? "/";
}

export function sendJson(
  res: ServerResponse,
  body: object | string,
  status = 200,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** @param seconds wait announced to the client; absent: no header */
export function retryAfterHeader(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}

/** Cuts the connection after sending the headers. */
export function cutOff(res: ServerResponse): void {
  cut.add(res);
  res.flushHeaders();
  res.destroy();
}

/** Starts an event stream. @returns a function that writes one block of text and resolves when it is sent */
export function startEvents(res: ServerResponse): (block: string) => Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return (block) => new Promise<void>((resolve) => void res.write(`${block}\n\n`, () => resolve()));
}

/** Sends the chunks at their pace. @returns false if the script ends the answer here */
export async function sendPieces(
  res: ServerResponse,
  reply: CompleteReply,
  stop: AbortSignal,
  send: (piece: string) => Promise<void>,
): Promise<boolean> {
  for (const [sent, piece] of [...reply.pieces, undefined].entries()) {
    if (reply.hangAfter === sent) return false;
    if (reply.breakAfter === sent) {
      cutOff(res);
      return false;
    }
    if (piece === undefined || res.destroyed) break;
    if (reply.delayMs) await sleep(reply.delayMs, undefined, { signal: stop });
    await send(piece);
  }
  return true;
}

/** Sends an answer that is not streamed, after the sum of its delays. */
export async function sendWhole(
  res: ServerResponse,
  reply: CompleteReply,
  stop: AbortSignal,
  body: object,
): Promise<void> {
  if (reply.delayMs) await sleep(reply.delayMs * reply.pieces.length, undefined, { signal: stop });
  if (reply.hangAfter !== undefined) return;
  if (reply.breakAfter !== undefined) return cutOff(res);
  const json = JSON.stringify(body);
  sendJson(res, reply.malformed ? json.slice(0, -2) : json);
}

/** Text in three parts, as servers split the arguments of a call. */
export function inThirds(text: string): string[] {
  const third = Math.ceil(text.length / 3);
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)];
}
