/** Refusals of a fetch. */
import { refusal } from "@svc/sdk/errors";
import type { OutboundRefusalCode } from "@svc/sdk/web";

/** @throws GatewayError always: `INVALID_REQUEST` with `details.code`. */
export function refuse(code: OutboundRefusalCode, message: string): never {
  throw refusal(code, message);
}
