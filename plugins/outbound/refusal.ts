/** How a fetch is refused. */
import { invalidRequest } from "@svc/sdk";
import type { OutboundRefusalCode } from "@svc/sdk/web";

/** @throws GatewayError always: `INVALID_REQUEST` with `details.code`. */
export function refuse(code: OutboundRefusalCode, message: string): never {
  return invalidRequest(message, { code });
}
