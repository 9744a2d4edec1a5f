/** `NOT_FOUND` errors, each with the next command. */
import { notFound } from "@svc/sdk";
import type { PendingStore } from "./pending-store.ts";

const LIST = "Next: svc devices list";

/** Choice: ids given by callers are cut at 80 characters. */
const shown = (id: string) => JSON.stringify(id.slice(0, 80));

export const missing = {
  /** @throws GatewayError `NOT_FOUND` always */
  async request(waiting: PendingStore, requestId: string, now: number): Promise<never> {
    const successor = await waiting.successor(requestId, now);
    if (successor)
      notFound(
        `request ${shown(requestId)} was replaced by request ${successor.requestId}, because the device now requests something else; check that request first\n${LIST}`,
      );
    return notFound(
      `no request ${shown(requestId)} waits: it was decided, has expired, or was replaced under a new id; the device creates a new request when it connects\n${LIST}`,
    );
  },

  device(deviceId: string): never {
    return notFound(`no paired device ${shown(deviceId)}\n${LIST}`);
  },

  token(deviceId: string, role: string): never {
    return notFound(`device ${shown(deviceId)} has no token for role ${shown(role)}\n${LIST}`);
  },
};
