/** Request bodies: read no further than the limit and no longer than the time, then parsed by a schema. */
import type { IncomingMessage } from "node:http";
import { describeViolations, GatewayError, lazy, matches, type TSchema } from "@svc/sdk";
import type { Deadlines } from "../../hooks/deadline.ts";
import { holdsTooMuch } from "../json-size.ts";

const readerCode = lazy(() => import("raw-body"));

/** @throws GatewayError `PAYLOAD_TOO_LARGE`, `TIMEOUT`, `INVALID_REQUEST` */
export type ReadBody = (request: IncomingMessage, limit: number) => Promise<Buffer>;

const EMPTY = Buffer.alloc(0);

/** @param deadlines one timer for all bodies: a timer each costs more than reading a small one */
export async function createBodyReader(deadlines: Deadlines, timeoutMs: number): Promise<ReadBody> {
  const { default: rawBody } = await readerCode();

  return (request, limit) => {
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
  };
}

function toRefusal(error: Error & { type?: unknown }): GatewayError {
  if (error.type === "entity.too.large") return new GatewayError("PAYLOAD_TOO_LARGE", "Payload too large");
  return new GatewayError("INVALID_REQUEST", "the request body could not be read", { cause: error });
}

/** An empty body is `{}`. @throws GatewayError `PAYLOAD_TOO_LARGE`; `INVALID_REQUEST` naming the path */
export function parseBody(schema: TSchema, raw: Buffer): unknown {
  if (holdsTooMuch(raw)) throw new GatewayError("PAYLOAD_TOO_LARGE", "the request body holds too many values");
  let value: unknown;
  try {
    value = raw.length === 0 ? {} : JSON.parse(raw.toString());
  } catch {
    throw new GatewayError("INVALID_REQUEST", "the request body is not JSON");
  }
  if (matches(schema, value)) return value;
  throw new GatewayError("INVALID_REQUEST", `invalid body: ${describeViolations(schema, value)}`);
}
