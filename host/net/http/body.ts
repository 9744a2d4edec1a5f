/** Reads request bodies up to a size limit and a deadline, then checks them against a schema. */
import type { IncomingMessage } from "node:http";
import { describeViolations, GatewayError, isTooDeep, lazy, MAX_JSON_DEPTH, matches, type TSchema } from "@svc/sdk";
import type { Deadlines } from "../../hooks/deadline.ts";
import { HoldsTooMuch, isLarge, parseLarge } from "../json.ts";
import { shareOf } from "../scheduler.ts";

/** Maximum bytes of a body, or of a text of a WebSocket, unless the route sets another value. */
export const DEFAULT_MAX_BODY_BYTES = 1_048_576;

const readerCode = lazy(() => import("raw-body"));

/** Resolves when the scheduler gives the request's connection its turn. @throws GatewayError `PAYLOAD_TOO_LARGE`, `TIMEOUT`, `INVALID_REQUEST` */
export type ReadBody = (request: IncomingMessage, limit: number) => Promise<Buffer>;

const EMPTY = Buffer.alloc(0);

/** @param deadlines one timer for all bodies: a timer per body costs more than reading a small body */
export async function createBodyReader(deadlines: Deadlines, timeoutMs: number): Promise<ReadBody> {
  const { default: rawBody } = await readerCode();

  function read(request: IncomingMessage, limit: number): Promise<Buffer> {
    const length = request.headers["content-length"];
    const isEmpty = length === "0" || (length === undefined && request.headers["transfer-encoding"] === undefined);
    if (isEmpty) return Promise.resolve(EMPTY);
    return new Promise((resolve, reject) => {
      const disarm = deadlines.arm(timeoutMs, () => reject(new GatewayError("TIMEOUT", "Request body timeout")));
      rawBody(request, { limit, ...(length === undefined ? {} : { length }) }, (error, body) => {
        disarm();
        if (error) reject(toRefusal(error));
        else resolve(body);
      });
    });
  }

  return async (request, limit) => {
    const body = await read(request, limit);
    await shareOf(request.socket).pass();
    return body;
  };
}

function toRefusal(error: Error & { type?: unknown }): GatewayError {
  if (error.type === "entity.too.large") return new GatewayError("PAYLOAD_TOO_LARGE", "Payload too large");
  return new GatewayError("INVALID_REQUEST", "the request body could not be read", { cause: error });
}

/**
 * An empty body counts as `{}`.
 * @param turn yields to other connections between slices of a large body
 * @throws GatewayError `PAYLOAD_TOO_LARGE`; `INVALID_REQUEST` naming the path
 */
export async function parseBody(schema: TSchema, raw: Buffer, turn: () => Promise<void>): Promise<unknown> {
  let value: unknown = {};
  if (raw.length > MAX_JSON_DEPTH && isTooDeep(raw.toString()))
    throw new GatewayError("INVALID_REQUEST", `the body is nested deeper than ${MAX_JSON_DEPTH} levels`);
  try {
    if (isLarge(raw)) value = await parseLarge(raw, turn);
    else if (raw.length > 0) value = JSON.parse(raw.toString());
  } catch (error) {
    if (error instanceof HoldsTooMuch) throw new GatewayError("PAYLOAD_TOO_LARGE", error.message);
    throw new GatewayError("INVALID_REQUEST", "the request body is not JSON");
  }
  if (matches(schema, value)) return value;
  throw new GatewayError("INVALID_REQUEST", `invalid body: ${describeViolations(schema, value)}`);
}
