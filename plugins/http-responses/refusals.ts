/** Error replies in the format of the public API. Pure. Spec: http/responses.md §8. */
import { type GatewayError, isGatewayError, type RouteReply } from "@svc/sdk";
import type { RefusalDetails } from "./check.ts";

const TYPES: Readonly<Partial<Record<GatewayError["code"], readonly [status: number, type: string]>>> = {
  INVALID_REQUEST: [400, "invalid_request_error"],
  NOT_FOUND: [404, "not_found"],
};

/** @throws `error` itself if the host handles it */
export function refusalReply(error: unknown): RouteReply {
  const known = isGatewayError(error) ? TYPES[error.code] : undefined;
  if (!known || !isGatewayError(error)) throw error;
  const [status, type] = known;
  const { param, code } = (error.details ?? {}) as RefusalDetails; // details of other errors have neither field
  return { status, body: { error: { message: error.message, type, param: param ?? null, code: code ?? null } } };
}
